"""Samples of one broker's store, its timer and its revive queues."""

from bisect import bisect_left
from collections.abc import Iterator

from ..cluster.broker import Broker
from ..message.names import revive_topic
from ..message.stored_record import store_timestamp
from ..stats.histogram import SCAN_BOUNDS, Histogram
from .family import Labels, Sample
from .upstream_families import UPSTREAM

DISTANCES_S = (5, 60, 300, 900, 3600, 14_400, 28_800, 86_400)
"""The values of the label `timer_bound_s` (TimerMetrics.timerDist)."""
PUT_OK = "PUT_OK"


def store_samples(broker: Broker, common: Labels, now_ms: int) -> Iterator[Sample]:
    """Yield the samples of a broker's store."""
    labels = {**common, "storage_type": "local", "storage_medium": "disk"}
    log = broker.store.log
    yield Sample(UPSTREAM["rocketmq_storage_size"], labels, log.stored_bytes)
    yield Sample(UPSTREAM["rocketmq_storage_flush_behind_bytes"], labels, broker.store.flush_behind_bytes)
    yield Sample(UPSTREAM["rocketmq_storage_dispatch_behind_bytes"], labels, 0)
    oldest = log.record_at(log.min_offset) if log.max_offset > log.min_offset else None
    if oldest is not None:
        age_ms = now_ms - store_timestamp(oldest)
        yield Sample(UPSTREAM["rocketmq_storage_message_reserve_time"], labels, age_ms)
    yield from _pops(broker, common)
    if broker.config.timer_wheel_enable:
        yield from _timer(broker, labels, now_ms)


def _pops(broker: Broker, common: Labels) -> Iterator[Sample]:
    counters = broker.store.stats.by_name.counters
    yield Sample(UPSTREAM["rocketmq_pop_offset_buffer_size"], common, broker.pop_buffer.waiting_offsets)
    yield Sample(UPSTREAM["rocketmq_pop_checkpoint_buffer_size"], common, len(broker.pop_buffer))
    yield Sample(UPSTREAM["rocketmq_pop_buffer_scan_time_consume"], common, Histogram(SCAN_BOUNDS))
    for (group, topic, kind), number in list(counters.revive_written.items()):
        labels = {**common, "consumer_group": group, "topic": topic, "revive_message_type": kind, "put_status": PUT_OK}
        yield Sample(UPSTREAM["rocketmq_pop_revive_in_message_total"], labels, number)
    for (group, topic, queue_id, kind), number in list(counters.revive_read.items()):
        labels = {**common, "consumer_group": group, "topic": topic, "revive_message_type": kind}
        labels["queue_id"] = str(queue_id)
        yield Sample(UPSTREAM["rocketmq_pop_revive_out_message_total"], labels, number)
    for (group, topic), number in list(counters.revive_retried.items()):
        labels = {**common, "consumer_group": group, "topic": topic, "put_status": PUT_OK}
        yield Sample(UPSTREAM["rocketmq_pop_revive_retry_messages_total"], labels, number)
    stored = broker.topics.table.get(revive_topic(broker.config.broker_cluster_name))
    for queue_id in range(broker.config.revive_queue_num if stored is None else stored.write_queue_nums):
        labels = {**common, "queue_id": str(queue_id)}
        lag, latency_ms = broker.revive.progress(queue_id)
        yield Sample(UPSTREAM["rocketmq_pop_revive_lag"], labels, lag)
        yield Sample(UPSTREAM["rocketmq_pop_revive_latency"], labels, latency_ms)


def _timer(broker: Broker, labels: Labels, now_ms: int) -> Iterator[Sample]:
    timers, counters = broker.timers, broker.store.stats.by_name.counters
    slots = list(timers.slots.items())
    yield Sample(UPSTREAM["rocketmq_timer_enqueue_lag"], labels, timers.held_back)
    yield Sample(UPSTREAM["rocketmq_timer_enqueue_latency"], labels, 0)
    yield Sample(UPSTREAM["rocketmq_timer_dequeue_lag"], labels, sum(len(slot.waiting) for _, slot in slots))
    yield Sample(UPSTREAM["rocketmq_timer_dequeue_latency"], labels, 0)
    for topic, metric in list(timers.metrics.topics.items()):
        yield Sample(UPSTREAM["rocketmq_timing_messages"], {**labels, "topic": topic}, metric.count)
    for topic, number in list(counters.timer_entered.items()):
        yield Sample(UPSTREAM["rocketmq_timer_enqueue_total"], {**labels, "topic": topic}, number)
    for topic, number in list(counters.timer_left.items()):
        yield Sample(UPSTREAM["rocketmq_timer_dequeue_total"], {**labels, "topic": topic}, number)
    for topic, delays in list(counters.delay_seconds.items()):
        yield Sample(UPSTREAM["rocketmq_delay_message_latency"], {**labels, "topic": topic}, delays)
    precision_ms = timers.precision_ms
    begin_ms = now_ms // precision_ms * precision_ms
    within = [0] * (len(DISTANCES_S) + 1)
    ends_ms = [begin_ms + seconds * 1000 - 1 for seconds in DISTANCES_S]
    for slot_ms, slot in slots:
        if slot_ms >= begin_ms:
            within[bisect_left(ends_ms, slot_ms)] += slot.number
    for seconds, number in zip(DISTANCES_S, within, strict=False):
        yield Sample(UPSTREAM["rocketmq_timer_message_snapshot"], {**labels, "timer_bound_s": str(seconds)}, number)
