"""Delay levels: messages wait in SCHEDULE_TOPIC_XXXX, one queue per level, and are delivered strictly in order.

The tags code of such a message is its deliver time. Upstream checks the head of each level every 100 ms, first one
second after its start. Here one timer per level is set to the check that will find the head due.
Source: ScheduleMessageService, HookUtils.handleScheduleMessage (5.3.3).

Not emulated: a clock that was set back, and endless retries. A copy is retried only if the store accepts no message at
all. A copy that is rejected for another reason is dropped, while upstream retries it forever. The version of the
delivered offsets grows with every check of a level that has had a message. Upstream counts only deliveries and checks
that find a waiting message, and keeps the version over a restart.
"""

from collections.abc import Iterator, Mapping

from ..assembly.handlers import handles
from ..config import BrokerConfig, ConfigError, EmulationConfig
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.file_image import FileImage
from ..kernel.java_numbers import long_sum, parse_integer, parse_long
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..message.message_copies import copy_of, restore_original_queue
from ..message.names import HALF_TOPIC, SCHEDULE_TOPIC
from ..operations.timers import DelayOffsetsResult, GetAllDelayOffset
from ..store.consume_queue import ConsumeQueue
from ..store.message_store import MessageStore

RETRY_PAUSE_MS = 100
"""Pause before a level retries a message that could not be stored."""
FIRST_CHECK_MS = 1000
"""Time of the first check after the start of the broker (ScheduleMessageService.FIRST_DELAY_TIME)."""
VERSION_STEP = 200
"""Number of checks, of all levels together, after which the version of the offsets increases.

Source: BrokerConfig.delayOffsetUpdateVersionStep (5.3.3).
"""

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DELAYS = frozenset({props.DELAY})
"""Properties with the delay level of a message."""
_UNDECIDED = (records.SYS_TRANSACTION_PREPARED, records.SYS_TRANSACTION_ROLLBACK)


def parse_delay_levels(text: str) -> list[int]:
    """Parse the delays (ms) of levels 1, 2, ..., separated by one blank; 64-bit numbers that overflow as in Java.

    Raises ConfigError if one is not a whole number followed by s, m, h or d.
    """
    delays = []
    words = text.rstrip(" ").split(" ") if text.strip() else []
    for level, word in enumerate(words, 1):
        try:
            delays.append(long_sum(0, parse_long(word[:-1]) * _UNITS_MS[word[-1:]]))
        except (ValueError, KeyError):
            raise ConfigError(
                f"messageDelayLevel={text}: level {level} is {word!r}, expected a whole number and s, m, h or d; "
                "use messageDelayLevel=1s 5m",
                key="messageDelayLevel",
            ) from None
    if not delays:
        allowed = "expected at least one level; use messageDelayLevel=1s 5m"
        raise ConfigError(f"messageDelayLevel={text}: {allowed}", key="messageDelayLevel")
    return delays


def delay_level(properties: dict[str, str]) -> int:
    """Return the delay level of a message, 0 if it has none. Errors: SYSTEM_ERROR if it is not a number."""
    text = properties.get(props.DELAY)
    if text is None:
        return 0
    try:
        return parse_integer(text)
    except ValueError as bad_number:
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.NumberFormatException: {bad_number}") from None


