"""popWithNotifyThreshold with redeliveries to groups with tags, within the threshold and above it."""

from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from random import Random

import pytest
from grpc_harness import Client, GrpcHarness, Received, a_receive, an_ack
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.operations.consume import PollingInfo, PollingInfoResult
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import RECEIVE

INVISIBLE_MS = 10_000
POLL_MS = 5_000
VISIBLE_MS = 5_100
"""Longest time in ms until an unacknowledged message is visible again after its invisible duration.

A check point is revived at most 5 s after it, at scans that are 100 ms apart (5.3.3).
"""
STEP_MS = 250
"""Longest time between a receive that ends and the group's next receive, in ms."""
BROKERS = ("broker-a", "broker-b", "broker-c")
TAGS = ("Aa", "BB", "C", "D")
"""`BB` has the hash code of `Aa`: a broker's filter takes one for the other, the proxy does not."""
GROUPS = {"first": "Aa", "second": "BB || C", "third": "Aa || D", "all": "*"}
CLIENTS = 4
"""Clients of each group. One of them always waits in a receive."""
SWITCH = 8
"""Threshold that the number of waiting receives crosses: half of all clients."""


def a_harness(threshold: int, brokers: int = 1, *, wake: bool = False) -> GrpcHarness:
    """Return a harness with a topic of two queues on all brokers; with `wake` redelivered messages wake receives."""
    harness = GrpcHarness(
        *(BrokerConfig(broker_name=name) for name in BROKERS[:brokers]),
        emulation=EmulationConfig(wake_poll_on_redelivery=wake),
    )
    harness.config.pop_with_notify_threshold = threshold
    harness.topic_everywhere(queues=2)
    return harness


@dataclass
class Copy:
    """The state of one message for one group."""

    attempts: int = 0
    hidden_until_ms: int = 0
    done: bool = False


@dataclass
class Group:
    """A group, its expression, its clients, and the messages delivered to it."""

    name: str
    expression: str
    clients: list[Client]
    open: dict[int, Received] = field(default_factory=dict)
    _: KW_ONLY
    copies: dict[bytes, Copy] = field(default_factory=dict)

    def wants(self, tag: str) -> bool:
        return self.expression == "*" or tag in self.expression.split(" || ")


class Load:
    """Filtering groups, clients that acknowledge some messages and leave others, and a producer."""

    def __init__(self, harness: GrpcHarness, chance: Random) -> None:
        self.harness = harness
        self.chance = chance
        self.tags: dict[bytes, str] = {}
        self.numbers = count()
        self.leaves = 0.5
        """Probability that a client does not acknowledge a message."""
        self.sides: set[bool] = set()
        self.groups = [
            Group(name, text, [harness.consumer(f"{name}{number}", name) for number in range(CLIENTS)])
            for name, text in GROUPS.items()
        ]
        for group in self.groups:
            self.receive(group)

    def send(self) -> None:
        """Send a message, and check that every group with a matching expression gets it at once."""
        tag = self.chance.choice(TAGS)
        body = b"%d" % next(self.numbers)
        self.tags[body] = tag
        waited = [group for group in self.groups if group.wants(tag) and group.open]
        self.harness.store(
            body, self.chance.randrange(len(self.harness.engine.brokers)), self.chance.randrange(2), TAGS=tag
        )
        self.collect()
        assert [group.name for group in waited if body not in group.copies] == []

    def receive(self, group: Group) -> None:
        idle = [number for number in range(CLIENTS) if number not in group.open]
        if idle:
            number = self.chance.choice(idle)
            under_way = self.harness.service.metrics()[RECEIVE].pops_in_progress
            self.sides.add(under_way + 1 > self.harness.config.pop_with_notify_threshold)
            request = a_receive(
                group=group.name,
                batch=self.chance.choice((1, 2, 32)),
                invisible_ms=INVISIBLE_MS,
                poll_ms=POLL_MS,
                expression=group.expression,
                broker="",
            )
            group.open[number] = group.clients[number].receive(request)
            self.collect()

    def more(self) -> None:
        self.receive(self.chance.choice(self.groups))

    def pass_time(self, ms: int = STEP_MS) -> None:
        self.harness.advance(ms)
        self.collect()

    def collect(self) -> None:
        """Collect received messages. A group whose last receive has ended starts another one."""
        for group in self.groups:
            for number, received in list(group.open.items()):
                if received.call.finished:
                    del group.open[number]
                    for message in received.messages:
                        self.take(group, group.clients[number], message)
            if not group.open:
                self.receive(group)

    def take(self, group: Group, client: Client, message: pb.Message) -> None:
        """Check that the group may get a message now; then acknowledge it, or not."""
        assert group.wants(self.tags[message.body])
        copy = group.copies.setdefault(message.body, Copy())
        assert not copy.done
        late_ms = self.harness.now_ms - copy.hidden_until_ms
        assert late_ms >= 0
        if copy.attempts:
            wait_ms = 0 if self.harness.engine.emulation.wake_poll_on_redelivery else POLL_MS
            assert late_ms <= VISIBLE_MS + wait_ms + STEP_MS
        copy.attempts += 1
        assert message.system_properties.delivery_attempt == copy.attempts
        if self.chance.random() < self.leaves:
            copy.hidden_until_ms = self.harness.now_ms + INVISIBLE_MS
        else:
            response = client.ask("AckMessage", an_ack(message, group=group.name))
            assert response.status.code == pb.OK
            copy.done = True


