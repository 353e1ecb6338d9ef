"""A seeded simulation of messages lost in crashes: with synchronous flush or without, with slaves or without.

    python tests/simulation durability SEED

runs one seed and prints its actions. Producers send to any running broker, consumers of two groups pull and commit, a
third group pops. `kept_messages.py` checks the messages that must remain, `taken_messages.py` those that must be
redelivered, and `slaves.py` the records of slaves.
"""

import random
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cluster import NAMES
from kept_messages import KeptMessages
from observations import Place
from pull_operation import pull_of
from rocketmq_testkit.conformance.clients.receipt_handles import popped_receipt
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.names import pop_retry_topic
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    PopMessage,
    PoppedMessage,
    PopResult,
    PullResult,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from session import START_MS
from shortening import failure_of, report_of, show
from simulation import NUMBERS, Action
from slaves import Slave
from stored_messages import Violation
from taken_messages import INVISIBLE_MS, TakenMessages

TOPICS = {"A": 2, "B": 1}
GROUPS = ("one", "two")
TAKERS = "three"
"""A group that pops."""
ACTIONS = 150
ROUNDS, SETTLE_MS = 5, 25_000
SIZES = (10, 100, 3_000, 20_000)
"""Sizes of bodies in bytes; the larger ones fill the pages that an asynchronous flush waits for."""
JUMPS_MS = (1, 100, 500, 2_999, 3_000, 7_000, 11_000, 70_000, 180_000)
WEIGHTS = {"send": 30, "send anywhere": 8, "pull": 20, "commit": 10, "advance": 16, "power loss": 5, "kill": 2,
           "pop": 14, "ack": 8,
           "restart": 2, "take down": 3, "bring back": 6, "slave down": 3, "slave up": 5, "slave power loss": 2,
           "read slave": 4}  # fmt: skip


class Disk(NamedTuple):
    """Storage of a master: synchronous flush or not, number of slaves, synchronous replication or not."""

    sync_flush: bool = False
    slaves: int = 0
    sync_master: bool = False

    def configs(self, name: str) -> list[BrokerConfig]:
        """Return the configurations of the master and its slaves."""
        found = []
        for number in range(self.slaves + 1):
            config = BrokerConfig()
            config.broker_name, config.broker_id = name, number
            config.slave_read_enable = True
            config.flush_disk_type = "SYNC_FLUSH" if self.sync_flush else "ASYNC_FLUSH"
            config.broker_role = "SLAVE" if number else "SYNC_MASTER" if self.sync_master else "ASYNC_MASTER"
            config.in_sync_replicas = 2 if self.sync_master else 1
            found.append(config)
        return found


class Waiting(NamedTuple):
    """A send that waits for a slave."""

    call: DirectCall
    since_ms: int
    physical: int


