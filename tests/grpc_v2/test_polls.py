"""Receives that several brokers or queues can serve: the brokers that the proxy queries, and the response."""

import pytest
from grpc_harness import START_MS, GrpcHarness, Received, a_receive, an_ack
from grpc_texts import PROXY_EXCEPTION
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.consume import PollingInfo, PollingInfoResult
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import RECEIVE

BROKERS = ("broker-a", "broker-b", "broker-c")
EMPTY = (40401, "no new message")


def three_brokers(**config: object) -> GrpcHarness:
    """Return a harness with a topic of two queues on each of three brokers."""
    harness = GrpcHarness(*(BrokerConfig(broker_name=name, **config) for name in BROKERS))  # type: ignore[arg-type]
    harness.topic_everywhere(queues=2)
    return harness


def poll(harness: GrpcHarness, broker: str = "", client: str = "c", **options: object) -> Received:
    """Start a receive that names a broker, or none."""
    return harness.consumer(client).receive(a_receive(broker=broker, **options))  # type: ignore[arg-type]


def outcome(received: Received) -> tuple[int, str] | None:
    """Return the code and text of a response, None while it is pending."""
    return (received.status.code, received.status.message) if received.call.sent else None


def waiting_pops(harness: GrpcHarness) -> list[int]:
    """Return the number of waiting pops on each broker, from POLLING_INFO."""
    found = []
    for broker in harness.engine.brokers:
        info = harness.engine.execute(broker, PollingInfo("G", "T", -1))
        assert isinstance(info, PollingInfoResult)
        found.append(info.polling_num)
    return found


@pytest.fixture
def harness() -> GrpcHarness:
    return three_brokers()


class TestReceiveWithBroker:
    """A receive that names a broker, as SDKs do for each assignment or for the queues of a route in rotation."""

    def test_only_the_named_broker_is_queried(self, harness: GrpcHarness) -> None:
        """Only the named broker is queried.

        Messages of other brokers do not wake it, and it ends empty at the deadline.
        """
        harness.store(b"b", broker=1)
        received = poll(harness, "broker-a")
        harness.store(b"c", broker=2)
        assert waiting_pops(harness) == [1, 0, 0]
        harness.advance(4_999)
        assert outcome(received) is None
        harness.advance(1)
        assert outcome(received) == EMPTY

    @pytest.mark.parametrize("queue", [0, 1])
    @pytest.mark.parametrize("broker", range(3))
    def test_a_message_in_any_queue_of_the_named_broker_ends_the_receive(
        self, harness: GrpcHarness, broker: int, queue: int
    ) -> None:
        """A message in any queue of the named broker ends the receive at once; the queue in the request is ignored."""
        received = poll(harness, BROKERS[broker], queue_id=0)
        harness.advance(4_000)
        harness.store(b"x", broker, queue)
        assert received.bodies == [b"x"]
        assert received.responses[-1].delivery_timestamp.ToMilliseconds() == START_MS + 4_000

    def test_a_named_broker_without_readable_queues_is_ignored(self, harness: GrpcHarness) -> None:
        """A receive that names a broker without readable queues gets messages of the brokers that have the topic."""
        harness.broker = harness.engine.brokers[1]
        harness.topic("only-b")
        received = poll(harness, "broker-a", topic="only-b")
        harness.store(b"x", broker=1, topic="only-b")
        assert received.bodies == [b"x"]

    def test_with_receive_from_all_brokers_the_named_one_is_queried_first(self, harness: GrpcHarness) -> None:
        """With receiveFromAllBrokers a receive gets messages of all brokers, and queries the named one first."""
        harness.config.receive_from_all_brokers = True
        for broker in range(3):
            harness.store(BROKERS[broker].encode(), broker)
        assert poll(harness, "broker-b").bodies == [b"broker-b"]
        assert poll(harness, "broker-b").bodies == [b"broker-c"]
        assert poll(harness, "broker-b").bodies == [b"broker-a"]
        received = poll(harness, "broker-b")
        harness.store(b"late", broker=0)
        assert received.bodies == [b"late"]


