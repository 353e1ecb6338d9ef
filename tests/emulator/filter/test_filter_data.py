"""SQL92 expressions of heartbeats have a version of their own, and outlive the group that wanted them."""

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.filter.filter_table import DEAD_AT_START_MS
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations import (
    ConsumerData,
    Heartbeat,
    PullMessage,
    PullResult,
    SubscriptionData,
    UnregisterClient,
)

RED, BLUE, BROKEN = "color = 'red'", "color = 'blue'", "color ="
CHANNEL = DirectChannel("c", ("10.0.0.1", 5000))
DEAD_FOR_MS = 60_000


@pytest.fixture
def world() -> World:
    """A red and a blue message in topic `A`."""
    world = make_world(enable_property_filter=True, filter_data_clean_time_span=DEAD_FOR_MS)
    world.topic("A")
    for color in ("red", "blue"):
        world.send("A", color.encode(), color=color)
    return world


def wants(world: World, expression: str, version: int, kind: str = "SQL92") -> None:
    subscription = SubscriptionData("A", expression, kind, sub_version=version)
    world.engine.ask(world.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[subscription])]), CHANNEL)


def leaves(world: World) -> None:
    world.engine.ask(world.broker, UnregisterClient("c", None, "G"), CHANNEL)


def finds(world: World, version: int) -> list[bytes] | str:
    """What a pull without an expression of its own finds, or the name of the code that refuses it."""
    call = world.engine.submit(world.broker, PullMessage("G", "A", 0, 0, 32, 0, 0, 0, sub_version=version), CHANNEL)
    if not isinstance(call.outcome, PullResult):
        return refused(call).code.name
    return [decode(each).body for each in call.outcome.records]


def test_an_empty_expression_leaves_the_old_one(world: World) -> None:
    """The subscription is the new one, what was compiled is the old one: pulls of the new version are refused."""
    wants(world, RED, 1)
    wants(world, "", 2)
    assert (finds(world, 1), finds(world, 2), finds(world, 3)) == (
        [b"red"],
        ResponseCode.FILTER_DATA_NOT_LATEST.name,
        ResponseCode.SUBSCRIPTION_NOT_LATEST.name,
    )
    wants(world, BLUE, 3)
    assert finds(world, 3) == [b"blue"]


@pytest.mark.parametrize("kind", ["SQL92", "sql92", "SQL"])
def test_a_broken_expression_takes_the_old_one_away(world: World, kind: str) -> None:
    """What does not compile, or is of an unknown kind, is nothing; as old as the old one, it changes nothing."""
    broken = BROKEN if kind == "SQL92" else BLUE
    wants(world, RED, 5)
    wants(world, broken, 5, kind)
    assert finds(world, 5) == [b"red"]
    wants(world, broken, 6, kind)
    assert finds(world, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


@pytest.mark.parametrize(("away_ms", "found"), [(DEAD_FOR_MS - 1, [b"red"]), (DEAD_FOR_MS, [b"blue"])])
def test_an_expression_outlives_its_group_for_a_while(world: World, away_ms: int, found: list[bytes]) -> None:
    """A group that comes back with an older version gets what it asked for last, until that is forgotten."""
    wants(world, RED, 5)
    leaves(world)
    world.advance(away_ms)
    wants(world, BLUE, 3)
    assert finds(world, 3) == found


def test_tags_leave_an_expression_alone(world: World) -> None:
    """A group that asked for tags in between still has its expression, which dies like that of a topic given up."""
    wants(world, RED, 5)
    wants(world, "*", 6, "TAG")
    assert finds(world, 6) == [b"red", b"blue"]
    wants(world, "", 7)
    assert finds(world, 5) == [b"red"]
    world.engine.ask(world.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[])]), CHANNEL)
    world.advance(DEAD_FOR_MS)
    wants(world, "", 8)
    assert finds(world, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


def test_an_expression_outlives_a_restart(world: World) -> None:
    """After a restart it is still there: an older one does not replace it, and a newer one does."""
    wants(world, RED, 5)
    world.broker.restart()
    wants(world, BLUE, 3)
    assert finds(world, 3) == [b"red"]
    wants(world, BLUE, 6)
    assert finds(world, 6) == [b"blue"]


@pytest.mark.parametrize(("before_ms", "found"), [(9_999, [b"blue"]), (10_000, [b"red"])])
def test_a_crash_forgets_what_was_not_written(world: World, before_ms: int, found: list[bytes]) -> None:
    """Expressions are written every ten seconds, the first time ten seconds after the start."""
    wants(world, RED, 5)
    world.advance(before_ms)
    world.broker.crash(power_loss=False)
    wants(world, BLUE, 3)
    assert finds(world, 3) == found


def test_nobody_is_known_after_a_restart(world: World) -> None:
    """What nobody asks for again is forgotten as if its group had left shortly before."""
    wants(world, RED, 5)
    world.broker.restart()
    world.advance(DEAD_FOR_MS - DEAD_AT_START_MS)
    wants(world, BLUE, 3)
    assert finds(world, 3) == [b"blue"]
