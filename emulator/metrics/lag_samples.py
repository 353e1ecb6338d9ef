"""Samples of the lag of consumer groups, one for each topic that a group subscribes to.

A group without connected consumers has the subscriptions of its pops and pulls of the last ten minutes.

Upstream first wakes a waiting pop of each group, so that it measures after the pop; reading metrics here changes
nothing. Source: ConsumerLagCalculator, ConsumeQueue.estimateMessageCount (5.3.3).
"""

from collections.abc import Iterator
from typing import NamedTuple

from ..cluster.broker import Broker
from ..filter.message_filter import is_tag_type
from ..message.names import is_retry, pop_retry_topic
from ..operations.clients import SubscriptionData
from ..topic.topic_table import PERM_READ, PERM_WRITE
from .family import Labels, Sample
from .node_labels import is_system, is_system_group, text_of
from .upstream_families import UPSTREAM

POP = "CONSUME_POP"
"""The consume type of groups that pop."""
SCAN_MAX, MATCHES_MAX = 20_000, 5_000
"""The most entries of a queue that a filter is tried on, and the most matches, before the count is estimated."""
LAG, LAG_MS = UPSTREAM["rocketmq_consumer_lag_messages"], UPSTREAM["rocketmq_consumer_lag_latency"]
IN_FLIGHT, QUEUEING_MS = UPSTREAM["rocketmq_consumer_inflight_messages"], UPSTREAM["rocketmq_consumer_queueing_latency"]
READY = UPSTREAM["rocketmq_consumer_ready_messages"]


class _Progress(NamedTuple):
    """The progress of a group in one queue.

    `lag_since_ms` and `unread_since_ms`: the store times of the first unfinished and of the first unread message.
    """

    lag: int
    lag_since_ms: int | None
    in_flight: int
    unread_since_ms: int | None
    ready: int


def lag_samples(broker: Broker, common: Labels, now_ms: int) -> Iterator[Sample | None]:
    """Yield the samples of all groups with subscriptions, and None after each queue."""
    for name in dict.fromkeys([*broker.clients.consumers, *broker.clients.compensated_groups()]):
        if name not in broker.groups.table:
            continue
        group = broker.clients.consumers.get(name)
        if group is not None:
            pops, subscriptions = group.consume_type == POP, list(group.subscriptions.values())
        else:
            pops, subscriptions = broker.clients.has_popped_last(name), broker.clients.compensated(name)
        for subscription in subscriptions:
            topic = subscription.topic
            if is_retry(topic) or not _is_permitted(broker, topic):
                continue
            retries = [pop_retry_topic(topic, name, v2=v2) for v2 in _versions(broker)] if pops else []
            retry = next((each for each in retries if _is_permitted(broker, each)), None)
            for stored_topic, of_retry in [(topic, False), *([(retry, True)] if pops else [])]:
                total = _Progress(0, None, 0, None, 0)
                found = None if stored_topic is None else broker.topics.table.get(stored_topic)
                for queue_id in range(0 if found is None else found.write_queue_nums):
                    assert stored_topic is not None
                    own = None if of_retry else subscription
                    total = _joined(total, _progress(broker, name, (stored_topic, queue_id), own, pops=pops))
                    yield None
                labels = {
                    **common,
                    "consumer_group": name,
                    "topic": topic,
                    "is_retry": text_of(of_retry),
                    "is_system": text_of(is_system(broker, topic) or is_system_group(name)),
                }
                yield Sample(LAG, labels, total.lag)
                yield Sample(LAG_MS, labels, _age(total.lag_since_ms, now_ms))
                yield Sample(IN_FLIGHT, labels, total.in_flight)
                yield Sample(QUEUEING_MS, labels, _age(total.unread_since_ms, now_ms))
                yield Sample(READY, labels, total.ready)


def _is_permitted(broker: Broker, topic: str) -> bool:
    """Return True if the topic exists, and the permissions of topic and broker allow to read or to write it."""
    config = broker.topics.table.get(topic)
    return config is not None and bool(config.perm & broker.config.broker_permission & (PERM_READ | PERM_WRITE))


def _versions(broker: Broker) -> list[bool]:
    if not broker.config.enable_retry_topic_v2:
        return [False]
    return [True, False] if broker.config.retrieve_message_from_pop_retry_topic_v1 else [True]


def _age(since_ms: int | None, now_ms: int) -> int:
    return 0 if since_ms is None else now_ms - since_ms


def _joined(one: _Progress, other: _Progress) -> _Progress:
    return _Progress(
        one.lag + other.lag,
        _earlier(one.lag_since_ms, other.lag_since_ms),
        one.in_flight + other.in_flight,
        _earlier(one.unread_since_ms, other.unread_since_ms),
        one.ready + other.ready,
    )


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _progress(
    broker: Broker, group: str, queue: tuple[str, int], subscription: SubscriptionData | None, *, pops: bool
) -> _Progress:
    """Return the progress of a group in a queue (topic, queue id). `pops`: True for a group that pops."""
    topic, queue_id = queue
    end = max(broker.store.max_offset(topic, queue_id), 0)
    committed = broker.offsets.query(group, topic, queue_id)
    if pops and not broker.config.pop_consumer_kv_service_enable:
        group_queue = topic, group, queue_id
        in_flight = broker.pop_in_flight.count(group_queue)
        buffered = broker.pop_buffer.next_read_offset(group_queue, -1)
        read = next((each for each in (buffered, committed) if each >= 0), end)
        ready = _count(broker, queue, range(read, end), subscription)
        return _Progress(
            ready + in_flight,
            _store_time(broker, queue, read - in_flight),
            in_flight,
            _store_time(broker, queue, read),
            ready,
        )
    done = committed if committed >= 0 else end
    pulled = broker.offsets.pull_offset(group, topic, queue_id)
    pulled = pulled if pulled >= 0 else committed
    read = max(pulled, 0)
    return _Progress(
        _count(broker, queue, range(done, end), subscription),
        _store_time(broker, queue, done),
        _count(broker, queue, range(committed if committed >= 0 else read, read), subscription),
        _store_time(broker, queue, read),
        _count(broker, queue, range(pulled if pulled >= 0 else end, end), subscription),
    )


def _store_time(broker: Broker, queue: tuple[str, int], offset: int) -> int | None:
    """Return the store time of the message at an offset (ms since the epoch); None if there is none."""
    found = broker.store.queue(*queue)
    if found is None or not found.min_offset <= offset < found.max_offset:
        return None
    return broker.store.store_timestamp(found, offset)


def _count(broker: Broker, queue: tuple[str, int], offsets: range, subscription: SubscriptionData | None) -> int:
    """Return the number of messages in a range that match, estimated from the first ones if there are many.

    Only tags are tried: an SQL92 expression matches each entry of a queue without calculated bits.
    """
    number = len(offsets)
    found = broker.store.queue(*queue)
    if (
        not number
        or found is None
        or subscription is None
        or subscription.sub_string == "*"
        or not is_tag_type(subscription.expression_type)
    ):
        return number
    first = max(offsets.start, found.min_offset)
    matches = 0
    for tried, offset in enumerate(range(first, min(first + number, found.max_offset)), 1):
        matches += found.unit(offset)[2] in subscription.codes
        if tried >= SCAN_MAX or matches > MATCHES_MAX:
            return matches * number // tried
    return matches