@pytest.mark.parametrize("threshold", [0, 100])
@pytest.mark.parametrize("named", ["", "broker-z"])
class TestReceiveWithoutBroker:
    """A receive that names no broker or an unknown one: all brokers can serve it, in waiting pops or notifications."""

    @pytest.fixture
    def harness(self, threshold: int) -> GrpcHarness:
        harness = three_brokers()
        harness.config.pop_with_notify_threshold = threshold
        return harness

    @pytest.mark.parametrize("queue", [0, 1])
    @pytest.mark.parametrize("broker", range(3))
    def test_a_message_in_any_queue_of_any_broker_ends_the_receive(
        self, harness: GrpcHarness, named: str, broker: int, queue: int
    ) -> None:
        """A message in any queue of any broker ends the receive at once, and its handle acknowledges it there."""
        received = poll(harness, named)
        assert outcome(received) is None
        harness.advance(4_999)
        harness.store(b"x", broker, queue)
        assert received.bodies == [b"x"]
        assert received.handles[0].split(" ")[5] == BROKERS[broker]
        assert harness.client("c").ask("AckMessage", an_ack(*received.handles)).status.code == 20000
        harness.advance(60_000)
        again = poll(harness, named)
        harness.advance(5_000)
        assert outcome(again) == EMPTY

    @pytest.mark.parametrize("broker", range(3))
    def test_a_stored_message_of_any_broker_is_found_without_waiting(
        self, harness: GrpcHarness, named: str, broker: int
    ) -> None:
        """A stored message on any broker is found without waiting, regardless of the broker that is queried first."""
        for _ in range(4):
            harness.store(b"x", broker)
            assert poll(harness, named).bodies == [b"x"]

    def test_a_receive_without_messages_ends_empty_once_at_its_deadline(self, harness: GrpcHarness, named: str) -> None:
        """A receive without messages ends empty once: at its deadline, and not when the first broker has no message."""
        received = poll(harness, named)
        harness.advance(4_999)
        assert outcome(received) is None
        harness.advance(1)
        assert outcome(received) == EMPTY
        assert received.kinds == ["status", "delivery_timestamp"]
        assert waiting_pops(harness) == [0, 0, 0]

    def test_the_first_message_ends_the_wait_on_all_brokers(self, harness: GrpcHarness, named: str) -> None:
        """The first message ends the wait on all brokers. Messages stored elsewhere later are for the next receive."""
        received = poll(harness, named)
        harness.store(b"first", broker=2)
        harness.store(b"second", broker=0)
        harness.store(b"third", broker=1)
        assert received.bodies == [b"first"]
        assert waiting_pops(harness) == [0, 0, 0]
        rest = [*poll(harness, named).bodies, *poll(harness, named).bodies]
        assert sorted(rest) == [b"second", b"third"]

    def test_a_broker_that_rejects_a_receive_does_not_end_it(self, harness: GrpcHarness, named: str) -> None:
        """A broker that rejects the receive does not end it.

        Its error is the response only if all brokers reject it.
        """

        def switch_off(broker: int) -> None:
            harness.engine.execute(harness.engine.brokers[broker], CreateGroup(GroupConfig("G", consume_enable=False)))

        switch_off(0)
        switch_off(1)
        received = poll(harness, named)
        harness.store(b"x", broker=2)
        assert received.bodies == [b"x"]
        silent = poll(harness, named)
        harness.advance(5_000)
        assert outcome(silent) == EMPTY
        switch_off(2)
        assert outcome(poll(harness, named)) == (50001, PROXY_EXCEPTION + "subscription group no permission, G")

    def test_messages_that_the_proxy_filters_out_do_not_end_the_wait(self, harness: GrpcHarness, named: str) -> None:
        """Messages that the proxy filters out do not end the wait.

        The tag `BB` has the hash code of `Aa` and passes the broker's filter.
        """
        harness.store(b"wrong", broker=0, TAGS="BB")
        received = poll(harness, named, expression="Aa")
        harness.store(b"wrong", broker=1, TAGS="BB")
        assert outcome(received) is None
        harness.store(b"right", broker=1, TAGS="Aa")
        assert received.bodies == [b"right"]
        silent = poll(harness, named, expression="Aa")
        harness.store(b"wrong", broker=2, TAGS="BB")
        harness.advance(4_999)
        assert outcome(silent) is None
        harness.advance(1)
        assert outcome(silent) == EMPTY

    def test_a_message_behind_many_of_other_tags_is_found_at_once(self, harness: GrpcHarness, named: str) -> None:
        """A message behind many messages of other tags is found at once."""
        for number in range(1_000):
            harness.store(b"%d" % number, broker=1, TAGS="other")
        harness.store(b"x", broker=1, TAGS="wanted")
        assert poll(harness, named, expression="wanted").bodies == [b"x"]

    def test_a_redelivered_message_ends_the_wait_at_the_deadline_at_the_latest(
        self, harness: GrpcHarness, named: str
    ) -> None:
        """A redelivered message, which wakes no poll in 5.3.3, is found at the deadline at the latest."""
        harness.store(b"x", broker=1)
        assert poll(harness, named).bodies == [b"x"]
        harness.advance(9_000)
        received = poll(harness, named, poll_ms=20_000)
        harness.advance(20_000)
        assert received.bodies == [b"x"]
        assert received.messages[0].system_properties.delivery_attempt == 2

    def test_with_end_polls_on_cancel_a_cancelled_receive_takes_no_message(
        self, harness: GrpcHarness, named: str
    ) -> None:
        """With endPollsOnCancel, a cancelled receive gets no message on any broker."""
        harness.config.end_polls_on_cancel = True
        dead = poll(harness, named)
        dead.call.cancel()
        assert waiting_pops(harness) == [0, 0, 0]
        harness.store(b"x", broker=1)
        assert poll(harness, named).bodies == [b"x"]
        harness.advance(60_000)
        assert dead.call.sent == []


