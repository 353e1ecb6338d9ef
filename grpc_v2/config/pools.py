"""The proxy's thread pools, and the keys that reject or delay the requests of a pool.

The declaration of an RPC names the pool that runs it. The module loads no protobuf. Source: GrpcMessagingApplication
(5.3.3).
"""

from enum import Enum

from rocketmq_testkit.emulator.config import ConfigError

from .proxy_config import ProxyConfig

TIME_DIGITS_MAX = 18
"""The most digits of a number of milliseconds."""


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
            raise ConfigError(f"{key}={word}: not a pool; {_KNOWN}; use {key}={ProxyPool.PRODUCER.title}", key=key)
        found.add(_POOLS[word])
    return found


def request_times_ms(config: ProxyConfig) -> dict[ProxyPool, int]:
    """Return the time (ms) for which requests occupy a thread, by pool, from `grpcRequestTimes`. Raises ConfigError."""
    key = "grpcRequestTimes"
    found = {}
    for word in config.grpc_request_times.split():
        name, _, text = word.partition("=")
        if name not in _POOLS or not (text.isascii() and text.isdigit() and len(text) <= TIME_DIGITS_MAX):
            example = f"{key}={ProxyPool.PRODUCER.title}=600"
            raise ConfigError(f"{key}={word}: not POOL=MILLISECONDS; {_KNOWN}; use {example}", key=key)
        found[_POOLS[name]] = int(text)
    return found


_KNOWN = f"pools are {', '.join(_POOLS)}"
