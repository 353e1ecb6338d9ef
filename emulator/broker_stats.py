"""What a broker counts by topic, by group and in all, for those who watch it.

Counted are messages that were put and given, and those that were sent back. Upstream has counters of queues, latencies,
acknowledgements, check points and connections, and some named COMMERCIAL, which are not here: mqadmin asks for none of
them. Source: BrokerStatsManager (5.3.3).
"""

from collections.abc import Mapping

from .config import BrokerConfig
from .names import LMQ_PREFIX, is_lmq
from .stats_item import StatsItem

Place = tuple[str, str]
"""Topic and group."""


class BrokerStats:
    """Counters of one run of a broker by their names. The cluster's name is the key of those of the whole broker."""

    def __init__(self, config: BrokerConfig, now_ms: int) -> None:
        self._config = config
        self._start_ms = now_ms
        self.put, self.got, self.sent_back = dict[str, StatsItem](), dict[Place, StatsItem](), dict[Place, StatsItem]()
        self.all_put, self.all_got, self.own_put, self.own_got = (StatsItem(now_ms, now_ms) for _ in range(4))
        """Of the whole broker; `own` without messages of system topics."""
        self._whole: Mapping[str, StatsItem] = {
            "BROKER_PUT_NUMS": self.all_put,
            "BROKER_GET_NUMS": self.all_got,
            "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_put,
            "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC": self.own_got,
        }
        self._of_places: Mapping[str, dict[Place, StatsItem]] = {
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
        item = self.got.get((topic, group))
        if item is None:
            item = self.got[topic, group] = StatsItem(self._start_ms, now_ms)
        item.add(messages, size, now_ms)

    def was_sent_back(self, topic: str, group: str, now_ms: int) -> None:
        """A group has sent a message back that came from a topic."""
        item = self.sent_back.get((topic, group))
        if item is None:
            item = self.sent_back[topic, group] = StatsItem(self._start_ms, now_ms)
        item.add(1, 0, now_ms)

    def find(self, name: str | None, key: str | None) -> StatsItem | None:
        """The counter of a name and a key: a topic, `topic@group`, or the cluster."""
        if name is None or key is None:
            return None
        if name in ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"):
            return self.put.get(key)
        if key == self._config.broker_cluster_name and name in self._whole:
            return self._whole[name]
        topic, _, group = key.partition("@")
        return self._of_places.get(name, {}).get((topic, group))

    def put_tps(self, topic: str, now_ms: int) -> float:
        """Messages of a topic in a second of the last minute."""
        item = self.put.get(topic)
        return item.snapshots(now_ms)[0].tps if item is not None else 0.0

    def got_tps(self, topic: str, group: str, now_ms: int) -> float:
        """Messages in a second of the last minute that a group was given of a topic."""
        item = self.got.get((topic, group))
        return item.snapshots(now_ms)[0].tps if item is not None else 0.0

    def forget_topic(self, topic: str) -> None:
        """A topic is deleted."""
        self.put.pop(topic, None)
        for table in (self.got, self.sent_back):
            for place in [place for place in table if place[0] == topic]:
                del table[place]

    def forget_group(self, group: str) -> None:
        """A group is deleted."""
        for table in (self.got, self.sent_back):
            for place in [place for place in table if place[1] == group]:
                del table[place]


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
