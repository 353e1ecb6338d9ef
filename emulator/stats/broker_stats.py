"""What a broker counts by topic, by group and in all, for those who watch it.

What took upstream some time is counted with none: nothing takes any here. Names that begin with COMMERCIAL, and those
of reads from a disk, are upstream's too, but nothing is ever counted under them. Source: BrokerStatsManager (5.3.3).
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

from ..config import BrokerConfig
from ..message.names import LMQ_PREFIX, SCHEDULE_TOPIC, is_lmq
from .stats_item import StatsItem

SCHEDULE_GROUP = "SCHEDULE_CONSUMER"
"""As which delayed messages are given, of the queues of their levels."""
CONNECTED, CLOSED = "CONNECT", "CLOSE"
T = TypeVar("T")


class Places(Generic[T]):
    """Something of topics and groups. To forget either takes no look at the others."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, T]] = {}
        self._topics: dict[str, set[str]] = {}
        """Topics of each group."""

    def find(self, topic: str, group: str) -> T | None:
        """What there is, if anything."""
        items = self._items.get(topic)
        return None if items is None else items.get(group)

    def make(self, topic: str, group: str, item: T) -> T:
        """Keep something new."""
        self._items.setdefault(topic, {})[group] = item
        self._topics.setdefault(group, set()).add(topic)
        return item

    def forget_topic(self, topic: str) -> None:
        """A topic is deleted."""
        for group in self._items.pop(topic, ()):
            self._topics[group].discard(topic)
            if not self._topics[group]:
                del self._topics[group]

    def forget_group(self, group: str) -> None:
        """A group is deleted."""
        for topic in self._topics.pop(group, ()):
            del self._items[topic][group]
            if not self._items[topic]:
                del self._items[topic]


class PlaceStats(Places[StatsItem]):
    """Counters by topic and group."""

    def __init__(self, start_ms: int) -> None:
        super().__init__()
        self._start_ms = start_ms

    def add(self, topic: str, group: str, messages: int, size: int, now_ms: int) -> None:
        """Count messages."""
        item = self.find(topic, group)
        if item is None:
            item = self.make(topic, group, StatsItem(self._start_ms, now_ms))
        item.add(messages, size, now_ms)


