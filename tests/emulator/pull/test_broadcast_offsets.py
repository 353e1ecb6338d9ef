"""Offsets of broadcasting consumers that the broker records, in virtual time."""

from engine_harness import EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.clients import UnregisterClient as Unregister


def broadcasting(harness: EngineHarness, *clients: str) -> None:
    """Send heartbeats of clients of group G, which consumes T in broadcasting mode."""
    for client in clients:
        harness.heartbeat(client, topics={"T": "*"}, model="BROADCASTING")


def pull(harness: EngineHarness, client: str, offset: int) -> None:
    harness.engine.submit(harness.broker, pull_of("G", "T", offset=offset, count=1), harness.channels[client])


def recorded_offsets(harness: EngineHarness) -> dict[int, int] | None:
    return harness.broker.offsets.committed.get(("G@broadcast", "T"))


def with_messages() -> EngineHarness:
    harness = make_harness()
    harness.topic("T")
    for _ in range(5):
        harness.send("T")
    return harness


def test_the_offset_of_the_slowest_broadcasting_client_is_committed_every_5_s() -> None:
    """Every five seconds the offset of the slowest client is committed; it never decreases."""
    harness = with_messages()
    broadcasting(harness, "a", "b")
    pull(harness, "a", 4)
    pull(harness, "b", 1)
    harness.advance(4_999)
    assert recorded_offsets(harness) is None
    harness.advance(1)
    assert recorded_offsets(harness) == {0: 1}
    pull(harness, "b", 3)
    pull(harness, "b", 2)
    harness.advance(5_000)
    assert recorded_offsets(harness) == {0: 3}
    assert harness.broker.offsets.groups_of("T") == []


def test_a_broadcasting_client_without_pulls_stops_holding_back_the_offset() -> None:
    """A client is ignored two minutes after its last pull if it has left, otherwise after five minutes."""
    harness = with_messages()
    broadcasting(harness, "a", "b")
    pull(harness, "a", 1)
    pull(harness, "b", 4)
    harness.engine.submit(harness.broker, Unregister("a", consumer_group="G"), harness.channels["a"])
    for _ in range(11):
        harness.advance(10_000)
        broadcasting(harness, "b")
    assert recorded_offsets(harness) == {0: 1}
    harness.advance(9_999)
    assert recorded_offsets(harness) == {0: 1}
    harness.advance(1)
    assert recorded_offsets(harness) == {0: 4}
    harness.advance(400_000)
    assert "broadcast offsets" not in [timer.kind for timer in harness.engine.scheduler.scheduled()]


def test_a_resumed_pull_counts_as_the_latest_pull_of_its_client() -> None:
    """The time without pulls begins when a waiting pull ends, not when it began (updateBroadcastPulledOffset)."""
    harness = with_messages()
    broadcasting(harness, "a", "b")
    waiting = pull_of("G", "T", offset=5, count=1, suspend_ms=200_000)
    harness.engine.submit(harness.broker, waiting, harness.channels["a"])
    for _ in range(6):
        harness.advance(10_000)
        broadcasting(harness, "a", "b")
    harness.send("T")
    harness.engine.submit(harness.broker, Unregister("a", consumer_group="G"), harness.channels["a"])
    pull(harness, "b", 6)
    for _ in range(11):
        harness.advance(10_000)
        broadcasting(harness, "b")
    assert recorded_offsets(harness) == {0: 5}
    harness.advance(10_000)
    assert recorded_offsets(harness) == {0: 6}


def test_offsets_of_unknown_clustering_and_active_consumers_are_not_recorded() -> None:
    """Unknown clients, clustering groups, and consumers of type CONSUME_ACTIVELY are not recorded."""
    harness = with_messages()
    harness.heartbeat("c", topics={"T": "*"})
    pull(harness, "c", 1)
    data = ConsumerData("G", "CONSUME_ACTIVELY", "BROADCASTING", subscriptions=[SubscriptionData("T")])
    harness.engine.submit(harness.broker, Heartbeat("c", [], [data]), harness.channels["c"])
    pull(harness, "c", 1)
    harness.broker.config.enable_broadcast_offset_store = False
    broadcasting(harness, "c")
    pull(harness, "c", 1)
    harness.advance(10_000)
    assert recorded_offsets(harness) is None
