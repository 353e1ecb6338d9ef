"""Keys of the thread pools in front of a broker's processors: those of BrokerConfig (5.3.3), and simulated load.

Upstream derives thread counts from the machine's processors; the defaults here are those of a machine with four.
"""

from dataclasses import dataclass

from .keys import Config, key


def _threads(pool: str, served: str) -> str:
    return f"Threads of the pool `{pool}`, which serves {served}."


def _capacity(pool: str) -> str:
    return f"Maximum number of requests that wait for a thread of the pool `{pool}`; further ones are rejected."


def _wait(pool: str) -> str:
    return f"Longest time that a request waits for a thread of the pool `{pool}` before it is rejected."


@dataclass(repr=False, eq=False, kw_only=True)
class RequestPoolConfig(Config):
    """The thread pools of one broker.

    The emulator serves requests at once. A pool is exhausted only if requests occupy its threads by waiting for slaves,
    or for the time that `requestTimes` sets.
    """

    send_message_thread_pool_nums: int = key(4, _threads("send", "sends, send-backs and recalls"), low=1)
    send_thread_pool_queue_capacity: int = key(10_000, _capacity("send"), low=1)
    wait_time_mills_in_send_queue: int = key(200, _wait("send"), unit="ms")
    pull_message_thread_pool_nums: int = key(24, _threads("pull", "pulls, pops, peeks and notifications"), low=1)
    pull_thread_pool_queue_capacity: int = key(100_000, _capacity("pull"), low=1)
    wait_time_mills_in_pull_queue: int = key(5000, _wait("pull"), unit="ms")
    lite_pull_message_thread_pool_nums: int = key(24, _threads("litePull", "lite pulls"), low=1)
    lite_pull_thread_pool_queue_capacity: int = key(100_000, _capacity("litePull"), low=1)
    wait_time_mills_in_lite_pull_queue: int = key(5000, _wait("litePull"), unit="ms")
    ack_message_thread_pool_nums: int = key(
        16, _threads("ack", "acknowledgements and changes of invisible durations"), low=1
    )
    ack_thread_pool_queue_capacity: int = key(100_000, _capacity("ack"), low=1)
    wait_time_mills_in_ack_queue: int = key(3000, _wait("ack"), unit="ms")
    heartbeat_thread_pool_nums: int = key(4, _threads("heartbeat", "heartbeats"), low=1)
    heartbeat_thread_pool_queue_capacity: int = key(50_000, _capacity("heartbeat"), low=1)
    wait_time_mills_in_heartbeat_queue: int = key(31_000, _wait("heartbeat"), unit="ms")
    end_transaction_thread_pool_nums: int = key(16, _threads("transaction", "ends of transactions"), low=1)
    end_transaction_pool_queue_capacity: int = key(100_000, _capacity("transaction"), low=1)
    wait_time_mills_in_transaction_queue: int = key(3000, _wait("transaction"), unit="ms")
    admin_broker_thread_pool_nums: int = key(16, _threads("admin", "all requests without a pool of their own"), low=1)
    admin_broker_thread_pool_queue_capacity: int = key(10_000, _capacity("admin"), low=1)
    wait_time_mills_in_admin_broker_queue: int = key(5000, _wait("admin"), unit="ms")
    process_reply_message_thread_pool_nums: int = key(24, _threads("reply", "replies"), low=1)
    reply_thread_pool_queue_capacity: int = key(10_000, _capacity("reply"), low=1)
    query_message_thread_pool_nums: int = key(12, _threads("query", "queries for messages"), low=1)
    query_thread_pool_queue_capacity: int = key(20_000, _capacity("query"), low=1)
    client_manage_thread_pool_nums: int = key(
        32, _threads("client", "unregistrations of clients and checks of SQL92 subscriptions"), low=1
    )
    client_manager_thread_pool_queue_capacity: int = key(1_000_000, _capacity("client"), low=1)
    consumer_manage_thread_pool_nums: int = key(
        32, _threads("consumer", "requests for offsets and for lists of consumers"), low=1
    )
    consumer_manager_thread_pool_queue_capacity: int = key(1_000_000, _capacity("consumer"), low=1)
    load_balance_processor_thread_pool_nums: int = key(
        32, _threads("balance", "queries for assignments and changes of message request modes"), low=1
    )
    load_balance_thread_pool_queue_capacity: int = key(100_000, _capacity("balance"), low=1)
    broker_fast_failure_enable: bool = key(True, "Requests that have waited too long are rejected.")
    os_page_cache_busy_time_out_mills: int = key(
        1000,
        "Longest time for which a send may keep its thread; if one keeps it longer, the broker considers its disk"
        " too slow and rejects sends.",
        unit="ms",
    )

    enable_shutdown_gracefully: bool = key(
        False,
        "Before it stops, a broker sends GO_AWAY to clients newer than 5.3.1 and serves the other clients for"
        " shutdownWaitTimeSeconds.",
    )
    shutdown_wait_time_seconds: int = key(
        30, "Time for which a broker that shuts down gracefully still serves requests.", unit="s", low=0
    )

    # the emulator's own: simulated failures (`FAULT_KEYS` in `broker.py` lists all)
    go_away_enable: bool = key(
        False, "The broker sends GO_AWAY to clients newer than 5.3.1 without stopping. (Not upstream's.)"
    )
    request_times: str = key(
        "",
        "Time in ms for which requests keep the threads of a pool: `send=600 pull=50`. The descriptions of the keys"
        " `...ThreadPoolNums` name the pools. (Not upstream's.)",
        unit="pool=ms, separated by blanks",
    )
    request_refusals: str = key(
        "",
        "Pools that reject all requests, with upstream's form of the rejection (REJECTREQUEST, OVERLOAD,"
        " TIMEOUT_CLEAN_QUEUE, PCBUSY_CLEAN_QUEUE or PC_SYNCHRONIZED): `send=OVERLOAD ack=TIMEOUT_CLEAN_QUEUE`."
        " (Not upstream's.)",
        unit="pool=form, separated by blanks",
    )
