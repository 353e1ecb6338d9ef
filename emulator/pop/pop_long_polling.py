"""Long polling of pops and notifications.

Source: PopLongPollingService (5.3.3). Upstream ends a wait up to 50 ms early. Here it ends exactly at its deadline,
because clients' tests assert that a poll lasts at least as long as requested, unless the defect `polls_end_early` is
on.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

from ..config import BrokerConfig
from ..faults.defects import Defects
from ..filter.message_filter import MessageFilter
from ..gate.call import Call
from ..gate.gate import Gate
from ..kernel.java_numbers import long_sum
from ..kernel.scheduler import Scheduler, Timer
from ..message.names import is_pop_retry_v2, normal_topic_of_v2
from ..operations.consume import Notification, PopMessage

Waiting = TypeVar("Waiting", PopMessage, Notification)
SCAN_PERIOD_MS, EARLY_MS = 20, 50
"""The period of upstream's scans for expired waits, and how long before its deadline a wait is expired (ms)."""


class ParkOutcome(Enum):
    """Outcome of parking a request."""

    WAITING = "waiting"
    FULL = "full"
    TIMED_OUT = "timed out"


@dataclass(slots=True, eq=False)
class PollingRequest(Generic[Waiting]):
    """One waiting request; `order_key` orders all requests by deadline and then by arrival."""

    call: Call
    operation: Waiting
    message_filter: MessageFilter | None
    order_key: tuple[int, int]
    channel_id: str
    resume: Callable[[Call, Waiting], None]
    timer: Timer | None = None


