"""Broker statistics: counters by topic, by group and for the whole broker.

Durations are always 0, because operations take no time in the emulator. Names that begin with COMMERCIAL, and those of
reads from a disk, exist as in upstream but are never counted. Source: BrokerStatsManager (5.3.3).
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ..config import BrokerConfig
from ..kernel.scheduler import Scheduler
from ..message.names import LMQ_PREFIX, SCHEDULE_TOPIC, is_lmq
from .metric_counters import MetricCounters
from .sent_messages import DELAY
from .stats_item import StatsItem, StatsSnapshot
from .tally import Tally

SCHEDULE_GROUP = "SCHEDULE_CONSUMER"
"""The group under which delivered delayed messages are counted, for the queues of their levels."""
CONNECTED, CLOSED = "CONNECT", "CLOSE"
T = TypeVar("T")


class TopicGroupTable(Generic[T]):
    """Items by topic and group. Deleting a topic or a group does not scan the others."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, T]] = {}
        self._topics: dict[str, set[str]] = {}
        """Topics of each group."""

    def find(self, topic: str, group: str) -> T | None:
        """Return the item of a topic and group, or None."""
        items = self._items.get(topic)
        return None if items is None else items.get(group)

    def make(self, topic: str, group: str, item: T) -> T:
        """Add the item of a topic and group."""
        self._items.setdefault(topic, {})[group] = item
        self._topics.setdefault(group, set()).add(topic)
        return item

    def delete_topic(self, topic: str) -> None:
        """Delete the items of a topic."""
        for group in self._items.pop(topic, ()):
            self._topics[group].discard(topic)
            if not self._topics[group]:
                del self._topics[group]

    def delete_group(self, group: str) -> None:
        """Delete the items of a group."""
        for topic in self._topics.pop(group, ()):
            del self._items[topic][group]
            if not self._items[topic]:
                del self._items[topic]


class TopicGroupStats(TopicGroupTable[StatsItem]):
    """Counters by topic and group."""

    def __init__(self, start_ms: int) -> None:
        super().__init__()
        self._start_ms = start_ms

    def add(self, topic: str, group: str, messages: int, size: int, now_ms: int, times: int = 1) -> None:  # noqa: PLR0917 - once per read; keywords would cost time
        """Add messages and bytes of `times` events to the counter of a topic and group."""
        item = self.find(topic, group)
        if item is None:
            item = self.make(topic, group, StatsItem(self._start_ms, now_ms))
        item.add(messages, size, now_ms, times)


