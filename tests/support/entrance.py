"""What a rule of `tests/behaviour` may do, whichever door it goes through.

An entrance is a way into a broker in virtual time: the engine's operations, remoting frames, gRPC calls. A rule is
written once against `Entrance`, or against `BrokerEntrance` for what only the broker's own protocol can express.
Setting up and looking at what is stored needs no protocol and is the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, Self

from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.operations.clients import ConsumerListResult, GetConsumerListByGroup
from rocketmq_testkit.emulator.operations.cluster import (
    PutKvConfig,
    SetPermOfBroker,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

START_MS = 1_700_000_000_000

OF_CLIENTS = ("settings again", "client housekeeping", "grpc session")
"""Timers that say only that somebody is connected."""


@dataclass(frozen=True)
class Setup:
    """What an entrance leads into: masters, then slaves."""

    brokers: Sequence[BrokerConfig]
    emulation: EmulationConfig
    proxy: ProxyConfig
    seed: int = 1


@dataclass(frozen=True)
class Taken:
    """A message that was received. `attempt` is 0 at the first time; queue and offset are of the real topic."""

    body: bytes
    handle: str
    attempt: int
    queue_id: int
    offset: int
    message_id: str
    tag: str
    keys: tuple[str, ...]
    place: int = -1
    """In the log."""


@dataclass(frozen=True)
class Answer:
    """What came back: code and remark of the entrance's protocol."""

    ok: bool
    code: int
    remark: str
    messages: list[Taken] = field(default_factory=list)
    handle: str = ""
    number: int = 0
    suggests: int = 0
    """The id of the broker to pull from next."""

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages."""
        return [each.body for each in self.messages]


@dataclass(frozen=True)
class Sent:
    """What a producer is told. `offset` is that of the topic where the message lies now, `place` that of the log."""

    ok: bool
    code: int
    remark: str
    id: str = ""
    offset: int = -1
    place: int = -1
    recall: str = ""


@dataclass(frozen=True)
class Route:
    """A broker name in the route of a topic: its queues by what may be done with them, and the ids that serve it."""

    readable: int
    writable: int
    ids: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Asked:
    """A producer is asked how a half message ends; `sent` is what it ends it by, `times` how often it was asked."""

    body: bytes
    times: int
    sent: Sent


class Waiting(Protocol):
    """A request that may wait."""

    @property
    def answer(self) -> Answer | None:
        """What came back, None while it waits."""


class Sending(Protocol):
    """A send that may wait."""

    @property
    def sent(self) -> Sent | None:
        """What the producer is told, None while it waits."""


class Entrance(ABC):
    """Brokers, of which it leads to the first, `broker-a`, and a way in. Times are in ms."""

    name: str
    proxied = False
    """Does upstream's proxy stand in front of the brokers? It refuses much by itself, with codes of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.broker = engine.brokers[0]
        self._names = count(1)
        self._turns = count()

    # brokers

    @property
    def masters(self) -> list[Broker]:
        """In the order of their names."""
        return [broker for broker in self.engine.brokers if broker.broker_id == 0]

    def at(self, broker_name: str, broker_id: int = 0) -> Self:
        """The same clients in front of another broker; behind a proxy they name it where they can."""
        there = copy(self)
        found = self.engine.broker(broker_name, broker_id)
        assert found is not None
        there.broker = found
        return there

    def down(self, *, kill: bool = False) -> None:
        """Take the broker down, in order or without warning."""
        self.engine.stop(self.broker, kill=kill)

    def up(self) -> None:
        """Bring it back."""
        self.engine.start(self.broker)

    def wipe(self, *, back: bool = False) -> None:
        """Have routes say that nothing of the broker can be written to, or that everything can."""
        self.engine.ask(self.engine.name_server, SetPermOfBroker(self.broker.name, add=back))

    def fix(self, order: str, topic: str = "T") -> None:
        """Fix a topic to `broker:queues;...`."""
        self.engine.ask(self.engine.name_server, UpdateNamesrvConfig({"orderMessageEnable": "true"}))
        self.engine.ask(self.engine.name_server, PutKvConfig("ORDER_TOPIC_CONFIG", topic, order))

    def held(self, topic: str = "T") -> dict[str, int]:
        """How many messages each master has of a topic."""
        return {
            broker.name: sum(queue.max_offset for queue in broker.store.queues_of(topic)) for broker in self.masters
        }

    # the world

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.engine.scheduler.advance_to(self.now_ms + ms)

    def topic(self, name: str = "T", queues: int = 1, kind: str = "", perm: int = 6, *, on: Sequence[str] = ()) -> str:
        """Make a topic, on all masters or on some; `kind` is its message type."""
        attributes = {"+message.type": kind} if kind else None
        for broker in self.masters:
            if not on or broker.name in on:
                self.engine.ask(broker, CreateTopic(TopicConfig(name, queues, queues, perm), attributes))
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        for broker in self.masters:
            self.engine.ask(broker, DeleteTopic(name))

    def group(self, name: str = "G", **fields: Any) -> str:
        """Make a group."""
        for broker in self.masters:
            self.engine.ask(broker, CreateGroup(GroupConfig(name, **fields)))
        return name

    def configure(self, **keys: str) -> None:
        """Change keys of the broker while it runs, by upstream's names."""
        self.engine.ask(self.broker, UpdateBrokerConfig(keys))

    def fifo(self, queues: int = 1, group: str = "G") -> None:
        """A topic `T` for ordered messages and a group that consumes in order."""
        self.topic("T", queues, "FIFO")
        self.group(group, consume_message_orderly=True)

    def store(self, *bodies: bytes, queue: int = 0, topic: str = "T", **properties: str) -> None:
        """Put messages into a queue of their own choice, which a proxy's clients cannot."""
        for body in bodies:
            unique = {"UNIQ_KEY": f"ID{next(self._names)}"}
            message = SendMessage("PG", topic, queue, body, unique | properties, ("10.0.0.9", 5000), self.now_ms)
            self.engine.ask(self.broker, message)

    def filled(self, count: int = 3, topic: str = "T") -> None:
        """A topic with one queue and messages `0`, `1`, ..., sent through this entrance."""
        self.topic(topic)
        self.send(*(b"%d" % number for number in range(count)), topic=topic)

    def records(self, topic: str, queue: int = 0) -> list[Record]:
        """What lies in a queue."""
        store = self.broker.store
        found = (store.record(topic, queue, at) for at in range(store.max_offset(topic, queue)))
        return [decode(record) for record in found if record is not None]

    def committed(self, topic: str = "T", group: str = "G", queue: int = 0) -> int:
        """How far a group is."""
        return self.broker.offsets.query(group, topic, queue)

    def members(self, group: str = "G") -> list[str]:
        """The consumers of a group by the broker's word, in the order in which they joined."""
        try:
            listed = self.engine.ask(self.broker, GetConsumerListByGroup(group))
        except EngineError:
            return []
        assert isinstance(listed, ConsumerListResult)
        return listed.client_ids

    def state(self) -> dict[str, object]:
        """Everything that a request could have changed: what is stored, where groups are, what waits, what is due."""
        broker = self.broker
        return {
            "end of the log": broker.store.log.max_offset,
            "topics": sorted(broker.topics.table),
            "groups": sorted(broker.groups.table),
            "offsets": {key: dict(table) for key, table in broker.offsets.committed.items()},
            "batches": broker.orders.dump_on_crash(),
            "buffered": len(broker.pop_buffer),
            "waiting": (broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)),
            "timers": [
                (each.due_ms, each.kind, each.owner)
                for each in self.engine.scheduler.scheduled()
                if each.kind not in OF_CLIENTS
            ],
        }

    # the way in

    @abstractmethod
    def pop(
        self,
        topic: str = "T",
        *,
        group: str = "G",
        client: str = "consumer",
        count: int = 32,
        invisible_ms: int = 10_000,
        poll_ms: int = 0,
        order: bool = False,
        attempt: str | None = None,
        expression: str = "*",
        kind: str = "TAG",
    ) -> Waiting:
        """Ask for messages of any queue."""

    @abstractmethod
    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        """Acknowledge, many with one request."""

    @abstractmethod
    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        """Change the invisible time; the answer has the new handle."""

    @abstractmethod
    def begin(
        self,
        body: bytes = b"0",
        *,
        topic: str = "T",
        tag: str = "",
        keys: str = "",
        message_group: str = "",
        queue: int = 0,
        deliver_ms: int | None = None,
        half: bool = False,
        immune_s: int | None = None,
        **properties: str,
    ) -> Sending:
        """Send one message.

        `deliver_ms` makes it a timed one, `half` a half message, which asks for immunity of `immune_s`. A proxy chooses
        the queue itself. The producer group is called like the topic, as behind a proxy.
        """

    @abstractmethod
    def together(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        """Send messages, each with properties of its own, with one request; what is told of the last one."""

    @abstractmethod
    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """Send messages one by one where a producer sends them that goes by routes. `more`: see `begin`."""

    @abstractmethod
    def route(self, topic: str = "T") -> dict[str, Route]:
        """Where a topic lives, as clients are told, by broker name; empty when nowhere."""

    @abstractmethod
    def shares(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """Brokers and queues that a member reads by their word; the queue -1 is any."""

    @abstractmethod
    def ending(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Waiting:
        """Commit (8), roll back (12) or leave open (0); `checked` because it was asked for."""

    @abstractmethod
    def recall(self, handle: str, topic: str = "T") -> Answer:
        """Take a timed message back; `handle` of the answer is the id of the message."""

    @abstractmethod
    def produce(self, client: str, topic: str = "T") -> None:
        """A producer says that it is there."""

    @abstractmethod
    def retire(self, client: str, topic: str = "T") -> None:
        """A producer says that it goes."""

    @abstractmethod
    def beat(self, client: str, group: str = "G", topic: str = "T") -> None:
        """A consumer's heartbeat, with what it wants if nobody knows that yet."""

    @abstractmethod
    def leave(self, client: str, group: str = "G") -> None:
        """A consumer says that it goes."""

    @abstractmethod
    def asked(self, client: str) -> list[Asked]:
        """How half messages end: what a producer was asked since the last look."""

    @abstractmethod
    def give_up(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        """Let a message be a dead letter and acknowledge it: one request to a proxy, two to the broker."""

    # short forms

    def put(self, body: bytes = b"0", **more: Any) -> Sent:
        """Send one message and look at the answer. `more`: see `begin`."""
        sent = self.begin(body, **more).sent
        assert sent is not None, "it waits"
        return sent

    def end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Answer | None:
        """Commit, roll back or leave open at once. None: no answer comes."""
        return self.ending(sent, how, topic=topic, checked=checked).answer

    def send(self, *bodies: bytes, **more: Any) -> None:
        """Send messages one by one, with a message group all to one queue; all must be taken. `more`: see `begin`."""
        for body in bodies:
            sent = self.put(body, **more)
            assert sent.ok, sent

    def take(self, topic: str = "T", **options: Any) -> list[Taken]:
        """The messages that are there now; a proxy says that there are none with another code than that there are."""
        answer = self.pop(topic, **options).answer
        assert answer is not None, "it waits"
        assert answer.ok or answer.remark in NOTHING, answer
        return answer.messages

    def bodies(self, topic: str = "T", **options: Any) -> list[bytes]:
        """The bodies of the messages that are there now."""
        return [each.body for each in self.take(topic, **options)]

    def says(self, answer: Answer | Sent | None, broker: tuple[int, str], proxy: tuple[int, str]) -> bool:
        """Is an answer a refusal with this code and the beginning of this remark, here or behind a proxy?"""
        code, remark = proxy if self.proxied else broker
        return answer is not None and not answer.ok and answer.code == code and answer.remark.startswith(remark)


class BrokerEntrance(Entrance):
    """What the broker's own protocol can express besides."""

    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """To queues that may be written to in turn, or to those that an order topic is fixed to."""
        sent = []
        for body in bodies:
            fixed = self.fixed(topic)
            writable = {name: each.writable for name, each in self.route(topic).items() if 0 in each.ids}
            if fixed:
                writable = {name: int(queues) for name, _, queues in (each.partition(":") for each in fixed.split(";"))}
            queues = [(name, queue) for name, number in writable.items() for queue in range(number)]
            assert queues, "no queue to write to"
            name, queue = queues[next(self._turns) % len(queues)]
            sent.append(self.at(name).put(body, topic=topic, queue=queue, **more))
        return sent

    @abstractmethod
    def fixed(self, topic: str = "T") -> str | None:
        """What the route of an order topic fixes it to."""

    @abstractmethod
    def pop_one_queue(
        self, queue: int, *, poll_ms: int = 0, count: int = 32, order: bool = False, begin: int = 1
    ) -> Waiting:
        """Group `G` asks for messages of one queue of `T`; a new group begins at its first (0) or at its end (1)."""

    @abstractmethod
    def pull(self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG") -> Waiting:
        """Group `G` reads queue 0 of `T` from an offset; `number` of the answer is the next one."""

    @abstractmethod
    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> Waiting:
        """Group `G` asks whether a pop of `T` would find something; `number` of the answer is 1 or 0."""

    @abstractmethod
    def peek(self, count: int = 32) -> Answer:
        """What a pop of `T` by group `G` would read."""

    @abstractmethod
    def polling_number(self, queue: int = -1) -> int:
        """How many pops of group `G` wait for `T`."""

    @abstractmethod
    def lock(self, client: str, *queues: int) -> list[int]:
        """The queues of `T` that a client of `G` holds from now on, of those that it asked for."""

    @abstractmethod
    def unlock(self, client: str, *queues: int) -> None:
        """Give queues of `T` back."""

    @abstractmethod
    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        """Give a message back by its place in the log, to be tried `most` times."""

    @abstractmethod
    def again(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        """Send to the retry topic of a group, as clients do who could not give a message back."""

    @abstractmethod
    def batch(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        """Send messages, each with properties of its own, with one request that has some too."""

    @abstractmethod
    def request_mode(self, mode: str, share: int) -> None:
        """How group `G` shall read `T`."""

    def assigned(self, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[tuple[int, str]] | None:
        """Queues of `T` that a client of `G` shall read, and how; None where nothing is assigned to anybody."""
        found = self.assignments(client, strategy, model)
        return None if found is None else [(queue, mode) for _, queue, mode in found]

    def shares(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """As balanced by the broker."""
        found = self.assignments(client, group=group, topic=topic)
        return sorted((broker, queue) for broker, queue, _ in found or ())

    @abstractmethod
    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        """Brokers and queues that a client shall read, and how; None where nothing is assigned to anybody."""

    @abstractmethod
    def progress(self) -> dict[int, tuple[int, int]]:
        """Of each queue of `T` its end and where group `G` is, as administrators are told."""


NOTHING = ("", "NO_MESSAGE_IN_QUEUE", "no new message", "no match message")


def known_properties(
    unique: str, topic: str, tag: str, keys: str, message_group: str, deliver_ms: int | None, half: bool,
    immune_s: int | None,
) -> dict[str, str]:  # fmt: skip
    """What remoting clients write for what gRPC clients have fields for."""
    known = {
        "UNIQ_KEY": unique,
        "TAGS": tag,
        "KEYS": keys,
        "__SHARDINGKEY": message_group,
        "TIMER_DELIVER_MS": "" if deliver_ms is None else str(deliver_ms),
        "TRAN_MSG": "true" if half else "",
        "PGROUP": topic if half else "",
        "CHECK_IMMUNITY_TIME_IN_SECONDS": "" if immune_s is None else str(immune_s),
    }
    return {name: value for name, value in known.items() if value}


def handles(messages: Iterable[Taken]) -> list[str]:
    """The handles of messages."""
    return [each.handle for each in messages]


def attempt_in_order(counts: str | None, queue_id: int, offset: int) -> int:
    """How often an ordered message was given out before, from orderCountInfo."""
    if not counts:
        return 0
    table = {key: int(count) for _, key, count in (part.split(" ") for part in counts.split(";"))}
    return table.get(f"qo{queue_id}%{offset}", 0)
