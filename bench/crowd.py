"""Measures if 10,000 topics, 1,000 groups and 5,000 clients slow down the requests of each of them.

These are the rows of `bench/growth.py` about topics, groups and clients. The full emulator holds 1,000,000 messages,
evenly in all topics. Every group subscribes to ten topics, one of them by a SQL92 expression, has offsets in all of
them, and holds queue locks and an ordered batch. It has five clients, each with a producer group and a waiting pull.

The empty emulator has ten such groups. The steps use ten groups in both emulators, so that only the other groups make a
difference.
"""

import time
from collections.abc import Callable, Sequence
from itertools import cycle

from bench_harness import BODY, BORN_HOST, FAR_MS, START_MS, BenchHarness
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ChannelClosed,
    ConsumerData,
    GetConsumerListByGroup,
    Heartbeat,
    LockBatchMq,
    MessageQueue,
    SubscriptionData,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo
from rocketmq_testkit.emulator.operations.consume import (
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    AckMessage,
    PopMessage,
    PopResult,
    PullMessage,
)
from rocketmq_testkit.emulator.operations.groups import (
    CreateGroup,
    DeleteGroup,
    GetConsumeStats,
    GroupConfig,
    QueryAssignment,
    QueryGroupsOfTopic,
    QueryTopicsOfGroup,
)
from rocketmq_testkit.emulator.operations.message_queries import QueryMessage
from rocketmq_testkit.emulator.operations.offsets import QueryConsumerOffset, ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendReplyMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig

TOPICS, GROUPS, CLIENTS, STORED = 10_000, 1_000, 5_000, 1_000_000
PER_GROUP, OF_GROUP = CLIENTS // GROUPS, TOPICS // GROUPS
"""Clients of a group, and topics that it subscribes to."""
PULLED, POPPED, POPPED_IN_ORDER, RESET, WAITED_FOR = range(1, 6)
"""Index of the topic of a group for each kind of step.

The first topic has the expression; the last ones have waiting pulls.
"""
BUSY = 10
"""Number of groups that the steps use."""
SCAN_MS, SCANS = 10_000, 10
"""Interval of the broker's scan for inactive clients, and the number of scans that are measured together."""
SQL = "color = 'red' AND size > 98"

Work = Callable[[], None]
Step = Callable[["Crowd", int], Work]
"""(harness, count) -> function that repeats a step `count` times. Its time is measured, that of preparations is not."""


class Deaf(DirectChannel):
    """A client that ignores server-initiated requests and notifications."""

    def push(self, effect: Effect) -> None:
        """Ignore the effect."""


