"""Client settings: the settings that a client sends, and the response to them.

The client's own settings are stored as received, with defaults for fields that a consumer omits. Each response adds the
current values of the configuration and the group. Source: GrpcClientSettingsManager (5.3.3).
"""

from rocketmq_testkit.emulator.config.broker import DELAY_LEVELS
from rocketmq_testkit.emulator.kernel.java_numbers import integer_sum
from rocketmq_testkit.emulator.operations.groups import GroupConfig

from ..config.duration_lists import delays_ms
from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..proto.timestamps import set_duration

DEFAULT_REQUEST_TIMEOUT_MS = 3_000
"""The default of every SDK, in ms. It is used if a client receives messages before it sends its settings."""


def with_defaults(settings: pb.Settings, config: ProxyConfig) -> pb.Settings:
    """Return the settings to store: those of a consumer are completed with defaults."""
    kept = pb.Settings()
    if settings.HasField("subscription"):
        _overlay_group(kept, GroupConfig(""), config)
    kept.MergeFrom(settings)
    return kept


def settings_for_client(kept: pb.Settings, group: GroupConfig | None, config: ProxyConfig) -> pb.Settings:
    """Return the settings to send to the client.

    `group` is the consumer group's current configuration on the broker.
    """
    merged = pb.Settings()
    merged.CopyFrom(kept)
    if kept.HasField("publishing"):
        _overlay_producer(merged, config)
    elif group is not None:
        _overlay_group(merged, group, config)
    # There is no metric collector. An empty metric tells the client so.
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


def max_attempts_of(group: GroupConfig) -> int:
    """Return the maximum number of deliveries of a message: one more than its retries, added as Java ints.

    The largest number of retries overflows to the smallest number of attempts. All messages are then dead letters.
    """
    return integer_sum(group.retry_max_times, 1)


def _overlay_group(settings: pb.Settings, group: GroupConfig, config: ProxyConfig) -> None:
    subscription = settings.subscription
    subscription.fifo = group.consume_message_orderly
    subscription.receive_batch_size = config.grpc_client_consumer_long_polling_batch_size
    set_duration(subscription.long_polling_timeout, config.pushed_long_polling_timeout_millis)
    policy = settings.backoff_policy
    policy.Clear()
    policy.max_attempts = max_attempts_of(group)
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
    policy.customized_backoff.SetInParent()  # send an empty list as an empty list
    for delay in delays:
        set_duration(policy.customized_backoff.next.add(), delay)
