"""Timer metrics: waiting messages by topic, and the check point of the timer's files."""

from typing import Any

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.timers import (
    GetTimerCheckPoint,
    GetTimerMetrics,
    TimerCheckPointResult,
    TimerMetricsResult,
)
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from stored import stored

FINE = {"timer_precision_ms": 100, "timer_roll_window_slot": 20}


def send_delayed(harness: EngineHarness, after_ms: int, topic: str = "A", **properties: Any) -> None:
    """Send a message with this delay."""
    harness.send(topic, TIMER_DELIVER_MS=str(harness.now_ms + after_ms), **properties)


def metrics(harness: EngineHarness) -> TimerMetricsResult:
    return harness.ask(TimerMetricsResult, GetTimerMetrics())


def counts(harness: EngineHarness) -> dict[str, int]:
    return {topic: each.count for topic, each in metrics(harness).topics.items()}


def check_point(harness: EngineHarness) -> tuple[int, int, int]:
    """Return the last second that the timer read (ms since the start), the bytes of its log, and its messages."""
    point = harness.ask(TimerCheckPointResult, GetTimerCheckPoint())
    return point.read_ms - START_MS, point.log_bytes, point.taken


def congestion(harness: EngineHarness) -> int:
    return int(harness.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table["timerCongestNum"])


def test_waiting_timed_messages_are_counted_by_topic(harness: EngineHarness) -> None:
    """A timed message counts for its topic from its send to its delivery; a topic stays listed with 0."""
    for topic in ("A", "B"):
        harness.topic(topic)
    assert (metrics(harness).version, metrics(harness).changed_ms, counts(harness)) == (0, START_MS, {})
    harness.advance(300)
    send_delayed(harness, 2_700)
    send_delayed(harness, 1_700)
    send_delayed(harness, 9_000, "B")
    harness.send("A")
    harness.send("A", DELAY="1")
    send_delayed(harness, 0)
    assert counts(harness) == {"A": 2, "B": 1}
    assert metrics(harness).topics["A"].changed_ms == START_MS + 300
    harness.advance(1_700)
    assert counts(harness) == {"A": 1, "B": 1}
    assert (metrics(harness).version, metrics(harness).changed_ms) == (4, START_MS + 2_000)
    harness.advance(10_000)
    assert counts(harness) == {"A": 0, "B": 0}


def test_a_delete_mark_subtracts_one_from_the_timer_count(harness: EngineHarness) -> None:
    """A delete mark subtracts one when it enters; without a target only its topic's count becomes too low."""
    for topic in ("A", "B"):
        harness.topic(topic)
    send_delayed(harness, 5_000, UNIQ_KEY="one")
    send_delayed(harness, 5_000, UNIQ_KEY="two")
    assert (counts(harness), congestion(harness)) == ({"A": 2}, 2)
    send_delayed(harness, 5_000, TIMER_DEL_UNIQKEY="A+one")
    assert (counts(harness), congestion(harness)) == ({"A": 1}, 1)
    send_delayed(harness, 5_000, "B", TIMER_DEL_UNIQKEY="B+nobody")
    assert (counts(harness), congestion(harness)) == ({"A": 1, "B": -1}, 0)
    harness.advance(60_000)
    assert (counts(harness), congestion(harness)) == ({"A": 0, "B": -1}, 0)


def test_each_roll_of_a_delete_mark_subtracts_two_from_the_timer_count() -> None:
    """Each roll of a delete mark subtracts two; rolls of messages do not change the count."""
    harness = make_harness(**FINE)
    for topic in ("A", "B"):
        harness.topic(topic)
    send_delayed(harness, 5_000)
    send_delayed(harness, 5_000, "B", UNIQ_KEY="one")
    send_delayed(harness, 5_000, "B", TIMER_DEL_UNIQKEY="B+one")
    seen = [counts(harness)]
    for _ in range(3):
        harness.advance(2_100)
        seen.append(counts(harness))
    assert seen == [{"A": 1, "B": 0}, {"A": 1, "B": -2}, {"A": 1, "B": -4}, {"A": 0, "B": -4}]


def test_the_timer_check_point_is_from_the_last_write_every_second(harness: EngineHarness) -> None:
    """The check point is from the last write, at the start and every second after it."""
    harness.topic("A")
    assert check_point(harness) == (0, 0, 0)
    harness.advance(300)
    send_delayed(harness, 60_000)
    send_delayed(harness, 60_000)
    harness.advance(699)
    assert check_point(harness) == (0, 0, 0)
    harness.advance(1)
    assert check_point(harness) == (1_000, 104, 2)
    send_delayed(harness, 60_000)
    assert check_point(harness) == (1_000, 104, 2)
    harness.advance(999)
    assert check_point(harness) == (1_000, 104, 2)
    harness.advance(1)
    assert check_point(harness) == (2_000, 156, 3)
    harness.advance(90_000)
    assert check_point(harness) == (92_000, 156, 3)