class Crowd(BenchHarness):
    """A harness with groups of clients. `beats` are their channels and heartbeats."""

    def __init__(self, groups: int) -> None:
        config, emulation = BrokerConfig(), EmulationConfig()
        emulation.store_max_bytes = 4 * 1024**3  # enough for all messages, so that none is deleted
        config.enable_property_filter = True
        super().__init__(Engine(brokers=[config], emulation=emulation, now_ms=START_MS))
        self.groups = [f"group-{number}" for number in range(groups)]
        self.topics = [f"topic-{number}" for number in range(groups * OF_GROUP)]
        self.beats = [self._beat(number) for number in range(groups * PER_GROUP)]
        busy = self.groups[:: max(groups // BUSY, 1)]
        self._group_turns = cycle(busy)
        self._topic_turns = cycle([topic for group in busy for topic in self.wanted(group)[:WAITED_FOR]])
        self._client_turns = cycle([beat for beat in self.beats if beat[1].consumers[0].group in busy])

    def _beat(self, number: int) -> tuple[Deaf, Heartbeat]:
        group = self.groups[number // PER_GROUP]
        return Deaf(f"client-{number}"), self.beat(f"client-{number}", group)

    def beat(self, client: str, group: str, producers: str = "") -> Heartbeat:
        """Return the heartbeat of a client of a group, which is also a producer."""
        wanted = [build_subscription(topic, "*") for topic in self.wanted(group)[1:]]
        wanted.append(SubscriptionData(self.wanted(group)[0], SQL, "SQL92"))
        return Heartbeat(client, [producers or f"of-{group}"], [ConsumerData(group, subscriptions=wanted)])

    def wanted(self, group: str) -> list[str]:
        """Return the subscribed topics of a group."""
        number = int(group.rpartition("-")[2])
        return self.topics[number * OF_GROUP : (number + 1) * OF_GROUP]

    def next_topic(self) -> str:
        """Return the next topic without waiting pulls, by turns."""
        return next(self._topic_turns)

    def next_group(self, which: int = PULLED) -> tuple[str, str]:
        """Return the next group, by turns, with one of its topics."""
        group = next(self._group_turns)
        return group, self.wanted(group)[which]

    def next_beat(self) -> tuple[Deaf, Heartbeat]:
        """Return the next client, by turns."""
        return next(self._client_turns)

    def do(self, operations: Sequence[Operation], channel: DirectChannel | None = None) -> None:
        """Submit operations that complete at once."""
        for operation in operations:
            self.engine.execute(self.engine.brokers[0], operation, channel)


def few() -> Crowd:
    """Return the empty emulator."""
    return filled(BUSY, STORED // GROUPS * BUSY)


def many(factor: int) -> Crowd:
    """Return the full emulator."""
    return filled(GROUPS // factor, STORED // factor)


def filled(groups: int, messages: int) -> Crowd:
    """Return an emulator with this number of groups, including their clients and topics, and of messages."""
    crowd = Crowd(groups)
    for topic in crowd.topics:
        crowd.topic(topic)
        crowd.send(topic, messages // len(crowd.topics))
    for channel, beat in crowd.beats:
        crowd.do([beat], channel)
    broker = crowd.engine.brokers[0].name
    for group in crowd.groups:
        wanted = crowd.wanted(group)
        crowd.do([UpdateConsumerOffset(group, topic, 0, 10) for topic in wanted])
        crowd.do([LockBatchMq(group, "owner", [MessageQueue(topic, broker, 0) for topic in wanted])])
        crowd.do([pop(crowd, group, wanted[WAITED_FOR], order=True), pop(crowd, group, wanted[POPPED])])
    for number, (channel, beat) in enumerate(crowd.beats):
        group = beat.consumers[0].group
        topic = crowd.wanted(group)[WAITED_FOR + number % PER_GROUP]
        end = crowd.engine.brokers[0].store.max_offset(topic, 0)
        assert crowd.submit(pull(group, topic, end, suspend_ms=FAR_MS), channel).outcome is None
    return crowd


def pull(group: str, topic: str, offset: int, *, suspend_ms: int = 0) -> PullMessage:
    """Return a pull of one message."""
    flags = FLAG_SUBSCRIPTION | (FLAG_SUSPEND if suspend_ms else 0)
    return PullMessage(group, topic, 0, offset, 1, flags, 0, suspend_ms, 0, "*", "TAG")


def pop(harness: BenchHarness, group: str, topic: str, *, order: bool = False) -> PopMessage:
    """Return a pop of one message."""
    return PopMessage(group, topic, 0, 1, FAR_MS, 0, harness.now_ms, 0, "TAG", "*", order)


def submitted(operation: Callable[[Crowd], Operation]) -> Step:
    """Return a step that submits this operation repeatedly."""

    def step(crowd: Crowd, count: int) -> Work:
        operations = [operation(crowd) for _ in range(count)]
        return lambda: crowd.do(operations)

    return step


def sends(crowd: Crowd, count: int) -> Work:
    """Send to the topics by turns."""
    topics = [crowd.next_topic() for _ in range(count)]

    def work() -> None:
        for topic in topics:
            crowd.send(topic)

    return work


def beats(crowd: Crowd, count: int) -> Work:
    """Send unchanged heartbeats of the clients by turns."""
    chosen = [crowd.next_beat() for _ in range(count)]

    def work() -> None:
        for channel, beat in chosen:
            crowd.do([beat], channel)

    return work


def newcomers(crowd: Crowd, count: int) -> list[tuple[Deaf, Heartbeat]]:
    """Return new clients of the groups by turns."""
    names = [f"newcomer-{next(crowd.names)}" for _ in range(count)]
    return [(Deaf(name), crowd.beat(name, crowd.next_group()[0])) for name in names]


def join_and_leave(crowd: Crowd, count: int) -> Work:
    """Let clients join groups of five and unregister."""
    chosen = newcomers(crowd, count)

    def work() -> None:
        for channel, beat in chosen:
            group, producers = beat.consumers[0].group, beat.producer_groups[0]
            crowd.do([beat, UnregisterClient(beat.client_id, producers, group)], channel)

    return work


def connection_closes(crowd: Crowd, count: int) -> Work:
    """Let clients join groups of five, hold a pull and lose their connections."""
    chosen = newcomers(crowd, count)
    broker = crowd.engine.brokers[0]

    def work() -> None:
        for channel, beat in chosen:
            crowd.do([beat], channel)
            group = beat.consumers[0].group
            topic = crowd.wanted(group)[WAITED_FOR]
            crowd.submit(pull(group, topic, broker.store.max_offset(topic, 0), suspend_ms=FAR_MS), channel)
            channel.active = False
            crowd.do([ChannelClosed()], channel)

    return work


def made_and_deleted(make: Callable[[str], Operation], delete: Callable[[str], Operation]) -> Step:
    """Return a step that creates and deletes an object, under a new name each time."""

    def step(crowd: Crowd, count: int) -> Work:
        names = [f"new-{next(crowd.names)}" for _ in range(count)]

        def work() -> None:
            for name in names:
                crowd.do([make(name), delete(name)])

        return work

    return step


def pull_is_woken(crowd: Crowd, count: int) -> Work:
    """Hold a pull, while all clients hold pulls, and wake it by a message."""
    chosen = [crowd.next_group() for _ in range(count)]

    def work() -> None:
        for group, topic in chosen:
            end = crowd.engine.brokers[0].store.max_offset(topic, 0)
            call = crowd.submit(pull(group, topic, end, suspend_ms=FAR_MS))
            crowd.send(topic)
            assert call.outcome is not None

    return work


def found_by_key(crowd: Crowd, count: int) -> Work:
    """Query messages by their keys. Messages since the last query are indexed before the measurement."""
    asked_for = []
    for number in range(count):
        topic, key = crowd.next_topic(), f"k{next(crowd.names)}-{number}"
        properties = {"UNIQ_KEY": key, "KEYS": key}
        crowd.do([SendMessage("P", topic, 0, BODY, properties, BORN_HOST, crowd.now_ms)])
        asked_for.append(QueryMessage(topic, key, 32, 0, end_timestamp=crowd.now_ms))
    crowd.do(asked_for[:1])
    return lambda: crowd.do(asked_for)


def indexed(crowd: Crowd, count: int) -> Work:
    """Query once after `count` sends: the query indexes all of them."""
    found_by_key(crowd, 1)()
    sends(crowd, count)()
    question = QueryMessage("topic-0", "k", 32, 0, end_timestamp=crowd.now_ms)
    return lambda: crowd.do([question])


def pops(crowd: Crowd, count: int) -> Work:
    """Send and pop one message."""
    chosen = [crowd.next_group(POPPED) for _ in range(count)]

    def work() -> None:
        for group, topic in chosen:
            crowd.send(topic)
            crowd.do([pop(crowd, group, topic)])

    return work


def in_order(crowd: Crowd, count: int) -> Work:
    """Send one message, pop it in order and acknowledge it."""
    broker = crowd.engine.brokers[0].name
    chosen = [crowd.next_group(POPPED_IN_ORDER) for _ in range(count)]

    def work() -> None:
        for group, topic in chosen:
            crowd.send(topic)
            result = crowd.engine.execute(crowd.engine.brokers[0], pop(crowd, group, topic, order=True))
            assert isinstance(result, PopResult)
            (message,) = result.messages
            handle = Receipt(message.start_offset, result.pop_time, FAR_MS, 999, "0", broker, 0, message.queue_offset)
            crowd.do([AckMessage(group, topic, 0, handle.text(), message.queue_offset)])

    return work


def replies(crowd: Crowd, count: int) -> Work:
    """Send replies, which the broker forwards to the requesting clients; the clients do not respond."""

    def reply() -> SendReplyMessage:
        client = crowd.next_beat()[1].client_id
        properties = {"UNIQ_KEY": "r", "REPLY_TO_CLIENT": client, "CORRELATION_ID": "c", "MSG_TYPE": "reply"}
        message = SendMessage("P", "work", 0, BODY, properties, BORN_HOST, crowd.now_ms)
        return SendReplyMessage(message)

    crowd.topic("work")
    operations = [reply() for _ in range(count)]

    def work() -> None:
        for operation in operations:
            assert crowd.submit(operation).outcome is None

    return work


def resets(crowd: Crowd, count: int) -> Work:
    """Reset offsets of groups; their next pulls return the new offsets."""
    chosen = [crowd.next_group(RESET) for _ in range(count)]

    def work() -> None:
        for group, topic in chosen:
            crowd.do([ResetOffset(group, topic, 0, 0, offset=5), pull(group, topic, 5)])

    return work


def routes(crowd: Crowd, count: int) -> Work:
    """Query the name server for the routes of topics by turns."""
    operations = [GetRouteInfo(crowd.next_topic()) for _ in range(count)]

    def work() -> None:
        for operation in operations:
            crowd.engine.execute(crowd.engine.name_server, operation)

    return work


def _topic(name: str) -> Operation:
    return CreateTopic(TopicConfig(name, 4, 4))


def _group(name: str) -> Operation:
    return CreateGroup(GroupConfig(name))


def _deleted_group(name: str) -> Operation:
    return DeleteGroup(name, True)


def _locks(crowd: Crowd) -> Operation:
    group, topic = crowd.next_group()
    return LockBatchMq(group, "owner", [MessageQueue(topic, crowd.engine.brokers[0].name, 0)])


def _share(crowd: Crowd) -> Operation:
    beat = crowd.next_beat()[1]
    group = beat.consumers[0].group
    return QueryAssignment(crowd.wanted(group)[PULLED], group, beat.client_id, "AVG", message_model="CLUSTERING")


def scanned_for_inactive_clients(clients: int) -> Callable[[], float]:
    """Measure the broker's scan for inactive clients, none of which is removed.

    Returns a function that measures the microseconds per client; it can be called repeatedly.
    """
    crowd = Crowd(clients // PER_GROUP)

    def once() -> float:
        for channel, beat in crowd.beats:
            crowd.do([beat], channel)
        begin = time.process_time_ns()
        crowd.engine.scheduler.advance_to(crowd.now_ms + SCANS * SCAN_MS)
        return (time.process_time_ns() - begin) / 1000 / SCANS / len(crowd.beats)

    return once


ROWS: tuple[tuple[str, Step], ...] = (
    ("message is sent to one of 10,000 topics", sends),
    ("route of a topic is queried", routes),
    ("heartbeat of one of 5,000 clients", beats),
    ("client joins a group of five and leaves", join_and_leave),
    ("client joins a group of five, waits, and its connection is closed", connection_closes),
    ("members of a group are queried", submitted(lambda crowd: GetConsumerListByGroup(crowd.next_group()[0]))),
    ("assignment of a client is queried", submitted(_share)),
    ("queue is locked", submitted(_locks)),
    ("message is pulled", submitted(lambda crowd: pull(*crowd.next_group(), 0))),
    ("message is sent and popped", pops),
    ("message is sent, popped in order and acknowledged", in_order),
    ("offset is queried", submitted(lambda crowd: QueryConsumerOffset(*crowd.next_group(), 0))),
    ("offset is committed", submitted(lambda crowd: UpdateConsumerOffset(*crowd.next_group(), 0, 10))),
    ("offset is reset, and the next pull applies it", resets),
    ("topic is created and deleted", made_and_deleted(_topic, DeleteTopic)),
    ("group is created and deleted", made_and_deleted(_group, _deleted_group)),
    ("progress of a group is queried", submitted(lambda crowd: GetConsumeStats(*crowd.next_group()))),
    ("groups of a topic are queried", submitted(lambda crowd: QueryGroupsOfTopic(crowd.next_group()[1]))),
    ("topics of a group are queried", submitted(lambda crowd: QueryTopicsOfGroup(crowd.next_group()[0]))),
    ("message is queried by its key", found_by_key),
    ("message is indexed by its key", indexed),
    ("pull waits beside 5,000, message wakes it", pull_is_woken),
    ("reply finds its client among 5,000", replies),
)
