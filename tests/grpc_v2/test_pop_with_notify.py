"""popWithNotifyThreshold: up to this number of receives in flight, they wait for notifications, above it in pops."""

from random import Random

import pytest
from grpc_harness import GrpcHarness, Received, a_receive, an_ack
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.operations.consume import PollingInfo, PollingInfoResult
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import RECEIVE, ReceiveMetrics


def notifying(threshold: int = 100, *brokers: BrokerConfig, **emulation: bool) -> GrpcHarness:
    """Return a harness with a topic on all brokers and a proxy with popWithNotifyThreshold=`threshold`."""
    harness = GrpcHarness(*brokers, emulation=EmulationConfig(**emulation) if emulation else None)
    harness.config.pop_with_notify_threshold = threshold
    harness.topic_everywhere(queues=2)
    return harness


def waiting_pops(harness: GrpcHarness) -> int:
    """Return the number of waiting pops on the first broker, from POLLING_INFO."""
    info = harness.ask(PollingInfo("G", "T", -1))
    assert isinstance(info, PollingInfoResult)
    return info.polling_num


def polls(harness: GrpcHarness, count: int, **options: object) -> list[Received]:
    """Start receives of one client."""
    client = harness.consumer("c")
    return [client.receive(a_receive(**options)) for _ in range(count)]  # type: ignore[arg-type]


def metrics(harness: GrpcHarness) -> ReceiveMetrics:
    return harness.service.metrics()[RECEIVE]


@pytest.mark.parametrize(("threshold", "pops"), [(0, 5), (1, 4), (3, 2), (4, 1), (5, 0), (100, 0)])
def test_receives_within_the_threshold_wait_for_notifications_the_others_in_pops(threshold: int, pops: int) -> None:
    """Receives that start to wait with at most `threshold` in flight use a notification, the others a pop."""
    harness = notifying(threshold)
    waiting = polls(harness, 5)
    assert waiting_pops(harness) == pops
    assert metrics(harness) == ReceiveMetrics(5, 5, 0, 5 - pops, notified=0, pops_in_progress=5)
    for number in range(5):
        harness.store(b"%d" % number, queue=number % 2)
    assert sorted(body for received in waiting for body in received.bodies) == [b"0", b"1", b"2", b"3", b"4"]
    assert metrics(harness).pops_in_progress == 0


def test_receives_use_notifications_again_after_others_end() -> None:
    """After some receives end, the next ones are within the threshold and use notifications again."""
    harness = notifying(2)
    crowd = polls(harness, 4)
    assert waiting_pops(harness) == 2
    harness.advance(5_000)
    assert all(received.status.code == 40401 for received in crowd)
    polls(harness, 2)
    assert waiting_pops(harness) == 0
    assert metrics(harness).pop_with_notify == 4


def test_a_receive_notified_of_another_tag_uses_a_pop_if_above_the_threshold() -> None:
    """After a notification of a message with another tag the receive waits again, above the threshold in a pop."""
    harness = notifying(2)
    (first,) = polls(harness, 1, expression="A")
    crowd = polls(harness, 3, expression="A")
    assert waiting_pops(harness) == 2
    harness.store(b"not wanted", TAGS="B")
    assert waiting_pops(harness) == 3
    harness.store(b"1", TAGS="A")
    harness.store(b"2", TAGS="A")
    harness.store(b"3", TAGS="A")
    harness.store(b"4", TAGS="A")
    assert sorted(body for received in [first, *crowd] for body in received.bodies) == [b"1", b"2", b"3", b"4"]


def test_a_stored_message_is_found_by_the_first_pop_without_a_notification() -> None:
    """The first pop finds a stored message without a notification, within the threshold and above it."""
    for threshold in (0, 100):
        harness = notifying(threshold)
        harness.store(b"x")
        (received,) = polls(harness, 1)
        assert received.bodies == [b"x"]
        assert metrics(harness) == ReceiveMetrics(1, 0, 1, 0, notified=0, pops_in_progress=0)


