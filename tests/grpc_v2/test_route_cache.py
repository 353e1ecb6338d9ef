"""The proxy's cache of routes, which the emulator imitates while the upstream defect `route_cache` is on."""

import pytest
from grpc_harness import GrpcHarness
from rocketmq_testkit.emulator.operations.cluster import DeleteTopicInNamesrv
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy import route_cache


def queues(harness: GrpcHarness, topic: str = "T") -> int:
    """Return the number of queues in a route, 0 if the topic has none."""
    response = harness.client().ask("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=topic)))
    assert response.status.code in (pb.OK, pb.TOPIC_NOT_FOUND)
    return len(response.message_queues)


@pytest.fixture
def harness(harness: GrpcHarness) -> GrpcHarness:
    harness.engine.defects.enable("route_cache")
    return harness


def delete(harness: GrpcHarness, topic: str = "T") -> None:
    harness.ask(DeleteTopic(topic))
    harness.engine.execute(harness.engine.name_server, DeleteTopicInNamesrv(topic))


def test_the_first_query_after_20_s_gets_the_old_route_and_the_next_one_the_new_route(harness: GrpcHarness) -> None:
    """The query after 20 s causes a refresh, and gets the old route without waiting for the refresh."""
    harness.topic(queues=2)
    assert queues(harness) == 2
    delete(harness)
    harness.advance(19_999)
    assert queues(harness) == 2
    harness.advance(1)
    assert [queues(harness), queues(harness)] == [2, 0]


def test_a_rejected_query_is_cached_for_20_s(harness: GrpcHarness) -> None:
    """A topic that is created after a rejected query has no route until a refresh; assignments use the same cache."""
    assert queues(harness) == 0
    harness.topic()
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name="T"), group=pb.Resource(name="G"))
    assert harness.client().ask("QueryAssignment", request).status.code == pb.TOPIC_NOT_FOUND
    harness.advance(20_000)
    assert [queues(harness), queues(harness)] == [0, 1]


def test_a_route_that_was_not_queried_for_300_s_is_loaded_again(harness: GrpcHarness) -> None:
    harness.topic()
    assert queues(harness) == 1
    delete(harness)
    harness.advance(300_000)
    assert queues(harness) == 0


def test_the_cache_is_empty_after_a_crash_of_the_proxy_and_without_the_defect(harness: GrpcHarness) -> None:
    """Without the defect each query gets the current route; when the defect is on again, the cache starts empty."""
    harness.topic()
    assert queues(harness) == 1
    delete(harness)
    harness.service.discard()
    assert queues(harness) == 0
    harness.topic()
    harness.engine.defects.release("route_cache")
    assert queues(harness) == 1
    delete(harness)
    harness.engine.defects.enable("route_cache")
    assert queues(harness) == 0


def test_a_full_cache_drops_the_oldest_route(harness: GrpcHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of cached routes is bounded, so that queries of random topics do not fill the memory."""
    monkeypatch.setattr(route_cache, "ROUTES_MAX", 2)
    assert [queues(harness, name) for name in ("T", "U", "V")] == [0, 0, 0]
    harness.topic("T")
    harness.topic("V")
    assert [queues(harness, "V"), queues(harness, "T")] == [0, 1]
