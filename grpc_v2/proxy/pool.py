"""The names of the proxy's thread pools. The declaration of an RPC says which of them runs it.

Source: GrpcMessagingApplication (5.3.3).
"""

from enum import Enum


class ProxyPool(Enum):
    """A thread pool: its name, and attributes of ProxyConfig for threads and queue capacity."""

    ROUTE = "route", "grpc_route_thread_pool_nums", "grpc_route_thread_queue_capacity"
    PRODUCER = "producer", "grpc_producer_thread_pool_nums", "grpc_producer_thread_queue_capacity"
    CONSUMER = "consumer", "grpc_consumer_thread_pool_nums", "grpc_consumer_thread_queue_capacity"
    CLIENT_MANAGER = (
        "clientManager",
        "grpc_client_manager_thread_pool_nums",
        "grpc_client_manager_thread_queue_capacity",
    )
    TRANSACTION = "transaction", "grpc_transaction_thread_pool_nums", "grpc_transaction_thread_queue_capacity"

    def __init__(self, title: str, threads: str, capacity: str) -> None:
        self.title = title
        self.threads = threads
        self.capacity = capacity
