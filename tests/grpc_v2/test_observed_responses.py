"""Responses observed on a running 5.3.3 that no other test covers: unusual names, calls and expressions."""

from typing import Any

import pytest
from google.protobuf.message import Message
from grpc_harness import GrpcHarness, a_message, a_receive, a_send, an_ack, subscribing
from grpc_texts import PROXY_EXCEPTION, no_route
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

BROKERS = ("broker-a", "broker-b", "broker-c")
CANNOT_PARSE = (50001, PROXY_EXCEPTION + "parse the consumer's subscription failed")
HANDLE = "0 1700000000000 10000 0 0 broker-a 0 0 0"
"""The receipt handle of the message at offset 0, popped at that time for 10 s."""


def named(name: str) -> pb.Resource:
    return pb.Resource(name=name)


def a_route(topic: str = "T") -> sv.QueryRouteRequest:
    return sv.QueryRouteRequest(topic=named(topic))


def an_assignment(group: str = "G") -> sv.QueryAssignmentRequest:
    return sv.QueryAssignmentRequest(topic=named("T"), group=named(group))


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("QueryRoute", a_route()),
        ("QueryAssignment", an_assignment()),
        ("SendMessage", a_send(a_message())),
        ("AckMessage", an_ack(HANDLE)),
    ],
)
@pytest.mark.parametrize("metadata", [{"x_mq_language": ""}, {"x_mq_language": "KLINGON"}, {"x_mq_client_version": ""}])
def test_most_calls_ignore_language_version_and_a_missing_deadline(
    harness: GrpcHarness, name: str, sent: Message, metadata: dict[str, str]
) -> None:
    harness.topic()
    harness.store(b"x")
    response = harness.client().ask(name, sent, deadline_ms=None, **metadata)
    assert response.status.code == 20000


@pytest.mark.parametrize("metadata", [{"x_mq_language": ""}, {"x_mq_language": "KLINGON"}, {"x_mq_client_version": ""}])
def test_a_receive_ignores_language_and_version(harness: GrpcHarness, metadata: dict[str, str]) -> None:
    """A receive ignores language and version, if its deadline is long enough."""
    harness.topic()
    harness.store(b"x")
    assert harness.consumer().receive(a_receive(), **metadata).bodies == [b"x"]


@pytest.mark.parametrize("settings", [publishing("T"), subscribing()])
def test_settings_need_no_client_version(harness: GrpcHarness, settings: pb.Settings) -> None:
    """Settings need no client version; only the language is validated."""
    (command,) = harness.client().send_settings(settings, x_mq_client_version="").commands
    assert command.status.code == 20000


@pytest.mark.parametrize("topic", ["%LMQ%x", "%RETRY%x"])
def test_a_topic_with_a_system_prefix_is_unknown_like_any_other(harness: GrpcHarness, topic: str) -> None:
    status = harness.client().ask("QueryRoute", a_route(topic)).status
    assert (status.code, status.message) == (40402, no_route(topic))


def test_a_dead_letter_queue_has_a_route(harness: GrpcHarness) -> None:
    """An existing dead letter queue has a route."""
    harness.topic("%DLQ%G")
    response = harness.client().ask("QueryRoute", a_route("%DLQ%G"))
    assert (response.status.code, len(response.message_queues)) == (20000, 1)


@pytest.mark.parametrize("scheme", [pb.DOMAIN_NAME, pb.IPv4, pb.IPv6])
def test_a_route_shows_the_proxys_own_address(harness: GrpcHarness, scheme: pb.AddressScheme) -> None:
    """A route has the proxy's own address, not the address that the client dialed."""
    harness.topic()
    request = a_route()
    request.endpoints.scheme = scheme
    request.endpoints.addresses.add(host="elsewhere", port=1)
    (queue,) = harness.client().ask("QueryRoute", request).message_queues
    assert [(address.host, address.port) for address in queue.broker.endpoints.addresses] == [("127.0.0.1", 8081)]


def test_a_disabled_or_unknown_group_gets_an_assignment() -> None:
    """A disabled group, and a group that does not exist and cannot be created, get an assignment like any other."""
    harness = GrpcHarness(BrokerConfig(auto_create_subscription_group=False))
    harness.topic()
    harness.group("GOff", consume_enable=False)
    for group in ("GOff", "Gunk"):
        response = harness.client().ask("QueryAssignment", an_assignment(group))
        assert response.status.code == 20000
        assert [assigned.message_queue.id for assigned in response.assignments] == [-1]


