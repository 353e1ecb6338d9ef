"""Receives that several brokers or queues can serve: the brokers that the proxy queries, and the response."""

import pytest
from grpc_texts import PROXY_EXCEPTION
from grpc_world import START_MS, GrpcWorld, Received, a_receive, an_ack
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.consume import PollingInfo, PollingInfoResult
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import RECEIVE

BROKERS = ("broker-a", "broker-b", "broker-c")
EMPTY = (40401, "no new message")


def three_brokers(**config: object) -> GrpcWorld:
    """Return a world with a topic of two queues on each of three brokers."""
    world = GrpcWorld(*(BrokerConfig(broker_name=name, **config) for name in BROKERS))  # type: ignore[arg-type]
    world.topic_everywhere(queues=2)
    return world


def poll(world: GrpcWorld, broker: str = "", client: str = "c", **options: object) -> Received:
    """Start a receive that names a broker, or none."""
    return world.consumer(client).receive(a_receive(broker=broker, **options))  # type: ignore[arg-type]


def outcome(received: Received) -> tuple[int, str] | None:
    """Return the code and text of a response, None while it is pending."""
    return (received.status.code, received.status.message) if received.call.sent else None


def waiting_pops(world: GrpcWorld) -> list[int]:
    """Return the number of waiting pops on each broker, from POLLING_INFO."""
    found = []
    for broker in world.engine.brokers:
        info = world.engine.execute(broker, PollingInfo("G", "T", -1))
        assert isinstance(info, PollingInfoResult)
        found.append(info.polling_num)
    return found


@pytest.fixture
def world() -> GrpcWorld:
    return three_brokers()


class TestReceiveWithBroker:
    """A receive that names a broker, as SDKs do for each assignment or for the queues of a route in rotation."""

    def test_only_the_named_broker_is_queried(self, world: GrpcWorld) -> None:
        """Only the named broker is queried.

        Messages of other brokers do not wake it, and it ends empty at the deadline.
        """
        world.store(b"b", broker=1)
        received = poll(world, "broker-a")
        world.store(b"c", broker=2)
        assert waiting_pops(world) == [1, 0, 0]
        world.advance(4_999)
        assert outcome(received) is None
        world.advance(1)
        assert outcome(received) == EMPTY

    @pytest.mark.parametrize("queue", [0, 1])
    @pytest.mark.parametrize("broker", range(3))
    def test_a_message_in_any_queue_of_the_named_broker_ends_the_receive(
        self, world: GrpcWorld, broker: int, queue: int
    ) -> None:
        """A message in any queue of the named broker ends the receive at once; the queue in the request is ignored."""
        received = poll(world, BROKERS[broker], queue_id=0)
        world.advance(4_000)
        world.store(b"x", broker, queue)
        assert received.bodies == [b"x"]
        assert received.responses[-1].delivery_timestamp.ToMilliseconds() == START_MS + 4_000

    def test_a_named_broker_without_readable_queues_is_ignored(self, world: GrpcWorld) -> None:
        """A receive that names a broker without readable queues gets messages of the brokers that have the topic."""
        world.broker = world.engine.brokers[1]
        world.topic("only-b")
        received = poll(world, "broker-a", topic="only-b")
        world.store(b"x", broker=1, topic="only-b")
        assert received.bodies == [b"x"]

    def test_with_receive_from_all_brokers_the_named_one_is_queried_first(self, world: GrpcWorld) -> None:
        """With receiveFromAllBrokers a receive gets messages of all brokers, and queries the named one first."""
        world.config.receive_from_all_brokers = True
        for broker in range(3):
            world.store(BROKERS[broker].encode(), broker)
        assert poll(world, "broker-b").bodies == [b"broker-b"]
        assert poll(world, "broker-b").bodies == [b"broker-c"]
        assert poll(world, "broker-b").bodies == [b"broker-a"]
        received = poll(world, "broker-b")
        world.store(b"late", broker=0)
        assert received.bodies == [b"late"]


