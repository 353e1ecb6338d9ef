"""Slaves in a simulation: what they hold is what their master holds, and nothing of it is their own.

What upstream allows, and nothing else (DefaultHAService, SlaveSynchronize 5.3.3):

- While both run, a slave has every record of its master, byte for byte; what a slave has stays while its master is
  away, and it stores nothing by itself: nothing is delivered late, comes back, or is checked there.
- Every queue of a slave that is connected reaches as far as that of its master.
- Its offsets are those that its master had; they are never ahead of all that the master ever had.
- It takes no message, and gives what it holds to those who read.
"""

from collections.abc import Callable

from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.broker import Broker
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.errors import EngineError
from stored_messages import Violation

READS = 4
"""A pull that brings its subscription along."""


class Slave:
    """One slave, and what is known of it."""

    def __init__(self, engine: Engine, master: Broker, broker: Broker) -> None:
        self._engine = engine
        self._master = master
        self.broker = broker
        self._compared = 0
        self._highest: dict[tuple[str, str, int], int] = {}

    @property
    def connected(self) -> bool:
        """Do both run?"""
        return self.broker.running and self._master.running

    def master_lost(self) -> None:
        """The master has lost the end of its log perhaps, which a slave gives up as soon as both run."""
        self._compared = min(self._compared, self._master.store.log.max_offset)

    def lost(self) -> None:
        """The slave has lost the end of its log, and got it again if its master runs."""
        self._compared = min(self._compared, self.broker.store.log.max_offset)

    def judge(self) -> None:
        """What a step may have changed. Raises Violation."""
        self._note_offsets()
        self._judge_offsets()
        ours, theirs = self.broker.store.log, self._master.store.log
        if self.connected and ours.max_offset != theirs.max_offset:
            raise Violation(f"{self} ends at {ours.max_offset}, its master at {theirs.max_offset}")
        if ours.max_offset < self._compared:
            raise Violation(f"{self} ends at {ours.max_offset}, it had {self._compared}")
        if not self.connected:
            return
        for mine, its in zip(ours.records_from(self._compared), theirs.records_from(self._compared), strict=False):
            if mine != its:
                raise Violation(f"{self} holds {mine}, its master {its}")
        self._compared = ours.max_offset
        self._judge_queues()

    def _judge_queues(self) -> None:
        for place, queue in self._master.store.queues.items():
            mine = self.broker.store.queues.get(place)
            extent = (0, queue.physical[:0]) if mine is None else (mine.first, mine.physical)
            if extent != (queue.first, queue.physical):
                raise Violation(f"{place} of {self} begins at {extent[0]} and has {len(extent[1])} messages")

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
        offsets = range(offset, offset + len(outcome.records))
        theirs = [self._master.store.record(topic, queue_id, each) for each in offsets]
        end = self.broker.store.max_offset(topic, queue_id)
        if outcome.records != theirs or len(theirs) != max(min(end - offset, 32), 0):
            raise Violation(f"{self} gives {len(theirs)} messages from {offset} of {topic}@{queue_id}, it has {end}")

    def refuses(self, send: Callable[[], ops.SendMessage]) -> None:
        """Nobody can send to it."""
        self._refused(self._engine.submit(self.broker, send()).outcome, None)

    def _refused(self, outcome: object, code: str | None) -> None:
        if not isinstance(outcome, EngineError) or code not in (None, outcome.code.name):
            raise Violation(f"{self} answers {outcome}")

    def __str__(self) -> str:
        return f"slave {self.broker.broker_id} of {self.broker.name}"