class PopLongPolling(Generic[Waiting]):
    """Waiting requests by topic, then by (group, queue id; -1: any queue), the earliest deadline first.

    A wake-up takes the request with the earliest deadline, with `newest_first` the one with the latest. `kind` is the
    kind of the timers of deadlines (`TimerKind`).
    """

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        gate: Gate,
        kind: str,
        *,
        defects: Defects,
        newest_first: bool = False,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._start_ms = scheduler.now_ms
        self._defects = defects
        self._gate = gate
        self._kind = kind
        self._newest_first = newest_first
        self.by_topic: dict[str, dict[tuple[str, int], list[PollingRequest[Waiting]]]] = {}
        """The waiting requests by topic, then by group and queue. Only this class changes it."""
        self._by_channel: dict[str, dict[PollingRequest[Waiting], tuple[str, tuple[str, int]]]] = {}
        self._parked = 0
        self.total = 0

    def park(
        self,
        call: Call,
        operation: Waiting,
        message_filter: MessageFilter | None,
        born_ms: int,
        *,
        resume: Callable[[Call, Waiting], None],
    ) -> ParkOutcome:
        """Park a request until `born_ms` + its poll time, if there is time left and room; `resume` retries it.

        If that sum overflows a long, the deadline has passed, as upstream.
        """
        if operation.poll_ms <= 0:
            return ParkOutcome.TIMED_OUT
        config = self._config
        if self.total >= config.max_pop_polling_size:  # upstream checks the total before the deadline
            return ParkOutcome.FULL
        deadline = long_sum(born_ms, operation.poll_ms)
        if deadline <= self._scheduler.now_ms:
            return ParkOutcome.TIMED_OUT
        topic, key = operation.topic, (operation.consumer_group, max(operation.queue_id, -1))
        if self.count(topic, *key) > config.pop_polling_size:
            return ParkOutcome.FULL
        waiting = self.by_topic.setdefault(topic, {}).setdefault(key, [])
        self._parked += 1
        polling = PollingRequest(
            call, operation, message_filter, (deadline, self._parked), call.channel.channel_id, resume
        )
        polling.timer = self._scheduler.call_at(
            self._end_ms(deadline),
            lambda: self._on_timeout(topic, key, polling),
            self._kind,
            f"{key[0]}@{topic}@{key[1]}",
        )
        waiting.insert(bisect_left(waiting, polling.order_key, key=_order_key), polling)
        self._by_channel.setdefault(polling.channel_id, {})[polling] = (topic, key)
        self.total += 1
        return ParkOutcome.WAITING

    def _end_ms(self, deadline: int) -> int:
        """Return when a wait ends: at its deadline, or with the defect at the first scan less than 50 ms before it.

        PopLongPollingService scans every 20 ms; PopRequest.isTimeout is true when now > expired - 50.
        """
        if not self._defects.polls_end_early:
            return deadline
        since_start = deadline - EARLY_MS - self._start_ms
        return self._start_ms + (since_start // SCAN_PERIOD_MS + 1) * SCAN_PERIOD_MS

    def waiting(self) -> Iterator[PollingRequest[Waiting]]:
        """Return the waiting requests, in no particular order."""
        return (polling for by_key in self.by_topic.values() for each in by_key.values() for polling in each)

    def arrived(self, topic: str, queue_id: int, offset: int, tags_code: int, properties: Mapping[str, str]) -> None:  # noqa: PLR0917 - signature of an arrival listener
        """Wake requests for a stored message: for each group one that waits for any queue, and one for this queue.

        A message of a v2 pop retry topic counts as a message of the original topic. One of a v1 retry topic wakes no
        request, because none waits under that name. Without longPollingEnable no message wakes a request.
        """
        if not self._config.long_polling_enable:
            return
        if is_pop_retry_v2(topic):
            topic = normal_topic_of_v2(topic)
        by_key = self.by_topic.get(topic)
        if not by_key:
            return
        interval = self._config.pop_long_polling_force_notify_interval
        # Upstream compares the offset after the message.
        forced = interval > 0 and (offset + 1) % interval == 0
        for group, waited_queue in list(by_key):
            if waited_queue in (-1, queue_id):
                self._wake_one(topic, (group, waited_queue), tags_code, properties, forced=forced)

    def wake(
        self, topic: str, group: str, queue_id: int, only: Callable[[Waiting], bool] = lambda _operation: True
    ) -> None:
        """Wake one request of a group for any queue, and one for this queue, regardless of their filters.

        `only` selects the requests that may be woken. The request that causes the wake-up gets its response first,
        even if it was itself just woken.
        """
        for key in dict.fromkeys(((group, -1), (group, max(queue_id, -1)))):
            if key in self.by_topic.get(topic, {}):
                self._gate.run_after_reply(partial(self._wake_any, topic, key, only))

    def _wake_any(self, topic: str, key: tuple[str, int], only: Callable[[Waiting], bool]) -> None:
        waiting = self.by_topic.get(topic, {}).get(key, [])
        for polling in list(reversed(waiting) if self._newest_first else waiting):
            if not polling.call.active:
                self._remove(topic, key, polling)
            elif only(polling.operation):
                self._end(topic, key, polling)
                return

    def _wake_one(
        self, topic: str, key: tuple[str, int], tags_code: int, properties: Mapping[str, str], *, forced: bool
    ) -> None:
        waiting = self.by_topic.get(topic, {}).get(key, [])
        while waiting:
            polling = waiting[-1 if self._newest_first else 0]
            if not polling.call.active:
                self._remove(topic, key, polling)
                continue
            wanted = polling.message_filter
            if forced or wanted is None or (wanted.may_match_tag(tags_code) and wanted.matches_properties(properties)):
                self._end(topic, key, polling)
            return  # upstream tries only one request, and puts it back if its filter does not match

    def _on_timeout(self, topic: str, key: tuple[str, int], polling: PollingRequest[Waiting]) -> None:
        """End a wait; if that is before its deadline, shorten the poll time so that the request does not wait again."""
        waited_ms = self._scheduler.now_ms - (polling.order_key[0] - polling.operation.poll_ms)
        if waited_ms < polling.operation.poll_ms:
            polling.operation = replace(polling.operation, poll_ms=max(waited_ms, 0))
        self._end(topic, key, polling)

    def _end(self, topic: str, key: tuple[str, int], polling: PollingRequest[Waiting]) -> None:
        if self._remove(topic, key, polling) and polling.call.active:
            # The resumed request may find messages and wake others, so it runs after the current one.
            self._gate.run(partial(polling.resume, polling.call, polling.operation))

    def _remove(self, topic: str, key: tuple[str, int], polling: PollingRequest[Waiting]) -> bool:
        by_key = self.by_topic.get(topic)
        waiting = by_key.get(key) if by_key is not None else None
        if by_key is None or waiting is None:
            return False
        index = bisect_left(waiting, polling.order_key, key=_order_key)
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
            del by_key[key]
            if not by_key:
                del self.by_topic[topic]
        return True

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Return the number of requests that wait for a topic, group and queue id."""
        return len(self.by_topic.get(topic, {}).get((group, max(queue_id, -1)), ()))

    def drop_inactive(self, channel_id: str) -> None:
        """Remove the waiting requests of a channel whose client no longer waits for a response."""
        for polling, (topic, key) in list(self._by_channel.get(channel_id, {}).items()):
            if not polling.call.active:
                self._remove(topic, key, polling)


def _order_key(polling: PollingRequest[Any]) -> tuple[int, int]:
    return polling.order_key