@pytest.mark.parametrize("threshold", [0, 100])
@pytest.mark.parametrize("named", ["", "broker-z"])
class TestReceiveWithoutBroker:
    """A receive that names no broker or an unknown one: all brokers can serve it, in waiting pops or notifications."""

    @pytest.fixture
    def world(self, threshold: int) -> GrpcWorld:
        world = three_brokers()
        world.config.pop_with_notify_threshold = threshold
        return world

    @pytest.mark.parametrize("queue", [0, 1])
    @pytest.mark.parametrize("broker", range(3))
    def test_a_message_in_any_queue_of_any_broker_ends_the_receive(
        self, world: GrpcWorld, named: str, broker: int, queue: int
    ) -> None:
        """A message in any queue of any broker ends the receive at once, and its handle acknowledges it there."""
        received = poll(world, named)
        assert outcome(received) is None
        world.advance(4_999)
        world.store(b"x", broker, queue)
        assert received.bodies == [b"x"]
        assert received.handles[0].split(" ")[5] == BROKERS[broker]
        assert world.client("c").ask("AckMessage", an_ack(*received.handles)).status.code == 20000
        world.advance(60_000)
        again = poll(world, named)
        world.advance(5_000)
        assert outcome(again) == EMPTY

    @pytest.mark.parametrize("broker", range(3))
    def test_a_stored_message_of_any_broker_is_found_without_waiting(
        self, world: GrpcWorld, named: str, broker: int
    ) -> None:
        """A stored message on any broker is found without waiting, regardless of the broker that is queried first."""
        for _ in range(4):
            world.store(b"x", broker)
            assert poll(world, named).bodies == [b"x"]

    def test_a_receive_without_messages_ends_empty_once_at_its_deadline(self, world: GrpcWorld, named: str) -> None:
        """A receive without messages ends empty once: at its deadline, and not when the first broker has no message."""
        received = poll(world, named)
        world.advance(4_999)
        assert outcome(received) is None
        world.advance(1)
        assert outcome(received) == EMPTY
        assert received.kinds == ["status", "delivery_timestamp"]
        assert waiting_pops(world) == [0, 0, 0]

    def test_the_first_message_ends_the_wait_on_all_brokers(self, world: GrpcWorld, named: str) -> None:
        """The first message ends the wait on all brokers. Messages stored elsewhere later are for the next receive."""
        received = poll(world, named)
        world.store(b"first", broker=2)
        world.store(b"second", broker=0)
        world.store(b"third", broker=1)
        assert received.bodies == [b"first"]
        assert waiting_pops(world) == [0, 0, 0]
        rest = [*poll(world, named).bodies, *poll(world, named).bodies]
        assert sorted(rest) == [b"second", b"third"]

    def test_a_broker_that_rejects_a_receive_does_not_end_it(self, world: GrpcWorld, named: str) -> None:
        """A broker that rejects the receive does not end it.

        Its error is the response only if all brokers reject it.
        """

        def switch_off(broker: int) -> None:
            world.engine.execute(world.engine.brokers[broker], CreateGroup(GroupConfig("G", consume_enable=False)))

        switch_off(0)
        switch_off(1)
        received = poll(world, named)
        world.store(b"x", broker=2)
        assert received.bodies == [b"x"]
        silent = poll(world, named)
        world.advance(5_000)
        assert outcome(silent) == EMPTY
        switch_off(2)
        assert outcome(poll(world, named)) == (50001, PROXY_EXCEPTION + "subscription group no permission, G")

    def test_messages_that_the_proxy_filters_out_do_not_end_the_wait(self, world: GrpcWorld, named: str) -> None:
        """Messages that the proxy filters out do not end the wait.

        The tag `BB` has the hash code of `Aa` and passes the broker's filter.
        """
        world.store(b"wrong", broker=0, TAGS="BB")
        received = poll(world, named, expression="Aa")
        world.store(b"wrong", broker=1, TAGS="BB")
        assert outcome(received) is None
        world.store(b"right", broker=1, TAGS="Aa")
        assert received.bodies == [b"right"]
        silent = poll(world, named, expression="Aa")
        world.store(b"wrong", broker=2, TAGS="BB")
        world.advance(4_999)
        assert outcome(silent) is None
        world.advance(1)
        assert outcome(silent) == EMPTY

    def test_a_message_behind_many_of_other_tags_is_found_at_once(self, world: GrpcWorld, named: str) -> None:
        """A message behind many messages of other tags is found at once."""
        for number in range(1_000):
            world.store(b"%d" % number, broker=1, TAGS="other")
        world.store(b"x", broker=1, TAGS="wanted")
        assert poll(world, named, expression="wanted").bodies == [b"x"]

    def test_a_redelivered_message_ends_the_wait_at_the_deadline_at_the_latest(
        self, world: GrpcWorld, named: str
    ) -> None:
        """A redelivered message, which wakes no poll in 5.3.3, is found at the deadline at the latest."""
        world.store(b"x", broker=1)
        assert poll(world, named).bodies == [b"x"]
        world.advance(9_000)
        received = poll(world, named, poll_ms=20_000)
        world.advance(20_000)
        assert received.bodies == [b"x"]
        assert received.messages[0].system_properties.delivery_attempt == 2

    def test_with_end_polls_on_cancel_a_cancelled_receive_takes_no_message(self, world: GrpcWorld, named: str) -> None:
        """With endPollsOnCancel, a cancelled receive gets no message on any broker."""
        world.config.end_polls_on_cancel = True
        dead = poll(world, named)
        dead.call.cancel()
        assert waiting_pops(world) == [0, 0, 0]
        world.store(b"x", broker=1)
        assert poll(world, named).bodies == [b"x"]
        world.advance(60_000)
        assert dead.call.sent == []


