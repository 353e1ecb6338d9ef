"""What the timer tells of itself: messages that wait by topic, and a check point of its files."""

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
    """Send what waits so long."""
    world.send(topic, TIMER_DELIVER_MS=str(world.now_ms + after_ms), **properties)


def metrics(world: World) -> TimerMetricsResult:
    return world.ask(TimerMetricsResult, GetTimerMetrics())


def counts(world: World) -> dict[str, int]:
    return {topic: each.count for topic, each in metrics(world).topics.items()}


def check_point(world: World) -> tuple[int, int, int]:
    """Time read since the start, bytes of the log, messages taken."""
    point = world.ask(TimerCheckPointResult, GetTimerCheckPoint())
    return point.read_ms - START_MS, point.log_bytes, point.taken


def congestion(world: World) -> int:
    return int(world.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table["timerCongestNum"])


def test_what_waits_is_counted_by_topic(world: World) -> None:
    """From the send until it comes; other messages are not counted, and a topic that had one is not forgotten."""
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
    """When they come in, and nothing more; one that finds nothing leaves its count too low, but not the wheel's."""
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
    """What pauses leaves the wheel and comes into it; messages count once, whatever their way."""
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
    """At the start and each second from then on: the slots read, and what had come into the wheel before."""
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
    """Its times are those of slots."""
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
    """Also what changed just before."""
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
    """They are written every ten seconds; what the check point does not know is counted in when it is read again."""
    world = make_world(flush_disk_type="SYNC_FLUSH")
    for topic in ("A", "B"):
        world.topic(topic)
    world.advance(9_000)
    wait(world, 60_000)
    world.advance(1_000)
    assert counts(world) == {"A": 1}
    wait(world, 60_000, "B")  # written to the check point, not to the counts
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
    """It says what is not there."""
    world = make_world(timer_wheel_enable=False)
    with pytest.raises(EngineError) as error:
        world.engine.ask(world.broker, operation)
    assert (error.value.code, error.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_counts_are_right_after_two_power_losses() -> None:
    """A timer that the first recovery counted again is counted once more by the second, and never twice."""
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
