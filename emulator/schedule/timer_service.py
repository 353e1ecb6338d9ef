"""Timed messages (arbitrary delay): they wait in rmq_sys_wheel_timer and are delivered at the end of their slot.

A slot is `timerPrecisionMs` wide. A message belongs to the slot that contains its deliver time, or to the one before if
that time is the start of a slot. A slot is read once it is over, so a message is delivered at the first slot boundary
at or after its time. Each slot in use has one timer. A slot holds offsets only; the messages are in the store. Check
points and acknowledgements of pops use the timer, too.
Source: TimerMessageStore, HookUtils (5.3.3).

A file, written every `timerFlushIntervalMs` (see `timer_flushes`), records which slots were read. After a crash the
slots read since its last write are read again, so that their messages are delivered twice.

Upstream delivers 65 to 140 ms after the boundary; here there is no such latency.
"""

from collections import deque
from collections.abc import Callable, Iterator

from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..faults.defects import Defects
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.java_numbers import long_sum, parse_integer, parse_long
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.random_streams import RandomStream
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..message.message_copies import copy_of, restore_original_queue
from ..message.names import TIMER_TOPIC
from ..operations.timers import GetTimerCheckPoint, GetTimerMetrics, TimerCheckPointResult, TimerMetricsResult
from ..store.message_store import MessageStore
from .delay_levels import delay_level, may_be_delayed
from .timer_flushes import TimerFlushes
from .timer_metrics import LOG_UNIT_BYTES, TimerFile, TimerMetrics
from .timer_state import (
    FollowedTimer,
    Slot,
    SlotMessage,
    TimerState,
    WaitingMessage,
    WheelProgress,
    WrittenMetrics,
)

