"""The families of upstream's broker and proxy, by name.

Source: BrokerMetricsManager, PopMetricsManager, RemotingMetricsManager, DefaultStoreMetricsManager, ProxyMetricsManager
(5.3.3). Upstream's name server exports no metrics.
"""

from collections.abc import Mapping, Sequence

from ..stats.histogram import (
    CREATION_BOUNDS,
    DELAY_BOUNDS,
    FINISH_BOUNDS,
    REQUEST_BOUNDS,
    SCAN_BOUNDS,
    SIZE_BOUNDS,
)
from .family import Family, MetricKind

COUNTER, GAUGE, HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
MILLISECONDS = "milliseconds"
IN = ("topic", "message_type", "is_system")
OUT = ("topic", "consumer_group", "is_system", "is_retry")
LAG = ("consumer_group", "topic", "is_retry", "is_system")
STORE = ("storage_type", "storage_medium")
_DECLARED: Sequence[Family] = (
    Family("rocketmq_processor_watermark", GAUGE, "Requests that wait for a thread.", labels=("processor",)),
    Family("rocketmq_broker_permission", GAUGE, "The key brokerPermission: 2 write, 4 read, 6 both."),
    Family("rocketmq_topic_number", GAUGE, "Topics, including those of the system."),
    Family("rocketmq_consumer_group_number", GAUGE, "Subscription groups, including those of the system."),
    Family("rocketmq_messages_in_total", COUNTER, "Messages received from producers.", labels=IN),
    Family("rocketmq_messages_out_total", COUNTER, "Messages sent to consumers.", labels=OUT),
    Family("rocketmq_throughput_in_total", COUNTER, "Bytes of messages received from producers.", labels=IN),
    Family("rocketmq_throughput_out_total", COUNTER, "Bytes of messages sent to consumers.", labels=OUT),
    Family("rocketmq_message_size", HISTOGRAM, "Bytes of a message received.", labels=IN, bounds=SIZE_BOUNDS),
    Family(
        "rocketmq_topic_create_execution_time",
        HISTOGRAM,
        "Duration of requests that create or change topics.",
        MILLISECONDS,
        labels=("invocation_status", "is_system"),
        bounds=CREATION_BOUNDS,
    ),
    Family(
        "rocketmq_consumer_group_create_execution_time",
        HISTOGRAM,
        "Duration of requests that create or change groups.",
        MILLISECONDS,
        labels=("invocation_status",),
        bounds=CREATION_BOUNDS,
    ),
    Family(
        "rocketmq_producer_connections",
        GAUGE,
        "Connections of producers.",
        labels=("language", "version", "protocol_type"),
    ),
    Family(
        "rocketmq_consumer_connections",
        GAUGE,
        "Connections of consumers.",
        labels=("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
    ),
    Family("rocketmq_consumer_lag_messages", GAUGE, "Messages that a group has not acknowledged.", labels=LAG),
    Family(
        "rocketmq_consumer_lag_latency", GAUGE, "Age of the first message not acknowledged.", MILLISECONDS, labels=LAG
    ),
    Family("rocketmq_consumer_inflight_messages", GAUGE, "Messages delivered, but not acknowledged.", labels=LAG),
    Family(
        "rocketmq_consumer_queueing_latency", GAUGE, "Age of the first message not delivered.", MILLISECONDS, labels=LAG
    ),
    Family("rocketmq_consumer_ready_messages", GAUGE, "Messages not delivered to a group yet.", labels=LAG),
    Family(
        "rocketmq_send_to_dlq_messages_total",
        COUNTER,
        "Messages that went to a dead letter queue.",
        labels=("consumer_group", "topic", "is_system"),
    ),
    Family("rocketmq_commit_messages_total", COUNTER, "Committed half messages.", labels=("topic",)),
    Family("rocketmq_rollback_messages_total", COUNTER, "Rolled back half messages.", labels=("topic",)),
    Family(
        "rocketmq_finish_message_latency",
        HISTOGRAM,
        "Age in seconds (not milliseconds) of a half message when it is committed.",
        MILLISECONDS,
        labels=("topic",),
        bounds=FINISH_BOUNDS,
    ),
    Family("rocketmq_half_messages", GAUGE, "Half messages of open transactions.", labels=("topic",)),
    Family(
        "rocketmq_rpc_latency",
        HISTOGRAM,
        "Time from a request of a remoting client to its response.",
        MILLISECONDS,
        labels=("protocol_type", "request_code", "response_code", "is_long_polling", "result"),
        bounds=REQUEST_BOUNDS,
    ),
    Family(
        "rocketmq_pop_buffer_scan_time_consume",
        HISTOGRAM,
        "Duration of a scan of the merge buffer.",
        MILLISECONDS,
        bounds=SCAN_BOUNDS,
    ),
    Family("rocketmq_pop_offset_buffer_size", GAUGE, "Offsets that wait in the merge buffer."),
    Family("rocketmq_pop_checkpoint_buffer_size", GAUGE, "Check points in the merge buffer."),
    Family(
        "rocketmq_pop_revive_in_message_total",
        COUNTER,
        "Check points and acknowledgements written to the revive topic.",
        labels=("topic", "consumer_group", "revive_message_type", "put_status"),
    ),
    Family(
        "rocketmq_pop_revive_out_message_total",
        COUNTER,
        "Check points and acknowledgements read from the revive topic.",
        labels=("topic", "consumer_group", "queue_id", "revive_message_type"),
    ),
    Family(
        "rocketmq_pop_revive_retry_messages_total",
        COUNTER,
        "Messages that revive has copied to a pop retry topic.",
        labels=("topic", "consumer_group", "put_status"),
    ),
    Family(
        "rocketmq_pop_revive_lag",
        GAUGE,
        "Number (not milliseconds) of records of a revive queue that revive has not passed yet.",
        MILLISECONDS,
        labels=("queue_id",),
    ),
    Family(
        "rocketmq_pop_revive_latency",
        GAUGE,
        "Time since the end of the invisible duration of the first check point that revive has not passed yet.",
        MILLISECONDS,
        labels=("queue_id",),
    ),
    Family("rocketmq_storage_size", GAUGE, "Bytes of the commit log.", "bytes", labels=STORE),
    Family("rocketmq_storage_flush_behind_bytes", GAUGE, "Bytes that are not flushed.", "bytes", labels=STORE),
    Family(
        "rocketmq_storage_dispatch_behind_bytes",
        GAUGE,
        "Bytes that are in no consume queue yet.",
        "bytes",
        labels=STORE,
    ),
    Family("rocketmq_storage_message_reserve_time", GAUGE, "Age of the oldest message.", MILLISECONDS, labels=STORE),
    Family("rocketmq_timer_enqueue_lag", GAUGE, "Timed messages that are not in the wheel yet.", labels=STORE),
    Family(
        "rocketmq_timer_enqueue_latency",
        GAUGE,
        "Time from the storage of a timed message to its entry into the wheel.",
        MILLISECONDS,
        labels=STORE,
    ),
    Family("rocketmq_timer_dequeue_lag", GAUGE, "Timed messages in the wheel, not only due ones.", labels=STORE),
    Family(
        "rocketmq_timer_dequeue_latency",
        GAUGE,
        "Lateness of the delivery of timed messages.",
        MILLISECONDS,
        labels=STORE,
    ),
    Family("rocketmq_timing_messages", GAUGE, "Timed messages by their topic.", labels=("topic", *STORE)),
    Family("rocketmq_timer_enqueue_total", COUNTER, "Messages that entered the wheel.", labels=("topic", *STORE)),
    Family("rocketmq_timer_dequeue_total", COUNTER, "Messages that left the wheel.", labels=("topic", *STORE)),
    Family(
        "rocketmq_timer_message_snapshot",
        GAUGE,
        "Messages in the wheel that are due within timer_bound_s seconds, and not within the next lower bound.",
        labels=("timer_bound_s", *STORE),
    ),
    Family(
        "rocketmq_delay_message_latency",
        HISTOGRAM,
        "Time from the send of a timed message until it is due.",
        "seconds",
        labels=("topic", *STORE),
        bounds=DELAY_BOUNDS,
    ),
    Family("rocketmq_proxy_up", GAUGE, "1 while the proxy serves.", labels=("proxy_mode",)),
)
UPSTREAM: Mapping[str, Family] = {each.name: each for each in _DECLARED}
"""All families by name, in the order of docs/metrics.md."""
