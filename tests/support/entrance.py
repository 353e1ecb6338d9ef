"""Actions available to the rules of `tests/behaviour`, independent of the protocol that a test uses.

An entrance is a way into a broker in virtual time: engine operations, remoting frames or gRPC calls. A rule is written
once against `Entrance`, or against `BrokerEntrance` for requests that only the broker's own protocol has. Setup and
inspection of stored data bypass the protocols and are the same for all entrances.
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
from rocketmq_testkit.emulator.operations import (
    ConsumerListResult,
    CreateGroup,
    CreateTopic,
    DeleteTopic,
    GetConsumerListByGroup,
    GroupConfig,
    PutKvConfig,
    SendMessage,
    SetPermOfBroker,
    TopicConfig,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

START_MS = 1_700_000_000_000

OF_CLIENTS = ("settings again", "client housekeeping", "grpc session")
"""Kinds of timers that exist only because a client is connected."""


@dataclass(frozen=True)
class Setup:
    """Configuration of an entrance: brokers (masters first, then slaves), emulation, proxy and seed."""

    brokers: Sequence[BrokerConfig]
    emulation: EmulationConfig
    proxy: ProxyConfig
    seed: int = 1


@dataclass(frozen=True)
class Taken:
    """A received message. `attempt` starts at 0; queue and offset are those of the topic that stores the message."""

    body: bytes
    handle: str
    attempt: int
    queue_id: int
    offset: int
    message_id: str
    tag: str
    keys: tuple[str, ...]
    place: int = -1
    """Commit log offset."""


@dataclass(frozen=True)
class Answer:
    """Response to a request, with code and remark of the entrance's protocol."""

    ok: bool
    code: int
    remark: str
    messages: list[Taken] = field(default_factory=list)
    handle: str = ""
    number: int = 0
    suggests: int = 0
    """Id of the broker to pull from next."""

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages."""
        return [each.body for each in self.messages]


@dataclass(frozen=True)
class Sent:
    """Result of a send.

    `offset` is the queue offset in the topic that stores the message, `place` the commit log offset.
    """

    ok: bool
    code: int
    remark: str
    id: str = ""
    offset: int = -1
    place: int = -1
    recall: str = ""


@dataclass(frozen=True)
class Route:
    """A broker name in a route: its numbers of readable and writable queues, and the ids of its brokers."""

    readable: int
    writable: int
    ids: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Asked:
    """A transaction check that a producer received. `sent` identifies the transaction, `times` counts the checks."""

    body: bytes
    times: int
    sent: Sent


class Waiting(Protocol):
    """A request that may wait."""

    @property
    def answer(self) -> Answer | None:
        """The response, None while the request waits."""


class Sending(Protocol):
    """A send that may wait."""

    @property
    def sent(self) -> Sent | None:
        """The result of the send, None while it waits."""


class Entrance(ABC):
    """A way into brokers in virtual time. Requests go to `broker`, at first `broker-a`. Times are in ms."""

    name: str
    proxied = False
    """True if requests pass upstream's proxy, which rejects many requests itself, with codes of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.broker = engine.brokers[0]
        self._names = count(1)
        self._turns = count()

    # Brokers.

    @property
    def masters(self) -> list[Broker]:
        """Master brokers, in the order of their names."""
        return [broker for broker in self.engine.brokers if broker.broker_id == 0]

    def at(self, broker_name: str, broker_id: int = 0) -> Self:
        """Return an entrance with the same clients that sends its requests to another broker.

        Behind a proxy, requests name that broker if their message has a field for it.
        """
        there = copy(self)
        found = self.engine.broker(broker_name, broker_id)
        assert found is not None
        there.broker = found
        return there

    def down(self, *, kill: bool = False) -> None:
        """Stop the broker: gracefully, or as a crash with `kill=True`."""
        self.engine.stop(self.broker, kill=kill)

    def up(self) -> None:
        """Start the broker again."""
        self.engine.start(self.broker)

    def wipe(self, *, back: bool = False) -> None:
        """Remove the write permission of the broker's topics from routes, or restore it with `back=True`."""
        self.engine.ask(self.engine.name_server, SetPermOfBroker(self.broker.name, add=back))

    def fix(self, order: str, topic: str = "T") -> None:
        """Set the order configuration of a topic, such as `broker:queues;...`."""
        self.engine.ask(self.engine.name_server, UpdateNamesrvConfig({"orderMessageEnable": "true"}))
        self.engine.ask(self.engine.name_server, PutKvConfig("ORDER_TOPIC_CONFIG", topic, order))

    def held(self, topic: str = "T") -> dict[str, int]:
        """Return the number of messages of a topic on each master."""
        return {
            broker.name: sum(queue.max_offset for queue in broker.store.queues_of(topic)) for broker in self.masters
        }

    # State of the brokers.

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        """Advance the virtual time."""
        self.engine.scheduler.advance_to(self.now_ms + ms)

    def topic(self, name: str = "T", queues: int = 1, kind: str = "", perm: int = 6, *, on: Sequence[str] = ()) -> str:
        """Create a topic on all masters, or on those in `on`. `kind` is its message type."""
        attributes = {"+message.type": kind} if kind else None
        for broker in self.masters:
            if not on or broker.name in on:
                self.engine.ask(broker, CreateTopic(TopicConfig(name, queues, queues, perm), attributes))
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic on all masters."""
        for broker in self.masters:
            self.engine.ask(broker, DeleteTopic(name))

    def group(self, name: str = "G", **fields: Any) -> str:
        """Create or change a group on all masters."""
        for broker in self.masters:
            self.engine.ask(broker, CreateGroup(GroupConfig(name, **fields)))
        return name

    def configure(self, **keys: str) -> None:
        """Change configuration keys of the running broker, by upstream's names."""
        self.engine.ask(self.broker, UpdateBrokerConfig(keys))

    def fifo(self, queues: int = 1, group: str = "G") -> None:
        """Create a topic `T` for ordered messages and a group that consumes in order."""
        self.topic("T", queues, "FIFO")
        self.group(group, consume_message_orderly=True)

    def store(self, *bodies: bytes, queue: int = 0, topic: str = "T", **properties: str) -> None:
        """Store messages in a given queue, which clients of a proxy cannot choose."""
        for body in bodies:
            unique = {"UNIQ_KEY": f"ID{next(self._names)}"}
            message = SendMessage("PG", topic, queue, body, unique | properties, ("10.0.0.9", 5000), self.now_ms)
            self.engine.ask(self.broker, message)

    def filled(self, count: int = 3, topic: str = "T") -> None:
        """Create a topic with one queue and send messages `0`, `1`, ... through this entrance."""
        self.topic(topic)
        self.send(*(b"%d" % number for number in range(count)), topic=topic)

    def records(self, topic: str, queue: int = 0) -> list[Record]:
        """Return the records of a queue."""
        store = self.broker.store
        found = (store.record(topic, queue, at) for at in range(store.max_offset(topic, queue)))
        return [decode(record) for record in found if record is not None]

    def committed(self, topic: str = "T", group: str = "G", queue: int = 0) -> int:
        """Return the committed offset of a group."""
        return self.broker.offsets.query(group, topic, queue)

    def members(self, group: str = "G") -> list[str]:
        """Return the consumers of a group as listed by the broker, in the order of registration."""
        try:
            listed = self.engine.ask(self.broker, GetConsumerListByGroup(group))
        except EngineError:
            return []
        assert isinstance(listed, ConsumerListResult)
        return listed.client_ids

    def state(self) -> dict[str, object]:
        """Return everything that a request can change: stored data, offsets, waiting requests and timers."""
        broker = self.broker
        return {
            "end of the log": broker.store.log.max_offset,
            "topics": sorted(broker.topics.table),
            "groups": sorted(broker.groups.table),
            "offsets": {key: dict(table) for key, table in broker.offsets.committed.items()},
            "batches": broker.orders.written(),
            "buffered": len(broker.pop_buffer),
            "waiting": (broker.pops.polling.total, broker.notifications.polling.total, len(broker.pulls.hold)),
            "timers": [
                (each.due_ms, each.kind, each.owner)
                for each in self.engine.scheduler.scheduled()
                if each.kind not in OF_CLIENTS
            ],
        }

    # Requests.

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
        """Pop messages of any queue."""

    @abstractmethod
    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        """Acknowledge messages, several of them by one request."""

    @abstractmethod
    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        """Change the invisible duration. The response has the new handle."""

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
        """Send one message and return the pending send.

        `deliver_ms` makes it a timed message. `half` makes it a half message with an immunity time of `immune_s`. A
        proxy chooses the queue itself. The producer group has the name of the topic, as behind a proxy.
        """

    @abstractmethod
    def together(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        """Send messages, each with properties of its own, by one request; return the result of the last one."""

    @abstractmethod
    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """Send messages one by one to the queues of the topic's route. For `more` see `begin`."""

    @abstractmethod
    def route(self, topic: str = "T") -> dict[str, Route]:
        """Return the route of a topic by broker name; empty if there is none."""

    @abstractmethod
    def shares(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """Return the brokers and queues assigned to a consumer; the queue -1 stands for any."""

    @abstractmethod
    def ending(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Waiting:
        """Commit (8), roll back (12) or leave open (0); `checked` if the end follows a check of the broker."""

    @abstractmethod
    def recall(self, handle: str, topic: str = "T") -> Answer:
        """Recall a timed message. `handle` of the response is the message id."""

    @abstractmethod
    def produce(self, client: str, topic: str = "T") -> None:
        """Register a producer."""

    @abstractmethod
    def retire(self, client: str, topic: str = "T") -> None:
        """Unregister a producer."""

    @abstractmethod
    def beat(self, client: str, group: str = "G", topic: str = "T") -> None:
        """Send a consumer's heartbeat, and its subscription if it is new."""

    @abstractmethod
    def leave(self, client: str, group: str = "G") -> None:
        """Unregister a consumer."""

    @abstractmethod
    def asked(self, client: str) -> list[Asked]:
        """Return the transaction checks that a producer has received since the last call."""

    @abstractmethod
    def give_up(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        """Forward a message to the dead letter queue and acknowledge it: one request to a proxy, two to the broker."""

    # Short forms.

    def put(self, body: bytes = b"0", **more: Any) -> Sent:
        """Send one message and return its result. For `more` see `begin`."""
        sent = self.begin(body, **more).sent
        assert sent is not None, "it waits"
        return sent

    def end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Answer | None:
        """Commit, roll back or leave open at once. Returns None if there is no response."""
        return self.ending(sent, how, topic=topic, checked=checked).answer

    def send(self, *bodies: bytes, **more: Any) -> None:
        """Send messages one by one; every send must succeed. For `more` see `begin`.

        A message group sends all of them to one queue.
        """
        for body in bodies:
            sent = self.put(body, **more)
            assert sent.ok, sent

    def take(self, topic: str = "T", **options: Any) -> list[Taken]:
        """Return the messages that are available now.

        A proxy uses another code for a response without messages.
        """
        answer = self.pop(topic, **options).answer
        assert answer is not None, "it waits"
        assert answer.ok or answer.remark in NOTHING, answer
        return answer.messages

    def bodies(self, topic: str = "T", **options: Any) -> list[bytes]:
        """Return the bodies of the messages that are available now."""
        return [each.body for each in self.take(topic, **options)]

    def says(self, answer: Answer | Sent | None, broker: tuple[int, str], proxy: tuple[int, str]) -> bool:
        """Return True if a response is an error with this code and the beginning of this remark.

        The expectation for the broker or that for the proxy applies.
        """
        code, remark = proxy if self.proxied else broker
        return answer is not None and not answer.ok and answer.code == code and answer.remark.startswith(remark)


class BrokerEntrance(Entrance):
    """An entrance with the requests that only the broker's own protocol has."""

    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """Send to writable queues by turns, or to the queues of the topic's order configuration."""
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
        """Return the order configuration in the route of a topic."""

    @abstractmethod
    def pop_one_queue(
        self, queue: int, *, poll_ms: int = 0, count: int = 32, order: bool = False, begin: int = 1
    ) -> Waiting:
        """Pop one queue of `T` for group `G`; a new group starts at the first message (0) or at the end (1)."""

    @abstractmethod
    def pull(self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG") -> Waiting:
        """Pull queue 0 of `T` for group `G` from an offset; `number` of the response is the next offset."""

    @abstractmethod
    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> Waiting:
        """Send a notification request for `T` and group `G`.

        `number` of the response is 1 if there is a message, else 0.
        """

    @abstractmethod
    def peek(self, count: int = 32) -> Answer:
        """Peek at the messages that a pop of `T` by group `G` would read."""

    @abstractmethod
    def polling_number(self, queue: int = -1) -> int:
        """Return the number of waiting pops of group `G` and topic `T`."""

    @abstractmethod
    def lock(self, client: str, *queues: int) -> list[int]:
        """Lock queues of `T` for a client of `G`, and return those that it holds."""

    @abstractmethod
    def unlock(self, client: str, *queues: int) -> None:
        """Release locks of queues of `T`."""

    @abstractmethod
    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        """Send a message back by its commit log offset, with at most `most` retries."""

    @abstractmethod
    def again(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        """Send to the retry topic of a group, as clients do when a send-back fails."""

    @abstractmethod
    def batch(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        """Send messages, each with properties of its own, by one request that also has properties."""

    @abstractmethod
    def request_mode(self, mode: str, share: int) -> None:
        """Set the request mode of group `G` for `T`."""

    def assigned(self, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[tuple[int, str]] | None:
        """Return the queues of `T` that a client of `G` is assigned, with their mode.

        None if the broker assigns nothing.
        """
        found = self.assignments(client, strategy, model)
        return None if found is None else [(queue, mode) for _, queue, mode in found]

    def shares(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """Return the queues assigned by the broker."""
        found = self.assignments(client, group=group, topic=topic)
        return sorted((broker, queue) for broker, queue, _ in found or ())

    @abstractmethod
    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        """Return the brokers and queues assigned to a client, with their mode; None if the broker assigns nothing."""

    @abstractmethod
    def progress(self) -> dict[int, tuple[int, int]]:
        """Return the end of each queue of `T` and the offset of group `G` from the consume statistics."""


NOTHING = ("", "NO_MESSAGE_IN_QUEUE", "no new message", "no match message")


def known_properties(
    unique: str, topic: str, tag: str, keys: str, message_group: str, deliver_ms: int | None, half: bool,
    immune_s: int | None,
) -> dict[str, str]:  # fmt: skip
    """Return the properties that remoting clients write for the fields of gRPC clients."""
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
    """Return the receipt handles of messages."""
    return [each.handle for each in messages]


def attempt_in_order(counts: str | None, queue_id: int, offset: int) -> int:
    """Return the number of earlier deliveries of an ordered message, from orderCountInfo."""
    if not counts:
        return 0
    table = {key: int(count) for _, key, count in (part.split(" ") for part in counts.split(";"))}
    return table.get(f"qo{queue_id}%{offset}", 0)
