"""The merge buffer of pops: keeps check points in memory for a while, because most are acknowledged soon.

A check point whose messages are all acknowledged within that time is never stored. The group's offset advances over
check points in the order of their pops. An open check point in memory holds the offset back. A crash loses the buffer,
and then the group reads those messages again. A check point leaves the buffer in one of two ways:

    done       all messages are acknowledged                   -> nothing is stored
    flushed    it stayed `popCkStayBufferTime`, or its         -> it is stored, and after it the acknowledgements
               invisible duration ends within                     that the buffer has for it
               `popCkStayBufferTimeOut`

Upstream scans the buffer every 5 ms. Here only a scan that would find something is scheduled. With the buffer off
(upstream's default) each check point is stored at its pop. The offset then advances immediately, up to 5 ms earlier
than upstream. The offset of a deleted topic or group does not advance any more. Source: PopBufferMergeService (5.3.3).

Not emulated: a scan that takes so long that upstream stops buffering.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..config import BrokerConfig
from ..group.offset_table import OffsetTable
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from .check_point import Ack, CheckPoint, MergeKey
from .consumer_order_info import GroupQueue
from .revive_log import ReviveLog

SCAN_MS = 5
ACK_MARGIN_MS = 1500
"""An acknowledgement that arrives this shortly before its check point leaves the buffer is stored instead."""

Exists = Callable[[str, str], bool]


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass(slots=True, eq=False)
class OffsetStep:
    """One pending advance of a group's offset to `next_offset`.

    The offset moves once this step and all steps before it are `done`. `point` is None for a step without a check point
    in the buffer: it only waits for the steps before it.
    """

    next_offset: int
    point: CheckPoint | None = None
    revive_qid: int = 0
    done: bool = False
    timer: Timer | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class PopMergeBuffer:
    """Check points in memory, and the group offsets that wait for them.

    `exists` is called with a topic and a group and returns True if both exist.
    """

    def __init__(
        self, *, config: BrokerConfig, scheduler: Scheduler, offsets: OffsetTable, log: ReviveLog, exists: Exists
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._offsets = offsets
        self._log = log
        self._exists = exists
        self._start_ms = scheduler.now_ms
        self._buffered: dict[MergeKey, OffsetStep] = {}
        self._steps: dict[GroupQueue, deque[OffsetStep]] = {}
        self._finished: list[OffsetStep] = []

    def __len__(self) -> int:
        """Return the number of check points in memory."""
        return len(self._buffered)

    @property
    def waiting_offsets(self) -> int:
        """The number of pending advances of offsets."""
        return sum(map(len, self._steps.values()))

    def points(self) -> Iterator[CheckPoint]:
        """Yield the check points in memory, in the order of their pops."""
        return (step.point for step in self._buffered.values() if step.point is not None)

    # pops

    def add(self, point: CheckPoint, revive_qid: int, next_offset: int) -> bool:
        """Add a check point, in memory or stored, and advance the offset to `next_offset` when all before it are done.

        Returns False if there is a check point with the same key; then its messages must not be delivered.
        """
        key = point.merge_key()
        if key in self._buffered:
            return False
        group_queue = (point.topic, point.group, point.queue_id)
        if not self._may_buffer(point, group_queue):
            if self._log.write_check_point(point, revive_qid):
                self.advance_offset(group_queue, next_offset)
                return True
            # The timer rejects an invisible duration this long. The check point is stored once the timer accepts it;
            # until then the offset waits.
            step = self._buffered[key] = OffsetStep(next_offset, point, revive_qid)
            self._steps.setdefault(group_queue, deque()).append(step)
            self._flush_at(step, self._stored_later(point))
            return True
        step = self._buffered[key] = OffsetStep(next_offset, point, revive_qid)
        self._steps.setdefault(group_queue, deque()).append(step)
        config = self._config
        flush_ms = min(
            point.revive_ms - config.pop_ck_stay_buffer_time_out, point.pop_time + config.pop_ck_stay_buffer_time
        )
        self._flush_at(step, flush_ms + 1)
        return True

    def _may_buffer(self, point: CheckPoint, group_queue: GroupQueue) -> bool:
        config = self._config
        return (
            config.enable_pop_buffer_merge
            and point.revive_ms - self._scheduler.now_ms >= config.pop_ck_stay_buffer_time_out + ACK_MARGIN_MS
            and len(self._buffered) <= config.pop_ck_max_buffer_size
            and len(self._steps.get(group_queue, ())) < config.pop_ck_offset_max_queue_size
        )

    def advance_offset(self, group_queue: GroupQueue, next_offset: int) -> None:
        """Advance the offset, after the steps that are pending."""
        steps = self._steps.get(group_queue)
        if steps:
            steps.append(OffsetStep(next_offset, done=True))
        else:
            topic, group, queue_id = group_queue
            self._offsets.commit(group, topic, queue_id, next_offset)

    def next_read_offset(self, group_queue: GroupQueue, offset: int) -> int:
        """Return the offset at which the next pop reads: after the buffered check points, or the committed `offset`."""
        steps = self._steps.get(group_queue) if self._steps else None
        return max(steps[-1].next_offset, offset) if steps else offset

    def clear(self, group_queue: GroupQueue) -> None:
        """Delete the pending steps of a queue, as an offset reset does; check points in memory leave as usual."""
        self._steps.pop(group_queue, None)

    # acknowledgements

    def acknowledge(self, ack: Ack) -> bool:
        """Apply an acknowledgement. Returns False if there is no open check point for it, so that it must be stored.

        An offset that does not belong to the check point is ignored.
        """
        if not self._buffered or not self._config.enable_pop_buffer_merge:
            return False
        step = self._buffered.get(ack.merge_key())
        if step is None or step.point is None:
            return False
        config, point, now = self._config, step.point, self._scheduler.now_ms
        if (
            point.revive_ms - now < config.pop_ck_stay_buffer_time_out + ACK_MARGIN_MS
            or now - point.pop_time > config.pop_ck_stay_buffer_time - ACK_MARGIN_MS
        ):
            return False
        for offset in ack.offsets:
            point.acknowledge(offset)
        if not point.unacknowledged():
            if not self._finished:
                self._scheduler.call_at(self._scan_at(now + 1), self._remove_finished, TimerKind.POP_BUFFER, "done")
            self._finished.append(step)
        return True

    # scans

    def _scan_at(self, instant_ms: int) -> int:
        """Return the time of the first scan at or after a time (ms since the epoch)."""
        return instant_ms + (self._start_ms - instant_ms) % SCAN_MS

    def _remove_finished(self) -> None:
        finished, self._finished = self._finished, []
        for step in finished:
            self._remove(step)

    def _flush_at(self, step: OffsetStep, due_ms: int) -> None:
        assert step.point is not None
        if step.timer is not None:
            step.timer.cancel()
        owner = f"{step.point.group}@{step.point.topic}@{step.point.queue_id}"
        step.timer = self._scheduler.call_at(
            self._scan_at(due_ms), lambda: self._flush(step), TimerKind.POP_BUFFER, owner
        )

    def _flush(self, step: OffsetStep) -> None:
        """Store a check point and the acknowledgements that the buffer has for it."""
        point = step.point
        assert point is not None
        if point.unacknowledged() and not self._store(point, step.revive_qid):
            self._flush_at(step, self._stored_later(point))
            return
        self._remove(step)

    def _stored_later(self, point: CheckPoint) -> int:
        """Return when to store a rejected check point again: once the timer accepts its delay, or at the next scan."""
        takes_ms = point.revive_ms - self._config.timer_max_delay_sec * 1000
        return max(takes_ms, self._scheduler.now_ms + SCAN_MS)

    def _store(self, point: CheckPoint, revive_qid: int) -> bool:
        if not self._log.write_check_point(replace(point, bits=0), revive_qid):
            return False
        offsets = point.acknowledged()
        if not offsets:
            return True
        batch = self._config.enable_pop_batch_ack
        for some in [offsets] if batch else [[offset] for offset in offsets]:
            ack = Ack(
                point.topic,
                point.group,
                point.queue_id,
                point.start_offset,
                point.pop_time,
                None if batch else point.broker_name,
                some,
            )
            self._log.write_ack(ack, revive_qid, point.revive_ms, self._scheduler.now_ms, batch=batch)
        return True

    def drain(self) -> None:
        """Store all check points, as a graceful shutdown does."""
        for step in list(self._buffered.values()):
            self._flush(step)

    def _remove(self, step: OffsetStep) -> None:
        """Remove a done or stored check point; advance the offset over it and the finished steps after it."""
        point = step.point
        if step.done or point is None:
            return
        step.done = True
        if step.timer is not None:
            step.timer.cancel()
        del self._buffered[point.merge_key()]
        group_queue = (point.topic, point.group, point.queue_id)
        steps = self._steps.get(group_queue)
        if steps is None:
            return
        while steps and steps[0].done:
            next_offset = steps.popleft().next_offset
            if self._exists(point.topic, point.group):
                self._offsets.commit(point.group, point.topic, point.queue_id, next_offset)
        if not steps:
            del self._steps[group_queue]