def test_each_receive_queries_another_broker_first(harness: GrpcHarness) -> None:
    """Each receive queries another broker first, so that a broker with many messages does not starve the others."""
    for broker in range(3):
        for number in range(4):
            harness.store(b"%d-%d" % (broker, number), broker, queue=0)
    first = [poll(harness, batch=1).bodies[0].split(b"-")[0] for _ in range(12)]
    assert sorted(first[:3]) == [b"0", b"1", b"2"]
    assert first[:3] * 4 == first


def test_a_batch_comes_from_one_broker(harness: GrpcHarness) -> None:
    """All messages of a batch come from one broker, as in upstream's proxy."""
    for broker in range(3):
        for number in range(5):
            harness.store(b"%d" % number, broker)
    for _ in range(3):
        received = poll(harness, batch=32)
        assert len(received.bodies) == 5
        assert len({handle.split(" ")[5] for handle in received.handles}) == 1


@pytest.mark.parametrize("threshold", [0, 100])
def test_a_receive_gets_too_many_requests_if_a_broker_allows_no_more_waiting_pops(threshold: int) -> None:
    """If one broker allows no more waiting pops, the receive gets TOO_MANY_REQUESTS at once.

    It could not wait for messages of that broker.
    """
    harness = three_brokers(pop_polling_size=0)
    harness.config.pop_with_notify_threshold = threshold
    waiting = poll(harness, "broker-b", "1")
    refused = poll(harness, "", "2")
    assert outcome(waiting) is None
    assert outcome(refused) == (42900, "polling full")
    harness.store(b"x", broker=1)
    assert waiting.bodies == [b"x"]


def test_with_end_polls_on_client_termination_polls_end_on_all_brokers(harness: GrpcHarness) -> None:
    """With endPollsOnClientTermination, the polls of a client that terminates end on all brokers."""
    harness.config.end_polls_on_client_termination = True
    received = poll(harness, "")
    request = sv.NotifyClientTerminationRequest()
    request.group.name = "G"
    assert harness.client("c").ask("NotifyClientTermination", request).status.code == 20000
    assert outcome(received) == EMPTY
    assert waiting_pops(harness) == [0, 0, 0]


def test_an_ordered_group_is_served_by_all_brokers(harness: GrpcHarness) -> None:
    """An ordered group is served by all brokers, and an acknowledgement wakes a waiting poll with the next message."""
    for broker in harness.engine.brokers:
        harness.engine.execute(broker, CreateGroup(GroupConfig("G", consume_message_orderly=True)))
    for number in range(2):
        harness.store(b"%d" % number, broker=2)
    first = poll(harness, batch=1)
    assert first.bodies == [b"0"]
    waiting = poll(harness, "", "other", batch=1)
    assert outcome(waiting) is None
    harness.client("c").ask("AckMessage", an_ack(*first.handles))
    assert waiting.bodies == [b"1"]


def test_polls_of_a_crashed_proxy_are_not_counted_as_in_flight(harness: GrpcHarness) -> None:
    poll(harness, "")
    assert harness.service.metrics()[RECEIVE].pops_in_progress == 1
    harness.service.clients.discard()
    assert harness.service.metrics()[RECEIVE].pops_in_progress == 0