class Master:
    """A broker with its slaves, its models, and its consumers."""

    def __init__(self, engine: Engine, disk: Disk, broker: Broker, slaves: Iterable[Broker]) -> None:
        self.engine = engine
        self._disk = disk
        self.broker = broker
        self.kept = KeptMessages(broker)
        self.slaves = [Slave(engine, broker, slave) for slave in slaves]
        self._cursors: dict[tuple[str, Place], int] = {}
        self.waiting: list[Waiting] = []
        self.taken = TakenMessages(self.kept)
        self._handles: list[tuple[str, AckMessage]] = []
        self._stopped_ms = 0
        for topic, queues in TOPICS.items():
            engine.execute(broker, CreateTopic(TopicConfig(topic, queues, queues)))
        for group in (*GROUPS, TAKERS):
            engine.execute(broker, CreateGroup(GroupConfig(group)))

    @property
    def now(self) -> int:
        """The simulated time (ms since the epoch)."""
        return self.engine.scheduler.now_ms

    # producers

    def send(self, topic: str, queue_id: int, message_id: str, size: int) -> bool:
        """Send a message; return True if the broker stored it."""
        body = message_id.encode().ljust(size, b".")
        properties = {"UNIQ_KEY": message_id}
        offset = self.broker.store.max_offset(topic, queue_id)
        call = self.engine.submit(
            self.broker,
            SendMessage("producers", topic, queue_id, body, properties, ("10.0.0.1", 5000), self.now),
            DirectChannel(),
        )
        if isinstance(call.outcome, EngineError):
            if self.broker.running or call.outcome.code.name != "SERVICE_NOT_AVAILABLE":
                raise Violation(f"{self.broker.name} answers {call.outcome}")
            return False
        self.kept.stored(message_id, (topic, queue_id), offset, self.now)
        physical = self.broker.store.queues[topic, queue_id].unit(offset)[0]
        self.waiting.append(Waiting(call, self.now, physical))
        self._answered()
        return True

    def _answered(self) -> None:
        """Check the responses to sends: a waiting one comes when the slave has the message, or at the timeout."""
        slave_has = [slave.broker.store.log.max_offset for slave in self.slaves if slave.connected]
        for waiting in list(self.waiting):
            outcome, waited_ms = waiting.call.outcome, self.now - waiting.since_ms
            there = any(end > waiting.physical for end in slave_has)
            if outcome is None:
                if not self._disk.sync_master or there or waited_ms >= self.broker.config.slave_timeout:
                    raise Violation(f"{waiting} still waits at {self.now}, slaves have {slave_has}")
                continue
            self.waiting.remove(waiting)
            if not isinstance(outcome, SendResult):
                raise Violation(f"{waiting}: {outcome}")
            code = outcome.code.name
            late = code == "FLUSH_SLAVE_TIMEOUT" and self._disk.sync_master
            if not late and (code != "SUCCESS" or (self._disk.sync_master and not there)):
                raise Violation(f"{waiting}, slaves have {slave_has}")
            if late and ((there and not waited_ms) or waited_ms < self.broker.config.slave_timeout):
                raise Violation(f"{waiting} timed out after {waited_ms} ms")

    # consumers

    def pull(self, group: str, topic: str, queue_id: int) -> int:
        """Pull from the current position; return the number of messages."""
        place = (topic, queue_id)
        cursor = self._cursors.get((group, place))
        if cursor is None:
            cursor = max(self.broker.offsets.query(group, topic, queue_id), 0)
        pull = pull_of(group, topic, queue=queue_id, offset=cursor)
        outcome = self.engine.submit(self.broker, pull).outcome
        if isinstance(outcome, EngineError) and not self.broker.running:
            return 0
        if not isinstance(outcome, PullResult):
            raise Violation(f"{self.broker.name} answers {outcome}")
        if not 0 <= outcome.next_begin_offset <= self.broker.store.max_offset(topic, queue_id):
            raise Violation(f"{group} gets the next offset {outcome.next_begin_offset} of {place}")
        self.kept.read(group, place, cursor, outcome.records)
        self._cursors[group, place] = outcome.next_begin_offset
        return len(outcome.records)

    def commit(self, group: str, topic: str, queue_id: int) -> None:
        """Commit the position up to which a group has read."""
        cursor = self._cursors.get((group, (topic, queue_id)))
        if cursor is not None and self.broker.running:
            self.engine.execute(self.broker, UpdateConsumerOffset(group, topic, queue_id, cursor))

    def pop(self, topic: str, count: int) -> int:
        """Pop messages; return their number."""
        pop = PopMessage(
            TAKERS,
            topic,
            queue_id=-1,
            max_msg_nums=count,
            invisible_ms=INVISIBLE_MS,
            born_ms=self.now,
            exp_type="TAG",
            exp="*",
        )
        outcome = self.engine.submit(self.broker, pop).outcome
        if isinstance(outcome, EngineError) and not self.broker.running:
            return 0
        if not isinstance(outcome, PopResult):
            raise Violation(f"{self.broker.name} answers {outcome}")
        for message in outcome.messages:
            if not message.topic_digit:
                place = (topic, message.queue_id)
                self.kept.read(TAKERS, place, message.queue_offset, [message.record])
            message_id = decode(message.record).body.rstrip(b".").decode()
            self.taken.popped(message_id, self.now)
            self._handles.append((message_id, self._ack_of(topic, outcome, message)))
        return len(outcome.messages)

    def _ack_of(self, topic: str, popped: PopResult, message: PoppedMessage) -> AckMessage:
        receipt = popped_receipt(popped, message, self.broker.name)
        real = pop_retry_topic(topic, TAKERS, v2=False) if message.topic_digit else topic
        return AckMessage(TAKERS, real, message.queue_id, receipt.text(), message.queue_offset)

    def ack(self, number: int) -> None:
        """Acknowledge one of the popped messages; its invisible duration may be over, and then it is redelivered."""
        if self._handles and self.broker.running:
            message_id, operation = self._handles.pop(number % len(self._handles))
            outcome = self.engine.submit(self.broker, operation).outcome
            if isinstance(outcome, EngineError):
                gone = operation.offset >= self.broker.store.max_offset(operation.topic, operation.queue_id)
                if outcome.code.name != "NO_MESSAGE" or not gone:
                    raise Violation(f"{operation} of {message_id}: {outcome}")
                return
            self.taken.acked(message_id)

    # crashes and stops

    def dies(self, how: Callable[[], None], *, power_loss: bool = False) -> None:
        """Crash, restart or stop the broker with `how`; all connections are lost."""
        if not self.broker.running:
            return
        how()
        for waiting in self.waiting:
            if waiting.call.outcome is not None and not isinstance(waiting.call.outcome, EngineError):
                raise Violation(f"{waiting} is answered by a broker that has died")
        self.waiting.clear()
        self._cursors.clear()
        self._stopped_ms = self.now
        self.kept.died(self.now, power_loss=power_loss)
        self.taken.died(self.now, power_loss=power_loss)
        for slave in self.slaves:
            slave.master_lost()

    def comes_back(self) -> None:
        """Start the broker if it is stopped."""
        if not self.broker.running:
            self.engine.start(self.broker)
            self.taken.away(self.now - self._stopped_ms)

    def judge(self) -> None:
        """Check everything that a step may have changed. Raises Violation."""
        self._answered()
        self.kept.judge()
        for slave in self.slaves:
            slave.judge()

    def read_all(self) -> None:
        """Read to the end with every group, and check that each has every message."""
        for group in GROUPS:
            for topic, queues in TOPICS.items():
                for queue_id in range(queues):
                    self.pull(group, topic, queue_id)  # the first pull may be sent to another offset
                    while self.pull(group, topic, queue_id):
                        pass
            if missing := self.kept.never_read(group):
                raise Violation(f"{group} never received {missing[0]}")
        self._take_all()

    def _take_all(self) -> None:
        """Pop and acknowledge all messages, and check that none is missing."""
        for _ in range(ROUNDS):
            for topic in TOPICS:
                while self.pop(topic, 32):
                    pass
            while self._handles:
                self.ack(0)
            self.engine.scheduler.advance_to(self.now + SETTLE_MS)
        if unread := self.kept.never_read(TAKERS):
            raise Violation(f"{TAKERS} never received {unread[0]}")
        if missing := self.taken.missing():
            raise Violation(f"{missing[0]} was popped, not acknowledged, and never redelivered")


