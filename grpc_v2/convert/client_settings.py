"""Settings: what a client says of itself, and what it is answered.

The client's own settings are kept as they came, with defaults below them for what a consumer left out; each answer
overlays what the configuration and the group say at that moment. Source: GrpcClientSettingsManager (5.3.3).
"""

from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS
from rocketmq_testkit.emulator.kernel.java_numbers import integer_sum
from rocketmq_testkit.emulator.operations.groups import GroupConfig

from ..config.duration_lists import delays_ms
from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..proto.timestamps import set_duration

DEFAULT_REQUEST_TIMEOUT_MS = 3_000
"""What every SDK uses unless it is told otherwise; for a client that receives before its settings came."""


def with_defaults(settings: pb.Settings, config: ProxyConfig) -> pb.Settings:
    """The settings to keep: for a consumer, defaults for what it did not say."""
    kept = pb.Settings()
    if settings.HasField("subscription"):
        _overlay_group(kept, GroupConfig(""), config)
    kept.MergeFrom(settings)
    return kept


def answered(kept: pb.Settings, group: GroupConfig | None, config: ProxyConfig) -> pb.Settings:
    """The settings that the client is told to live by; `group` is its group as the broker knows it now."""
    merged = pb.Settings()
    merged.CopyFrom(kept)
    if kept.HasField("publishing"):
        _overlay_producer(merged, config)
    elif group is not None:
        _overlay_group(merged, group, config)
    # No collector: an empty metric says so.
    merged.metric.Clear()
    merged.metric.SetInParent()
    return merged


def _overlay_producer(settings: pb.Settings, config: ProxyConfig) -> None:
    settings.publishing.max_body_size = config.max_message_size
    settings.publishing.validate_message_type = config.enable_topic_message_type_check
    policy = settings.backoff_policy
    policy.Clear()
    policy.max_attempts = config.grpc_client_producer_max_attempts
    backoff = policy.exponential_backoff
    set_duration(backoff.initial, config.grpc_client_producer_backoff_initial_millis)
    set_duration(backoff.max, config.grpc_client_producer_backoff_max_millis)
    backoff.multiplier = config.grpc_client_producer_backoff_multiplier


def attempts_of(group: GroupConfig) -> int:
    """How often a message of a group is delivered: once more than it is retried, as a Java int reckons it.

    The largest number of retries makes the smallest number of attempts, with which all messages are dead letters.
    """
    return integer_sum(group.retry_max_times, 1)


def _overlay_group(settings: pb.Settings, group: GroupConfig, config: ProxyConfig) -> None:
    subscription = settings.subscription
    subscription.fifo = group.consume_message_orderly
    subscription.receive_batch_size = config.grpc_client_consumer_long_polling_batch_size
    set_duration(subscription.long_polling_timeout, config.pushed_long_polling_timeout_millis)
    policy = settings.backoff_policy
    policy.Clear()
    policy.max_attempts = attempts_of(group)
    _fill_backoff(policy, group, config)


def _fill_backoff(policy: pb.RetryPolicy, group: GroupConfig, config: ProxyConfig) -> None:
    retry = group.retry_policy
    if not config.pushed_consumer_backoff and retry.kind == "EXPONENTIAL":
        backoff = policy.exponential_backoff
        set_duration(backoff.initial, retry.initial_ms)
        set_duration(backoff.max, retry.max_ms)
        backoff.multiplier = retry.multiplier
        return
    if config.pushed_consumer_backoff:
        delays = delays_ms(config.pushed_consumer_backoff)
    else:
        delays = delays_ms(DELAY_LEVELS) if retry.next_ms is None else retry.next_ms
    policy.customized_backoff.SetInParent()  # an empty list is told as one
    for delay in delays:
        set_duration(policy.customized_backoff.next.add(), delay)
