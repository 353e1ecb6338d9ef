"""Timer metrics: waiting messages by topic, and the check point of the timer's files."""

from typing import Any

import pytest
from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import (
    GetBrokerRuntimeInfo,
    GetTimerCheckPoint,
    GetTimerMetrics,
    Operation,
    RuntimeInfoResult,
    TimerCheckPointResult,
    TimerMetricsResult,
)
from stored import stored

FINE = {"timer_precision_ms": 100, "timer_roll_window_slot": 20}


def wait(world: World, after_ms: int, topic: str = "A", **properties: Any) -> None:
    """Send a message with this delay."""
    world.send(topic, TIMER_DELIVER_MS=str(world.now_ms + after_ms), **properties)


def metrics(world: World) -> TimerMetricsResult:
    return world.ask(TimerMetricsResult, GetTimerMetrics())


def counts(world: World) -> dict[str, int]:
    return {topic: each.count for topic, each in metrics(world).topics.items()}


def check_point(world: World) -> tuple[int, int, int]:
    """Return the read time since the start, the bytes of the timer log, and the messages taken."""
    point = world.ask(TimerCheckPointResult, GetTimerCheckPoint())
    return point.read_ms - START_MS, point.log_bytes, point.taken


def congestion(world: World) -> int:
    return int(world.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table["timerCongestNum"])


def test_what_waits_is_counted_by_topic(world: World) -> None:
    """A timer message counts for its topic from its send to its delivery; a topic stays listed with 0."""
    for topic in ("A", "B"):
        world.topic(topic)
    assert (metrics(world).version, metrics(world).changed_ms, counts(world)) == (0, START_MS, {})
    world.advance(300)
    wait(world, 2_700)
    wait(world, 1_700)
    wait(world, 9_000, "B")
    world.send("A")
    world.send("A", DELAY="1")
    wait(world, 0)
    assert counts(world) == {"A": 2, "B": 1}
    assert metrics(world).topics["A"].changed_ms == START_MS + 300
    world.advance(1_700)
    assert counts(world) == {"A": 1, "B": 1}
    assert (metrics(world).version, metrics(world).changed_ms) == (4, START_MS + 2_000)
    world.advance(10_000)
    assert counts(world) == {"A": 0, "B": 0}


def test_marks_are_counted_off(world: World) -> None:
    """A delete mark subtracts one when it enters; without a target only its topic's count becomes too low."""
    for topic in ("A", "B"):
        world.topic(topic)
    wait(world, 5_000, UNIQ_KEY="one")
    wait(world, 5_000, UNIQ_KEY="two")
    assert (counts(world), congestion(world)) == ({"A": 2}, 2)
    wait(world, 5_000, TIMER_DEL_UNIQKEY="A+one")
    assert (counts(world), congestion(world)) == ({"A": 1}, 1)
    wait(world, 5_000, "B", TIMER_DEL_UNIQKEY="B+nobody")
    assert (counts(world), congestion(world)) == ({"A": 1, "B": -1}, 0)
    world.advance(60_000)
    assert (counts(world), congestion(world)) == ({"A": 0, "B": -1}, 0)


def test_each_pause_counts_a_mark_off_twice() -> None:
    """Each roll of a delete mark subtracts two; rolls of messages do not change the count."""
    world = make_world(**FINE)
    for topic in ("A", "B"):
        world.topic(topic)
    wait(world, 5_000)
    wait(world, 5_000, "B", UNIQ_KEY="one")
    wait(world, 5_000, "B", TIMER_DEL_UNIQKEY="B+one")
    seen = [counts(world)]
    for _ in range(3):
        world.advance(2_100)
        seen.append(counts(world))
    assert seen == [{"A": 1, "B": 0}, {"A": 1, "B": -2}, {"A": 1, "B": -4}, {"A": 0, "B": -4}]


