"""How many popped messages are out and not acknowledged, by topic, group and queue.

A number only: upstream counts acknowledgements as they come, repeated ones too, and none where nothing is out.
Source: PopInflightMessageCounter (5.3.3).
"""

from collections.abc import Callable, Iterable

from ..config import BrokerConfig
from ..kernel.scheduler import Scheduler
from ..topic.topic_group_index import NameIndex
from .consumer_order_info import Place


class PopInFlight:
    """Counts of one broker since its start; `released` is told topic, group and queue when a queue goes on."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, released: Callable[[str, str, int], None]) -> None:
        self._config = config
        self._released = released
        self._start_ms = scheduler.now_ms
        self._counts: dict[Place, int] = {}
        self._names: NameIndex[Place] = NameIndex()

    def stops(self, place: Place) -> bool:
        """Are so many out that the queue hands out nothing?"""
        config = self._config
        return (
            config.enable_pop_message_threshold and self._counts.get(place, 0) > config.pop_inflight_message_threshold
        )

    def count(self, place: Place) -> int:
        """The messages of a place that are in flight."""
        return self._counts.get(place, 0)

    def popped(self, place: Place, number: int) -> None:
        """So many more are out."""
        count = self._counts.get(place)
        if count is None:
            self._names.add(place[0], place[1], place)
            count = 0
        self._counts[place] = count + number

    def done(self, place: Place, pop_time: int, number: int = 1) -> None:
        """So many fewer are out; those popped before the broker started were never counted."""
        count = self._counts.get(place)
        if pop_time < self._start_ms or not count:
            return
        stopped = self.stops(place)
        self._counts[place] = max(count - number, 0)
        if stopped and not self.stops(place):
            self._released(*place)

    def clear(self, place: Place) -> None:
        """Begin anew, as a reset and an ordered pop do."""
        if place in self._counts:
            self._counts[place] = 0

    def forget_topic(self, topic: str) -> None:
        """Forget a deleted topic."""
        self._forget(self._names.of_topic(topic))

    def forget_group(self, group: str) -> None:
        """Forget a deleted group."""
        self._forget(self._names.of_group(group))

    def _forget(self, places: Iterable[Place]) -> None:
        for place in places:
            del self._counts[place]
            self._names.discard(place[0], place[1], place)
