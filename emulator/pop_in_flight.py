"""How many popped messages are out and not acknowledged, by topic, group and queue.

A number only: upstream counts acknowledgements as they come, repeated ones too, and forgets a queue that is at 0.
Source: PopInflightMessageCounter (5.3.3).
"""

from collections.abc import Callable

from .config import BrokerConfig
from .ordered import Place
from .scheduler import Scheduler


class PopInFlight:
    """Counts of one broker since its start; `released` is told topic, group and queue when a queue goes on."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, released: Callable[[str, str, int], None]) -> None:
        self._config = config
        self._released = released
        self._start_ms = scheduler.now_ms
        self._counts: dict[Place, int] = {}

    def stops(self, place: Place) -> bool:
        """Are so many out that the queue hands out nothing?"""
        config = self._config
        return (
            config.enable_pop_message_threshold and self._counts.get(place, 0) > config.pop_inflight_message_threshold
        )

    def popped(self, place: Place, number: int) -> None:
        """So many more are out."""
        self._counts[place] = self._counts.get(place, 0) + number

    def done(self, place: Place, pop_time: int, number: int = 1) -> None:
        """So many fewer are out; those popped before the broker started were never counted."""
        if pop_time < self._start_ms or place not in self._counts:
            return
        stopped = self.stops(place)
        self._counts[place] -= number
        if self._counts[place] <= 0:
            del self._counts[place]
        if stopped and not self.stops(place):
            self._released(*place)

    def clear(self, place: Place) -> None:
        """Begin anew, as a reset and an ordered pop do."""
        self._counts.pop(place, None)

    def forget(self, matches: Callable[[Place], bool]) -> None:
        """Forget a deleted topic or group."""
        for place in [place for place in self._counts if matches(place)]:
            del self._counts[place]