def test_each_receive_queries_another_broker_first(world: GrpcWorld) -> None:
    """Each receive queries another broker first, so that a broker with many messages does not starve the others."""
    for broker in range(3):
        for number in range(4):
            world.store(b"%d-%d" % (broker, number), broker, queue=0)
    first = [poll(world, batch=1).bodies[0].split(b"-")[0] for _ in range(12)]
    assert sorted(first[:3]) == [b"0", b"1", b"2"]
    assert first[:3] * 4 == first


def test_a_batch_comes_from_one_broker(world: GrpcWorld) -> None:
    """All messages of a batch come from one broker, as in upstream's proxy."""
    for broker in range(3):
        for number in range(5):
            world.store(b"%d" % number, broker)
    for _ in range(3):
        received = poll(world, batch=32)
        assert len(received.bodies) == 5
        assert len({handle.split(" ")[5] for handle in received.handles}) == 1


@pytest.mark.parametrize("threshold", [0, 100])
def test_a_receive_gets_too_many_requests_if_a_broker_allows_no_more_waiting_pops(threshold: int) -> None:
    """If one broker allows no more waiting pops, the receive gets TOO_MANY_REQUESTS at once.

    It could not wait for messages of that broker.
    """
    world = three_brokers(pop_polling_size=0)
    world.config.pop_with_notify_threshold = threshold
    waiting = poll(world, "broker-b", "1")
    refused = poll(world, "", "2")
    assert outcome(waiting) is None
    assert outcome(refused) == (42900, "polling full")
    world.store(b"x", broker=1)
    assert waiting.bodies == [b"x"]


def test_with_end_polls_on_client_termination_polls_end_on_all_brokers(world: GrpcWorld) -> None:
    """With endPollsOnClientTermination, the polls of a client that terminates end on all brokers."""
    world.config.end_polls_on_client_termination = True
    received = poll(world, "")
    request = sv.NotifyClientTerminationRequest()
    request.group.name = "G"
    assert world.client("c").ask("NotifyClientTermination", request).status.code == 20000
    assert outcome(received) == EMPTY
    assert waiting_pops(world) == [0, 0, 0]


def test_an_ordered_group_is_served_by_all_brokers(world: GrpcWorld) -> None:
    """An ordered group is served by all brokers, and an acknowledgement wakes a waiting poll with the next message."""
    for broker in world.engine.brokers:
        world.engine.execute(broker, CreateGroup(GroupConfig("G", consume_message_orderly=True)))
    for number in range(2):
        world.store(b"%d" % number, broker=2)
    first = poll(world, batch=1)
    assert first.bodies == [b"0"]
    waiting = poll(world, "", "other", batch=1)
    assert outcome(waiting) is None
    world.client("c").ask("AckMessage", an_ack(*first.handles))
    assert waiting.bodies == [b"1"]


def test_polls_of_a_crashed_proxy_are_not_counted_as_in_flight(world: GrpcWorld) -> None:
    poll(world, "")
    assert world.service.metrics()[RECEIVE].pops_in_progress == 1
    world.service.clients.discard()
    assert world.service.metrics()[RECEIVE].pops_in_progress == 0
