"""What a broker counts by topic, by group and in all, for those who watch it.

Counted are messages that were put and given, and those that were sent back. Upstream has counters of queues, latencies,
acknowledgements, check points and connections, and some named COMMERCIAL, which are not here: mqadmin asks for none of
them. Source: BrokerStatsManager (5.3.3).
"""

from collections.abc import Mapping

from .config import BrokerConfig
from .names import LMQ_PREFIX, is_lmq
from .stats_item import StatsItem


class PlaceStats:
    """Counters by topic and group. To forget either takes no look at the others."""

    def __init__(self, start_ms: int) -> None:
        self._start_ms = start_ms
        self._items: dict[str, dict[str, StatsItem]] = {}
        self._topics: dict[str, set[str]] = {}
        """Topics of each group."""

    def find(self, topic: str, group: str) -> StatsItem | None:
        """What was counted, if anything was."""
        items = self._items.get(topic)
        return None if items is None else items.get(group)

    def add(self, topic: str, group: str, messages: int, size: int, now_ms: int) -> None:
        """Count messages."""
        item = self.find(topic, group)
        if item is None:
            item = self._items.setdefault(topic, {})[group] = StatsItem(self._start_ms, now_ms)
            self._topics.setdefault(group, set()).add(topic)
        item.add(messages, size, now_ms)

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


class BrokerStats:
    """Counters of one run of a broker by their names. The cluster's name is the key of those of the whole broker."""

    def __init__(self, config: BrokerConfig, now_ms: int) -> None:
        self._config = config
        self._start_ms = now_ms
        self.put: dict[str, StatsItem] = {}
        self.got, self.sent_back = PlaceStats(now_ms), PlaceStats(now_ms)
        self.all_put, self.all_got, self.own_put, self.own_got = (StatsItem(now_ms, now_ms) for _ in range(4))
        """Of the whole broker; `own` without messages of system topics."""
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

    def find(self, name: str | None, key: str | None) -> StatsItem | None:
        """The counter of a name and a key: a topic, `topic@group`, or the cluster."""
        if name is None or key is None:
            return None
        if name in ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"):
            return self.put.get(key)
        if key == self._config.broker_cluster_name and name in self._whole:
            return self._whole[name]
        topic, _, group = key.partition("@")
        table = self._of_places.get(name)
        return None if table is None else table.find(topic, group)

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
        for table in self._of_places.values():
            table.forget_topic(topic)

    def forget_group(self, group: str) -> None:
        """A group is deleted."""
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
