"""The merge buffer of pops: check points that stay in memory for a while, because most are acknowledged at once.

What is acknowledged in full within that time is never stored. The group's position moves over check points in the
order of their pops: one that is still in memory and open holds it back, so that a crash, which loses the buffer, lets
their messages be read again. A check point leaves the buffer

    done       all messages acknowledged                       -> nothing is stored
    flushed    it stayed `popCkStayBufferTime`, or its         -> stored, and after it the acknowledgements that the
               invisible time ends in `popCkStayBufferTimeOut`    buffer has of it

Upstream scans the buffer every 5 ms; here the scan that would find something is scheduled. With the buffer off
(upstream's default) each check point is stored at its pop and the position moves at once, up to 5 ms earlier than
upstream. Source: PopBufferMergeService (5.3.3).

Not emulated: a scan that takes so long that upstream stops buffering. The position of a topic or group that is gone
is not stored again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..config import BrokerConfig
from ..group.offset_table import Offsets
from ..kernel.scheduler import Scheduler, Timer
from .check_point import Ack, CheckPoint, MergeKey, ReviveLog
from .consumer_order_info import Place

SCAN_MS = 5
ACK_MARGIN_MS = 1500
"""What arrives this shortly before its check point leaves the buffer is not taken into it any more."""

Exists = Callable[[str, str], bool]


@dataclass(slots=True, eq=False)
class Step:
    """One step of a position: to `next_offset` as soon as `done`, and everything before it. `point` is None for a
    step that has nothing in the buffer and only waits for those before it."""

    next_offset: int
    point: CheckPoint | None = None
    revive_qid: int = 0
    done: bool = False
    timer: Timer | None = None


class PopBuffer:
    """Check points in memory and positions that wait for them. `exists` tells whether a topic and a group do."""

    def __init__(
        self, config: BrokerConfig, scheduler: Scheduler, offsets: Offsets, log: ReviveLog, exists: Exists
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._offsets = offsets
        self._log = log
        self._exists = exists
        self._start_ms = scheduler.now_ms
        self._held: dict[MergeKey, Step] = {}
        self._steps: dict[Place, deque[Step]] = {}
        self._finished: list[Step] = []

    def __len__(self) -> int:
        """How many check points are in memory."""
        return len(self._held)

    # pops

    def add(self, point: CheckPoint, revive_qid: int, next_offset: int) -> bool:
        """Remember a check point, in memory or stored, and move the position to `next_offset` when it may.

        False: there is one of the same key, so its messages must not be handed out.
        """
        key = point.merge_key()
        if key in self._held:
            return False
        place = (point.topic, point.group, point.queue_id)
        if not self._takes(point, place):
            if self._log.write_check_point(point, revive_qid):
                self.step(place, next_offset)
                return True
            # Its invisible time is longer than the timer takes: stored when that has changed, and the position waits.
            step = self._held[key] = Step(next_offset, point, revive_qid)
            self._steps.setdefault(place, deque()).append(step)
            self._flush_at(step, self._stored_later(point))
            return True
        step = self._held[key] = Step(next_offset, point, revive_qid)
        self._steps.setdefault(place, deque()).append(step)
        config = self._config
        leaves_ms = min(
            point.revive_ms - config.pop_ck_stay_buffer_time_out, point.pop_time + config.pop_ck_stay_buffer_time
        )
        self._flush_at(step, leaves_ms + 1)
        return True

    def _takes(self, point: CheckPoint, place: Place) -> bool:
        config = self._config
        return (
            config.enable_pop_buffer_merge
            and point.revive_ms - self._scheduler.now_ms >= config.pop_ck_stay_buffer_time_out + ACK_MARGIN_MS
            and len(self._held) <= config.pop_ck_max_buffer_size
            and len(self._steps.get(place, ())) < config.pop_ck_offset_max_queue_size
        )

    def step(self, place: Place, next_offset: int) -> None:
        """Move the position, behind what waits."""
        steps = self._steps.get(place)
        if steps:
            steps.append(Step(next_offset, done=True))
        else:
            topic, group, queue_id = place
            self._offsets.commit(group, topic, queue_id, next_offset)

    def beyond(self, place: Place, offset: int) -> int:
        """Where the next pop reads: after what is in the buffer, or at the committed `offset`."""
        steps = self._steps.get(place) if self._steps else None
        return max(steps[-1].next_offset, offset) if steps else offset

    def clear(self, place: Place) -> None:
        """Forget the waiting position, as a reset does; check points in memory stay and leave as all others."""
        self._steps.pop(place, None)

    # acknowledgements

    def acknowledge(self, ack: Ack) -> bool:
        """Take an acknowledgement; False: the buffer has no open check point for it, so it must be stored.

        An offset that is not of the check point is swallowed.
        """
        if not self._held or not self._config.enable_pop_buffer_merge:
            return False
        step = self._held.get(ack.merge_key())
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
                self._scheduler.call_at(self._scan_at(now + 1), self._remove_finished, "pop buffer", "done")
            self._finished.append(step)
        return True

    # scans

    def _scan_at(self, instant_ms: int) -> int:
        """The first scan at or after an instant."""
        return instant_ms + (self._start_ms - instant_ms) % SCAN_MS

    def _remove_finished(self) -> None:
        finished, self._finished = self._finished, []
        for step in finished:
            self._leave(step)

    def _flush_at(self, step: Step, due_ms: int) -> None:
        assert step.point is not None
        if step.timer is not None:
            step.timer.cancel()
        owner = f"{step.point.group}@{step.point.topic}@{step.point.queue_id}"
        step.timer = self._scheduler.call_at(self._scan_at(due_ms), lambda: self._flush(step), "pop buffer", owner)

    def _flush(self, step: Step) -> None:
        """Store a check point and what was acknowledged of it."""
        point = step.point
        assert point is not None
        if point.unacknowledged() and not self._store(point, step.revive_qid):
            self._flush_at(step, self._stored_later(point))
            return
        self._leave(step)

    def _stored_later(self, point: CheckPoint) -> int:
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
        """Store everything, as an orderly stop does."""
        for step in list(self._held.values()):
            self._flush(step)

    def _leave(self, step: Step) -> None:
        """A check point is done or stored: move the position over it and over what waited for it."""
        point = step.point
        if step.done or point is None:
            return
        step.done = True
        if step.timer is not None:
            step.timer.cancel()
        del self._held[point.merge_key()]
        place = (point.topic, point.group, point.queue_id)
        steps = self._steps.get(place)
        if steps is None:
            return
        while steps and steps[0].done:
            next_offset = steps.popleft().next_offset
            if self._exists(point.topic, point.group):
                self._offsets.commit(point.group, point.topic, point.queue_id, next_offset)
        if not steps:
            del self._steps[place]
