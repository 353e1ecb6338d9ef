"""Checks of slaves in a simulation: a slave has exactly its master's records.

Upstream allows the following and nothing else (DefaultHAService, SlaveSynchronize 5.3.3):

- While both run, a slave has every record of its master, byte for byte. It keeps its records while its master is
  stopped, and stores nothing of its own: it delivers no delayed message, redelivers none and checks no transaction.
- Every queue of a connected slave ends at the same offset as its master's.
- No group has a larger offset on the slave than it ever had on the master.
- It accepts no message, and serves reads. It does not correct the offset of a pull for deleted messages; only a master
  does.
- It deletes files independently, by its master's rules, so either may have records that the other has deleted. A slave
  that was stopped while its master deleted records that it lacks receives nothing more.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deleted_files import DeletedFiles, Retention
from observations import Deleted, DeletionRequested
from pull_operation import pull_of
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.cluster import DeleteExpiredCommitLog
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage
from stored_messages import Violation

StoredBefore = Callable[[int], int | None]
"""Returns the store time of the last message before a physical offset (ms since the epoch), None if there is none."""


@dataclass(slots=True)
class SlaveLog:
    """State of a slave's log."""

    newest_before: StoredBefore
    begin: int = 0


class Slave:
    """One slave and its expected state; without `retention` it may delete nothing."""

    def __init__(
        self,
        engine: Engine,
        master: Broker,
        broker: Broker,
        newest_before: StoredBefore = lambda physical: None,
        *,
        retention: Retention | None = None,
    ) -> None:
        self._engine = engine
        self._master = master
        self.broker = broker
        self._compared = 0
        self.highest_offsets: dict[tuple[str, str, int], int] = {}
        """Largest offset that a group ever had on the master, by (group, topic, queue id)."""
        self._log = SlaveLog(newest_before)
        self._files = DeletedFiles(self._log, retention)

    @property
    def connected(self) -> bool:
        """True if both brokers run and the master still has the records that the slave lacks."""
        there = self.broker.store.log.max_offset >= self._master.store.log.min_offset
        return self.broker.running and self._master.running and there

    @property
    def apart(self) -> int:
        """Difference between the starts of the slave's and the master's log, in bytes."""
        return self.broker.store.log.min_offset - self._master.store.log.min_offset

    def master_lost(self) -> None:
        """Record that the master may have lost the end of its log; the slave discards this end, too, once both run."""
        self._compared = min(self._compared, self._master.store.log.max_offset)

    def lost(self) -> None:
        """Record that the slave lost the end of its log, which it receives again at once if its master runs."""
        self._compared = min(self._compared, self.broker.store.log.max_offset)

    def judge(self) -> None:
        """Check everything that a step may have changed. Raises Violation."""
        self.look_at_files()
        self._note_offsets()
        self._judge_offsets()
        ours, theirs = self.broker.store.log, self._master.store.log
        if self.connected and ours.max_offset != theirs.max_offset:
            raise Violation(f"{self} ends at {ours.max_offset}, its master at {theirs.max_offset}")
        if ours.max_offset < self._compared:
            raise Violation(f"{self} ends at {ours.max_offset}, its end was {self._compared}")
        if not self.connected:
            return
        begin = max(self._compared, ours.min_offset, theirs.min_offset)
        for mine, its in zip(ours.records_from(begin), theirs.records_from(begin), strict=False):
            if mine != its:
                raise Violation(f"{self} has {mine}, its master {its}")
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
                self.highest_offsets[key] = max(offset, self.highest_offsets.get(key, -1))

    def _judge_offsets(self) -> None:
        for group, topic, table in self.broker.offsets.all():
            for queue_id, offset in table.items():
                if offset > self.highest_offsets.get((group, topic, queue_id), -1):
                    raise Violation(f"{group} is at {offset} of {topic}@{queue_id} on {self}, and never was there")

    def read(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Pull from the slave, whether its master runs or not, and check the response."""
        if not self.broker.running:
            return
        pull = pull_of(group, topic, queue=queue_id, offset=offset)
        outcome = self._engine.submit(self.broker, pull).outcome
        if self.broker.topics.find(topic) is None:
            self._refused(outcome, "TOPIC_NOT_EXIST")
            return
        if not isinstance(outcome, PullResult):
            raise Violation(f"{self} answers {outcome}")
        begin, end = self.broker.store.min_offset(topic, queue_id), self.broker.store.max_offset(topic, queue_id)
        wanted = max(min(end - offset, 32), 0) if offset >= begin else 0
        right = all(self._is_of(record, topic, queue_id, offset + at) for at, record in enumerate(outcome.records))
        if not right or len(outcome.records) != wanted:
            given = f"{len(outcome.records)} messages from {offset} of {topic}@{queue_id}"
            raise Violation(f"{self} returns {given}, it has those from {begin} to {end}")
        if offset < begin and outcome.next_begin_offset != offset:
            next_offset = outcome.next_begin_offset
            raise Violation(f"{self} returns the next offset {next_offset} to a pull of {offset} of {topic}@{queue_id}")

    def _is_of(self, record: bytes, topic: str, queue_id: int, offset: int) -> bool:
        """Return True if a record is the message at this offset, as the master has or had it."""
        theirs = self._master.store.record(topic, queue_id, offset)
        if theirs is not None:
            return record == theirs
        message = decode(record)
        return (message.topic, message.queue_id, message.queue_offset) == (topic, queue_id, offset)

    def refuses(self, send: Callable[[], SendMessage]) -> None:
        """Check that the slave rejects a send."""
        self._refused(self._engine.submit(self.broker, send()).outcome, None)

    def _refused(self, outcome: object, code: str | None) -> None:
        if not isinstance(outcome, EngineError) or code not in (None, outcome.code.name):
            raise Violation(f"{self} answers {outcome}")

    # files

    def delete_files(self) -> None:
        """Request the deletion of expired files."""
        if self.broker.running:
            self._engine.execute(self.broker, DeleteExpiredCommitLog())
            self._files.deletion_requested(DeletionRequested(self._engine.scheduler.now_ms))

    def look_at_files(self) -> None:
        """Check that only expired log files were deleted. Raises Violation."""
        log = self.broker.store.log
        if log.min_offset != self._log.begin:
            self._files.deleted(Deleted(self._engine.scheduler.now_ms, log.min_offset, log.max_offset))
            self._log.begin = log.min_offset

    def __str__(self) -> str:
        return f"slave {self.broker.broker_id} of {self.broker.name}"