class BrokerStats:
    """Counters of one run of a broker by their names. The cluster's name is the key of those of the whole broker."""

    def __init__(self, config: BrokerConfig, now_ms: int) -> None:
        self._config = config
        self._start_ms = now_ms
        self.put: dict[str, StatsItem] = {}
        self.got, self.sent_back, self.acked, self.checked = (PlaceStats(now_ms) for _ in range(4))
        """`checked`: check points of pops."""
        self.all_put, self.all_got, self.own_put, self.own_got = (StatsItem(now_ms, now_ms) for _ in range(4))
        """Of the whole broker; `own` without messages of system topics."""
        self._others: dict[tuple[str, str], StatsItem] = {}
        """By name and key."""
        self._sent: dict[str, set[int]] = {}
        """Queues of topics that messages were sent to."""
        self._given: Places[set[int]] = Places()
        """Queues that groups have asked for, and were given messages."""
        self._by_queue = config.enable_detail_stat
        self._no_time = StatsItem(now_ms, now_ms)
        self._whole: Mapping[str, StatsItem] = {
            "BROKER_PUT_NUMS": self.all_put,
            "BROKER_GET_NUMS": self.all_got,
            "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_put,
            "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_got,
        }
        self._of_places: Mapping[str, PlaceStats] = {
            "GROUP_GET_NUMS": self.got,
            "GROUP_GET_SIZE": self.got,
            "SNDBCK_PUT_NUMS": self.sent_back,
            "GROUP_ACK_NUMS": self.acked,
            "GROUP_CK_NUMS": self.checked,
        }

    def was_put(self, topic: str, messages: int, size: int, now_ms: int, times: int) -> None:
        """Messages were stored."""
        item = self.put.get(topic)
        if item is None:
            item = self.put[topic] = StatsItem(self._start_ms, now_ms)
        item.add(messages, size, now_ms, times)

    def was_got(self, topic: str, group: str, messages: int, size: int, now_ms: int) -> None:
        """A group was given messages."""
        self.got.add(topic, group, messages, size, now_ms)

    def was_sent_back(self, topic: str, group: str, now_ms: int) -> None:
        """A group has sent a message back that came from a topic."""
        self.sent_back.add(topic, group, 1, 0, now_ms)

    def was_dead(self, topic: str | None, group: str, now_ms: int) -> None:
        """What a group has sent back went to its dead letter queue; `topic` is what the request calls its own."""
        key = f"null@{topic}@{group}@SEND_BACK_TO_DLQ"  # its owner is nobody
        self._other("SNDBCK2DLQ_TIMES", key, now_ms).add(1, 0, now_ms)

    def was_acked(self, topic: str, group: str, messages: int, now_ms: int) -> None:
        """A group has acknowledged messages of pops, or had their time changed."""
        self._other("BROKER_ACK_NUMS", self._config.broker_cluster_name, now_ms).add(messages, 0, now_ms, times=0)
        self.acked.add(topic, group, messages, 0, now_ms)

    def was_checked(self, topic: str, group: str, now_ms: int) -> None:
        """A check point was made for a group."""
        self._other("BROKER_CK_NUMS", self._config.broker_cluster_name, now_ms).add(1, 0, now_ms, times=0)
        self.checked.add(topic, group, 1, 0, now_ms)

    def was_sent(self, topic: str, queue_id: int) -> None:
        """A client has sent to a queue, wherever the message went."""
        queues = self._sent.get(topic)
        if queues is None:
            self._sent[topic] = {queue_id}
        else:
            queues.add(queue_id)

    def was_given(self, topic: str, group: str, queue_id: int) -> None:
        """A request for a queue (-1: any) brought messages."""
        queues = self._given.find(topic, group)
        if queues is None:
            self._given.make(topic, group, {queue_id})
        else:
            queues.add(queue_id)

    def was_delayed(self, level_queue: int, messages: int, size: int, now_ms: int) -> None:
        """A client has sent what waits in the queue of a delay level."""
        if self._by_queue:
            self._other("QUEUE_PUT", f"{SCHEDULE_TOPIC}@{level_queue}", now_ms).add(messages, size, now_ms)

    def was_due(self, level_queue: int, size: int, now_ms: int) -> None:
        """A message that waited there was stored where it belongs."""
        self.got.add(SCHEDULE_TOPIC, SCHEDULE_GROUP, 1, size, now_ms)
        if self._by_queue:
            key = f"{SCHEDULE_TOPIC}@{level_queue}@{SCHEDULE_GROUP}"
            self._other("QUEUE_GET", key, now_ms).add(1, size, now_ms)

    def was_registered(self, *, consumers: bool, now_ms: int) -> None:
        """A heartbeat named groups of consumers or of producers."""
        name = "CONSUMER_REGISTER_TIME" if consumers else "PRODUCER_REGISTER_TIME"
        self._other(name, self._config.broker_cluster_name, now_ms).add(0, 0, now_ms)

    def connection(self, what: str, now_ms: int) -> None:
        """A remoting client has connected, or its connection was closed."""
        self._other("CHANNEL_ACTIVITY", what, now_ms).add(1, 0, now_ms)

    def _other(self, name: str, key: str, now_ms: int) -> StatsItem:
        item = self._others.get((name, key))
        if item is None:
            item = self._others[name, key] = StatsItem(self._start_ms, now_ms)
        return item

    def find(self, name: str | None, key: str | None) -> StatsItem | None:
        """The counter of a name and a key: a topic, `topic@group`, the cluster, or what else the name has for keys."""
        if name is None or key is None:
            return None
        if name in ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"):
            return self.put.get(key)
        if name in self._whole:
            return self._whole[name] if key == self._config.broker_cluster_name else None
        if name in self._of_places:
            topic, _, group = key.partition("@")
            return self._of_places[name].find(topic, group)
        if name in ("TOPIC_PUT_LATENCY", "GROUP_GET_LATENCY"):
            return self._no_time if self._took_time(name, key) else None
        if name.startswith("QUEUE_"):
            name = name.removesuffix("_NUMS").removesuffix("_SIZE")
        return self._others.get((name, key))

    def _took_time(self, name: str, key: str) -> bool:
        """Whether there was anything that takes upstream some time: `queue@topic`, `queue@topic@group`."""
        first, _, rest = key.partition("@")
        if name == "TOPIC_PUT_LATENCY":
            return any(str(queue) == first for queue in self._sent.get(rest, ()))
        if not self._by_queue:
            return self._given.find(first, rest) is not None
        topic, _, group = rest.partition("@")
        return any(str(queue) == first for queue in self._given.find(topic, group) or ())

    def put_tps(self, topic: str, now_ms: int) -> float:
        """Messages of a topic in a second of the last minute."""
        item = self.put.get(topic)
        return item.snapshots(now_ms)[0].tps if item is not None else 0.0

    def got_tps(self, topic: str, group: str, now_ms: int) -> float:
        """Messages in a second of the last minute that a group was given of a topic."""
        item = self.got.find(topic, group)
        return item.snapshots(now_ms)[0].tps if item is not None else 0.0

    def forget_topic(self, topic: str) -> None:
        """A topic is deleted."""
        self.put.pop(topic, None)
        self._sent.pop(topic, None)
        self._given.forget_topic(topic)
        for table in self._of_places.values():
            table.forget_topic(topic)

    def forget_group(self, group: str) -> None:
        """A group is deleted."""
        self._given.forget_group(group)
        for table in self._of_places.values():
            table.forget_group(group)


class LightBrokerStats(BrokerStats):
    """Counters of a broker with light queues: one for all of these, unless `enableLmqStats` wants one each.

    Source: LmqBrokerStatsManager (5.3.3).
    """

    def was_got(self, topic: str, group: str, messages: int, size: int, now_ms: int) -> None:
        """A group was given messages."""
        super().was_got(self._known_as(topic), self._known_as(group), messages, size, now_ms)

    def was_sent_back(self, topic: str, group: str, now_ms: int) -> None:
        """A group has sent a message back that came from a topic."""
        super().was_sent_back(self._known_as(topic), self._known_as(group), now_ms)

    def got_tps(self, topic: str, group: str, now_ms: int) -> float:
        """Messages in a second of the last minute that a group was given of a topic."""
        return super().got_tps(self._known_as(topic), self._known_as(group), now_ms)

    def _known_as(self, name: str) -> str:
        return LMQ_PREFIX if is_lmq(name) and not self._config.enable_lmq_stats else name