class Durability:
    """Brokers that crash; `perform` raises Violation."""

    def __init__(self, disks: tuple[Disk, ...], seed: int = 0) -> None:
        configs = [disk.configs(name) for disk, name in zip(disks, NAMES, strict=False)]
        self.engine = Engine(brokers=[one for each in configs for one in each], seed=seed, now_ms=START_MS)
        brokers = iter(self.engine.brokers)
        self.masters = [
            Master(self.engine, disk, next(brokers), [next(brokers) for _ in range(disk.slaves)]) for disk in disks
        ]
        self._sent = 0

    def perform(self, action: Action) -> None:
        """Carry out an action; the number of its client also selects the broker."""
        master = self.masters[action.client % len(self.masters)]
        topic = list(TOPICS)[action.a % len(TOPICS)]
        queue_id, group = action.b % TOPICS[topic], GROUPS[action.c % len(GROUPS)]
        broker, engine = master.broker, self.engine
        match action.verb:
            case "send":
                self._send([master], topic, queue_id, action.d)
            case "send anywhere":
                at = self.masters.index(master)
                self._send([*self.masters[at:], *self.masters[:at]], topic, queue_id, action.d)
            case "pull":
                master.pull(group, topic, queue_id)
            case "commit":
                master.commit(group, topic, queue_id)
            case "advance":
                engine.scheduler.advance_to(engine.scheduler.now_ms + JUMPS_MS[action.a % len(JUMPS_MS)])
            case "power loss":
                master.dies(lambda: engine.crash(broker), power_loss=True)
            case "kill":
                master.dies(lambda: engine.crash(broker, power_loss=False))
            case "restart":
                master.dies(lambda: engine.restart(broker))
            case "take down":
                master.dies(lambda: engine.stop(broker, kill=action.a % 2 == 0))
            case "bring back":
                master.comes_back()
            case "pop":
                master.pop(topic, 1 + action.c % 8)
            case "ack":
                master.ack(action.c)
            case _:
                if master.slaves:
                    self._use_slave(master.slaves[action.b % len(master.slaves)], action)
        for each in self.masters:
            each.judge()

    def _send(self, masters: Iterable[Master], topic: str, queue_id: int, number: int) -> None:
        """Send to the first of these masters that accepts the message."""
        for master in masters:
            self._sent += 1
            if master.send(topic, queue_id, f"m{self._sent}", SIZES[number % len(SIZES)]):
                return

    def _use_slave(self, slave: Slave, action: Action) -> None:
        if action.verb == "slave down":
            self.engine.stop(slave.broker, kill=action.a % 2 == 0)
        elif action.verb == "slave up":
            self.engine.start(slave.broker)
        elif action.verb == "slave power loss":
            self.engine.crash(slave.broker)
            slave.lost()
        else:
            topic = list(TOPICS)[action.a % len(TOPICS)]
            slave.read(GROUPS[0], topic, action.b % TOPICS[topic], action.c)

    def finish(self) -> None:
        """Start all brokers, and read everything with every group."""
        for master in self.masters:
            master.comes_back()
        for broker in self.engine.brokers:
            self.engine.start(broker)
        self.engine.scheduler.advance_to(self.engine.scheduler.now_ms + 200_000)
        for master in self.masters:
            master.judge()
            master.read_all()