@pytest.mark.parametrize("wake", [False, True], ids=("as 5.3.3", "woken"))
@pytest.mark.parametrize(("brokers", "seed"), [(1, 0), (3, 1)])
@pytest.mark.parametrize("threshold", [0, SWITCH, 100])
def test_unacknowledged_messages_are_redelivered_to_groups_whose_tags_match(
    threshold: int, brokers: int, seed: int, wake: bool
) -> None:
    """Unacknowledged messages are redelivered in time, with the right count, and only to matching groups.

    This holds within the threshold, above it, and while the number of receives crosses it.
    """
    load = Load(a_harness(threshold, brokers, wake=wake), Random(seed))
    for _ in range(400):
        load.chance.choices((load.send, load.more, load.pass_time), (4, 5, 8))[0]()
    load.leaves = 0.0
    for _ in range((INVISIBLE_MS + VISIBLE_MS + POLL_MS) // STEP_MS + 2):
        load.pass_time()
    for group in load.groups:
        wanted = {body for body, tag in load.tags.items() if group.wants(tag)}
        assert {body for body, copy in group.copies.items() if copy.done} == wanted
        assert max(copy.attempts for copy in group.copies.values()) > 2
    assert load.sides == ({True, False} if threshold == SWITCH else {threshold == 0})
    assert bool(load.harness.service.metrics()[RECEIVE].pop_with_notify) == (threshold > 0)


def waiting_pops(harness: GrpcHarness) -> int:
    """Return the number of waiting pops of the group, from POLLING_INFO."""
    info = harness.ask(PollingInfo("G", "T", -1))
    assert isinstance(info, PollingInfoResult)
    return info.polling_num


def crowd(harness: GrpcHarness, receives: int, poll_ms: int) -> list[Received]:
    """Start receives, of which at most two wait for notifications."""
    client = harness.consumer("c")
    waiting = [client.receive(a_receive(poll_ms=poll_ms, expression="Aa")) for _ in range(receives)]
    assert waiting_pops(harness) == max(0, receives - 2)
    return waiting


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 4), (4, 1), (4, 4)])
def test_a_message_is_redelivered_once_across_the_pop_with_notify_threshold(before: int, after: int) -> None:
    """A message delivered within or above the threshold is redelivered once, within or above it.

    All other receives continue to wait.
    """
    harness = a_harness(2, wake=True)
    given = crowd(harness, before, POLL_MS)
    harness.store(b"x", TAGS="Aa")
    assert [body for received in given for body in received.bodies] == [b"x"]
    harness.advance(POLL_MS)
    assert all(received.call.finished for received in given)
    again = crowd(harness, after, 20_000)
    harness.advance(INVISIBLE_MS - POLL_MS)
    harness.store(b"y", TAGS="C")
    assert [received.bodies for received in again] == [[]] * after
    harness.advance(VISIBLE_MS)
    [message] = [message for received in again for message in received.messages]
    assert (message.body, message.system_properties.delivery_attempt) == (b"x", 2)
    assert sum(received.call.finished for received in again) == 1
