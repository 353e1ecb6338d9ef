"""The proxy's thread pools, and the keys that reject or delay the requests of a pool.

The declaration of an RPC names the pool that runs it. The module loads no protobuf. Source: GrpcMessagingApplication
(5.3.3).
"""

from enum import Enum

from rocketmq_testkit.emulator.config import ConfigError
from rocketmq_testkit.emulator.config.pool_values import parse_times

from .proxy_config import ProxyConfig


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


_POOLS = {pool.title: pool for pool in ProxyPool}


def refused_pools(config: ProxyConfig) -> set[ProxyPool]:
    """Return the pools that reject all requests, from `grpcRequestRefusals`. Raises ConfigError."""
    key = "grpcRequestRefusals"
    found = set()
    for word in config.grpc_request_refusals.split():
        if word not in _POOLS:
            wrong = f"{word} is no pool; pools are {', '.join(_POOLS)}"
            raise ConfigError(f"{key}={word}: {wrong}; use {key}={ProxyPool.PRODUCER.title}", key=key)
        found.add(_POOLS[word])
    return found


def request_times_ms(config: ProxyConfig) -> dict[ProxyPool, int]:
    """Return the time (ms) for which requests occupy a thread, by pool, from `grpcRequestTimes`. Raises ConfigError."""
    return parse_times("grpcRequestTimes", config.grpc_request_times, _POOLS, example_pool=ProxyPool.PRODUCER.title)