class TestSeveralBrokers:
    """Routes and assignments of three brokers, from which SDKs choose the broker of a receive.

    Simple consumers use queues of the route, push consumers use assignments.
    """

    @pytest.fixture
    def harness(self) -> GrpcHarness:
        harness = GrpcHarness(*(BrokerConfig(broker_name=name) for name in BROKERS))
        harness.topic_everywhere(queues=2)
        return harness

    def test_a_route_lists_the_queues_of_all_brokers(self, harness: GrpcHarness) -> None:
        """A route lists the queues of all brokers, with ids per broker."""
        queues = harness.client().ask("QueryRoute", a_route()).message_queues
        assert [(queue.broker.name, queue.id) for queue in queues] == [
            (name, id_) for name in BROKERS for id_ in (0, 1)
        ]

    def test_a_group_is_assigned_any_queue_of_each_broker(self, harness: GrpcHarness) -> None:
        """A group is assigned any queue of each broker, so that a push consumer has one poll per broker."""
        assigned = harness.client().ask("QueryAssignment", an_assignment()).assignments
        assert [(a.message_queue.broker.name, a.message_queue.id) for a in assigned] == [(name, -1) for name in BROKERS]

    def test_an_ordered_group_is_assigned_every_queue_of_every_broker(self, harness: GrpcHarness) -> None:
        for broker in harness.engine.brokers:
            harness.broker = broker
            harness.group(consume_message_orderly=True)
        assigned = harness.client().ask("QueryAssignment", an_assignment()).assignments
        expected = [(name, id_) for name in BROKERS for id_ in (0, 1)]
        assert [(a.message_queue.broker.name, a.message_queue.id) for a in assigned] == expected

    @pytest.mark.parametrize("rpc", ["QueryRoute", "QueryAssignment"])
    def test_a_client_that_receives_from_all_queues_gets_every_message_once(
        self, harness: GrpcHarness, rpc: str
    ) -> None:
        """A client that receives once from each queue or assignment gets every message once."""
        for number in range(12):
            harness.store(b"%d" % number, broker=number % 3, queue=number % 2)
        client = harness.consumer()
        if rpc == "QueryRoute":
            queues = list(client.ask(rpc, a_route()).message_queues)
        else:
            queues = [assigned.message_queue for assigned in client.ask(rpc, an_assignment()).assignments]
        bodies: list[bytes] = []
        for queue in queues:
            received = client.receive(a_receive(broker=queue.broker.name, queue_id=queue.id))
            harness.advance(5_000)
            if received.handles:
                assert client.ask("AckMessage", an_ack(*received.handles)).status.code == 20000
            bodies += received.bodies
        assert sorted(int(body) for body in bodies) == list(range(12))


@pytest.mark.parametrize("expression", ["*", "a = 0.0"])
def test_expressions_that_do_not_compile_in_5_3_3_are_rejected(harness: GrpcHarness, expression: str) -> None:
    """A star and a comparison with a fractional zero do not compile, as in 5.3.3."""
    harness.topic()
    status = harness.consumer().receive(a_receive(expression=expression, filter_type=pb.SQL)).status
    assert (status.code, status.message) == CANNOT_PARSE


@pytest.mark.parametrize(("expression", "bodies"), [("a LIKE 'x%'", []), ("a = 1 foo", [b"one"])])
def test_text_after_a_complete_sql_expression_is_ignored(
    harness: GrpcHarness, expression: str, bodies: list[bytes]
) -> None:
    """Text after a complete expression is ignored. LIKE is no keyword: `a` is the expression, which matches nothing."""
    harness.topic()
    harness.store(b"one", a="1")
    harness.store(b"x", a="xy")
    received = harness.consumer().receive(a_receive(expression=expression, filter_type=pb.SQL))
    harness.advance(5_000)
    assert received.bodies == bodies


def test_a_receive_may_be_for_another_group_than_the_settings(harness: GrpcHarness) -> None:
    """A receive for another group than that of the settings succeeds."""
    harness.topic()
    harness.store(b"x")
    assert harness.consumer(group="mine").receive(a_receive(group="other")).bodies == [b"x"]


@pytest.mark.parametrize("invisible_ms", [10_000, 43_200_000])
def test_the_shortest_and_the_longest_invisible_durations_are_accepted(harness: GrpcHarness, invisible_ms: int) -> None:
    """The limits of an invisible duration, 10 s and 12 h, are valid values."""
    harness.topic()
    harness.store(b"x")
    assert harness.consumer().receive(a_receive(invisible_ms=invisible_ms)).bodies == [b"x"]


class TestOrder:
    """A group that consumes in order, with one queue."""

    @pytest.fixture
    def harness(self, harness: GrpcHarness) -> GrpcHarness:
        harness.topic(kind="FIFO")
        harness.group(consume_message_orderly=True)
        for body in (b"1", b"2"):
            harness.store(body)
        return harness

    @staticmethod
    def attempts(received: Any) -> list[tuple[bytes, int]]:
        return [(message.body, message.system_properties.delivery_attempt) for message in received.messages]

    def test_an_expired_batch_wakes_a_waiting_receive_of_another_attempt(self, harness: GrpcHarness) -> None:
        """A batch that expires after 10 s wakes a waiting receive of another attempt."""
        client = harness.consumer()
        client.receive(a_receive(attempt_id="x"))
        waiting = client.receive(a_receive(attempt_id="y", poll_ms=20_000))
        harness.advance(9_900)
        assert waiting.call.sent == []
        harness.advance(200)
        assert self.attempts(waiting) == [(b"1", 2), (b"2", 2)]

    def test_after_a_changed_duration_the_whole_batch_is_redelivered(self, harness: GrpcHarness) -> None:
        """After a changed duration ends, the whole batch is redelivered, even its acknowledged message.

        The message before the acknowledged one was not acknowledged.
        """
        client = harness.consumer()
        first = client.receive(a_receive())
        change = sv.ChangeInvisibleDurationRequest(
            group=named("G"), topic=named("T"), receipt_handle=first.handles[0], message_id="m"
        )
        change.invisible_duration.FromMilliseconds(2_000)
        assert client.ask("AckMessage", an_ack(first.handles[1])).status.code == 20000
        assert client.ask("ChangeInvisibleDuration", change).status.code == 20000
        waiting = client.receive(a_receive(poll_ms=20_000))
        harness.advance(1_900)
        assert waiting.call.sent == []
        harness.advance(300)
        assert self.attempts(waiting) == [(b"1", 2), (b"2", 2)]
