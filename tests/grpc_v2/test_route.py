"""QueryRoute and QueryAssignment."""

import pytest
from grpc_harness import GrpcHarness
from grpc_texts import no_route
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.operations.cluster import DeleteTopicInNamesrv
from rocketmq_testkit.emulator.operations.topics import DeleteTopic, TopicConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.routes import Routes, _order_conf_queues
from rocketmq_testkit.grpc_v2.proxy.transport_call import TransportCall
from rocketmq_testkit.grpc_v2.services.route import queue_permissions

R, W, RW, NONE = pb.READ, pb.WRITE, pb.READ_WRITE, pb.NONE


def route(harness: GrpcHarness, topic: str = "T", endpoints: pb.Endpoints | None = None) -> sv.QueryRouteResponse:
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic), endpoints=endpoints)
    response: sv.QueryRouteResponse = harness.client().ask("QueryRoute", request)
    return response


def assignment(harness: GrpcHarness, topic: str = "T", group: str = "G") -> sv.QueryAssignmentResponse:
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name=topic), group=pb.Resource(name=group))
    response: sv.QueryAssignmentResponse = harness.client().ask("QueryAssignment", request)
    return response


def test_a_route_lists_the_queues(harness: GrpcHarness) -> None:
    """A route has each queue with its id, permission, types and broker address, and echoes the namespace."""
    harness.topic(queues=4)
    request = sv.QueryRouteRequest(topic=pb.Resource(name="T", resource_namespace="ns"))
    response = harness.client().ask("QueryRoute", request)
    assert (response.status.code, response.status.message) == (20000, "OK")
    for queue_id, queue in enumerate(response.message_queues):
        assert (queue.id, queue.permission, queue.topic) == (queue_id, RW, request.topic)
        assert (queue.broker.name, queue.broker.id) == ("broker-a", 0)
        assert queue.broker.endpoints.scheme == pb.IPv4
        assert [(a.host, a.port) for a in queue.broker.endpoints.addresses] == [("127.0.0.1", 8081)]
        assert list(queue.accept_message_types) == [pb.NORMAL]
    assert len(response.message_queues) == 4


@pytest.mark.parametrize(
    ("perm", "read", "write", "expected"),
    [
        (6, 4, 4, [RW] * 4),
        (4, 4, 4, [R] * 4),
        (2, 4, 4, [W] * 4),
        (1, 4, 4, [NONE] * 4),
        (0, 4, 4, [NONE] * 4),
        (0, 0, 0, [NONE]),
        (6, 4, 2, [R, R, RW, RW]),
        (6, 2, 4, [W, W, RW, RW]),
        (6, 0, 2, [W, W]),
    ],
)
def test_queues_are_listed_read_only_then_write_only_then_both_then_none(
    perm: int, read: int, write: int, expected: list[int]
) -> None:
    assert list(queue_permissions(perm, read, write)) == expected


def test_queue_ids_of_a_route_count_over_all_permissions(harness: GrpcHarness) -> None:
    harness.topic(queues=4, write_queues=2)
    assert [(queue.id, queue.permission) for queue in route(harness).message_queues] == [
        (0, R),
        (1, R),
        (2, RW),
        (3, RW),
    ]


@pytest.mark.parametrize(
    ("kind", "types"),
    [("", [pb.NORMAL]), ("NORMAL", [pb.NORMAL]), ("FIFO", [pb.FIFO]), ("DELAY", [pb.DELAY]),
     ("TRANSACTION", [pb.TRANSACTION]), ("UNSPECIFIED", [0])],
)  # fmt: skip
def test_a_route_has_the_message_type_of_its_topic(harness: GrpcHarness, kind: str, types: list[int]) -> None:
    """A route has the message type of its topic's attribute, NORMAL without one."""
    harness.topic(kind=kind)
    assert list(route(harness).message_queues[0].accept_message_types) == types


def test_a_mixed_topic_accepts_all_message_types() -> None:
    """A MIXED topic accepts all types, if the broker allows such topics."""
    harness = GrpcHarness(BrokerConfig(enable_mixed_message_type=True))
    harness.topic(kind="MIXED")
    expected = [pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION]
    assert list(route(harness).message_queues[0].accept_message_types) == expected


@pytest.mark.parametrize("topic", ["nowhere", "a|b", "%RETRY%g", "%DLQ%g"])
def test_a_route_or_assignment_of_an_unknown_topic_is_not_found(harness: GrpcHarness, topic: str) -> None:
    """An unknown topic returns TOPIC_NOT_FOUND in both calls and is not created."""
    for status in (route(harness, topic).status, assignment(harness, topic).status):
        assert (status.code, status.message) == (40402, no_route(topic))


def test_routes_are_never_stale(harness: GrpcHarness) -> None:
    """Each query returns the current route. Upstream's proxy returns cached ones for up to 20 s."""
    assert route(harness).status.code == 40402
    harness.topic()
    assert route(harness).status.code == 20000
    harness.ask(DeleteTopic("T"))
    assert route(harness).status.code == 20000
    harness.engine.execute(harness.engine.name_server, DeleteTopicInNamesrv("T"))
    assert route(harness).status.code == 40402