def may_be_delayed(message: MessageToStore) -> bool:
    """Return True for messages outside of transactions and for committed ones; no others are delayed."""
    return message.sys_flag & records.SYS_TRANSACTION_MASK not in _UNDECIDED


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayService:
    """The delay levels of one broker. Raises ConfigError if `messageDelayLevel` cannot be parsed."""

    def __init__(
        self,
        config: BrokerConfig,
        emulation: EmulationConfig,
        scheduler: Scheduler,
        store: MessageStore,
    ) -> None:
        self.delays_ms = parse_delay_levels(config.message_delay_level)
        self.offsets: dict[int, int] = {}
        """Level -> offset of its queue up to which messages are delivered.

        Written to a file every `flushDelayOffsetInterval`.
        """
        self._file: FileImage[int, int] = FileImage(scheduler, lambda: config.flush_delay_offset_interval)
        self._config = config
        self._emulation = emulation
        self._scheduler = scheduler
        self._store = store
        self._first_check = scheduler.instant_after(FIRST_CHECK_MS)
        self._timers: dict[int, Timer] = {}
        self._copied: tuple[int, int] = (0, scheduler.now_ms)
        """Version and time of the offsets that a slave has copied."""
        self._checked_since_ms: dict[int, int] = {}
        """Level -> time of its first check after its queue existed (ms)."""

    def restore(self, state: Mapping[int, int]) -> None:
        """Start with the offsets of the previous run, and schedule the checks of queues with undelivered messages.

        A master moves an offset that is behind the end of its queue to the end, because a power loss may have lost the
        messages before it. Source: ScheduleMessageService.correctDelayOffset (5.3.3).
        """
        self.offsets |= state
        if not self._store.is_slave:
            for level, offset in self.offsets.items():
                self.offsets[level] = min(offset, self._store.max_offset(SCHEDULE_TOPIC, level - 1))
        for level in range(1, len(self.delays_ms) + 1):
            queue = self._store.queue(SCHEDULE_TOPIC, level - 1)
            if queue is not None:
                self._checked_since_ms[level] = self._first_check.ms
                if self.offsets.get(level, 0) < queue.max_offset:
                    self._schedule_check(level, 0)

    def dump_on_stop(self) -> Mapping[int, int]:
        """Return the offsets as a graceful shutdown writes them."""
        return dict(self.offsets)

    def dump_on_crash(self) -> Mapping[int, int]:
        """Return the offsets as of the last write of the file."""
        offsets: dict[int, int | None] = {**self.offsets, **self._file.values_at_last_write()}
        return {level: offset for level, offset in offsets.items() if offset is not None}

    def fork_state(self) -> tuple[int, dict[int, int]]:
        """Return for a fork the time until the first check, and until that of each level (ms; negative if past)."""
        now = self._scheduler.now_ms
        return self._first_check.ms - now, {level: from_ms - now for level, from_ms in self._checked_since_ms.items()}

    def continue_from(self, state: tuple[int, dict[int, int]]) -> None:
        """Check the levels at the instants at which another broker would, which has been running for longer."""
        first_ms, checked_since_ms = state
        now = self._scheduler.now_ms
        self._first_check = self._scheduler.instant_after(first_ms)
        self._checked_since_ms = {level: now + from_ms for level, from_ms in checked_since_ms.items()}
        for level, timer in list(self._timers.items()):
            timer.cancel()
            queue = self._store.queue(SCHEDULE_TOPIC, level - 1)
            first = 0 if queue is None else self._first_undelivered(level, queue)
            due_ms = queue.unit(first)[2] if queue is not None and first < queue.max_offset else now
            self._schedule_check(level, max(due_ms, now))

    def before_put(self, message: MessageToStore) -> None:
        """Redirect a message with a delay level to the schedule topic (store hook); clamp the level to the last one."""
        if props.DELAY not in message.properties or not may_be_delayed(message):
            return
        level = delay_level(message.properties)
        if level <= 0:
            return
        if level > len(self.delays_ms):
            level = len(self.delays_ms)
            message.properties[props.DELAY] = str(level)
        message.redirect(SCHEDULE_TOPIC, level - 1)
        message.tags_code = due_ms = long_sum(self._scheduler.now_ms, self.delays_ms[level - 1])
        self._checked_since_ms.setdefault(level, self.next_check_ms(self._scheduler.now_ms))
        if level not in self._timers:
            self._schedule_check(level, due_ms)

    def copy_from(self, other: "DelayService") -> None:
        """Copy the offsets of the master to this slave, which delivers nothing itself, and write the file."""
        copied = other.checked_offsets()
        self.offsets.update(copied.offsets)
        self._copied = copied.version, copied.changed_ms

    def waiting(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (deliver time in ms, level, stored message) of all undelivered messages, level by level."""
        for level, queue, first in self.undelivered():
            for offset in range(first, queue.max_offset):
                stored = self._store.record(SCHEDULE_TOPIC, level - 1, offset)
                if stored is not None:
                    yield queue.unit(offset)[2], level, stored

    def undelivered(self) -> Iterator[tuple[int, ConsumeQueue, int]]:
        """Yield (level, its queue, the offset of the first undelivered message) of each level that has a queue."""
        for level in range(1, len(self.delays_ms) + 1):
            queue = self._store.queue(SCHEDULE_TOPIC, level - 1)
            if queue is not None:
                yield level, queue, self._first_undelivered(level, queue)

    @handles(GetAllDelayOffset)
    def get_offsets(self, call: Call, operation: GetAllDelayOffset) -> DelayOffsetsResult:
        """Return the delivered offset of each level; a slave returns the offsets that it has copied."""
        if self._store.is_slave:
            return DelayOffsetsResult(dict(self.offsets), *self._copied)
        return self.checked_offsets()

    def checked_offsets(self) -> DelayOffsetsResult:
        """Return the delivered offset of each level that was checked since it has had a message."""
        now, period = self._scheduler.now_ms, self._emulation.delay_level_check_interval
        checked = {level: from_ms for level, from_ms in self._checked_since_ms.items() if from_ms <= now}
        version = sum((now - from_ms) // period + 1 for from_ms in checked.values()) // VERSION_STEP
        start_ms = self._first_check.ms - FIRST_CHECK_MS
        changed_ms = now - (now - start_ms) % period if version else start_ms
        return DelayOffsetsResult({level: self.offsets.get(level, 0) for level in sorted(checked)}, version, changed_ms)

    def next_check_ms(self, at_ms: int) -> int:
        """Return the time of the first check at or after a time."""
        period = self._emulation.delay_level_check_interval
        return self._first_check.ms + max(-(-(at_ms - self._first_check.ms) // period), 0) * period

    def _schedule_check(self, level: int, due_ms: int) -> None:
        self._timers[level] = self._scheduler.call_at(
            self.next_check_ms(due_ms), lambda: self._check(level), TimerKind.DELAY_LEVEL, f"level {level}"
        )

    def _check(self, level: int) -> None:
        """Deliver the due messages at the head of a level."""
        del self._timers[level]
        queue = self._store.queue(SCHEDULE_TOPIC, level - 1)
        if queue is None:
            return
        offset = self._first_undelivered(level, queue)
        while offset < queue.max_offset:
            due_ms = queue.unit(offset)[2]
            if due_ms > self._scheduler.now_ms:
                self._schedule_check(level, due_ms)
                break
            if not self._deliver(level, offset):
                self._schedule_check(level, self._scheduler.now_ms + RETRY_PAUSE_MS)
                break
            offset += 1
        if self._file.unchanged_since_write(level):
            self._file.save(level, self.offsets.get(level))
        self.offsets[level] = offset

    def _first_undelivered(self, level: int, queue: ConsumeQueue) -> int:
        return max(self.offsets.get(level, 0), queue.min_offset)

    def _deliver(self, level: int, offset: int) -> bool:
        """Store a copy in the real topic; it keeps DELAY, REAL_TOPIC and REAL_QID, so it bypasses the hooks.

        A half message is lost, as upstream. Returns False if no message can be stored now.
        """
        stored = self._store.record(SCHEDULE_TOPIC, level - 1, offset)
        if stored is None:
            return True
        message = copy_of(records.decode(stored))
        if not restore_original_queue(message) or message.topic == HALF_TOPIC:
            return True
        try:
            put = self._store.append(message)
        except EngineError as refusal:
            return refusal.code is not ResponseCode.SERVICE_NOT_AVAILABLE
        if self._config.enable_schedule_message_stats:
            self._store.stats.by_name.count_delivered_delay(message.topic, level - 1, put.size)
        return True