PRECISIONS_MS = (1000, 500, 200, 100)
TIMES = frozenset({props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC, props.TIMER_DELAY_MS})
"""Properties with the time of a timed message."""
UNREAD_SLOTS = 7 * 86400 - 60
"""A wheel that was never read starts this many slots in the past (TimerMessageStore.recover)."""
NEVER_ENQUEUED = str(0x7FFFFFFFFFFFFFFF)
"""TIMER_ENQUEUE_MS of a message that was due before it entered the wheel."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TimerService:
    """The timer wheel of one broker. A slave's wheel is filled like its master's but never read."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        defects: Defects,
        scheduler: Scheduler,
        store: MessageStore,
        random: RandomStream,
    ) -> None:
        self._config = config
        self._defects = defects
        self._scheduler = scheduler
        self._store = store
        self._random = random
        self.slots: dict[int, Slot] = {}
        """Start of a slot (ms since the epoch) -> its contents."""
        self._read_slots: deque[tuple[int, int, Slot]] = deque()
        """Slots read since the last write of the file: time of reading, start of the slot, contents."""
        self._flushes = TimerFlushes(scheduler, config.timer_flush_interval_ms)
        self.metrics = TimerMetrics(scheduler, self._flushes)
        self._file = TimerFile(scheduler, self._flushes, WheelProgress())
        self._version = 0
        self.began_ms = scheduler.now_ms
        self._followed: Callable[[], FollowedTimer] | None = None
        """Returns the slave's knowledge of its master's timer; None on a master."""
        self.followed_before = FollowedTimer()
        """That knowledge at the end of the previous run."""
        self._first_held_back: int | None = None
        """See `TimerState.first_held_back`."""
        self.is_stopped = False
        """True if the defect `timer_topic_stops_timer` has stopped the timer."""

    def restore(self, state: TimerState) -> None:
        """Start with the wheel of the previous run, and enter the messages that it did not contain yet."""
        self.slots |= state.slots
        self.metrics.restore(state.metrics)
        self._file = TimerFile(self._scheduler, self._flushes, state.progress)
        self._version = state.version
        self.followed_before = state.followed
        if state.first_held_back is not None:  # offsets of messages lost in a crash are used again
            self._first_held_back = min(state.first_held_back, self._store.max_offset(TIMER_TOPIC, 0))
        for slot_ms in self.slots:
            self._schedule_read(slot_ms, "")
        if not self._store.is_slave:
            self._recount(state.progress.taken)
            self._enqueue_held_back()

    def follow(self, known: Callable[[], FollowedTimer]) -> None:
        """Begin to follow a master's timer; `known` returns this slave's knowledge of it."""
        self._followed = known

    def dump_on_stop(self) -> TimerState:
        """Return the state as a graceful shutdown writes it; the Slot objects are not copied."""
        return self._state(dict(self.slots), self._file.progress, self.metrics.dump_on_stop())

    def dump_on_crash(self) -> TimerState:
        """Return the state as of the last writes of the files."""
        return self._state(self._written_slots(), self._file.written(), self.metrics.dump_on_crash())

    def _state(self, slots: dict[int, Slot], progress: WheelProgress, metrics: WrittenMetrics) -> TimerState:
        version = self._version + self._flushes.number()
        followed = self.followed_before if self._followed is None else self._followed()
        return TimerState(slots, progress, version, metrics, followed=followed, first_held_back=self._first_held_back)

    def _written_slots(self) -> dict[int, Slot]:
        """Return the slots that are unread according to the file, without lost messages."""
        self._drop_written()
        end = self._store.max_offset(TIMER_TOPIC, 0)
        slots = {slot_ms: slot for _, slot_ms, slot in self._read_slots}
        for slot_ms, slot in self.slots.items():
            known = slots.setdefault(slot_ms, slot)
            if known is not slot:
                known.waiting += slot.waiting
                known.deleted |= slot.deleted
                known.number += slot.number
        for slot in slots.values():
            slot.waiting = [waiting for waiting in slot.waiting if waiting.offset < end]
        return slots

    def _drop_written(self) -> None:
        """Drop the slots that were read before the last write of the file."""
        written_ms = self._flushes.last_ms()
        while self._read_slots and self._read_slots[0][0] < written_ms:
            self._read_slots.popleft()

    def _schedule_read(self, slot_ms: int, owner: str) -> None:
        self._scheduler.call_at(slot_ms + self.precision_ms, lambda: self._read(slot_ms), TimerKind.TIMER, owner)

    @property
    def precision_ms(self) -> int:
        """Width of a slot in ms: `timerPrecisionMs` rounded down to a width that upstream supports."""
        wanted = self._config.timer_precision_ms
        if wanted >= PRECISIONS_MS[0]:
            return PRECISIONS_MS[0]
        return next(precision for precision in PRECISIONS_MS if precision <= wanted)

    def apply_config(self) -> None:
        """Apply a changed configuration: another flush interval, and messages kept out of the wheel may enter it."""
        self._flushes.change_interval(self._config.timer_flush_interval_ms)
        if not self._store.is_slave:
            self._enqueue_held_back()

    def _enqueue_held_back(self) -> None:
        """Put the messages kept out by `timerStopEnqueue` into their slots, unless it is still on."""
        if self._first_held_back is None or self._config.timer_stop_enqueue:
            return
        first, self._first_held_back = self._first_held_back, None
        self.is_stopped = False
        self._fill(first, self._store.max_offset(TIMER_TOPIC, 0))

    def before_put(self, message: MessageToStore) -> None:
        """Redirect a timed message to the timer topic (store hook); one that is already due stays unchanged.

        Errors: NO_PERMISSION for a send to the timer topic itself (it crashes upstream's timer), SYSTEM_ERROR if the
        wheel is off or its slot is congested, MESSAGE_ILLEGAL for a time that is not a number or too far away.
        """
        properties = message.properties
        if message.topic == TIMER_TOPIC:
            if self._defects.timer_topic_stops_timer:
                return
            raise EngineError(ResponseCode.NO_PERMISSION, f"Sending message to topic[{TIMER_TOPIC}] is forbidden.")
        if TIMES.isdisjoint(properties) or not may_be_delayed(message):
            return
        if delay_level(properties) > 0:
            for name in TIMES:
                properties.pop(name, None)
            return
        if props.TIMER_OUT_MS in properties:
            return  # it has already left the wheel once
        deliver_ms = self._deliver_ms(properties, self._scheduler.now_ms)
        out_ms = self.out_ms(deliver_ms)
        if out_ms is None:
            if props.TIMER_DEL_UNIQKEY in properties:
                raise self._illegal()
            return
        properties[props.TIMER_OUT_MS] = str(out_ms)
        message.redirect(TIMER_TOPIC, 0)

    def out_ms(self, deliver_ms: int) -> int | None:
        """Return the start of the slot (ms) of a message with this deliver time, None if that time has come.

        Errors: those of `before_put` about the wheel, the slot and the time.
        """
        config, now = self._config, self._scheduler.now_ms
        if not config.timer_wheel_enable:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR, "accurate timer message is not enabled, timerWheelEnable is false"
            )
        if deliver_ms <= now:
            return None
        if deliver_ms - now > config.timer_max_delay_sec * 1000:
            raise self._illegal()
        precision = self.precision_ms
        over = deliver_ms % precision
        out_ms = deliver_ms - (over or precision)
        slot = self.slots.get(out_ms)
        if slot is not None and slot.number > config.timer_congest_num_each_slot and self._is_crowded(slot):
            most = config.timer_congest_num_each_slot
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"timer message is under flow control, max num limit is {2 * most} or the current value is greater "
                f"than {most} and less than {2 * most}, trigger random flow control",
            )
        return out_ms

    def _is_crowded(self, slot: Slot) -> bool:
        """Return True if flow control rejects a message for a slot above the limit.

        Rejections are random and, as upstream, become rarer as the slot fills. From twice the limit on every message is
        rejected.
        """
        most, number = self._config.timer_congest_num_each_slot, slot.number
        return number >= 2 * most or self._random.below(1000) > 1000 * (number - most) / (most + 0.1)

    def _deliver_ms(self, properties: dict[str, str], now: int) -> int:
        try:
            seconds = properties.get(props.TIMER_DELAY_SEC)
            if seconds is not None:
                return long_sum(now, parse_long(seconds) * 1000)
            delay = properties.get(props.TIMER_DELAY_MS)
            if delay is not None:
                return long_sum(now, parse_long(delay))
            return parse_long(properties[props.TIMER_DELIVER_MS])
        except ValueError:
            raise self._illegal() from None

    def _illegal(self) -> EngineError:
        return EngineError(
            ResponseCode.MESSAGE_ILLEGAL,
            "timer message illegal, the delay time should not be bigger than the max delay "
            f"{self._config.timer_max_delay_sec * 1000}ms; or if set del msg, the delay time should be bigger than the "
            "current time",
        )

    def arrived(self, _queue_id: int, offset: int, properties: dict[str, str], born_ms: int) -> None:
        """Put a stored message of the timer topic into its slot, unless `timerStopEnqueue` is on."""
        if self._config.timer_stop_enqueue or self._first_held_back is not None:
            self._first_held_back = offset if self._first_held_back is None else self._first_held_back
            return
        try:
            out_ms = parse_long(properties.get(props.TIMER_OUT_MS, ""))
        except ValueError:
            # A batch stored it without the hooks; it stays in the timer topic. Upstream's thread reads it again and
            # again, and never a later one: TimerMessageStore.enqueue throws a NumberFormatException each time.
            if self._defects.timer_topic_stops_timer:
                self._first_held_back = offset
                self.is_stopped = True
            return
        topic, key = properties.get(props.REAL_TOPIC), properties.get(props.TIMER_DEL_UNIQKEY)
        self._file.record_enqueued(offset)
        self.metrics.add(topic, 1 if key is None else -1)
        counters = self._store.stats.by_name.counters
        counters.timer_entered[topic or ""] += 1
        counters.delay_seconds[topic or ""].record(max(out_ms - born_ms, 0) // 1000)
        precision = self.precision_ms
        now = self._scheduler.now_ms
        write_ms = now - now % precision
        slot_ms = self._roll_slot(out_ms, write_ms, precision)
        slot = self.slots.get(slot_ms)
        if slot is None:
            slot = self.slots[slot_ms] = Slot()
            self._schedule_read(slot_ms, topic or "")
        is_rolled = slot_ms != out_ms
        slot.number += 1 if key is None else -1
        if key is not None and not is_rolled:
            slot.deleted.add(key)
            return
        slot.waiting.append(SlotMessage(offset, str(write_ms) if out_ms >= write_ms else NEVER_ENQUEUED, is_rolled))

    def _recount(self, taken: int) -> None:
        """Count the messages that came after the last write of the files; upstream puts them into the wheel again."""
        end = self._store.max_offset(TIMER_TOPIC, 0)
        for offset, record in self._still_stored(
            taken, end if self._first_held_back is None else self._first_held_back
        ):
            self._file.record_enqueued(offset)
            properties = record.property_map()
            self.metrics.add(properties.get(props.REAL_TOPIC), -1 if props.TIMER_DEL_UNIQKEY in properties else 1)

    def _roll_slot(self, out_ms: int, write_ms: int, precision: int) -> int:
        """Return the slot of a message, or the slot in which it waits to be rolled if its own is beyond the window."""
        window_slots = self._config.timer_roll_window_slot
        beyond = out_ms - write_ms - window_slots * precision
        if beyond < 0:
            return out_ms
        pause_slots = window_slots // 2 if beyond < window_slots // 3 * precision else window_slots
        return write_ms + pause_slots * precision

    def _read(self, slot_ms: int) -> None:
        """Deliver the messages of a slot that is over, except recalled ones."""
        slot = self.slots.pop(slot_ms)
        self._drop_written()
        self._read_slots.append((self._scheduler.now_ms, slot_ms, slot))
        dequeue_ms = str(self._scheduler.now_ms)
        for waiting in slot.waiting:
            stored = self._store.record(TIMER_TOPIC, 0, waiting.offset)
            if stored is None:
                continue
            message = copy_of(records.decode(stored))
            properties = message.properties
            if slot.is_recalled(waiting, properties):
                continue
            self.metrics.add(properties.get(props.REAL_TOPIC), -1)
            properties[props.TIMER_ENQUEUE_MS] = waiting.enqueue_ms
            properties[props.TIMER_DEQUEUE_MS] = dequeue_ms
            if waiting.is_rolled:
                properties[props.TIMER_ROLL_TIMES] = str(_count(properties.get(props.TIMER_ROLL_TIMES)) + 1)
            elif not restore_original_queue(message) or message.topic == TIMER_TOPIC:
                continue
            self._store.stats.by_name.counters.timer_left[properties.get(props.REAL_TOPIC, "")] += 1
            try:
                self._store.append(message)
            except EngineError:
                continue  # upstream retries three times, then drops the message

    def waiting(self) -> Iterator[tuple[int, WaitingMessage]]:
        """Yield (deliver time in ms, message) of all messages in the wheel, including recalled and rolled ones.

        They include check points and acknowledgements of pops.
        """
        for slot_ms, slot in self.slots.items():
            for entry in slot.waiting:
                stored = self._store.record(TIMER_TOPIC, 0, entry.offset)
                if stored is not None:
                    yield slot_ms + self.precision_ms, WaitingMessage(stored, slot, entry)

    @property
    def held_back(self) -> int:
        """The number of messages of the timer topic that have not entered the wheel."""
        first = self._first_held_back
        return 0 if first is None else self._store.max_offset(TIMER_TOPIC, 0) - first

    def congestion(self) -> int:
        """Return the number of messages in the wheel minus delete marks."""
        return sum(slot.number for slot in self.slots.values())

    # slaves

    @property
    def taken(self) -> int:
        """Number of messages that have entered the wheel."""
        return self._file.progress.taken

    @property
    def written_taken(self) -> int:
        """Number of messages that had entered the wheel at the last write of the file."""
        return self._file.written().taken

    def known_at(self, at_ms: int, taken: int) -> FollowedTimer:
        """Return the contents of the file at a time of this run, with `taken` messages taken."""
        written_ms = self._flushes.last_ms(at_ms)
        version = self._version + self._flushes.number(at_ms)
        return FollowedTimer(written_ms - written_ms % self.precision_ms, taken, version, written_ms)

    def fill(self, end: int) -> None:
        """Put the messages before offset `end` of the timer topic into their slots, unless `timerStopEnqueue` is on."""
        if not self._config.timer_stop_enqueue:
            self._fill(self.taken, min(end, self._store.max_offset(TIMER_TOPIC, 0)))

    def _fill(self, first: int, end: int) -> None:
        for offset, record in self._still_stored(first, end):
            self.arrived(0, offset, record.property_map(), record.born_timestamp)

    def _still_stored(self, first: int, end: int) -> Iterator[tuple[int, records.Record]]:
        """Yield the stored messages of a range of the timer topic; deleted ones are counted as taken and skipped."""
        for offset in range(first, end):
            stored = self._store.record(TIMER_TOPIC, 0, offset)
            if stored is None:
                self._file.record_enqueued(offset, units=0)
            else:
                yield offset, records.decode(stored)

    @handles(GetTimerCheckPoint)
    def get_check_point(self, call: Call, operation: GetTimerCheckPoint) -> TimerCheckPointResult:
        """Return the timer check point as last written. Raises SYSTEM_ERROR if `timerWheelEnable` is false."""
        if not self._config.timer_wheel_enable:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
        written_ms, progress = self._flushes.last_ms(), self._file.written()
        if self._followed is not None:
            known = self._followed()
            read_ms = self.began_ms - self.began_ms % self.precision_ms - UNREAD_SLOTS * self.precision_ms
            return TimerCheckPointResult(
                read_ms if known.read_ms is None else known.read_ms,
                progress.units * LOG_UNIT_BYTES,
                min(progress.taken, known.taken),
                known.version,
                changed_ms=self.began_ms if known.changed_ms is None else known.changed_ms,
                master_taken=known.taken,
            )
        return TimerCheckPointResult(
            written_ms - written_ms % self.precision_ms,
            progress.units * LOG_UNIT_BYTES,
            progress.taken,
            self._version + self._flushes.number(),
            changed_ms=written_ms,
            master_taken=progress.taken,
        )

    @handles(GetTimerMetrics)
    def get_metrics(self, call: Call, operation: GetTimerMetrics) -> TimerMetricsResult:
        """Return the counts by topic. Raises SYSTEM_ERROR if `timerWheelEnable` is false."""
        if not self._config.timer_wheel_enable:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
        return TimerMetricsResult(dict(self.metrics.topics), self.metrics.version, self.metrics.changed_ms)


def _count(text: str | None) -> int:
    """Return the number of a property that clients can set; 0 if it is missing or no int."""
    try:
        return parse_integer(text or "")
    except ValueError:
        return 0