def test_an_address_without_a_scheme_is_rejected(harness: GrpcHarness) -> None:
    """An address without a scheme returns an exception of the proxy. An unknown scheme and no address are accepted."""
    harness.topic()
    endpoints = pb.Endpoints(addresses=[pb.Address(host="h", port=1)])
    status = route(harness, endpoints=endpoints).status
    assert status.code == 50001
    assert status.message == (
        "No enum constant org.apache.rocketmq.proxy.common.Address.AddressScheme.ADDRESS_SCHEME_UNSPECIFIED."
        " IllegalArgumentException. java.base/java.lang.Enum.valueOf(Enum.java:273)"
    )
    endpoints.scheme = 9  # type: ignore[assignment]  # open enum
    assert route(harness, endpoints=endpoints).status.code == 20000
    assert route(harness, endpoints=pb.Endpoints()).status.code == 20000


@pytest.mark.parametrize(
    ("host", "scheme"), [("10.1.2.3", pb.IPv4), ("::1", pb.IPv6), ("localhost", pb.DOMAIN_NAME), ("1.2.3.four", 3)]
)
def test_the_scheme_of_an_address_follows_from_its_host(host: str, scheme: int) -> None:
    """The scheme of an address follows from its host; clients require the right one."""
    harness = GrpcHarness(endpoint=lambda *_: (host, 1))
    harness.topic()
    assert route(harness).message_queues[0].broker.endpoints.scheme == scheme


def test_the_endpoint_function_gets_the_dialed_address_of_the_request() -> None:
    """The endpoint function gets the call, the broker's name and id, and the first dialed address of the request."""
    asked: list[tuple[object, ...]] = []

    def endpoint(call: TransportCall, *of: object) -> tuple[str, int]:
        asked.append((call.authority, *of))
        return "h", 1

    harness = GrpcHarness(endpoint=endpoint)
    harness.topic()
    addresses = [pb.Address(host="dialled", port=7), pb.Address(host="other", port=8)]
    route(harness, endpoints=pb.Endpoints(scheme=pb.DOMAIN_NAME, addresses=addresses))
    route(harness)
    assignment(harness)
    assert asked == [
        ("127.0.0.1:8081", "broker-a", 0, ("dialled", 7)),
        ("127.0.0.1:8081", "broker-a", 0, None),
        ("127.0.0.1:8081", "broker-a", 0, None),
    ]


def test_a_route_lists_slaves_with_their_id_and_address() -> None:
    harness = GrpcHarness(BrokerConfig(), BrokerConfig(broker_id=1))
    harness.topic()
    queues = route(harness).message_queues
    assert [(queue.broker.id, queue.broker.endpoints.addresses[0].port) for queue in queues] == [(0, 8081), (1, 8082)]
    assert len(assignment(harness).assignments) == 1


@pytest.mark.parametrize("group", ["G", "unknown", "g" * 121])
def test_a_group_is_assigned_any_queue_of_each_broker(harness: GrpcHarness, group: str) -> None:
    """A group is assigned queue id -1 of each broker, without types. Every client gets the same assignment."""
    harness.topic(queues=4)
    harness.group()
    (assigned,) = assignment(harness, group=group).assignments
    queue = assigned.message_queue
    assert (queue.id, queue.permission, queue.topic.name, queue.broker.name) == (-1, RW, "T", "broker-a")
    assert list(queue.accept_message_types) == []
    assert queue.broker.endpoints.addresses[0].port == 8081


@pytest.mark.parametrize(("read", "write", "count"), [(4, 4, 4), (2, 4, 2), (4, 2, 4)])
def test_an_ordered_group_is_assigned_each_readable_queue(
    harness: GrpcHarness, read: int, write: int, count: int
) -> None:
    harness.topic(queues=read, write_queues=write)
    harness.group(consume_message_orderly=True)
    queues = [assigned.message_queue for assigned in assignment(harness).assignments]
    assert [(queue.id, queue.permission) for queue in queues] == [(n, RW) for n in range(count)]


def test_a_topic_that_cannot_be_read_is_not_assigned(harness: GrpcHarness) -> None:
    """An assignment for a topic without read permission returns FORBIDDEN. Read permission alone is enough."""
    harness.topic("read", perm=4)
    assert assignment(harness, "read").assignments[0].message_queue.permission == R
    for perm in (2, 0):
        harness.topic("closed", perm=perm)
        status = assignment(harness, "closed").status
        assert (status.code, status.message) == (40300, "no readable queue")


def test_entries_of_an_order_configuration_without_a_valid_number_of_queues_are_ignored() -> None:
    text = "broker-a:4;broker-b:four;broker-c;broker-d:99999999999;broker-e:0"
    assert _order_conf_queues(text) == {"broker-a": 4, "broker-e": 0}


def test_the_queue_counters_of_topics_are_bounded(harness: GrpcHarness) -> None:
    """Up to 10,000 topics have counters for the rotation of queues. The next topic resets all counters."""
    broker = harness.engine.brokers[0]
    routes = Routes(
        [broker],
        perm=lambda *_: 6,
        order_conf=lambda _: None,
        chance=harness.engine.random_streams.stream("counters"),
        endpoint=lambda *_: ("h", 1),
    )
    for number in range(10_001):
        broker.topics.table[f"T{number}"] = TopicConfig(f"T{number}", 1 << 30, 1 << 30)
    first = {number: routes.choose_queue(f"T{number}", "")[1] for number in range(10_000)}
    second = {number: routes.choose_queue(f"T{number}", "")[1] for number in range(10_000)}
    assert all(second[number] == (queue + 1) % (1 << 30) for number, queue in first.items())
    routes.choose_queue("T10000", "")
    assert len(routes._round_robin) == 1
    assert routes.choose_queue("T0", "")[1] != (second[0] + 1) % (1 << 30)
    assert len(routes._round_robin) == 2