def test_the_timer_check_point_is_written_every_timer_flush_interval() -> None:
    """The check point is written every timerFlushIntervalMs, and its times are slot times."""
    harness = make_harness(timer_flush_interval_ms=400)
    harness.topic("A")
    send_delayed(harness, 60_000)
    assert check_point(harness) == (0, 0, 0)
    harness.advance(400)
    assert check_point(harness) == (0, 52, 1)
    harness.advance(900)
    point = harness.ask(TimerCheckPointResult, GetTimerCheckPoint())
    assert (point.read_ms, point.changed_ms, point.version) == (START_MS + 1_000, START_MS + 1_200, 4)


def test_a_restart_keeps_timer_counts_and_check_point(harness: EngineHarness) -> None:
    """A graceful restart keeps counts and check point, even changes made just before."""
    harness.topic("A")
    harness.advance(100)
    send_delayed(harness, 60_000)
    before = metrics(harness)
    harness.broker.restart()
    assert (metrics(harness), check_point(harness)) == (before, (0, 52, 1))
    harness.advance(61_000)
    assert counts(harness) == {"A": 0}


@pytest.mark.parametrize("power_loss", [False, True])
def test_a_crash_loses_timer_counts_since_their_last_write(power_loss: bool) -> None:
    """A crash loses counts since their last write (every second), except of messages that the recovery reads again."""
    harness = make_harness(flush_disk_type="SYNC_FLUSH")
    for topic in ("A", "B"):
        harness.topic(topic)
    harness.advance(9_000)
    send_delayed(harness, 60_000)
    harness.advance(1_000)
    send_delayed(harness, 60_000, "B")
    harness.advance(2_500)
    assert counts(harness) == {"A": 1, "B": 1}
    harness.topic("C")
    harness.ask(Done, DeleteTopic("B"))  # the written counts have the topic
    send_delayed(harness, 60_000)  # in none of the files
    send_delayed(harness, 60_000, "C")
    assert (counts(harness), metrics(harness).version) == ({"A": 2, "C": 1}, 4)
    harness.engine.crash(power_loss=power_loss)
    assert (counts(harness), metrics(harness).version) == ({"A": 2, "B": 1, "C": 1}, 4)
    assert check_point(harness)[1:] == (104, 2)
    harness.advance(1_000)
    assert check_point(harness)[1:] == (208, 4)


def test_timer_counts_and_check_point_are_written_at_the_same_times() -> None:
    """Each write of the timer's flush service has both, also after a change of timerFlushIntervalMs.

    The service reads the key after each write: a change takes effect after the next write.
    """
    harness = make_harness(flush_disk_type="SYNC_FLUSH", timer_flush_interval_ms=400)
    harness.topic("A")
    writes = []

    def note_writes(until_ms: int) -> None:
        """Note each time (ms since the start) at which the check point changes, and compare the counts with it."""
        while harness.now_ms - START_MS < until_ms:
            before = check_point(harness)[2]
            send_delayed(harness, 1_000_000)
            harness.advance(100)
            written = harness.broker.timers.metrics.dump_on_crash()
            assert sum(each.count for each in written.topics.values()) == written.version == check_point(harness)[2]
            if check_point(harness)[2] != before:
                writes.append(harness.now_ms - START_MS)

    note_writes(1_000)
    harness.ask(Done, UpdateBrokerConfig({"timerFlushIntervalMs": "60000"}))
    note_writes(1_100)
    harness.ask(Done, UpdateBrokerConfig({"timerFlushIntervalMs": "1500"}))
    assert harness.ask(TimerCheckPointResult, GetTimerCheckPoint()).changed_ms == START_MS + 800
    note_writes(4_000)
    assert writes == [400, 800, 1_200, 2_700]
    point = harness.ask(TimerCheckPointResult, GetTimerCheckPoint())
    assert (point.changed_ms, point.version) == (START_MS + 2_700, 5)
    harness.ask(Done, UpdateBrokerConfig({"timerFlushIntervalMs": "100"}))
    note_writes(4_500)
    assert writes[4:] == [4_200, 4_300, 4_400, 4_500]
    harness.engine.crash(power_loss=False)
    assert counts(harness) == {"A": 45}


@pytest.mark.parametrize(
    ("operation", "remark"),
    [(GetTimerCheckPoint(), "The checkpoint is null"), (GetTimerMetrics(), "The timer message store is null")],
)
def test_a_broker_without_timer_returns_system_error_for_timer_queries(operation: Operation, remark: str) -> None:
    """A broker without a timer returns SYSTEM_ERROR for check point and metrics."""
    harness = make_harness(timer_wheel_enable=False)
    with pytest.raises(EngineError) as error:
        harness.engine.execute(harness.broker, operation)
    assert (error.value.code, error.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_timer_counts_are_right_after_two_power_losses() -> None:
    """After two power losses the counts are right: recovered messages are counted again, but never twice."""
    harness = make_harness(flush_disk_type="SYNC_FLUSH")
    harness.topic("A")
    harness.advance(10_000)
    for _ in range(3):
        send_delayed(harness, 60_000)
    for _ in range(2):
        harness.engine.crash(power_loss=True)
        assert (counts(harness), check_point(harness)[1:]) == ({"A": 3}, (0, 0))
    harness.advance(1_000)
    assert check_point(harness)[1:] == (156, 3)
    harness.engine.crash(power_loss=True)
    assert check_point(harness)[1:] == (156, 3)
    harness.advance(90_000)
    assert len(stored(harness, "A")) == 3
