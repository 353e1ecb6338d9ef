"""Messages with an arbitrary delay: they wait in rmq_sys_wheel_timer and leave it at the end of their slot.

A slot is `timerPrecisionMs` wide. A message is due in the slot before its time when that is a whole slot, else in the
slot that holds it; the slot is read once it is over, so the message appears at the first slot boundary at or after
its time. One timer a slot in use; what waits is told by offset only, the store holds the message.
Check points and acknowledgements of pops take this way too. Source: TimerMessageStore, HookUtils (5.3.3).

Which slots were read is written to a file every `timerFlushIntervalMs`; after a crash those since are read again, so
that their messages come twice.

Upstream needs 65 to 140 ms more than the boundary; here none.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from ..config import BrokerConfig
from ..gate.gate import Call, Handlers
from ..kernel.errors import EngineError
from ..kernel.java_numbers import long_sum, parse_long
from ..kernel.random_streams import Stream
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import Message
from ..message.message_copies import copy_of, send_home
from ..message.names import TIMER_TOPIC
from ..operations import GetTimerCheckPoint, GetTimerMetrics, TimerCheckPointResult, TimerMetricsResult
from ..store.message_store import MessageStore
from .delay_levels import delay_level, may_be_delayed
from .timer_metrics import LOG_UNIT_BYTES, TimerFile, TimerMetrics, WheelProgress, WrittenMetrics

PRECISIONS_MS = (1000, 500, 200, 100)
UNREAD_SLOTS = 7 * 86400 - 60
"""A wheel that was never read is read from so many slots ago on (TimerMessageStore.recover)."""
NEVER_ENQUEUED = str(0x7FFFFFFFFFFFFFFF)
"""TIMER_ENQUEUE_MS of a message that was due before it came to the wheel."""


def delete_key(real_topic: str, unique_key: str) -> str:
    """How a delete mark names its target (TimerMessageStore.buildDeleteKey)."""
    return f"{real_topic}+{unique_key}"


@value
class Waiting:
    """A message in a slot: its offset in the timer topic, when it came in, and whether it only pauses here."""

    offset: int
    enqueue_ms: str
    rolls: bool


@value
class Slot:
    """What becomes due together, in the order of arrival, and the keys of what was taken back."""

    waiting: list[Waiting] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    number: int = 0
    """Messages less marks, as upstream counts what a slot holds."""

    def takes_back(self, waiting: Waiting, properties: Mapping[str, str]) -> bool:
        """Whether a message that waits here was taken back; one that only pauses cannot be."""
        if not self.deleted or waiting.rolls:
            return False
        unique_key = properties.get(props.UNIQ_KEY)
        return unique_key is not None and delete_key(properties.get(props.REAL_TOPIC, ""), unique_key) in self.deleted


@value
class FollowedTimer:
    """What a slave knows of its master's timer; see TimerCheckPointResult. `read_ms` None: nothing yet."""

    read_ms: int | None = None
    taken: int = 0
    version: int = 0
    changed_ms: int | None = None


@value
class TimerRemains:
    """What a run of a timer leaves to the next one. `slots`: see `TimerService.slots`."""

    slots: dict[int, Slot] = field(default_factory=dict)
    progress: WheelProgress = field(default_factory=WheelProgress)
    version: int = 0
    metrics: WrittenMetrics = field(default_factory=WrittenMetrics)
    followed: FollowedTimer = field(default_factory=FollowedTimer)
    kept_out: int | None = None
    """From this offset of its topic on nothing has come into the wheel, since `timerStopEnqueue` kept it out."""


