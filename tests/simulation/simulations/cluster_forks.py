"""A seeded simulation of masters with slaves that are forked in the middle; parent and fork work on and are checked.

    python tests/simulation cluster_forks SEED

runs one seed and prints its actions. Until the end the parent is judged as in `cluster.py`, by the oracle of each
master, which knows nothing of the fork. In the fork clients send, brokers restart, and slaves stop and start. These
invariants hold there:

- Each slave has what its master has, as in `slaves.py`.
- A master keeps each record that it had at the fork, byte for byte, unless its file was deleted.
- A master has each message of the fork whose send was accepted. It has no other messages than those and the parent's.
"""

import sys
from collections.abc import Iterable, Iterator

import cluster
from cluster import Cluster, ClusterSetup
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from shortening import failure_of, report_of, show
from simulation import TOPICS, Action
from slaves import Slave
from stored_messages import Violation

OWN = b"of the fork"
"""Begin of the bodies that are sent in the fork."""
APART_MS = 700
"""If step N of the fork moves its clock, then by N times this. The parent has a clock of its own."""
SYSTEM_TOPICS = ("rmq_sys_", "SCHEDULE_TOPIC", "RMQ_SYS_")


class ForkedSlave(Slave):
    """A slave of a fork. It may delete any file, because its parent may have been requested to before the fork.

    It may have any offset that a group had on its master before the fork, even if the master has lost it in a crash.
    """

    def __init__(self, engine: Engine, master: Broker, broker: Broker, parent: Slave) -> None:
        super().__init__(engine, master, broker)
        self.highest_offsets |= parent.highest_offsets

    def look_at_files(self) -> None:
        """Note the start of its log, which is not checked."""
        self._log.begin = self.broker.store.log.min_offset


class ForkedCluster:
    """A fork of a cluster, and the state that it must keep."""

    def __init__(self, parent: Cluster) -> None:
        self.engine = Engine(state=parent.engine.fork_state())
        for broker in self.engine.brokers:
            self.engine.start(broker)
        self.masters = [broker for broker in self.engine.brokers if broker.is_master]
        by_name = {master.name: master for master in self.masters}
        self.slaves = [
            ForkedSlave(self.engine, by_name[broker.name], broker, parent_slave)
            for broker, parent_slave in zip(
                (broker for broker in self.engine.brokers if not broker.is_master), parent.slaves, strict=True
            )
        ]
        self._records = {master.name: list(records_of(master)) for master in self.masters}
        logs = [master.store.log for master in self.masters]
        self._known = {body_of(record) for log in logs for _, record in log.records_from(log.min_offset)}
        """Bodies in all topics, including system topics, whose messages may reach the topics of clients later."""
        self._accepted: dict[str, list[bytes]] = {master.name: [] for master in self.masters}
        self._steps = 0

    def work(self) -> None:
        """Send to a master, and then move the clock, restart a broker, or stop or start a slave. Raises Violation."""
        self._steps += 1
        broker = self.engine.brokers[self._steps % len(self.engine.brokers)]
        master = self.masters[self._steps % len(self.masters)]
        self._send(master)
        match self._steps % 5:
            case 1 if not broker.is_master:
                self.engine.stop(broker, kill=self._steps % 2 == 0)
            case 2:
                self.engine.restart(master)
            case 3:
                self.engine.start(broker)
            case _:
                self.engine.scheduler.advance_to(self.engine.scheduler.now_ms + APART_MS * self._steps)
        for slave in self.slaves:
            slave.judge()

    def _send(self, master: Broker) -> None:
        body, topic = b"%s %d" % (OWN, self._steps), list(TOPICS)[self._steps % len(TOPICS)]
        fields = "others", topic, 0, body, {"TAGS": "red"}, ("10.0.0.9", 4711)
        try:
            result = self.engine.execute(master, SendMessage(*fields, born_timestamp=self.engine.scheduler.now_ms))
        except EngineError as refused:
            raise Violation(f"{master.name} of the fork rejects a message: {refused}") from None
        if not isinstance(result, SendResult):
            raise Violation(f"{master.name} of the fork returns {result}")
        self._accepted[master.name].append(body)

    def finish(self) -> None:
        """Check the messages of all masters. Raises Violation."""
        for broker in self.engine.brokers:
            self.engine.start(broker)
        for slave in self.slaves:
            slave.judge()
        for master in self.masters:
            records = list(records_of(master))
            before = self._records[master.name]
            if not master.store.log.min_offset and records[: len(before)] != before:
                raise Violation(f"{master.name} of the fork has other records than at the fork")
            bodies = {body_of(record) for record in records}
            if lost := [body for body in self._accepted[master.name] if body not in bodies]:
                raise Violation(f"{master.name} of the fork has lost {lost}")
            if strange := {body for body in bodies - self._known if not body.startswith(OWN)}:
                raise Violation(f"{master.name} of the fork has later messages of its parent: {sorted(strange)}")


def records_of(broker: Broker) -> Iterator[bytes]:
    """Yield the records of topics of clients, retries included, in the order of the log."""
    log = broker.store.log
    for _, record in log.records_from(log.min_offset):
        if not decode(record).topic.startswith(SYSTEM_TOPICS):
            yield bytes(record)


def body_of(record: bytes) -> bytes:
    """Return the body of a record without the dots with which the simulation makes bodies longer."""
    return decode(record).body.rstrip(b".")


def run(setup: ClusterSetup, actions: Iterable[Action]) -> ForkedCluster:
    """Perform half of the actions, fork, and perform the others while the fork works. Raises Violation."""
    steps = list(actions)
    parent = Cluster(setup)
    for action in steps[: len(steps) // 2]:
        parent.perform(action)
    fork = ForkedCluster(parent)
    for action in steps[len(steps) // 2 :]:
        parent.perform(action)
        fork.work()
    fork.finish()
    parent.drain()
    if found := parent.leaks():
        raise Violation(f"left behind: {found}")
    return fork


def failure(setup: ClusterSetup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: run(setup, actions))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_cluster_forks.py", *cluster.plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], cluster.plan, report))
