"""Slaves in a simulation: what they hold is what their master holds, and nothing of it is their own.

What upstream allows, and nothing else (DefaultHAService, SlaveSynchronize 5.3.3):

- While both run, a slave has every record of its master, byte for byte; what a slave has stays while its master is
  away, and it stores nothing by itself: nothing is delivered late, comes back, or is checked there.
- Every queue of a slave that is connected reaches as far as that of its master.
- Its offsets are those that its master had; they are never ahead of all that the master ever had.
- It takes no message, and gives what it holds to those who read. Who asks for what it has deleted is left alone: only a
  master says where a queue begins.
- It deletes files of its own accord, by the rules that its master has: either may hold what the other has not any more.
  One that was down until its master had deleted what it lacks gets nothing any more.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deleted_files import DeletedFiles, Retention
from observations import Deleted, Told
from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from stored_messages import Violation

READS = 4
"""A pull that brings its subscription along."""


StoredBefore = Callable[[int], int | None]
"""When the last of what lies before a place of the log was stored, None for nothing."""


@dataclass(slots=True)
class SlaveLog:
    """What is known of the log of a slave."""

    newest_before: StoredBefore
    begin: int = 0


class Slave:
    """One slave, and what is known of it; without `retention` it keeps everything."""

    def __init__(
        self,
        engine: Engine,
        master: Broker,
        broker: Broker,
        newest_before: StoredBefore = lambda physical: None,
        retention: Retention | None = None,
    ) -> None:
        self._engine = engine
        self._master = master
        self.broker = broker
        self._compared = 0
        self._highest: dict[tuple[str, str, int], int] = {}
        self._log = SlaveLog(newest_before)
        self._files = DeletedFiles(self._log, retention)

    @property
    def connected(self) -> bool:
        """Do both run, and does the master still have what the slave lacks?"""
        there = self.broker.store.log.max_offset >= self._master.store.log.min_offset
        return self.broker.running and self._master.running and there

    @property
    def apart(self) -> int:
        """How much later its log begins than that of its master."""
        return self.broker.store.log.min_offset - self._master.store.log.min_offset

    def master_lost(self) -> None:
        """The master has lost the end of its log perhaps, which a slave gives up as soon as both run."""
        self._compared = min(self._compared, self._master.store.log.max_offset)

    def lost(self) -> None:
        """The slave has lost the end of its log, and got it again if its master runs."""
        self._compared = min(self._compared, self.broker.store.log.max_offset)

    def judge(self) -> None:
        """What a step may have changed. Raises Violation."""
        self.look_at_files()
        self._note_offsets()
        self._judge_offsets()
        ours, theirs = self.broker.store.log, self._master.store.log
        if self.connected and ours.max_offset != theirs.max_offset:
            raise Violation(f"{self} ends at {ours.max_offset}, its master at {theirs.max_offset}")
        if ours.max_offset < self._compared:
            raise Violation(f"{self} ends at {ours.max_offset}, it had {self._compared}")
        if not self.connected:
            return
        begin = max(self._compared, ours.min_offset, theirs.min_offset)
        for mine, its in zip(ours.records_from(begin), theirs.records_from(begin), strict=False):
            if mine != its:
                raise Violation(f"{self} holds {mine}, its master {its}")
        self._compared = ours.max_offset
        self._judge_queues()

    def _judge_queues(self) -> None:
        for place, queue in self._master.store.queues.items():
            mine = self.broker.store.queues.get(place)
            first, ours = (0, queue.physical[:0]) if mine is None else (mine.first, mine.physical)
            common = max(first, queue.first)
            alike = ours[common - first :] == queue.physical[common - queue.first :]
            lacks = queue.physical[: first - queue.first] if first > queue.first else ()
            if not alike or any(each >= self._log.begin for each in lacks):
                raise Violation(f"{place} of {self} begins at {first} and has {len(ours)} messages")

    def _note_offsets(self) -> None:
        for group, topic, table in self._master.offsets.all():
            for queue_id, offset in table.items():
                key = (group, topic, queue_id)
                self._highest[key] = max(offset, self._highest.get(key, -1))

    def _judge_offsets(self) -> None:
        for group, topic, table in self.broker.offsets.all():
            for queue_id, offset in table.items():
                if offset > self._highest.get((group, topic, queue_id), -1):
                    raise Violation(f"{group} is at {offset} of {topic}@{queue_id} on {self}, and never was there")

    def read(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Somebody pulls from the slave, whether its master runs or not."""
        if not self.broker.running:
            return
        pull = ops.PullMessage(group, topic, queue_id, offset, 32, READS, 0, 0, 0, "*", "TAG")
        outcome = self._engine.submit(self.broker, pull).outcome
        if self.broker.topics.find(topic) is None:
            self._refused(outcome, "TOPIC_NOT_EXIST")
            return
        if not isinstance(outcome, ops.PullResult):
            raise Violation(f"{self} answers {outcome}")
        begin, end = self.broker.store.min_offset(topic, queue_id), self.broker.store.max_offset(topic, queue_id)
        wanted = max(min(end - offset, 32), 0) if offset >= begin else 0
        right = all(self._is_of(record, topic, queue_id, offset + at) for at, record in enumerate(outcome.records))
        if not right or len(outcome.records) != wanted:
            given = f"{len(outcome.records)} messages from {offset} of {topic}@{queue_id}"
            raise Violation(f"{self} gives {given}, it has those from {begin} to {end}")
        if offset < begin and outcome.next_begin_offset != offset:
            raise Violation(f"{self} sends to {outcome.next_begin_offset} who asks for {offset} of {topic}@{queue_id}")

    def _is_of(self, record: bytes, topic: str, queue_id: int, offset: int) -> bool:
        """Whether it is the message of that place: as the master has it, or had it."""
        theirs = self._master.store.record(topic, queue_id, offset)
        if theirs is not None:
            return record == theirs
        message = decode(record)
        return (message.topic, message.queue_id, message.queue_offset) == (topic, queue_id, offset)

    def refuses(self, send: Callable[[], ops.SendMessage]) -> None:
        """Nobody can send to it."""
        self._refused(self._engine.submit(self.broker, send()).outcome, None)

    def _refused(self, outcome: object, code: str | None) -> None:
        if not isinstance(outcome, EngineError) or code not in (None, outcome.code.name):
            raise Violation(f"{self} answers {outcome}")

    # files

    def delete_files(self) -> None:
        """Somebody tells it to delete what is old enough."""
        if self.broker.running:
            self._engine.ask(self.broker, ops.DeleteExpiredCommitLog())
            self._files.told(Told(self._engine.scheduler.now_ms))

    def look_at_files(self) -> None:
        """Have files of its log been deleted? Raises Violation."""
        log = self.broker.store.log
        if log.min_offset != self._log.begin:
            self._files.deleted(Deleted(self._engine.scheduler.now_ms, log.min_offset, log.max_offset))
            self._log.begin = log.min_offset

    def __str__(self) -> str:
        return f"slave {self.broker.broker_id} of {self.broker.name}"
