"""Pops (and notifications) that wait for messages.

Source: PopLongPollingService (5.3.3). Upstream ends a wait up to 50 ms early; here it ends exactly at its deadline,
because clients' tests assert that a poll lasts at least as long as they asked for.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

from ..config import BrokerConfig
from ..filter.message_filter import MessageFilter
from ..gate.gate import Call, Gate
from ..kernel.java_numbers import long_sum
from ..kernel.scheduler import Scheduler, Timer
from ..message.names import is_pop_retry_v2, normal_topic_of_v2
from ..operations import Notification, PopMessage

Waiting = TypeVar("Waiting", PopMessage, Notification)


class Park(Enum):
    """What became of a request that wanted to wait."""

    WAITING = "waiting"
    FULL = "full"
    TIMED_OUT = "timed out"


@dataclass(slots=True, eq=False)
class Polling(Generic[Waiting]):
    """One waiting request. `turn` is its place among all requests, by deadline and then as they came."""

    call: Call
    operation: Waiting
    message_filter: MessageFilter | None
    turn: tuple[int, int]
    channel_id: str
    timer: Timer | None = None


class PopPolling(Generic[Waiting]):
    """Waiting requests by topic, and there by (group, queue id), the earliest deadline first."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        resume: Callable[[Call, Waiting], None],
        gate: Gate,
        kind: str,
        *,
        newest_first: bool = False,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._resume: Callable[[Call, Waiting], None] = resume
        self._gate = gate
        self._kind = kind
        self._newest_first = newest_first
        self._waiting: dict[str, dict[tuple[str, int], list[Polling[Waiting]]]] = {}
        self._by_channel: dict[str, dict[Polling[Waiting], tuple[str, tuple[str, int]]]] = {}
        self._parked = 0
        self.total = 0

    def park(self, call: Call, operation: Waiting, message_filter: MessageFilter | None, born_ms: int) -> Park:
        """Let a request wait until `born_ms` + its poll time, if there is time left and room.

        A sum beyond the range of a long is long over, as it is upstream.
        """
        deadline = long_sum(born_ms, operation.poll_ms)
        if operation.poll_ms <= 0 or deadline <= self._scheduler.now_ms:
            return Park.TIMED_OUT
        config = self._config
        topic, place = operation.topic, (operation.consumer_group, max(operation.queue_id, -1))
        waiting = self._waiting.setdefault(topic, {}).setdefault(place, [])
        if self.total >= config.max_pop_polling_size or len(waiting) > config.pop_polling_size:
            return Park.FULL
        self._parked += 1
        polling = Polling(call, operation, message_filter, (deadline, self._parked), call.channel.channel_id)
        polling.timer = self._scheduler.call_at(
            deadline, lambda: self._time_over(topic, place, polling), self._kind, f"{place[0]}@{topic}@{place[1]}"
        )
        waiting.insert(bisect_left(waiting, polling.turn, key=_turn), polling)
        self._by_channel.setdefault(polling.channel_id, {})[polling] = (topic, place)
        self.total += 1
        return Park.WAITING

    def waiting(self) -> Iterator[Polling[Waiting]]:
        """The waiting requests, in no order."""
        return (polling for places in self._waiting.values() for each in places.values() for polling in each)

    def is_awaited(self) -> bool:
        """Whether any request waits for messages."""
        return bool(self._waiting)

    def arrived(self, topic: str, queue_id: int, offset: int, tags_code: int, properties: Mapping[str, str]) -> None:
        """A message was stored: wake one request of each group for any queue, and one for this queue.

        A message of a v2 pop retry topic counts as one of the original topic; one of a v1 retry topic wakes nobody,
        because nobody waits under that name. Without longPollingEnable nothing does.
        """
        if not self._waiting or not self._config.long_polling_enable:
            return
        if is_pop_retry_v2(topic):
            topic = normal_topic_of_v2(topic)
        places = self._waiting.get(topic)
        if not places:
            return
        interval = self._config.pop_long_polling_force_notify_interval
        # Upstream counts by the offset behind the message.
        forced = interval > 0 and (offset + 1) % interval == 0
        for group, waited_queue in list(places):
            if waited_queue in (-1, queue_id):
                self._wake_one(topic, (group, waited_queue), tags_code, properties, forced=forced)

    def wake(
        self, topic: str, group: str, queue_id: int, only: Callable[[Waiting], bool] = lambda _operation: True
    ) -> None:
        """Wake one request of a group for any queue, and one for this queue, whatever their filters say; `only` such.

        Whoever asks for it is answered first, which may be a request that was woken itself.
        """
        for place in dict.fromkeys(((group, -1), (group, max(queue_id, -1)))):
            if place in self._waiting.get(topic, {}):
                self._gate.afterwards(partial(self._wake_any, topic, place, only))

    def _wake_any(self, topic: str, place: tuple[str, int], only: Callable[[Waiting], bool]) -> None:
        waiting = self._waiting.get(topic, {}).get(place, [])
        for polling in list(reversed(waiting) if self._newest_first else waiting):
            if not polling.call.active:
                self._remove(topic, place, polling)
            elif only(polling.operation):
                self._end(topic, place, polling)
                return

    def _wake_one(
        self, topic: str, place: tuple[str, int], tags_code: int, properties: Mapping[str, str], *, forced: bool
    ) -> None:
        waiting = self._waiting.get(topic, {}).get(place, [])
        while waiting:
            polling = waiting[-1 if self._newest_first else 0]
            if not polling.call.active:
                self._remove(topic, place, polling)
                continue
            wanted = polling.message_filter
            if forced or wanted is None or (wanted.matches_code(tags_code) and wanted.matches_properties(properties)):
                self._end(topic, place, polling)
            return  # upstream tries one request only and puts it back when its filter does not match

    def _time_over(self, topic: str, place: tuple[str, int], polling: Polling[Waiting]) -> None:
        """The wait is over, perhaps before its deadline: then it is not to begin again."""
        waited_ms = self._scheduler.now_ms - (polling.turn[0] - polling.operation.poll_ms)
        if waited_ms < polling.operation.poll_ms:
            polling.operation = replace(polling.operation, poll_ms=max(waited_ms, 0))
        self._end(topic, place, polling)

    def _end(self, topic: str, place: tuple[str, int], polling: Polling[Waiting]) -> None:
        if self._remove(topic, place, polling) and polling.call.active:
            # It may find something, and wake others, whoever has woken it.
            self._gate.carry_on(partial(self._resume, polling.call, polling.operation))

    def _remove(self, topic: str, place: tuple[str, int], polling: Polling[Waiting]) -> bool:
        places = self._waiting.get(topic)
        waiting = places.get(place) if places is not None else None
        if places is None or waiting is None:
            return False
        index = bisect_left(waiting, polling.turn, key=_turn)
        if index == len(waiting) or waiting[index] is not polling:
            return False
        del waiting[index]
        self.total -= 1
        of_channel = self._by_channel[polling.channel_id]
        del of_channel[polling]
        if not of_channel:
            del self._by_channel[polling.channel_id]
        if polling.timer is not None:
            polling.timer.cancel()
        if not waiting:
            del places[place]
            if not places:
                del self._waiting[topic]
        return True

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """How many requests wait for a topic, group and queue id."""
        return len(self._waiting.get(topic, {}).get((group, max(queue_id, -1)), ()))

    def end_inactive(self, channel_id: str) -> None:
        """Forget the requests of a channel that nobody waits for any more."""
        for polling, (topic, place) in list(self._by_channel.get(channel_id, {}).items()):
            if not polling.call.active:
                self._remove(topic, place, polling)


def _turn(polling: Polling[Any]) -> tuple[int, int]:
    return polling.turn