class TimerService:
    """The timer wheel of one broker. That of a slave is filled as its master's is, and not read."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        chance: Stream,
        remains: TimerRemains,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._chance = chance
        self.slots = dict(remains.slots)
        """Slot time (ms) -> what waits in it."""
        self._read_slots: deque[tuple[int, int, Slot]] = deque()
        """When a slot was read, its time and what it held: those that the file does not know as read."""
        self.metrics = TimerMetrics(scheduler, remains.metrics)
        self._file = TimerFile(scheduler, remains.progress)
        self._version = remains.version
        self.began_ms = scheduler.now_ms
        self.followed: Callable[[], FollowedTimer] | None = None
        """What a slave knows of its master's timer."""
        self.followed_before = remains.followed
        """The same of the run before this one."""
        self._kept_out = remains.kept_out
        if self._kept_out is not None:  # what was lost leaves its places to others
            self._kept_out = min(self._kept_out, store.max_offset(TIMER_TOPIC, 0))
        store.watchers[TIMER_TOPIC] = self._arrived
        for slot_ms in self.slots:
            self._read_later(slot_ms, "")
        if not store.follows:
            self._take_again(remains.progress.taken)
            self._take_in()

    def left(self) -> TimerRemains:
        """What the files say after an orderly stop; what is in slots is not copied."""
        return self._remains(dict(self.slots), self._file.progress, self.metrics.left())

    def written(self) -> TimerRemains:
        """What the files say."""
        progress = self._file.written(self._config.timer_flush_interval_ms)
        return self._remains(self._written_slots(), progress, self.metrics.written())

    def _remains(self, slots: dict[int, Slot], progress: WheelProgress, metrics: WrittenMetrics) -> TimerRemains:
        version = self._version + self._file.writes(self._config.timer_flush_interval_ms)
        followed = self.followed_before if self.followed is None else self.followed()
        return TimerRemains(slots, progress, version, metrics, followed, self._kept_out)

    def _written_slots(self) -> dict[int, Slot]:
        """The slots that are not read as far as the file knows, without messages that were lost."""
        self._forget_read()
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

    def _forget_read(self) -> None:
        """Forget the slots that were read before the file was written last."""
        written_ms = self._file.written_ms(self._config.timer_flush_interval_ms)
        while self._read_slots and self._read_slots[0][0] < written_ms:
            self._read_slots.popleft()

    def _read_later(self, slot_ms: int, owner: str) -> None:
        self._scheduler.call_at(slot_ms + self.precision_ms, lambda: self._read(slot_ms), "timer", owner)

    @property
    def precision_ms(self) -> int:
        """Width of a slot: `timerPrecisionMs` rounded down to one that upstream knows."""
        wanted = self._config.timer_precision_ms
        if wanted >= PRECISIONS_MS[0]:
            return PRECISIONS_MS[0]
        return next(precision for precision in PRECISIONS_MS if precision <= wanted)

    def configured(self) -> None:
        """A key has changed: what was kept out comes in."""
        if not self._store.follows:
            self._take_in()

    def _take_in(self) -> None:
        """Put what `timerStopEnqueue` has kept out into its slots, if it does not keep it out any more."""
        if self._kept_out is None or self._config.timer_stop_enqueue:
            return
        first, self._kept_out = self._kept_out, None
        self._fill(first, self._store.max_offset(TIMER_TOPIC, 0))

    def before_put(self, message: Message) -> None:
        """Hook of the store: a timed message goes to the timer topic, one that is due already stays as it is.

        Errors: NO_PERMISSION for what is sent to the timer topic itself (upstream's timer dies of it),
        SYSTEM_ERROR while the wheel is off or its slot crowded, MESSAGE_ILLEGAL for a time that is no number or too
        far away.
        """
        properties = message.properties
        if message.topic == TIMER_TOPIC:
            raise EngineError(ResponseCode.NO_PERMISSION, f"Sending message to topic[{TIMER_TOPIC}] is forbidden.")
        if not (
            props.TIMER_DELIVER_MS in properties
            or props.TIMER_DELAY_SEC in properties
            or props.TIMER_DELAY_MS in properties
        ):
            return
        if not may_be_delayed(message):
            return
        if delay_level(properties) > 0:
            for name in (props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC, props.TIMER_DELAY_MS):
                properties.pop(name, None)
            return
        if props.TIMER_OUT_MS in properties:
            return  # it has been through the wheel
        if not self._config.timer_wheel_enable:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR, "accurate timer message is not enabled, timerWheelEnable is false"
            )
        self._redirect(message)

    def _redirect(self, message: Message) -> None:
        now = self._scheduler.now_ms
        properties = message.properties
        deliver_ms = self._deliver_ms(properties, now)
        if deliver_ms <= now:
            if props.TIMER_DEL_UNIQKEY in properties:
                raise self._illegal()
            return
        if deliver_ms - now > self._config.timer_max_delay_sec * 1000:
            raise self._illegal()
        precision = self.precision_ms
        over = deliver_ms % precision
        out_ms = deliver_ms - (over or precision)
        if self._is_crowded(out_ms):
            most = self._config.timer_congest_num_each_slot
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"timer message is under flow control, max num limit is {2 * most} or the current value is greater "
                f"than {most} and less than {2 * most}, trigger random flow control",
            )
        properties[props.TIMER_OUT_MS] = str(out_ms)
        message.redirect(TIMER_TOPIC, 0)

    def _is_crowded(self, slot_ms: int) -> bool:
        """Refused by chance, and less often the more there are, as upstream has it; always from twice as many on."""
        slot = self.slots.get(slot_ms)
        most = self._config.timer_congest_num_each_slot
        number = 0 if slot is None else slot.number
        if number <= most:
            return False
        return number >= 2 * most or self._chance.below(1000) > 1000 * (number - most) / (most + 0.1)

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

    def _arrived(self, _queue_id: int, offset: int, properties: dict[str, str]) -> None:
        """Watcher of the timer topic: put a stored message into its slot, unless it is kept out."""
        if self._config.timer_stop_enqueue:
            self._kept_out = offset if self._kept_out is None else self._kept_out
            return
        try:
            out_ms = parse_long(properties.get(props.TIMER_OUT_MS, ""))
        except ValueError:
            return  # stored past the hooks, by a batch: it stays where it is
        self._count_in(offset, properties)
        precision = self.precision_ms
        now = self._scheduler.now_ms
        write_ms = now - now % precision
        slot_ms = self._roll_slot(out_ms, write_ms, precision)
        slot = self.slots.get(slot_ms)
        if slot is None:
            slot = self.slots[slot_ms] = Slot()
            self._read_later(slot_ms, properties.get(props.REAL_TOPIC, ""))
        rolls = slot_ms != out_ms
        key = properties.get(props.TIMER_DEL_UNIQKEY)
        slot.number += 1 if key is None else -1
        if key is not None and not rolls:
            slot.deleted.add(key)
            return
        slot.waiting.append(Waiting(offset, str(write_ms) if out_ms >= write_ms else NEVER_ENQUEUED, rolls))

    def _count_in(self, offset: int, properties: Mapping[str, str]) -> None:
        self._file.came(self._config.timer_flush_interval_ms, offset)
        self.metrics.add(properties.get(props.REAL_TOPIC), -1 if props.TIMER_DEL_UNIQKEY in properties else 1)

    def _take_again(self, taken: int) -> None:
        """Count what came after the files were written last, which upstream puts into the wheel once more."""
        end = self._store.max_offset(TIMER_TOPIC, 0)
        for offset, properties in self._still_stored(taken, end if self._kept_out is None else self._kept_out):
            self._count_in(offset, properties)

    def _roll_slot(self, out_ms: int, write_ms: int, precision: int) -> int:
        """The message's own slot, or the one in which it pauses when its own lies beyond the window."""
        window_slots = self._config.timer_roll_window_slot
        beyond = out_ms - write_ms - window_slots * precision
        if beyond < 0:
            return out_ms
        pause_slots = window_slots // 2 if beyond < window_slots // 3 * precision else window_slots
        return write_ms + pause_slots * precision

    def _read(self, slot_ms: int) -> None:
        """A slot is over: deliver what waits in it and was not taken back."""
        slot = self.slots.pop(slot_ms)
        self._forget_read()
        self._read_slots.append((self._scheduler.now_ms, slot_ms, slot))
        dequeue_ms = str(self._scheduler.now_ms)
        for waiting in slot.waiting:
            stored = self._store.record(TIMER_TOPIC, 0, waiting.offset)
            if stored is None:
                continue
            message = copy_of(records.decode(stored))
            properties = message.properties
            if slot.takes_back(waiting, properties):
                continue
            self.metrics.add(properties.get(props.REAL_TOPIC), -1)
            properties[props.TIMER_ENQUEUE_MS] = waiting.enqueue_ms
            properties[props.TIMER_DEQUEUE_MS] = dequeue_ms
            if waiting.rolls:
                properties[props.TIMER_ROLL_TIMES] = str(_count(properties.get(props.TIMER_ROLL_TIMES)) + 1)
            elif not send_home(message) or message.topic == TIMER_TOPIC:
                continue
            try:
                self._store.append(message)
            except EngineError:
                continue  # upstream tries three times and gives up

    def congestion(self) -> int:
        """What the wheel holds: messages less marks."""
        return sum(slot.number for slot in self.slots.values())

    # of slaves

    @property
    def taken(self) -> int:
        """How many messages have come into the wheel."""
        return self._file.progress.taken

    @property
    def written_taken(self) -> int:
        """The same, as the file has it."""
        return self._file.written(self._config.timer_flush_interval_ms).taken

    def known_at(self, at_ms: int, taken: int) -> FollowedTimer:
        """What the file said at a time of this run, with so many messages taken."""
        interval = self._config.timer_flush_interval_ms
        written_ms = self._file.written_ms(interval, at_ms)
        version = self._version + self._file.writes(interval, at_ms)
        return FollowedTimer(written_ms - written_ms % self.precision_ms, taken, version, written_ms)

    def fill(self, end: int) -> None:
        """Put what is stored before an offset of the timer's topic into its slots, unless it is kept out."""
        if not self._config.timer_stop_enqueue:
            self._fill(self.taken, min(end, self._store.max_offset(TIMER_TOPIC, 0)))

    def _fill(self, first: int, end: int) -> None:
        for offset, properties in self._still_stored(first, end):
            self._arrived(0, offset, properties)

    def _still_stored(self, first: int, end: int) -> Iterator[tuple[int, dict[str, str]]]:
        """What lies there in the timer's topic; what was deleted before it was read does not hold up what follows."""
        for offset in range(first, end):
            stored = self._store.record(TIMER_TOPIC, 0, offset)
            if stored is None:
                self._file.came(self._config.timer_flush_interval_ms, offset, units=0)
            else:
                yield offset, records.decode(stored).property_map()

    def handlers(self) -> Handlers:
        """Which operation is carried out by what."""
        return {GetTimerCheckPoint: self.get_check_point, GetTimerMetrics: self.get_metrics}

    def get_check_point(self, call: Call, operation: GetTimerCheckPoint) -> TimerCheckPointResult:
        """The file as it was written last. Errors: SYSTEM_ERROR without a timer."""
        if not self._config.timer_wheel_enable:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
        interval = self._config.timer_flush_interval_ms
        written_ms, progress = self._file.written_ms(interval), self._file.written(interval)
        if self.followed is not None:
            known = self.followed()
            read_ms = self.began_ms - self.began_ms % self.precision_ms - UNREAD_SLOTS * self.precision_ms
            return TimerCheckPointResult(
                read_ms if known.read_ms is None else known.read_ms,
                progress.units * LOG_UNIT_BYTES,
                min(progress.taken, known.taken),
                known.version,
                self.began_ms if known.changed_ms is None else known.changed_ms,
                known.taken,
            )
        return TimerCheckPointResult(
            written_ms - written_ms % self.precision_ms,
            progress.units * LOG_UNIT_BYTES,
            progress.taken,
            self._version + self._file.writes(interval),
            written_ms,
            progress.taken,
        )

    def get_metrics(self, call: Call, operation: GetTimerMetrics) -> TimerMetricsResult:
        """The counts by topic. Errors: SYSTEM_ERROR without a timer."""
        if not self._config.timer_wheel_enable:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
        return TimerMetricsResult(dict(self.metrics.topics), self.metrics.version, self.metrics.changed_ms)


def _count(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
