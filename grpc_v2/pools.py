"""The proxy's thread pools, and the keys that reject or delay the requests of a pool. The module loads no protobuf.

Source: GrpcMessagingApplication (5.3.3).
"""

from enum import Enum

from rocketmq_testkit.emulator.config import ConfigError

from .config.proxy_config import ProxyConfig

TIME_DIGITS_MAX = 18
"""The most digits of a number of milliseconds."""


class Pool(Enum):
    """A pool: its name, its keys for threads and capacity (attributes of ProxyConfig), and the RPCs that it serves."""

    ROUTE = (
        "route",
        "grpc_route_thread_pool_nums",
        "grpc_route_thread_queue_capacity",
        ("QueryRoute", "QueryAssignment"),
    )
    PRODUCER = (
        "producer",
        "grpc_producer_thread_pool_nums",
        "grpc_producer_thread_queue_capacity",
        ("SendMessage", "ForwardMessageToDeadLetterQueue", "RecallMessage"),
    )
    CONSUMER = (
        "consumer",
        "grpc_consumer_thread_pool_nums",
        "grpc_consumer_thread_queue_capacity",
        ("ReceiveMessage", "AckMessage", "ChangeInvisibleDuration"),
    )
    CLIENT_MANAGER = (
        "clientManager",
        "grpc_client_manager_thread_pool_nums",
        "grpc_client_manager_thread_queue_capacity",
        ("Heartbeat", "NotifyClientTermination"),
    )
    TRANSACTION = (
        "transaction",
        "grpc_transaction_thread_pool_nums",
        "grpc_transaction_thread_queue_capacity",
        ("EndTransaction",),
    )

    def __init__(self, title: str, threads: str, capacity: str, rpcs: tuple[str, ...]) -> None:
        self.title = title
        self.threads = threads
        self.capacity = capacity
        self.rpcs = rpcs


_POOLS = {pool.title: pool for pool in Pool}


def refused_pools(config: ProxyConfig) -> set[Pool]:
    """Return the pools that reject all requests, from `grpcRequestRefusals`. Raises ConfigError."""
    key = "grpcRequestRefusals"
    found = set()
    for word in config.grpc_request_refusals.split():
        if word not in _POOLS:
            raise ConfigError(f"{key}={word}: not a pool; {_KNOWN}; use {key}={Pool.PRODUCER.title}", key=key)
        found.add(_POOLS[word])
    return found


def times_ms(config: ProxyConfig) -> dict[Pool, int]:
    """Return the time (ms) for which requests occupy a thread, by pool, from `grpcRequestTimes`. Raises ConfigError."""
    key = "grpcRequestTimes"
    found = {}
    for word in config.grpc_request_times.split():
        name, _, text = word.partition("=")
        if name not in _POOLS or not (text.isascii() and text.isdigit() and len(text) <= TIME_DIGITS_MAX):
            example = f"{key}={Pool.PRODUCER.title}=600"
            raise ConfigError(f"{key}={word}: not POOL=MILLISECONDS; {_KNOWN}; use {example}", key=key)
        found[_POOLS[name]] = int(text)
    return found


_KNOWN = f"pools are {', '.join(_POOLS)}"
