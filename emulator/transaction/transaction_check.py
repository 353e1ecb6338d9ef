"""Transaction check: asks a producer to end a half message that is neither committed nor rolled back.

The broker checks each half message at most `transactionCheckMax` times.

A round walks through the half topic from the committed position and skips the messages named in op messages. Each other
half message gets a verdict:

    DISCARD   checked too often or older than the store keeps  -> copy to TRANS_CHECK_MAX_TIME_TOPIC, continue
    FRESH     stored in this round, or too young               -> end the round here
    IMMUNE    has an immunity time that is not over            -> re-append it to the half topic, continue
    CHECK     neither committed nor rolled back                -> re-append it, ask a producer, continue
    MORE_OPS  its decision may be in op messages not read yet  -> read more; if there are none, wait 1 s; judge again

The next round starts `transactionCheckInterval` after the end of the last one, as long as half or op messages remain.
Source: TransactionalMessageServiceImpl.check, TransactionalMessageCheckService (5.3.3).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum, auto

from ..assembly.broker_context import Push
from ..config import BrokerConfig
from ..gate.call import Channel
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.switch import Switch
from ..kernel.timer_kind import TimerKind
from ..message import names
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import StoredPosition
from .check_round import CheckRound
from .half_message import HalfMessage, check_immunity_ms
from .op_queue import OpQueue, half_offsets

ROUND_MAX_MS = 60_000
"""A round that has taken longer than this ends before its next half message."""
NO_OPS_PAUSE_MS = 1000
"""Pause of a round that needs more op messages, if there are none."""
NO_ROOM_PAUSE_MS = 1000
"""Pause of a round while the disk is full."""
OPS_PER_READ = 32
"""Maximum number of op messages that a round reads at once."""
_HOUR_MS = 3_600_000

FindProducer = Callable[[str], Channel | None]


class CheckVerdict(Enum):
    """The decision of a round about a half message."""

    DISCARD = auto()
    FRESH = auto()
    IMMUNE = auto()
    CHECK = auto()
    MORE_OPS = auto()

    __hash__ = object.__hash__  # each member exists once, and Enum's own hash costs a call


class TransactionChecks:
    """Checks the half messages of one broker. `find_producer` returns a channel of a producer group, or None."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        tables: BrokerTables,
        op_queue: OpQueue,
        find_producer: FindProducer,
        push: Push,
        switch: Switch,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = tables.store
        self._topics = tables.topics
        self._offsets = tables.offsets
        self._op_queue = op_queue
        self._find_producer = find_producer
        self._push = push
        self._switch = switch
        switch.on_resumed(self._resume)
        self._round_end_ms = scheduler.now_ms
        self._timer: Timer | None = None
        self._actions: dict[CheckVerdict, Callable[[CheckRound, HalfMessage], None]] = {
            CheckVerdict.DISCARD: self._discard,
            CheckVerdict.IMMUNE: self._reappend_immune,
            CheckVerdict.CHECK: self._check,
        }
        self._resume()

    # timing

    def fork_state(self) -> int:
        """Return for a fork the time since the end of the last round (ms)."""
        return self._scheduler.now_ms - self._round_end_ms

    def continue_from(self, state: int) -> None:
        """Start the next round when the parent of the fork would. A round that pauses in the parent is repeated."""
        self._round_end_ms = self._scheduler.now_ms - state
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._resume()

    @property
    def next_round_ms(self) -> int | None:
        """The start of the next round (ms), or the end of the pause of the current one; None if none is scheduled."""
        return None if self._timer is None else self._scheduler.due_ms(self._timer)

    @property
    def has_unread_ops(self) -> bool:
        """True if there are op messages that no round has read.

        The next round reads them first. It then pauses before it checks a half message that they do not name.
        """
        topic = names.OP_HALF_TOPIC
        committed = self._offsets.query(names.TRANSACTION_GROUP, topic, 0)
        return bool(self._op_queue.pending_offsets()) or max(committed, 0) < self._store.max_offset(topic, 0)

    def waiting(self) -> Iterator[tuple[int, HalfMessage]]:
        """Yield (start of the next round in ms, half message) for all its half messages, including decided ones."""
        if self._timer is None:
            return
        first = self._first_unchecked()
        for offset in range(first, self._store.max_offset(names.HALF_TOPIC, 0)):
            stored = self._store.record(names.HALF_TOPIC, 0, offset)
            if stored is not None:
                yield self._timer.due_ms, HalfMessage(stored)

    def undecided(self, offsets: Sequence[int] | None = None) -> list[bytes]:
        """Return the stored half messages without commit or rollback; of several copies only the newest.

        `offsets`: ascending offsets of the half topic that are considered; None for all.
        """
        steps = self.undecided_in_steps(offsets)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: list[bytes] = end.value
                return found

    def undecided_in_steps(self, offsets: Sequence[int] | None = None) -> Generator[None, None, list[bytes]]:
        """Do as `undecided` does, as of the first step, but yield between messages, so that other work can run."""
        decided = self._op_queue.pending_offsets()
        ops = self._store.queue(names.OP_HALF_TOPIC, 0)
        decisions = range(ops.first, ops.max_offset) if ops is not None else range(0)
        first = self._first_unchecked()
        halves = range(first, self._store.max_offset(names.HALF_TOPIC, 0)) if offsets is None else offsets
        for offset in decisions:
            if (stored := self._store.record(names.OP_HALF_TOPIC, 0, offset)) is not None:
                decided.update(half_offsets(records.decode(stored).body))
            yield
        found: dict[int, bytes] = {}
        for offset in halves:
            if offset < first:
                continue
            if (stored := self._store.record(names.HALF_TOPIC, 0, offset)) is not None:
                origin = HalfMessage(stored).first_offset()
                if offset in decided or origin in decided:
                    found.pop(origin, None)
                else:
                    found[origin] = stored
            yield
        return list(found.values())

    def _first_unchecked(self) -> int:
        """Return the half offset at which the next round begins. It changes nothing."""
        halves = self._store.queue(names.HALF_TOPIC, 0)
        committed = self._offsets.query(names.TRANSACTION_GROUP, names.HALF_TOPIC, 0)
        return max(committed, 0 if halves is None else halves.first)

    def arrived(self, _queue_id: int, _offset: int, _properties: dict[str, str], _born_ms: int) -> None:
        """Schedule the next round when a message of the half or op topic arrives."""
        self._schedule_next_round()

    def _schedule_next_round(self) -> None:
        if self._timer is None:
            interval = self._config.transaction_check_interval
            rounds = (self._scheduler.now_ms - self._round_end_ms) // interval + 1
            self._schedule_round(self._round_end_ms + rounds * interval)

    def _resume(self) -> None:
        """Schedule the next round if messages of the half or op topic wait for it, or a position is behind the end.

        After a loss of power a written position may be behind the end of its topic.
        """
        for topic in (names.HALF_TOPIC, names.OP_HALF_TOPIC):
            committed = self._committed(topic)
            if committed < self._store.max_offset(topic, 0) or self._nearest(topic, committed) is not None:
                self._schedule_next_round()

    def _schedule_round(self, due_ms: int) -> None:
        self._timer = self._scheduler.call_at(due_ms, self._begin_round, TimerKind.TRANSACTION_CHECK)

    def _begin_round(self) -> None:
        if self._switch.stopped:
            self._timer = None
            return
        self._op_queue.flush_if_due()
        first_half, first_op = self._committed(names.HALF_TOPIC), self._committed(names.OP_HALF_TOPIC)
        check_round = CheckRound(self._scheduler.now_ms, first_half, first_op)
        self._read_ops(check_round)
        self._walk(check_round)

    def _committed(self, topic: str) -> int:
        committed = self._offsets.query(names.TRANSACTION_GROUP, topic, 0)
        return committed if committed >= 0 else self._store.min_offset(topic, 0)

    def _walk(self, check_round: CheckRound) -> None:
        """Judge half messages until the round ends or must wait for op messages."""
        while self._scheduler.now_ms - check_round.start_ms <= ROUND_MAX_MS:
            if check_round.position in check_round.decided:
                check_round.skip_decided()
                check_round.position += 1
                continue
            stored = self._store.record(names.HALF_TOPIC, 0, check_round.position)
            if stored is None:
                if self._correct_position(check_round):
                    continue
                break
            half = HalfMessage(stored)
            verdict = self._judge(check_round, half)
            if verdict is CheckVerdict.FRESH:
                break
            if verdict is CheckVerdict.MORE_OPS:
                if not self._read_ops(check_round):
                    self._timer = self._scheduler.call_later(
                        NO_OPS_PAUSE_MS, lambda: self._walk(check_round), TimerKind.TRANSACTION_CHECK
                    )
                    return
                continue
            try:
                self._actions[verdict](check_round, half)
            except EngineError as refusal:
                if verdict is not CheckVerdict.DISCARD and refusal.code is ResponseCode.SERVICE_NOT_AVAILABLE:
                    # Upstream retries until the end of the round while the disk is full.
                    self._timer = self._scheduler.call_later(
                        NO_ROOM_PAUSE_MS, lambda: self._walk(check_round), TimerKind.TRANSACTION_CHECK
                    )
                    return
                # Any other message that cannot be stored again is skipped.
            check_round.position += 1
        self._end_round(check_round)

    def _end_round(self, check_round: CheckRound) -> None:
        group, op_end = names.TRANSACTION_GROUP, check_round.op_end()
        if check_round.position != check_round.first_half:
            self._offsets.commit(group, names.HALF_TOPIC, 0, check_round.position)
        if op_end != check_round.first_op:
            self._offsets.commit(group, names.OP_HALF_TOPIC, 0, op_end)
        self._timer = None
        self._round_end_ms = self._scheduler.now_ms
        halves_left = check_round.position < self._store.max_offset(names.HALF_TOPIC, 0)
        if halves_left or op_end < self._store.max_offset(names.OP_HALF_TOPIC, 0):
            self._schedule_round(self._round_end_ms + self._config.transaction_check_interval)

    # reading

    def _correct_position(self, check_round: CheckRound) -> bool:
        """Move a position outside of the half topic to its nearest offset, once a round; return True if it moved."""
        corrected = self._nearest(names.HALF_TOPIC, check_round.position)
        if check_round.position_corrected or corrected is None:
            return False
        check_round.position_corrected = True
        check_round.position = corrected
        return True

    def _nearest(self, topic: str, position: int) -> int | None:
        """Return the first offset of a topic for a position before it, the end for one behind it; None if inside.

        None also if the topic never had a message.
        """
        end = self._store.max_offset(topic, 0)
        nearest = min(max(position, self._store.min_offset(topic, 0)), end)
        return nearest if end and nearest != position else None

    def _read_ops(self, check_round: CheckRound) -> bool:
        """Read the next op messages. Returns False if there are none."""
        topic = names.OP_HALF_TOPIC
        check_round.last_op_born_ms = None
        corrected = self._nearest(topic, check_round.next_op)
        if corrected is not None:
            check_round.next_op = corrected
            self._offsets.commit(names.TRANSACTION_GROUP, topic, 0, corrected)
            return False
        first, end = check_round.next_op, min(check_round.next_op + OPS_PER_READ, self._store.max_offset(topic, 0))
        for offset in range(first, end):
            stored = self._store.record(topic, 0, offset)
            if stored is not None:
                check_round.add_op_message(records.decode(stored))
        check_round.next_op = max(first, end)
        return first < end

    # verdicts

    def _judge(self, check_round: CheckRound, half: HalfMessage) -> CheckVerdict:
        config, record = self._config, half.record
        age = self._scheduler.now_ms - record.born_timestamp
        if record.store_timestamp >= check_round.start_ms:
            # Upstream discards before it tests this, but its round ends before a copy stored in it is dispatched.
            return CheckVerdict.FRESH
        if not half.count_check(config.transaction_check_max) or age > config.file_reserved_time * _HOUR_MS:
            return CheckVerdict.DISCARD
        immune_ms = config.transaction_time_out
        asked = half.properties.get(props.CHECK_IMMUNITY_TIME_IN_SECONDS)
        if asked is not None:
            immune_ms = check_immunity_ms(asked, immune_ms)
            if age < immune_ms and half.immunity_enabled():
                return CheckVerdict.IMMUNE
        elif 0 <= age < immune_ms:
            return CheckVerdict.FRESH
        return CheckVerdict.CHECK if self._needs_check(check_round, age, immune_ms) else CheckVerdict.MORE_OPS

    def _needs_check(self, check_round: CheckRound, age: int, immune_ms: int) -> bool:
        if check_round.last_op_born_ms is None:
            return age > immune_ms or age < 0
        return check_round.last_op_born_ms - check_round.start_ms > self._config.transaction_time_out or age < 0

    # actions

    def _discard(self, _check_round: CheckRound, half: HalfMessage) -> None:
        self._topics.create_internal(names.TRANS_CHECK_MAX_TIME_TOPIC, 1)
        message = half.copy()
        message.topic, message.queue_id = names.TRANS_CHECK_MAX_TIME_TOPIC, 0
        self._store.put(message)
        self._store.stats.by_name.counters.half[half.properties.get(props.REAL_TOPIC, "")] -= 1

    def _reappend_immune(self, check_round: CheckRound, half: HalfMessage) -> None:
        """Re-append an immune message, unless its first copy was decided meanwhile."""
        if not check_round.take_decision(half.first_offset()):
            half.properties[props.WAIT] = "false"
            self._reappend(half, props.encode(half.properties))

    def _check(self, _check_round: CheckRound, half: HalfMessage) -> None:
        """Re-append the message and ask a producer about it; the check counts even if no producer is connected."""
        text = half.text
        stored = self._reappend(half, text)
        channel = self._find_producer(half.properties.get(props.PRODUCER_GROUP, ""))
        if channel is not None:
            self._push(channel, half.check_request(text, stored, self._store.store_host, self._config.broker_name))

    def _reappend(self, half: HalfMessage, text: str) -> StoredPosition:
        """Append a copy to the half topic; `text` is the encoded properties."""
        message = half.copy()
        message.flag = message.reconsume_times = 0
        self._store.prepare(message)
        is_redirected = message.topic != names.HALF_TOPIC  # by a hook: the message has a delay first
        return self._store.append(message, None if is_redirected else text)
