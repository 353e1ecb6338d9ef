"""Configuration keys of the gRPC proxy: the supported keys of upstream's ProxyConfig (5.3.3), and the emulator's own.

The keys of the last block switch differences from upstream that clients can see. By default the emulator behaves as
upstream, except for `settingsPushAgainMillis` and `pollEndsBeforeDeadlineMillis`. `deviations` lists these two
differences, and those without a key.
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.config import AccessConfig, key
from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS

_HOUR_MS = 3_600_000


@dataclass(repr=False, eq=False, kw_only=True)
class ProxyConfig(AccessConfig):
    """The keys of the gRPC proxy. Upstream does not have `grpcRequestTimes` and the keys after it.

    Attribute `max_message_size` is the key `maxMessageSize`.
    """

    # limits of messages
    max_message_size: int = key(4 * 1024 * 1024, "Largest message body, as transmitted.", unit="bytes", low=1)
    enable_message_body_empty_check: bool = key(True, "The proxy rejects messages with an empty body.")
    max_user_property_size: int = key(
        16 * 1024, "Largest total size of the user properties, tag and keys of a message.", unit="bytes", low=1
    )
    user_property_max_num: int = key(128, "Maximum number of user properties of a message.", low=0)
    max_message_group_size: int = key(64, "Length that a message group must stay below.", unit="bytes", low=1)
    max_delay_time_mills: int = key(24 * _HOUR_MS, "Longest delay until a delivery timestamp.", unit="ms", low=0)
    use_delay_level: bool = key(
        False,
        "A delivery timestamp is replaced by the first delay level longer than the remaining time, or else by the"
        " last level.",
    )
    message_delay_level: str = key(
        DELAY_LEVELS, "Delay levels for useDelayLevel, separated by blanks.", unit="s, m, h or d each"
    )
    max_transaction_recovery_second: int = key(
        3600, "Longest time before the first check of a transaction.", unit="s", low=0
    )
    enable_topic_message_type_check: bool = key(True, "A message must have the type of its topic.")

    # receiving
    grpc_client_consumer_min_long_polling_timeout_millis: int = key(
        5_000, "Shortest long poll; a shorter requested time is raised to it.", unit="ms", low=0
    )
    grpc_client_consumer_max_long_polling_timeout_millis: int = key(20_000, "Longest long poll.", unit="ms", low=0)
    min_invisible_time_mills_for_recv: int = key(10_000, "Shortest invisible duration of a receive.", unit="ms", low=0)
    max_invisible_time_mills: int = key(12 * _HOUR_MS, "Longest invisible duration.", unit="ms", low=1)
    default_invisible_time_mills: int = key(
        60_000, "Invisible duration of a receive with auto_renew.", unit="ms", low=1
    )

    # messages received with auto_renew
    enable_proxy_auto_renew: bool = key(
        True,
        "The proxy honors auto_renew; if false, a receive with auto_renew uses its own invisible duration like any"
        " other.",
    )
    invisible_time_millis_when_clear: int = key(
        1_000,
        "Time until messages that a client received with auto_renew become visible again after it has left.",
        unit="ms",
        low=0,
    )
    renew_ahead_time_millis: int = key(
        10_000, "Time before the end of the invisible duration at which it is renewed.", unit="ms", low=0
    )
    renew_max_time_millis: int = key(
        3 * _HOUR_MS,
        "Longest time for which a message is renewed; after it, the group's retry policy applies.",
        unit="ms",
        low=0,
    )
    max_renew_retry_times: int = key(3, "Consecutive failures after which a message is no longer renewed.", low=0)
    renew_schedule_period_millis: int = key(5_000, "Time after which a failed renewal is retried.", unit="ms", low=1)

    # settings sent to clients
    grpc_client_producer_max_attempts: int = key(
        3, "Maximum number of attempts of a producer to send a message.", low=1
    )
    grpc_client_producer_backoff_initial_millis: int = key(
        10, "First delay between a producer's attempts.", unit="ms", low=0
    )
    grpc_client_producer_backoff_max_millis: int = key(
        1_000, "Longest delay between a producer's attempts.", unit="ms", low=0
    )
    grpc_client_producer_backoff_multiplier: int = key(2, "Factor by which a producer's delays grow.", low=1)
    grpc_client_consumer_long_polling_batch_size: int = key(
        32, "Messages that a push consumer requests with one receive.", low=1
    )

    # transactions
    transaction_data_expire_millis: int = key(
        30_000,
        "Time after a half message or a transaction check within which EndTransaction is accepted.",
        unit="ms",
        low=0,
    )
    transaction_data_max_num: int = key(
        15, "Maximum number of half messages and checks of one transaction id that wait for EndTransaction.", low=1
    )

    # requests to clients
    grpc_proxy_relay_request_timeout_in_seconds: int = key(
        5, "Time within which a client must respond to a command on its telemetry stream.", unit="s", low=0
    )

    # threads: a pool is exhausted only if `grpcRequestTimes` occupies its threads, or a broker waits for a slave
    grpc_producer_thread_pool_nums: int = key(4, "Threads of the pool `producer`, which serves producers.", low=1)
    grpc_producer_thread_queue_capacity: int = key(
        10_000, "Maximum number of requests that wait for a thread of the pool `producer`.", low=1
    )
    grpc_consumer_thread_pool_nums: int = key(4, "Threads of the pool `consumer`, which serves consumers.", low=1)
    grpc_consumer_thread_queue_capacity: int = key(
        10_000, "Maximum number of requests that wait for a thread of the pool `consumer`.", low=1
    )
    grpc_route_thread_pool_nums: int = key(
        4, "Threads of the pool `route`, which serves queries for routes and assignments.", low=1
    )
    grpc_route_thread_queue_capacity: int = key(
        10_000, "Maximum number of requests that wait for a thread of the pool `route`.", low=1
    )
    grpc_client_manager_thread_pool_nums: int = key(
        4, "Threads of the pool `clientManager`, which serves heartbeats and client terminations.", low=1
    )
    grpc_client_manager_thread_queue_capacity: int = key(
        10_000, "Maximum number of requests that wait for a thread of the pool `clientManager`.", low=1
    )
    grpc_transaction_thread_pool_nums: int = key(
        4, "Threads of the pool `transaction`, which serves ends of transactions.", low=1
    )
    grpc_transaction_thread_queue_capacity: int = key(
        10_000, "Maximum number of requests that wait for a thread of the pool `transaction`.", low=1
    )

    # transport
    grpc_max_inbound_message_size: int = key(130 * 1024 * 1024, "Largest request.", unit="bytes", low=1)

    # keys that only the emulator has
    grpc_request_times: str = key(
        "",
        "Time in ms for which requests keep the threads of a pool: `producer=600 consumer=50`. The pools are those of"
        " the keys `grpc...ThreadPoolNums`.",
        unit="pool=ms, separated by blanks",
    )
    grpc_request_refusals: str = key(
        "", "Pools that reject all requests: `producer transaction`.", unit="pools, separated by blanks"
    )
    flow_limit_answer_enable: bool = key(
        False,
        "The proxy responds with TOO_MANY_REQUESTS, `flow limit`, to a request that its pool rejects. (Upstream"
        " intends to, but 5.3.3 never responds, so the client waits for its deadline.)",
    )
    grpc_health_enable: bool = key(
        False, "The service grpc.health.v1.Health is registered, which upstream's proxy does not have."
    )
    poll_ends_before_deadline_millis: int = key(
        50,
        "A poll that would last until the client's deadline ends this much earlier; all others last exactly as long"
        " as requested. (Upstream ends every poll 20 to 50 ms early.)",
        unit="ms",
        low=0,
    )
    settings_push_again_millis: str = key(
        "100 1000 5000",
        "Times after the first settings of a telemetry stream at which the proxy repeats its response to them, for"
        " clients that miss the response because they do not listen yet; empty = never, as upstream.",
        unit="ms of the wall clock, separated by blanks",
    )
    pushed_long_polling_timeout_millis: int = key(
        20_000, "Long polling timeout in the settings that the proxy sends to consumers.", unit="ms", low=0
    )
    pushed_consumer_backoff: str = key(
        "",
        "Back-off in the settings that the proxy sends to consumers; empty = that of the consumer's group.",
        unit="delays such as `1s 5s 1m`",
    )
    renew_schedule_enable: bool = key(
        False,
        "Messages received with auto_renew are renewed until they are acknowledged or their client leaves."
        " (Upstream intends to, but 5.3.3 never starts the renewal.)",
    )
    pop_with_notify_threshold: int = key(
        0,
        "A receive that finds no message waits for a notification of the broker, and pops then, if at most this"
        " number of receives are in progress. If there are more, or if its group consumes in order, it waits with a"
        " long poll at the broker. 0 = always with a long poll, as upstream.",
        low=0,
    )
    receive_from_all_brokers: bool = key(
        False,
        "A receive pops from all brokers that have the topic, even if it names one; upstream pops from the broker"
        " that the receive names.",
    )
    end_polls_on_client_termination: bool = key(
        False, "Waiting polls end when their client terminates; upstream lets them run until their timeout."
    )
    end_polls_on_cancel: bool = key(
        False,
        "A cancelled poll receives no messages; upstream lets it receive one, which stays invisible for its"
        " invisible duration.",
    )