def test_a_receive_of_an_unknown_topic_is_not_counted_as_in_flight() -> None:
    """A receive of an unknown topic is not counted as in flight; one that the broker rejects as too many is."""
    harness = notifying(100, BrokerConfig(pop_polling_size=0))
    polls(harness, 1, topic="nowhere")
    assert metrics(harness) == ReceiveMetrics()
    waiting, full = polls(harness, 2)
    assert (waiting.call.sent, full.status.code, full.status.message) == ([], 42900, "polling full")
    assert metrics(harness) == ReceiveMetrics(2, 1, 0, 2, notified=0, pops_in_progress=1)


def test_a_notification_is_followed_by_a_pop_at_once() -> None:
    """A notification is followed by a pop in the same instant in which the message is stored."""
    harness = notifying()
    (received,) = polls(harness, 1, poll_ms=20_000)
    harness.advance(12_345)
    harness.store(b"x")
    assert received.bodies == [b"x"]
    assert received.responses[-1].delivery_timestamp.ToMilliseconds() == harness.now_ms
    assert metrics(harness) == ReceiveMetrics(1, 1, 0, 1, notified=1, pops_in_progress=0)


def test_a_poll_without_notifications_ends_empty_at_its_deadline() -> None:
    """A poll without messages ends empty once, at its deadline."""
    harness = notifying()
    (received,) = polls(harness, 1)
    harness.advance(4_999)
    assert received.call.sent == []
    harness.advance(1)
    assert (received.status.code, received.status.message) == (40401, "no new message")
    harness.advance(60_000)
    assert received.kinds == ["status", "delivery_timestamp"]


def test_notifications_about_other_tags_do_not_shorten_the_wait() -> None:
    harness = notifying()
    (received,) = polls(harness, 1, expression="A")
    for _ in range(4):
        harness.advance(1_000)
        harness.store(b"other", TAGS="B")
    assert received.call.sent == []
    assert metrics(harness).notified == 4
    harness.advance(999)
    assert received.call.sent == []
    harness.advance(1)
    assert received.status.code == 40401
    assert metrics(harness) == ReceiveMetrics(1, 1, 0, 1, notified=4, pops_in_progress=0)


def test_a_message_behind_many_others_is_found_at_once() -> None:
    """A message behind many messages of other tags is found at once, because the receive uses a pop that reads on."""
    harness = notifying()
    for _ in range(500):
        harness.store(b"other", TAGS="B")
    harness.store(b"x", TAGS="A")
    (received,) = polls(harness, 1, expression="A")
    assert received.bodies == [b"x"]


def test_a_receive_with_batch_size_0_waits_until_its_deadline() -> None:
    """A receive with batch size 0 waits until its deadline, although notifications report messages."""
    harness = notifying()
    harness.store(b"x")
    (received,) = polls(harness, 1, batch=0)
    harness.advance(4_999)
    assert received.call.sent == []
    harness.advance(1)
    assert received.status.code == 40401


def test_a_cancelled_receive_drops_its_notification() -> None:
    """A cancelled receive drops its notification, and the message wakes another receive."""
    harness = notifying()
    dead, alive = polls(harness, 2)
    alive.call.cancel()
    harness.store(b"x")
    assert dead.bodies == [b"x"]
    assert alive.call.sent == []
    assert metrics(harness).pops_in_progress == 0


@pytest.mark.parametrize("wake", [False, True])
def test_a_redelivered_message_wakes_a_poll_only_with_wake_poll_on_redelivery(wake: bool) -> None:
    """A poll finds a redelivered message at its end, or at once with wakePollOnRedelivery."""
    harness = notifying(wake_poll_on_redelivery=wake)
    harness.store(b"x")
    polls(harness, 1)
    harness.advance(9_000)
    (received,) = polls(harness, 1, poll_ms=20_000)
    harness.advance(6_000)
    assert received.bodies == ([b"x"] if wake else [])
    harness.advance(14_000)
    assert received.bodies == [b"x"]


