"""Long polling of pulls.

Upstream checks waiting pulls every 5 s (every shortPollingTimeMills if long polling is off) and when a message arrives.
A pull therefore ends at the first check after its deadline. A message that its filter rejects makes it end at the next
check. Both times are computed here, so that no timer runs without need.
Source: PullRequestHoldService (5.3.3).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..filter.message_filter import MessageFilter
from ..gate.call import Call
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..operations.consume import PullMessage

Resume = Callable[[Call, PullMessage], None]


@dataclass(slots=True, eq=False)
class HeldPull:
    """One waiting pull."""

    call: Call
    operation: PullMessage
    message_filter: MessageFilter | None
    from_offset: int
    channel_id: str
    since_ms: int
    timer: Timer | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class PullRequestHold:
    """Waiting pulls by (topic, queue id)."""

    def __init__(self, scheduler: Scheduler, check_interval_ms: Callable[[], int], resume: Resume) -> None:
        self._scheduler = scheduler
        self._interval_ms = check_interval_ms
        self._start_ms = scheduler.now_ms
        self._resume = resume
        self.held: dict[tuple[str, int], list[HeldPull]] = {}
        """The waiting pulls by topic and queue. Only this class changes it."""
        self._by_channel: dict[str, dict[HeldPull, tuple[str, int]]] = {}

    def hold(
        self, call: Call, operation: PullMessage, message_filter: MessageFilter | None, offset: int, *, timeout_ms: int
    ) -> None:
        """Park a pull until messages arrive at `offset` or later, or until its timeout."""
        queue = (operation.topic, operation.queue_id)
        held = HeldPull(call, operation, message_filter, offset, call.channel.channel_id, self._scheduler.now_ms)
        due = self._next_check_ms(self._scheduler.now_ms + timeout_ms)
        held.timer = self._end_at(due, queue, held, f"{operation.consumer_group}@{queue[0]}@{queue[1]}")
        self.held.setdefault(queue, []).append(held)
        self._by_channel.setdefault(held.channel_id, {})[held] = queue

    def _end_at(self, due_ms: int, queue: tuple[str, int], held: HeldPull, owner: str) -> Timer:
        return self._scheduler.call_at(due_ms, lambda: self._end(queue, held), TimerKind.PULL, owner)

    def _next_check_ms(self, deadline_ms: int) -> int:
        """Return the time of the first check at or after a deadline."""
        interval_ms = self._interval_ms()
        periods = -(-(deadline_ms - self._start_ms) // interval_ms)
        return self._start_ms + periods * interval_ms

    def waiting(self) -> Iterator[tuple[int, HeldPull]]:
        """Yield (end in ms, waiting pull), in no particular order."""
        for queue in self.held.values():
            for held in queue:
                if held.timer is not None:
                    yield self._scheduler.due_ms(held.timer), held

    def arrived(self, topic: str, queue_id: int, offset: int, tags_code: int, properties: Mapping[str, str]) -> None:  # noqa: PLR0917 - signature of an arrival listener
        """Resume the pulls whose filter matches a stored message; end the others at the next check."""
        waiting = self.held.get((topic, queue_id))
        if not waiting:
            return
        queue = (topic, queue_id)
        for held in list(waiting):
            if offset < held.from_offset:
                continue
            wanted = held.message_filter
            if wanted is None or (wanted.may_match_tag(tags_code) and wanted.matches_properties(properties)):
                self._end(queue, held)
                continue
            next_check_ms = self._next_check_ms(self._scheduler.now_ms + 1)
            if held.timer is not None and next_check_ms < self._scheduler.due_ms(held.timer):
                held.timer.cancel()
                held.timer = self._end_at(next_check_ms, queue, held, held.timer.owner)

    def _end(self, queue: tuple[str, int], held: HeldPull) -> None:
        if self._remove(queue, held) and held.call.active:
            self._resume(held.call, held.operation)

    def _remove(self, queue: tuple[str, int], held: HeldPull) -> bool:
        of_channel = self._by_channel.get(held.channel_id)
        if of_channel is None or of_channel.pop(held, None) is None:
            return False
        if not of_channel:
            del self._by_channel[held.channel_id]
        waiting = self.held[queue]
        waiting.remove(held)
        if not waiting:
            del self.held[queue]
        if held.timer is not None:
            held.timer.cancel()
        return True

    def end_long_poll(self, topic: str, queue_id: int, group: str, channel_id: str) -> None:
        """End a client's waiting pulls of a queue early; they usually return no messages.

        The client then pulls again at once, and that pull carries its consumer offset.
        """
        queue = (topic, queue_id)
        for held in list(self.held.get(queue, ())):
            if held.channel_id == channel_id and held.operation.consumer_group == group:
                self._end(queue, held)

    def drop_inactive(self, channel_id: str) -> None:
        """Remove the waiting pulls of a channel whose client no longer waits for a response."""
        for held, queue in list(self._by_channel.get(channel_id, {}).items()):
            if not held.call.active:
                self._remove(queue, held)

    def __len__(self) -> int:
        return sum(map(len, self.held.values()))
