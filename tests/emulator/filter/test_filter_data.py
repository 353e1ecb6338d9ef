"""Filter data: the SQL92 expressions that a broker stores for groups, which outlive the registration of the group."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
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
def harness() -> EngineHarness:
    """Return a harness with a red and a blue message in topic `A`."""
    harness = make_harness(enable_property_filter=True, filter_data_clean_time_span=DEAD_FOR_MS)
    harness.topic("A")
    for color in ("red", "blue"):
        harness.send("A", color.encode(), color=color)
    return harness


def subscribe(harness: EngineHarness, expression: str, version: int, kind: str = "SQL92") -> None:
    subscription = SubscriptionData("A", expression, kind, sub_version=version)
    harness.engine.execute(
        harness.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[subscription])]), CHANNEL
    )


def unregister(harness: EngineHarness) -> None:
    harness.engine.execute(harness.broker, UnregisterClient("c", None, "G"), CHANNEL)


def pull(harness: EngineHarness, version: int) -> list[bytes] | str:
    """Return the messages of a pull without its own expression, or the name of its error code."""
    call = harness.engine.submit(harness.broker, pull_of("G", "A", version=version, expression=None), CHANNEL)
    if not isinstance(call.outcome, PullResult):
        return refused(call).code.name
    return [decode(each).body for each in call.outcome.records]


def test_an_empty_expression_leaves_the_filter_data_unchanged(harness: EngineHarness) -> None:
    """An empty expression changes the subscription but not the filter data: pulls of the new version are rejected."""
    subscribe(harness, RED, 1)
    subscribe(harness, "", 2)
    assert (pull(harness, 1), pull(harness, 2), pull(harness, 3)) == (
        [b"red"],
        ResponseCode.FILTER_DATA_NOT_LATEST.name,
        ResponseCode.SUBSCRIPTION_NOT_LATEST.name,
    )
    subscribe(harness, BLUE, 3)
    assert pull(harness, 3) == [b"blue"]


@pytest.mark.parametrize("kind", ["SQL92", "sql92", "SQL"])
def test_a_newer_invalid_expression_removes_the_filter_data(harness: EngineHarness, kind: str) -> None:
    """A newer expression that does not compile or has an unknown type removes the filter data.

    An expression of the same version does not change them.
    """
    broken = BROKEN if kind == "SQL92" else BLUE
    subscribe(harness, RED, 5)
    subscribe(harness, broken, 5, kind)
    assert pull(harness, 5) == [b"red"]
    subscribe(harness, broken, 6, kind)
    assert pull(harness, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


@pytest.mark.parametrize(("away_ms", "found"), [(DEAD_FOR_MS - 1, [b"red"]), (DEAD_FOR_MS, [b"blue"])])
def test_filter_data_outlive_their_group_until_they_expire(
    harness: EngineHarness, away_ms: int, found: list[bytes]
) -> None:
    """A group that returns with an older version gets its last expression, until that expires."""
    subscribe(harness, RED, 5)
    unregister(harness)
    harness.advance(away_ms)
    subscribe(harness, BLUE, 3)
    assert pull(harness, 3) == found


def test_a_tag_subscription_leaves_the_filter_data_unchanged(harness: EngineHarness) -> None:
    """A tag subscription leaves the filter data unchanged, until they expire like those of an unsubscribed topic."""
    subscribe(harness, RED, 5)
    subscribe(harness, "*", 6, "TAG")
    assert pull(harness, 6) == [b"red", b"blue"]
    subscribe(harness, "", 7)
    assert pull(harness, 5) == [b"red"]
    harness.engine.execute(harness.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[])]), CHANNEL)
    harness.advance(DEAD_FOR_MS)
    subscribe(harness, "", 8)
    assert pull(harness, 5) == ResponseCode.FILTER_DATA_NOT_EXIST.name


def test_filter_data_survive_a_restart_with_their_version(harness: EngineHarness) -> None:
    """After a restart an older version does not replace the filter data, and a newer one does."""
    subscribe(harness, RED, 5)
    harness.broker.restart()
    subscribe(harness, BLUE, 3)
    assert pull(harness, 3) == [b"red"]
    subscribe(harness, BLUE, 6)
    assert pull(harness, 6) == [b"blue"]


@pytest.mark.parametrize(("before_ms", "found"), [(9_999, [b"blue"]), (10_000, [b"red"])])
def test_a_crash_loses_filter_data_not_yet_written(harness: EngineHarness, before_ms: int, found: list[bytes]) -> None:
    """A crash loses filter data not yet written; they are written every ten seconds from the start on."""
    subscribe(harness, RED, 5)
    harness.advance(before_ms)
    harness.broker.crash(power_loss=False)
    subscribe(harness, BLUE, 3)
    assert pull(harness, 3) == found


@pytest.mark.parametrize(
    ("age_ms", "unused_ms"), [(0, 0), (10_000, 10_000), (UNUSED_AT_START_MS + 1, UNUSED_AT_START_MS)]
)
@pytest.mark.parametrize(("early_ms", "found"), [(1, [b"red"]), (0, [b"blue"])])
def test_after_a_restart_filter_data_of_an_absent_group_expire(
    harness: EngineHarness, age_ms: int, unused_ms: int, *, early_ms: int, found: list[bytes]
) -> None:
    """They expire as if their group had left 30 s before the start, or with the heartbeat that brought them, if later.

    Source: ConsumerFilterManager.decode (5.3.3).
    """
    subscribe(harness, RED, 5)
    harness.advance(age_ms)
    harness.broker.restart()
    harness.advance(DEAD_FOR_MS - unused_ms - early_ms)
    subscribe(harness, BLUE, 3)
    assert pull(harness, 3) == found