class BrokerStats:
    """Counters of one run of a broker, by name. The key of counters of the whole broker is the cluster's name.

    `settle` is called before counters are read, and when a tally is full: it adds the tallies to the counters. Only
    counts of tallies have a time, `now_ms`.
    """

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, settle: Callable[[], None]) -> None:
        self._config = config
        self._scheduler = scheduler
        now_ms = scheduler.now_ms
        self._start_ms = now_ms
        self._put: dict[str, StatsItem] = {}
        """Stored messages by topic."""
        self.acked_tally = Tally[tuple[str, str]](settle)
        """Acknowledgements of single messages since the last sample, by topic and group."""
        self.checked_tally = Tally[tuple[str, str]](settle)
        """Check points since the last sample, by topic and group."""
        self.settle = settle
        self.got, self.sent_back, self.acked, self.checked = (TopicGroupStats(now_ms) for _ in range(4))
        """`checked` counts check points of pops."""
        self.all_put, self.all_got, self.own_put, self.own_got = (StatsItem(now_ms, now_ms) for _ in range(4))
        """Counters of the whole broker; `own` ones exclude messages of system topics."""
        self._others: dict[tuple[str, str], StatsItem] = {}
        """Other counters, by name and key."""
        self.counters = MetricCounters()
        """Counters that only metrics have."""
        self.sent = self.counters.sent
        """Messages that clients sent."""
        self.sent_tally = self.sent.tally
        self._read_queues: TopicGroupTable[set[int]] = TopicGroupTable()
        """By topic and group, the queue ids of requests that returned messages."""
        self._by_queue = config.enable_detail_stat
        self._no_time = StatsItem(now_ms, now_ms)
        self._whole: Mapping[str, StatsItem] = {
            "BROKER_PUT_NUMS": self.all_put,
            "BROKER_GET_NUMS": self.all_got,
            "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_put,
            "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_got,
        }
        self._of_topic_and_group: Mapping[str, TopicGroupStats] = {
            "GROUP_GET_NUMS": self.got,
            "GROUP_GET_SIZE": self.got,
            "SNDBCK_PUT_NUMS": self.sent_back,
            "GROUP_ACK_NUMS": self.acked,
            "GROUP_CK_NUMS": self.checked,
        }

    def count_put(self, topic: str, messages: int, size: int, now_ms: int, times: int) -> None:  # noqa: PLR0917 - once per message; keywords would cost time
        """Count stored messages."""
        item = self._put.get(topic)
        if item is None:
            item = self._put[topic] = StatsItem(self._start_ms, now_ms)
        item.add(messages, size, now_ms, times)

    def count_got(self, topic: str, group: str, messages: int, size: int, now_ms: int, times: int) -> None:  # noqa: PLR0917 - as the other counts
        """Count messages delivered to a group, in `times` reads."""
        self.got.add(topic, group, messages, size, now_ms, times)

    def count_sent_back(self, topic: str, group: str) -> None:
        """Count a message of a topic that a group sent back."""
        self.sent_back.add(topic, group, 1, 0, self._scheduler.now_ms)

    def count_dead_letter(self, topic: str | None, group: str) -> None:
        """Count a sent-back message that went to the dead letter queue; `topic` is the origin topic of the request."""
        key = f"null@{topic}@{group}@SEND_BACK_TO_DLQ"  # upstream formats a missing owner as "null"
        self._count_other("SNDBCK2DLQ_TIMES", key, 1, 0)
        self.counters.dead_letters[group, topic or ""] += 1

    def count_acked(self, topic: str, group: str, messages: int) -> None:
        """Count a group's acknowledgements and changes of the invisible duration, in one request."""
        self._count_acked(topic, group, messages, self._scheduler.now_ms, 1)

    def _count_acked(self, topic: str, group: str, messages: int, now_ms: int, times: int) -> None:  # noqa: PLR0917 - as the other counts
        self._other("BROKER_ACK_NUMS", self._config.broker_cluster_name, now_ms).add(messages, 0, now_ms, times=0)
        self.acked.add(topic, group, messages, 0, now_ms, times)

    def settle_tallies(self, now_ms: int) -> None:
        """Count what is in the tallies of acknowledgements and check points."""
        for (topic, group), times in self.acked_tally.take():
            self._count_acked(topic, group, times, now_ms, times)
        for (topic, group), times in self.checked_tally.take():
            self._other("BROKER_CK_NUMS", self._config.broker_cluster_name, now_ms).add(times, 0, now_ms, times=0)
            self.checked.add(topic, group, times, 0, now_ms, times)

    def note_read_queue(self, topic: str, group: str, queue_id: int) -> None:
        """Record that a request for a queue (-1: any) returned messages."""
        queues = self._read_queues.find(topic, group)
        if queues is None:
            self._read_queues.make(topic, group, {queue_id})
        else:
            queues.add(queue_id)

    def count_delayed(self, level_queue: int, messages: int, size: int) -> None:
        """Count messages sent with a delay level. `level_queue`: the queue id of the level in the schedule topic."""
        if self._by_queue:
            self._count_other("QUEUE_PUT", f"{SCHEDULE_TOPIC}@{level_queue}", messages, size)

    def count_delivered_delay(self, topic: str, level_queue: int, size: int) -> None:
        """Count a delayed message that was delivered to its topic. `level_queue`: as in `count_delayed`."""
        self.got.add(SCHEDULE_TOPIC, SCHEDULE_GROUP, 1, size, self._scheduler.now_ms)
        self.counters.count_out(SCHEDULE_TOPIC, SCHEDULE_GROUP, 1, size)
        self.sent.add(topic, DELAY, 1, size)
        if self._by_queue:
            self._count_other("QUEUE_GET", f"{SCHEDULE_TOPIC}@{level_queue}@{SCHEDULE_GROUP}", 1, size)

    def count_registration(self, *, consumers: bool) -> None:
        """Count a heartbeat that registered consumer groups or producer groups."""
        name = "CONSUMER_REGISTER_TIME" if consumers else "PRODUCER_REGISTER_TIME"
        self._count_other(name, self._config.broker_cluster_name, 0, 0)

    def count_connection(self, event: str) -> None:
        """Count a connection of a remoting client that was opened or closed. `event`: CONNECTED or CLOSED."""
        self._count_other("CHANNEL_ACTIVITY", event, 1, 0)

    def _count_other(self, name: str, key: str, messages: int, size: int) -> None:
        now_ms = self._scheduler.now_ms
        self._other(name, key, now_ms).add(messages, size, now_ms)

    def _other(self, name: str, key: str, now_ms: int) -> StatsItem:
        item = self._others.get((name, key))
        if item is None:
            item = self._others[name, key] = StatsItem(self._start_ms, now_ms)
        return item

    def find(self, name: str | None, key: str | None) -> StatsItem | None:
        """Return the counter with a name and a key (a topic, `topic@group`, the cluster, or a key of another form)."""
        if name is None or key is None:
            return None
        self.settle()
        if name in ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"):
            return self._put.get(key)
        if name in self._whole:
            return self._whole[name] if key == self._config.broker_cluster_name else None
        if name in self._of_topic_and_group:
            topic, _, group = key.partition("@")
            return self._of_topic_and_group[name].find(topic, group)
        if name in ("TOPIC_PUT_LATENCY", "GROUP_GET_LATENCY"):
            return self._no_time if self._took_time(name, key) else None
        if name.startswith("QUEUE_"):
            name = name.removesuffix("_NUMS").removesuffix("_SIZE")
        return self._others.get((name, key))

    def snapshots(self, name: str | None, key: str | None) -> list[StatsSnapshot] | None:
        """Return the counter with a name and a key for the minute, the hour and the day; None if there is none."""
        item = self.find(name, key)
        if item is None:
            return None
        return item.snapshots(self._scheduler.now_ms, size=name is not None and name.endswith("_SIZE"))

    def _took_time(self, name: str, key: str) -> bool:
        """True if upstream would have measured a duration for the key: `queue@topic`, `queue@topic@group`."""
        first, _, rest = key.partition("@")
        if name == "TOPIC_PUT_LATENCY":
            return any(str(queue) == first for queue in self.sent.queues(rest))
        if not self._by_queue:
            return self._read_queues.find(first, rest) is not None
        topic, _, group = rest.partition("@")
        return any(str(queue) == first for queue in self._read_queues.find(topic, group) or ())

    def put_tps(self, topic: str) -> float:
        """Return the rate of messages stored in a topic over the last minute (1/s)."""
        self.settle()
        item = self._put.get(topic)
        return item.snapshots(self._scheduler.now_ms)[0].tps if item is not None else 0.0

    def got_tps(self, topic: str, group: str) -> float:
        """Return the rate of a topic's messages delivered to a group over the last minute (1/s)."""
        self.settle()
        item = self.got.find(topic, group)
        return item.snapshots(self._scheduler.now_ms)[0].tps if item is not None else 0.0

    def delete_topic(self, topic: str) -> None:
        """Delete the counters of a topic."""
        self.settle()
        self._put.pop(topic, None)
        self.sent.forget_queues(topic)
        self._read_queues.delete_topic(topic)
        for table in self._of_topic_and_group.values():
            table.delete_topic(topic)

    def delete_group(self, group: str) -> None:
        """Delete the counters of a group."""
        self.settle()
        self._read_queues.delete_group(group)
        for table in self._of_topic_and_group.values():
            table.delete_group(group)


class LmqBrokerStats(BrokerStats):
    """Counters of a broker with light message queues (LMQ): one for all LMQs, or one each with `enableLmqStats`.

    Source: LmqBrokerStatsManager (5.3.3).
    """

    def count_got(self, topic: str, group: str, messages: int, size: int, now_ms: int, times: int) -> None:  # noqa: PLR0917 - as the other counts
        """Count messages delivered to a group, in `times` reads."""
        super().count_got(self._counted_name(topic), self._counted_name(group), messages, size, now_ms, times)

    def count_sent_back(self, topic: str, group: str) -> None:
        """Count a message of a topic that a group sent back."""
        super().count_sent_back(self._counted_name(topic), self._counted_name(group))

    def got_tps(self, topic: str, group: str) -> float:
        """Return the rate of a topic's messages delivered to a group over the last minute (1/s)."""
        return super().got_tps(self._counted_name(topic), self._counted_name(group))

    def _counted_name(self, name: str) -> str:
        return LMQ_PREFIX if is_lmq(name) and not self._config.enable_lmq_stats else name
