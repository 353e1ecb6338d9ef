"""Timer metrics: waiting messages by topic, and the check point of the timer's files."""

from typing import Any

import pytest
from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult
from rocketmq_testkit.emulator.operations.timers import (
    GetTimerCheckPoint,
    GetTimerMetrics,
    TimerCheckPointResult,
    TimerMetricsResult,
)
from stored import stored

FINE = {"timer_precision_ms": 100, "timer_roll_window_slot": 20}


def send_delayed(world: World, after_ms: int, topic: str = "A", **properties: Any) -> None:
    """Send a message with this delay."""
    world.send(topic, TIMER_DELIVER_MS=str(world.now_ms + after_ms), **properties)


def metrics(world: World) -> TimerMetricsResult:
    return world.ask(TimerMetricsResult, GetTimerMetrics())


def counts(world: World) -> dict[str, int]:
    return {topic: each.count for topic, each in metrics(world).topics.items()}


def check_point(world: World) -> tuple[int, int, int]:
    """Return the last second that the timer read (ms since the start), the bytes of its log, and its messages."""
    point = world.ask(TimerCheckPointResult, GetTimerCheckPoint())
    return point.read_ms - START_MS, point.log_bytes, point.taken


def congestion(world: World) -> int:
    return int(world.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table["timerCongestNum"])


def test_waiting_timed_messages_are_counted_by_topic(world: World) -> None:
    """A timed message counts for its topic from its send to its delivery; a topic stays listed with 0."""
    for topic in ("A", "B"):
        world.topic(topic)
    assert (metrics(world).version, metrics(world).changed_ms, counts(world)) == (0, START_MS, {})
    world.advance(300)
    send_delayed(world, 2_700)
    send_delayed(world, 1_700)
    send_delayed(world, 9_000, "B")
    world.send("A")
    world.send("A", DELAY="1")
    send_delayed(world, 0)
    assert counts(world) == {"A": 2, "B": 1}
    assert metrics(world).topics["A"].changed_ms == START_MS + 300
    world.advance(1_700)
    assert counts(world) == {"A": 1, "B": 1}
    assert (metrics(world).version, metrics(world).changed_ms) == (4, START_MS + 2_000)
    world.advance(10_000)
    assert counts(world) == {"A": 0, "B": 0}


def test_a_delete_mark_subtracts_one_from_the_timer_count(world: World) -> None:
    """A delete mark subtracts one when it enters; without a target only its topic's count becomes too low."""
    for topic in ("A", "B"):
        world.topic(topic)
    send_delayed(world, 5_000, UNIQ_KEY="one")
    send_delayed(world, 5_000, UNIQ_KEY="two")
    assert (counts(world), congestion(world)) == ({"A": 2}, 2)
    send_delayed(world, 5_000, TIMER_DEL_UNIQKEY="A+one")
    assert (counts(world), congestion(world)) == ({"A": 1}, 1)
    send_delayed(world, 5_000, "B", TIMER_DEL_UNIQKEY="B+nobody")
    assert (counts(world), congestion(world)) == ({"A": 1, "B": -1}, 0)
    world.advance(60_000)
    assert (counts(world), congestion(world)) == ({"A": 0, "B": -1}, 0)


def test_each_roll_of_a_delete_mark_subtracts_two_from_the_timer_count() -> None:
    """Each roll of a delete mark subtracts two; rolls of messages do not change the count."""
    world = make_world(**FINE)
    for topic in ("A", "B"):
        world.topic(topic)
    send_delayed(world, 5_000)
    send_delayed(world, 5_000, "B", UNIQ_KEY="one")
    send_delayed(world, 5_000, "B", TIMER_DEL_UNIQKEY="B+one")
    seen = [counts(world)]
    for _ in range(3):
        world.advance(2_100)
        seen.append(counts(world))
    assert seen == [{"A": 1, "B": 0}, {"A": 1, "B": -2}, {"A": 1, "B": -4}, {"A": 0, "B": -4}]


def test_the_timer_check_point_is_from_the_last_write_every_second(world: World) -> None:
    """The check point is from the last write, at the start and every second after it."""
    world.topic("A")
    assert check_point(world) == (0, 0, 0)
    world.advance(300)
    send_delayed(world, 60_000)
    send_delayed(world, 60_000)
    world.advance(699)
    assert check_point(world) == (0, 0, 0)
    world.advance(1)
    assert check_point(world) == (1_000, 104, 2)
    send_delayed(world, 60_000)
    assert check_point(world) == (1_000, 104, 2)
    world.advance(999)
    assert check_point(world) == (1_000, 104, 2)
    world.advance(1)
    assert check_point(world) == (2_000, 156, 3)
    world.advance(90_000)
    assert check_point(world) == (92_000, 156, 3)


def test_the_timer_check_point_is_written_every_timer_flush_interval() -> None:
    """The check point is written every timerFlushIntervalMs, and its times are slot times."""
    world = make_world(timer_flush_interval_ms=400)
    world.topic("A")
    send_delayed(world, 60_000)
    assert check_point(world) == (0, 0, 0)
    world.advance(400)
    assert check_point(world) == (0, 52, 1)
    world.advance(900)
    point = world.ask(TimerCheckPointResult, GetTimerCheckPoint())
    assert (point.read_ms, point.changed_ms, point.version) == (START_MS + 1_000, START_MS + 1_200, 4)


def test_a_restart_keeps_timer_counts_and_check_point(world: World) -> None:
    """A graceful restart keeps counts and check point, even changes made just before."""
    world.topic("A")
    world.advance(100)
    send_delayed(world, 60_000)
    before = metrics(world)
    world.broker.restart()
    assert (metrics(world), check_point(world)) == (before, (0, 52, 1))
    world.advance(61_000)
    assert counts(world) == {"A": 0}


@pytest.mark.parametrize("power_loss", [False, True])
def test_a_crash_loses_timer_counts_since_their_last_write(power_loss: bool) -> None:
    """A crash loses counts since their last write (every 10 s), except of messages that the recovery reads again."""
    world = make_world(flush_disk_type="SYNC_FLUSH")
    for topic in ("A", "B"):
        world.topic(topic)
    world.advance(9_000)
    send_delayed(world, 60_000)
    world.advance(1_000)
    assert counts(world) == {"A": 1}
    send_delayed(world, 60_000, "B")  # is in the written check point, but not in the written counts
    world.advance(2_500)
    send_delayed(world, 60_000)  # is in neither of them
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
def test_a_broker_without_timer_returns_system_error_for_timer_queries(operation: Operation, remark: str) -> None:
    """A broker without a timer returns SYSTEM_ERROR for check point and metrics."""
    world = make_world(timer_wheel_enable=False)
    with pytest.raises(EngineError) as error:
        world.engine.execute(world.broker, operation)
    assert (error.value.code, error.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_timer_counts_are_right_after_two_power_losses() -> None:
    """After two power losses the counts are right: recovered messages are counted again, but never twice."""
    world = make_world(flush_disk_type="SYNC_FLUSH")
    world.topic("A")
    world.advance(10_000)
    for _ in range(3):
        send_delayed(world, 60_000)
    for _ in range(2):
        world.engine.crash(power_loss=True)
        assert (counts(world), check_point(world)[1:]) == ({"A": 3}, (0, 0))
    world.advance(1_000)
    assert check_point(world)[1:] == (156, 3)
    world.engine.crash(power_loss=True)
    assert check_point(world)[1:] == (156, 3)
    world.advance(90_000)
    assert len(stored(world, "A")) == 3