@pytest.mark.parametrize("threshold", [0, 1, 100])
def test_a_redelivered_message_does_not_keep_a_new_one_from_waiting_receives(threshold: int) -> None:
    """If a notified receive gets an older, redelivered message, another waiting receive gets the new one."""
    harness = notifying(threshold, BrokerConfig(pop_from_retry_probability=100))
    harness.store(b"left")
    polls(harness, 1)
    harness.advance(9_000)
    waiting = polls(harness, 2, batch=1, poll_ms=20_000)
    harness.advance(8_000)
    assert [received.bodies for received in waiting] == [[], []]
    harness.store(b"new")
    assert sorted(body for received in waiting for body in received.bodies) == [b"left", b"new"]


def test_receives_of_ordered_groups_wait_in_pops() -> None:
    """Ordered groups use pops, because a broker does not wake notifications when a queue is unblocked."""
    harness = notifying()
    harness.group(consume_message_orderly=True)
    harness.store(b"1")
    harness.store(b"2")
    (first,) = polls(harness, 1, batch=1)
    (second,) = polls(harness, 1, batch=1)
    assert (first.bodies, waiting_pops(harness)) == ([b"1"], 1)
    harness.client("c").ask("AckMessage", an_ack(*first.handles))
    assert second.bodies == [b"2"]
    assert metrics(harness).pop_with_notify == 0


class Load:
    """Clients of one group that receive and acknowledge continuously, and a producer."""

    def __init__(self, harness: GrpcHarness, clients: int, chance: Random) -> None:
        self.harness = harness
        self.chance = chance
        self.clients = [harness.consumer(f"c{number}") for number in range(clients)]
        self.open: dict[int, Received] = {}
        self.sent: list[bytes] = []
        self.taken: list[bytes] = []
        self.late = 0

    def send(self) -> None:
        body = b"%d" % len(self.sent)
        self.sent.append(body)
        brokers = len(self.harness.engine.brokers)
        self.harness.store(body, self.chance.randrange(brokers), self.chance.randrange(2))
        self.collect()
        if self.open and len(self.taken) < len(self.sent):
            self.late += 1

    def receive(self) -> None:
        idle = [number for number in range(len(self.clients)) if number not in self.open]
        if idle:
            number = self.chance.choice(idle)
            request = a_receive(broker="", batch=self.chance.choice((1, 1, 2, 32)), poll_ms=20_000)
            self.open[number] = self.clients[number].receive(request)
            self.collect()

    def collect(self) -> None:
        """Collect and acknowledge the received messages."""
        for number, received in list(self.open.items()):
            if received.call.finished:
                del self.open[number]
                self.taken += received.bodies
                if received.handles:
                    response = self.clients[number].ask("AckMessage", an_ack(*received.handles))
                    assert response.status.code == 20000
                else:
                    assert received.status.message == "no new message"

    def pause(self) -> None:
        self.harness.advance(self.chance.choice((1, 50, 700, 4_000)))
        self.collect()


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("threshold", [0, 4, 100])
@pytest.mark.parametrize("seed", range(3))
def test_under_load_no_message_is_lost_late_or_delivered_twice(seed: int, threshold: int, brokers: int) -> None:
    """No message is lost, late or delivered twice within the threshold, above it, and while the load crosses it."""
    names = ("broker-a", "broker-b", "broker-c")[:brokers]
    harness = notifying(threshold, *(BrokerConfig(broker_name=name) for name in names))
    load = Load(harness, 9, Random(seed))
    both_ways = set()
    for _ in range(250):
        step = load.chance.choices((load.send, load.receive, load.pause), (5, 5, 1))[0]
        step()
        both_ways.add(len(load.open) > threshold)
    for _ in range(100):
        load.receive()
    harness.advance(20_000)
    load.collect()
    assert load.late == 0
    assert sorted(load.taken) == sorted(load.sent)
    assert both_ways == ({True, False} if threshold < 9 else {False})
    assert bool(metrics(harness).pop_with_notify) == (threshold > 0)
    assert metrics(harness).pops_in_progress == 0