def plan(seed: int) -> tuple[tuple[Disk, ...], list[Action]]:
    """Return the disks and actions of a seed."""
    draw = random.Random(f"durability {seed}")
    disks = tuple(
        Disk(draw.random() < 0.3, slaves := draw.choice((0, 1, 1, 2)), slaves > 0 and draw.random() < 0.5)
        for _ in range(draw.choice((1, 2, 3)))
    )
    weights = [weight * draw.choice((0, 1, 1, 1, 4)) for weight in WEIGHTS.values()]
    for verb in ("send", "bring back"):
        weights[list(WEIGHTS).index(verb)] = WEIGHTS[verb]
    verbs = draw.choices(list(WEIGHTS), weights, k=ACTIONS)
    return disks, [_drawn(verb, draw) for verb in verbs]


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b, c, d = (draw.randrange(NUMBERS) for _ in range(5))
    return Action(verb, client, a, b, c, d)


def run(disks: tuple[Disk, ...], actions: Iterable[Action]) -> Durability:
    """Carry out all actions and read everything. Raises Violation."""
    simulation = Durability(disks)
    for action in actions:
        simulation.perform(action)
    simulation.finish()
    return simulation


def failure(disks: tuple[Disk, ...], actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: run(disks, actions))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_durability.py", *plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
