"""Offsets of broadcasting consumers that the broker records, in virtual time."""

from engine_world import World, make_world
from pull_operation import pull_of
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.clients import UnregisterClient as Unregister


def broadcasting(world: World, *clients: str) -> None:
    """Send heartbeats of clients of group G, which consumes T in broadcasting mode."""
    for client in clients:
        world.heartbeat(client, topics={"T": "*"}, model="BROADCASTING")


def pull(world: World, client: str, offset: int) -> None:
    world.engine.submit(world.broker, pull_of("G", "T", offset=offset, count=1), world.channels[client])


def recorded_offsets(world: World) -> dict[int, int] | None:
    return world.broker.offsets.committed.get(("G@broadcast", "T"))


def with_messages() -> World:
    world = make_world()
    world.topic("T")
    for _ in range(5):
        world.send("T")
    return world


def test_the_offset_of_the_slowest_broadcasting_client_is_committed_every_5_s() -> None:
    """Every five seconds the offset of the slowest client is committed; it never decreases."""
    world = with_messages()
    broadcasting(world, "a", "b")
    pull(world, "a", 4)
    pull(world, "b", 1)
    world.advance(4_999)
    assert recorded_offsets(world) is None
    world.advance(1)
    assert recorded_offsets(world) == {0: 1}
    pull(world, "b", 3)
    pull(world, "b", 2)
    world.advance(5_000)
    assert recorded_offsets(world) == {0: 3}
    assert world.broker.offsets.groups_of("T") == []


def test_a_broadcasting_client_without_pulls_stops_holding_back_the_offset() -> None:
    """A client is ignored two minutes after its last pull if it has left, otherwise after five minutes."""
    world = with_messages()
    broadcasting(world, "a", "b")
    pull(world, "a", 1)
    pull(world, "b", 4)
    world.engine.submit(world.broker, Unregister("a", consumer_group="G"), world.channels["a"])
    for _ in range(11):
        world.advance(10_000)
        broadcasting(world, "b")
    assert recorded_offsets(world) == {0: 1}
    world.advance(9_999)
    assert recorded_offsets(world) == {0: 1}
    world.advance(1)
    assert recorded_offsets(world) == {0: 4}
    world.advance(400_000)
    assert "broadcast offsets" not in [timer.kind for timer in world.engine.scheduler.scheduled()]


def test_offsets_of_unknown_clustering_and_active_consumers_are_not_recorded() -> None:
    """Unknown clients, clustering groups, and consumers of type CONSUME_ACTIVELY are not recorded."""
    world = with_messages()
    world.heartbeat("c", topics={"T": "*"})
    pull(world, "c", 1)
    data = ConsumerData("G", "CONSUME_ACTIVELY", "BROADCASTING", subscriptions=[SubscriptionData("T")])
    world.engine.submit(world.broker, Heartbeat("c", [], [data]), world.channels["c"])
    pull(world, "c", 1)
    world.broker.config.enable_broadcast_offset_store = False
    broadcasting(world, "c")
    pull(world, "c", 1)
    world.advance(10_000)
    assert recorded_offsets(world) is None