def test_the_check_point_is_of_the_last_write(world: World) -> None:
    """The check point is from the last write, at the start and every second after it."""
    world.topic("A")
    assert check_point(world) == (0, 0, 0)
    world.advance(300)
    wait(world, 60_000)
    wait(world, 60_000)
    world.advance(699)
    assert check_point(world) == (0, 0, 0)
    world.advance(1)
    assert check_point(world) == (1_000, 104, 2)
    wait(world, 60_000)
    assert check_point(world) == (1_000, 104, 2)
    world.advance(999)
    assert check_point(world) == (1_000, 104, 2)
    world.advance(1)
    assert check_point(world) == (2_000, 156, 3)
    world.advance(90_000)
    assert check_point(world) == (92_000, 156, 3)


def test_a_check_point_is_written_as_often_as_set() -> None:
    """The check point is written every timerFlushIntervalMs, and its times are slot times."""
    world = make_world(timer_flush_interval_ms=400)
    world.topic("A")
    wait(world, 60_000)
    assert check_point(world) == (0, 0, 0)
    world.advance(400)
    assert check_point(world) == (0, 52, 1)
    world.advance(900)
    point = world.ask(TimerCheckPointResult, GetTimerCheckPoint())
    assert (point.read_ms, point.changed_ms, point.version) == (START_MS + 1_000, START_MS + 1_200, 4)


def test_a_restart_keeps_all(world: World) -> None:
    """A graceful restart keeps counts and check point, even changes made just before."""
    world.topic("A")
    world.advance(100)
    wait(world, 60_000)
    before = metrics(world)
    world.broker.restart()
    assert (metrics(world), check_point(world)) == (before, (0, 52, 1))
    world.advance(61_000)
    assert counts(world) == {"A": 0}


@pytest.mark.parametrize("power_loss", [False, True])
def test_a_crash_forgets_counts_that_were_not_written(power_loss: bool) -> None:
    """A crash loses counts since their last write (every 10 s), except of messages that the recovery reads again."""
    world = make_world(flush_disk_type="SYNC_FLUSH")
    for topic in ("A", "B"):
        world.topic(topic)
    world.advance(9_000)
    wait(world, 60_000)
    world.advance(1_000)
    assert counts(world) == {"A": 1}
    wait(world, 60_000, "B")  # in the written check point, but not in the written counts
    world.advance(2_500)
    wait(world, 60_000)  # in neither
    assert (counts(world), metrics(world).version) == ({"A": 2, "B": 1}, 3)
    world.engine.crash(power_loss=power_loss)
    assert (counts(world), metrics(world).version) == ({"A": 2}, 2)
    assert check_point(world)[1:] == (104, 2)
    world.advance(1_000)
    assert check_point(world)[1:] == (156, 3)
    world.advance(90_000)
    assert counts(world) == {"A": 0, "B": -1}


@pytest.mark.parametrize(
    ("operation", "remark"),
    [(GetTimerCheckPoint(), "The checkpoint is null"), (GetTimerMetrics(), "The timer message store is null")],
)
def test_a_broker_without_a_timer_tells_nothing(operation: Operation, remark: str) -> None:
    """A broker without a timer returns SYSTEM_ERROR for check point and metrics."""
    world = make_world(timer_wheel_enable=False)
    with pytest.raises(EngineError) as error:
        world.engine.ask(world.broker, operation)
    assert (error.value.code, error.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_counts_are_right_after_two_power_losses() -> None:
    """After two power losses the counts are right: recovered messages are counted again, but never twice."""
    world = make_world(flush_disk_type="SYNC_FLUSH")
    world.topic("A")
    world.advance(10_000)
    for _ in range(3):
        wait(world, 60_000)
    for _ in range(2):
        world.engine.crash(power_loss=True)
        assert (counts(world), check_point(world)[1:]) == ({"A": 3}, (0, 0))
    world.advance(1_000)
    assert check_point(world)[1:] == (156, 3)
    world.engine.crash(power_loss=True)
    assert check_point(world)[1:] == (156, 3)
    world.advance(90_000)
    assert len(stored(world, "A")) == 3
