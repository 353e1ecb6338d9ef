"""Configuration keys of the gRPC proxy: the supported keys of upstream's ProxyConfig (5.3.3), and the emulator's own.

A difference from upstream that clients can see, and that users may want to switch, has a key in the last block. Its
default is upstream's behavior. A difference that only repairs a defect has no key; `deviations` lists it.
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.config import AccessConfig, key
from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS

_HOUR_MS = 3_600_000


@dataclass
class ProxyConfig(AccessConfig):
    """The gRPC proxy. Attribute `max_message_size` is the key `maxMessageSize`."""

    # limits of messages
    max_message_size: int = key(4 * 1024 * 1024, "Largest body, as transmitted.", unit="bytes", low=1)
    enable_message_body_empty_check: bool = key(True, "An empty body is refused.")
    max_user_property_size: int = key(16 * 1024, "User properties, tag and keys of a message.", unit="bytes", low=1)
    user_property_max_num: int = key(128, "User properties of a message.", low=0)
    max_message_group_size: int = key(64, "A message group must be shorter than this.", unit="bytes", low=1)
    max_delay_time_mills: int = key(24 * _HOUR_MS, "Furthest delivery timestamp.", unit="ms", low=0)
    use_delay_level: bool = key(
        False, "A delivery timestamp becomes the first delay level that is longer than what is left, or the last level."
    )
    message_delay_level: str = key(DELAY_LEVELS, "Those delay levels, separated by blanks.", unit="s, m, h or d each")
    max_transaction_recovery_second: int = key(3600, "Longest time before the first check.", unit="s", low=0)
    enable_topic_message_type_check: bool = key(True, "A message must be of its topic's type.")

    # receiving
    grpc_client_consumer_min_long_polling_timeout_millis: int = key(
        5_000, "Shortest long poll; a shorter wish is lengthened to it.", unit="ms", low=0
    )
    grpc_client_consumer_max_long_polling_timeout_millis: int = key(20_000, "Longest long poll.", unit="ms", low=0)
    min_invisible_time_mills_for_recv: int = key(10_000, "Shortest invisible duration of a receive.", unit="ms", low=0)
    max_invisible_time_mills: int = key(12 * _HOUR_MS, "Longest invisible duration.", unit="ms", low=1)
    default_invisible_time_mills: int = key(60_000, "Invisible duration of an auto_renew receive.", unit="ms", low=1)

    # messages received with auto_renew
    enable_proxy_auto_renew: bool = key(
        True, "A receive with auto_renew is one; else its own invisible duration counts, as of any other."
    )
    invisible_time_millis_when_clear: int = key(
        1_000, "When messages of a client that left, taken with auto_renew, become visible.", unit="ms", low=0
    )
    renew_ahead_time_millis: int = key(
        10_000, "A renewal comes so long before the invisible time ends.", unit="ms", low=0
    )
    renew_max_time_millis: int = key(
        3 * _HOUR_MS, "A message is renewed for so long; then its group's retry policy counts.", unit="ms", low=0
    )
    max_renew_retry_times: int = key(3, "Failures in a row after which a message is not renewed any more.", low=0)
    renew_schedule_period_millis: int = key(5_000, "A renewal that failed is tried again after this.", unit="ms", low=1)

    # settings sent to clients
    grpc_client_producer_max_attempts: int = key(3, "Attempts of a producer.", low=1)
    grpc_client_producer_backoff_initial_millis: int = key(10, "A producer's first delay.", unit="ms", low=0)
    grpc_client_producer_backoff_max_millis: int = key(1_000, "A producer's longest delay.", unit="ms", low=0)
    grpc_client_producer_backoff_multiplier: int = key(2, "Growth of a producer's delays.", low=1)
    grpc_client_consumer_long_polling_batch_size: int = key(32, "Messages that a push consumer asks for.", low=1)

    # transactions
    transaction_data_expire_millis: int = key(
        30_000, "How long a send or a check can be answered by EndTransaction.", unit="ms", low=0
    )
    transaction_data_max_num: int = key(15, "Answers that one transaction id can hold open.", low=1)

    # requests to clients
    grpc_proxy_relay_request_timeout_in_seconds: int = key(
        5, "How long a client may take to answer a question on its telemetry stream.", unit="s", low=0
    )

    # threads, of which none is ever short unless `grpcRequestTimes` occupies them or a broker waits for a slave
    grpc_producer_thread_pool_nums: int = key(4, "Threads that serve producers.", low=1)
    grpc_producer_thread_queue_capacity: int = key(10_000, "Requests that wait for one of them.", low=1)
    grpc_consumer_thread_pool_nums: int = key(4, "Threads that serve consumers.", low=1)
    grpc_consumer_thread_queue_capacity: int = key(10_000, "Requests that wait for one of them.", low=1)
    grpc_route_thread_pool_nums: int = key(4, "Threads that look for routes and assignments.", low=1)
    grpc_route_thread_queue_capacity: int = key(10_000, "Requests that wait for one of them.", low=1)
    grpc_client_manager_thread_pool_nums: int = key(4, "Threads for heartbeats and terminations.", low=1)
    grpc_client_manager_thread_queue_capacity: int = key(10_000, "Requests that wait for one of them.", low=1)
    grpc_transaction_thread_pool_nums: int = key(4, "Threads that end transactions.", low=1)
    grpc_transaction_thread_queue_capacity: int = key(10_000, "Requests that wait for one of them.", low=1)

    # transport
    grpc_max_inbound_message_size: int = key(130 * 1024 * 1024, "Largest request.", unit="bytes", low=1)

    # keys that only the emulator has
    grpc_request_times: str = key(
        "",
        "How long requests keep their threads, by pools: `producer=600 consumer=50`, in ms.",
        unit="pool=ms, separated by blanks",
    )
    grpc_request_refusals: str = key(
        "", "Pools that have no room for any request: `producer transaction`.", unit="pools, separated by blanks"
    )
    flow_limit_answer_enable: bool = key(
        False,
        "A request for which there is no room is answered TOO_MANY_REQUESTS, `flow limit`. (Upstream means to, but"
        " 5.3.3 gives no answer, so that its client waits for its deadline.)",
    )
    grpc_health_enable: bool = key(
        False, "Probes are answered by the service grpc.health.v1.Health, which upstream's proxy does not have."
    )
    poll_ends_before_deadline_millis: int = key(
        50,
        "A poll that would last until the client's deadline ends this much earlier; all others last exactly as long"
        " as they were asked to. (Upstream ends every poll 20 to 50 ms early.)",
        unit="ms",
        low=0,
    )
    settings_push_again_millis: str = key(
        "100 1000 5000",
        "A new telemetry stream is sent its settings again after these times, for clients that lose an answer which"
        " comes before they listen; empty = never, as upstream.",
        unit="ms of the wall clock, separated by blanks",
    )
    pushed_long_polling_timeout_millis: int = key(
        20_000, "Long poll that the settings tell a consumer to use.", unit="ms", low=0
    )
    pushed_consumer_backoff: str = key(
        "", "Back-off that the settings tell a consumer to use; empty = its group's.", unit="delays such as `1s 5s 1m`"
    )
    renew_schedule_enable: bool = key(
        False,
        "Messages taken with auto_renew are renewed until they are acknowledged or their client leaves. (Upstream means"
        " to, but 5.3.3 never starts it.)",
    )
    pop_with_notify_threshold: int = key(
        0,
        "With at most this many receives under way, one that finds nothing waits for a notification of the broker and"
        " pops when it comes; with more it long-polls the broker, as it always does for a group that consumes in order."
        " 0 = never, as upstream.",
        low=0,
    )
    receive_from_all_brokers: bool = key(
        False,
        "A receive takes and awaits messages of all brokers that have the topic, whichever it names, as one that names"
        " none does; upstream's goes to the one that it names.",
    )
    end_polls_on_client_termination: bool = key(
        False, "A client that terminates has its waiting polls ended; upstream lets them run to their end."
    )
    end_polls_on_cancel: bool = key(
        False,
        "A cancelled poll takes no message any more; upstream lets it take one, which stays hidden for its time.",
    )
