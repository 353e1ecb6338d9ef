"""The proxy's cache of routes, which the emulator imitates while the upstream defect `route_cache` is on."""

import pytest
from grpc_world import GrpcWorld
from rocketmq_testkit.emulator.operations.cluster import DeleteTopicInNamesrv
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy import route_cache


def queues(world: GrpcWorld, topic: str = "T") -> int:
    """Return the number of queues in a route, 0 if the topic has none."""
    response = world.client().ask("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=topic)))
    assert response.status.code in (pb.OK, pb.TOPIC_NOT_FOUND)
    return len(response.message_queues)


@pytest.fixture
def world(world: GrpcWorld) -> GrpcWorld:
    world.engine.defects.enable("route_cache")
    return world


def delete(world: GrpcWorld, topic: str = "T") -> None:
    world.ask(DeleteTopic(topic))
    world.engine.execute(world.engine.name_server, DeleteTopicInNamesrv(topic))


def test_the_first_query_after_20_s_gets_the_old_route_and_the_next_one_the_new_route(world: GrpcWorld) -> None:
    """The query after 20 s causes a refresh, and gets the old route without waiting for the refresh."""
    world.topic(queues=2)
    assert queues(world) == 2
    delete(world)
    world.advance(19_999)
    assert queues(world) == 2
    world.advance(1)
    assert [queues(world), queues(world)] == [2, 0]


def test_a_rejected_query_is_cached_for_20_s(world: GrpcWorld) -> None:
    """A topic that is created after a rejected query has no route until a refresh; assignments use the same cache."""
    assert queues(world) == 0
    world.topic()
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name="T"), group=pb.Resource(name="G"))
    assert world.client().ask("QueryAssignment", request).status.code == pb.TOPIC_NOT_FOUND
    world.advance(20_000)
    assert [queues(world), queues(world)] == [0, 1]


def test_a_route_that_was_not_queried_for_300_s_is_loaded_again(world: GrpcWorld) -> None:
    world.topic()
    assert queues(world) == 1
    delete(world)
    world.advance(300_000)
    assert queues(world) == 0


def test_the_cache_is_empty_after_a_crash_of_the_proxy_and_without_the_defect(world: GrpcWorld) -> None:
    """Without the defect each query gets the current route; when the defect is on again, the cache starts empty."""
    world.topic()
    assert queues(world) == 1
    delete(world)
    world.service.discard()
    assert queues(world) == 0
    world.topic()
    world.engine.defects.release("route_cache")
    assert queues(world) == 1
    delete(world)
    world.engine.defects.enable("route_cache")
    assert queues(world) == 0


def test_a_full_cache_drops_the_oldest_route(world: GrpcWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of cached routes is bounded, so that queries of random topics do not fill the memory."""
    monkeypatch.setattr(route_cache, "ROUTES_MAX", 2)
    assert [queues(world, name) for name in ("T", "U", "V")] == [0, 0, 0]
    world.topic("T")
    world.topic("V")
    assert [queues(world, "V"), queues(world, "T")] == [0, 1]
