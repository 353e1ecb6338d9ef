"""Suspended pulls of cold data: a pull consumer's request waits 3 to 8 s and is then executed once more.

Source: ColdDataPullRequestHoldService (5.3.3).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..gate.call import Call
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..operations.consume import PullMessage

CAPACITY = 10_000
"""The number of pulls that the broker suspends at a time; it drops further ones without a response."""


@dataclass(slots=True, eq=False)
class SuspendedPull:
    """One suspended pull."""

    call: Call
    operation: PullMessage
    since_ms: int
    until_ms: int
    timer: Timer


class ColdPullHold:
    """The suspended pulls of a broker."""

    def __init__(self, scheduler: Scheduler, resume: Callable[[Call, PullMessage], None]) -> None:
        self._scheduler = scheduler
        self._resume = resume
        self._held: dict[SuspendedPull, None] = {}

    def suspend(self, call: Call, operation: PullMessage, until_ms: int) -> None:
        """Suspend a pull until a time."""
        if len(self._held) >= CAPACITY:
            return
        owner = f"{operation.consumer_group}@{operation.topic}@{operation.queue_id}"
        timer = self._scheduler.call_at(until_ms, lambda: self._end(held), TimerKind.PULL, owner)
        held = SuspendedPull(call, operation, self._scheduler.now_ms, until_ms, timer)
        self._held[held] = None

    def waiting(self) -> Iterator[SuspendedPull]:
        """Yield the suspended pulls, the oldest first."""
        return iter(self._held)

    def drop_inactive(self, channel_id: str) -> None:
        """Remove the suspended pulls of a channel whose client no longer waits for a response."""
        for held in [each for each in self._held if each.call.channel.channel_id == channel_id]:
            if not held.call.active:
                held.timer.cancel()
                del self._held[held]

    def _end(self, held: SuspendedPull) -> None:
        del self._held[held]
        if held.call.active:
            self._resume(held.call, held.operation)
