"""Filter data: the SQL92 expressions that a broker stores for groups, which outlive the registration of the group."""

import pytest
from engine_world import World, make_world, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.filter.filter_table import UNUSED_AT_START_MS
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData, UnregisterClient
from rocketmq_testkit.emulator.operations.consume import PullResult

RED, BLUE, BROKEN = "color = 'red'", "color = 'blue'", "color ="
CHANNEL = DirectChannel("c", ("10.0.0.1", 5000))
DEAD_FOR_MS = 60_000


@pytest.fixture
def world() -> World:
    """Return a world with a red and a blue message in topic `A`."""
    world = make_world(enable_property_filter=True, filter_data_clean_time_span=DEAD_FOR_MS)
    world.topic("A")
    for color in ("red", "blue"):
        world.send("A", color.encode(), color=color)
    return world


def subscribe(world: World, expression: str, version: int, kind: str = "SQL92") -> None:
    subscription = SubscriptionData("A", expression, kind, sub_version=version)
    world.engine.execute(world.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[subscription])]), CHANNEL)


def unregister(world: World) -> None:
    world.engine.execute(world.broker, UnregisterClient("c", None, "G"), CHANNEL)


def pull(world: World, version: int) -> list[bytes] | str:
    """Return the messages of a pull without its own expression, or the name of its error code."""
    call = world.engine.submit(world.broker, pull_of("G", "A", version=version, expression=None), CHANNEL)
    if not isinstance(call.outcome, PullResult):
        return refused(call).code.name
    return [decode(each).body for each in call.outcome.records]


def test_an_empty_expression_leaves_the_filter_data_unchanged(world: World) -> None:
    """An empty expression changes the subscription but not the filter data: pulls of the new version are rejected."""
    subscribe(world, RED, 1)
    subscribe(world, "", 2)
    assert (pull(world, 1), pull(world, 2), pull(world, 3)) == (
        [b"red"],
        ResponseCode.FILTER_DATA_NOT_LATEST.name,
        ResponseCode.SUBSCRIPTION_NOT_LATEST.name,
    )
    subscribe(world, BLUE, 3)
    assert pull(world, 3) == [b"blue"]


@pytest.mark.parametrize("kind", ["SQL92", "sql92", "SQL"])
def test_a_newer_invalid_expression_removes_the_filter_data(world: World, kind: str) -> None:
    """A newer expression that does not compile or has an unknown type removes the filter data.

    An expression of the same version does not change them.
    """
    broken = BROKEN if kind == "SQL92" else BLUE
    subscribe(world, RED, 5)
    subscribe(world, broken, 5, kind)
    assert pull(world, 5) == [b"red"]
    subscribe(world, broken, 6, kind)
    assert pull(world, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


@pytest.mark.parametrize(("away_ms", "found"), [(DEAD_FOR_MS - 1, [b"red"]), (DEAD_FOR_MS, [b"blue"])])
def test_filter_data_outlive_their_group_until_they_expire(world: World, away_ms: int, found: list[bytes]) -> None:
    """A group that returns with an older version gets its last expression, until that expires."""
    subscribe(world, RED, 5)
    unregister(world)
    world.advance(away_ms)
    subscribe(world, BLUE, 3)
    assert pull(world, 3) == found


def test_a_tag_subscription_leaves_the_filter_data_unchanged(world: World) -> None:
    """A tag subscription leaves the filter data unchanged, until they expire like those of an unsubscribed topic."""
    subscribe(world, RED, 5)
    subscribe(world, "*", 6, "TAG")
    assert pull(world, 6) == [b"red", b"blue"]
    subscribe(world, "", 7)
    assert pull(world, 5) == [b"red"]
    world.engine.execute(world.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[])]), CHANNEL)
    world.advance(DEAD_FOR_MS)
    subscribe(world, "", 8)
    assert pull(world, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


def test_filter_data_survive_a_restart_with_their_version(world: World) -> None:
    """After a restart an older version does not replace the filter data, and a newer one does."""
    subscribe(world, RED, 5)
    world.broker.restart()
    subscribe(world, BLUE, 3)
    assert pull(world, 3) == [b"red"]
    subscribe(world, BLUE, 6)
    assert pull(world, 6) == [b"blue"]


@pytest.mark.parametrize(("before_ms", "found"), [(9_999, [b"blue"]), (10_000, [b"red"])])
def test_a_crash_loses_filter_data_not_yet_written(world: World, before_ms: int, found: list[bytes]) -> None:
    """A crash loses filter data not yet written; they are written every ten seconds from the start on."""
    subscribe(world, RED, 5)
    world.advance(before_ms)
    world.broker.crash(power_loss=False)
    subscribe(world, BLUE, 3)
    assert pull(world, 3) == found


def test_after_a_restart_filter_data_of_an_absent_group_expire(world: World) -> None:
    """After a restart filter data expire as if their group had left shortly before, unless it returns."""
    subscribe(world, RED, 5)
    world.broker.restart()
    world.advance(DEAD_FOR_MS - UNUSED_AT_START_MS)
    subscribe(world, BLUE, 3)
    assert pull(world, 3) == [b"blue"]
