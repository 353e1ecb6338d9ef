"""Number of popped messages in flight (not acknowledged), by topic, group and queue.

Only a counter, as upstream: each acknowledgement decrements it, repeated ones too, and it never falls below zero.
Source: PopInflightMessageCounter (5.3.3).
"""

from collections.abc import Callable, Iterable

from ..config import BrokerConfig
from ..kernel.scheduler import Scheduler
from ..topic.topic_group_index import NameIndex
from .consumer_order_info import Place


class PopInFlight:
    """In-flight counts of one broker since its start.

    `released` is called with topic, group and queue id when a queue over the threshold falls back to it.
    """

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, released: Callable[[str, str, int], None]) -> None:
        self._config = config
        self._released = released
        self._start_ms = scheduler.now_ms
        self._counts: dict[Place, int] = {}
        self._names: NameIndex[Place] = NameIndex()

    def stops(self, place: Place) -> bool:
        """Return True if too many messages are in flight, so that pops skip the queue."""
        config = self._config
        return (
            config.enable_pop_message_threshold and self._counts.get(place, 0) > config.pop_inflight_message_threshold
        )

    def count(self, place: Place) -> int:
        """Return the number of messages in flight of a topic, group and queue."""
        return self._counts.get(place, 0)

    def popped(self, place: Place, number: int) -> None:
        """Add popped messages to the count."""
        count = self._counts.get(place)
        if count is None:
            self._names.add(place[0], place[1], place)
            count = 0
        self._counts[place] = count + number

    def done(self, place: Place, pop_time: int, number: int = 1) -> None:
        """Subtract acknowledged or revived messages; those popped before the broker started were never counted."""
        count = self._counts.get(place)
        if pop_time < self._start_ms or not count:
            return
        stopped = self.stops(place)
        self._counts[place] = max(count - number, 0)
        if stopped and not self.stops(place):
            self._released(*place)

    def clear(self, place: Place) -> None:
        """Set the count to zero, as an offset reset and an ordered pop do."""
        if place in self._counts:
            self._counts[place] = 0

    def forget_topic(self, topic: str) -> None:
        """Delete the counts of a deleted topic."""
        self._forget(self._names.of_topic(topic))

    def forget_group(self, group: str) -> None:
        """Delete the counts of a deleted group."""
        self._forget(self._names.of_group(group))

    def _forget(self, places: Iterable[Place]) -> None:
        for place in places:
            del self._counts[place]
            self._names.discard(place[0], place[1], place)
