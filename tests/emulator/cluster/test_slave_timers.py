"""A slave's copies of its master's delay offsets and timer check point; a slave delivers no message from them."""

import pytest
from engine_harness import START_MS, EngineHarness
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.timers import (
    DelayOffsetsResult,
    GetAllDelayOffset,
    GetTimerCheckPoint,
    GetTimerMetrics,
    TimerCheckPointResult,
    TimerMetricsResult,
)


@pytest.fixture
def harness() -> EngineHarness:
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")]
    engine = Engine(brokers=configs, now_ms=START_MS)
    made = EngineHarness(engine, engine.brokers[0])
    made.topic("T")
    return made


def slave(harness: EngineHarness) -> Broker:
    return harness.engine.brokers[1]


def offsets_of(harness: EngineHarness, broker: Broker) -> DelayOffsetsResult:
    return harness.ask(DelayOffsetsResult, GetAllDelayOffset(), broker)


def delays(harness: EngineHarness, broker: Broker) -> dict[int, int]:
    return offsets_of(harness, broker).offsets


def check_point(harness: EngineHarness, broker: Broker) -> TimerCheckPointResult:
    return harness.ask(TimerCheckPointResult, GetTimerCheckPoint(), broker)


def copied_part(harness: EngineHarness, broker: Broker) -> tuple[int, int, int]:
    """Return the parts of a broker's check point that a slave copies."""
    found = check_point(harness, broker)
    return found.read_ms, found.version, found.master_taken


def count(harness: EngineHarness, broker: Broker) -> int | None:
    found = harness.ask(TimerMetricsResult, GetTimerMetrics(), broker).topics.get("T")
    return None if found is None else found.count


def stored(broker: Broker) -> int:
    return broker.store.max_offset("T", 0)


def test_a_slave_copies_delay_offsets_with_the_tables(harness: EngineHarness) -> None:
    """A slave has no delay offsets until it copies its master's tables, and delivers nothing."""
    harness.send("T", DELAY="1")
    harness.advance(60_000)
    assert (delays(harness, harness.broker), delays(harness, slave(harness))) == ({1: 1}, {})
    harness.advance(20_000)
    assert delays(harness, slave(harness)) == {1: 1}
    assert stored(slave(harness)) == stored(harness.broker) == 1


def next_copy(harness: EngineHarness) -> DelayOffsetsResult:
    """Advance until the slave copies the delay offsets, at most two minutes; return them."""
    before = offsets_of(harness, slave(harness))
    for _ in range(1200):
        harness.advance(100)
        if (now := offsets_of(harness, slave(harness))) != before:
            return now
    raise AssertionError("the slave copied nothing")


def test_a_slave_returns_the_version_of_the_delay_offsets_that_it_copied(harness: EngineHarness) -> None:
    """A slave returns version and time of its last copy of the delay offsets, not the master's current ones."""
    harness.send("T", DELAY="1")
    master, copy = harness.broker, slave(harness)
    assert offsets_of(harness, copy) == DelayOffsetsResult({}, 0, START_MS)
    first = next_copy(harness)
    assert first == offsets_of(harness, master)
    assert first.offsets == {1: 1}
    assert first.version > 0
    harness.advance(5_000)
    assert offsets_of(harness, copy) == first
    assert first != offsets_of(harness, master)
    second = next_copy(harness)
    assert second == offsets_of(harness, master)
    assert second.version > first.version


def test_copied_delay_offsets_survive_a_crash_of_the_slave(harness: EngineHarness) -> None:
    """Copied delay offsets survive a crash of the slave, because they are written to a file at once."""
    harness.send("T", DELAY="1")
    harness.advance(80_000)
    harness.engine.crash(slave(harness))
    assert delays(harness, slave(harness)) == {1: 1}


def test_a_slave_copies_the_timer_check_point_every_three_seconds(harness: EngineHarness) -> None:
    """A slave copies its master's check point every three seconds, from ten seconds after its start on."""
    first = check_point(harness, slave(harness))
    assert (first.version, first.master_taken) == (0, 0)
    assert START_MS - first.read_ms > 6 * 86_400_000
    harness.send("T", TIMER_DELAY_SEC="3600")
    harness.advance(9_999)
    assert check_point(harness, slave(harness)).master_taken == 0
    harness.advance(1)
    known = copied_part(harness, slave(harness))
    assert known == copied_part(harness, harness.broker)
    harness.advance(2_999)
    assert copied_part(harness, slave(harness)) == known
    harness.advance(1)
    assert check_point(harness, slave(harness)) == check_point(harness, harness.broker)
    assert stored(slave(harness)) == 0


def test_a_slave_counts_the_timed_messages_that_enter_its_wheel(harness: EngineHarness) -> None:
    """A slave counts the timed messages that enter its wheel until it copies its master's counts."""
    harness.advance(20_000)
    harness.send("T", TIMER_DELAY_SEC="600")
    assert (count(harness, harness.broker), count(harness, slave(harness))) == (1, None)
    harness.advance(5_000)
    assert count(harness, slave(harness)) == 1
    harness.advance(700_000)
    assert (count(harness, harness.broker), count(harness, slave(harness))) == (0, 0)
    assert stored(slave(harness)) == stored(harness.broker) == 1


def test_a_slave_keeps_the_last_check_point_of_a_stopped_master(harness: EngineHarness) -> None:
    """A slave keeps the last check point of a stopped master and updates it when the master returns."""
    harness.send("T", TIMER_DELAY_SEC="3600")
    harness.advance(20_000)
    known = check_point(harness, slave(harness))
    harness.engine.stop(harness.broker)
    harness.advance(30_000)
    assert check_point(harness, slave(harness)) == known
    harness.engine.start(harness.broker)
    assert check_point(harness, slave(harness)) == known
    harness.advance(3_000)
    later = check_point(harness, slave(harness))
    assert later.read_ms > known.read_ms
    assert later.master_taken == 1


def test_a_restarted_slave_returns_its_last_check_point_until_its_first_check(harness: EngineHarness) -> None:
    harness.send("T", TIMER_DELAY_SEC="3600")
    harness.advance(20_000)
    known = check_point(harness, slave(harness))
    harness.engine.stop(slave(harness))
    harness.advance(30_000)
    harness.engine.start(slave(harness))
    assert check_point(harness, slave(harness)) == known
    harness.advance(10_000)
    assert check_point(harness, slave(harness)) == check_point(harness, harness.broker)


def test_a_slave_counts_each_replicated_record_as_stored(harness: EngineHarness) -> None:
    before = slave(harness).store.stats.puts
    for _ in range(3):
        harness.send("T")
    assert slave(harness).store.stats.puts - before == 3


def test_a_slave_reports_the_smaller_timer_progress_of_itself_and_its_master(harness: EngineHarness) -> None:
    for _ in range(3):
        harness.send("T", TIMER_DELAY_SEC="3600")
    seen = []
    for ms in (9_999, 1, 999, 1):
        harness.advance(ms)
        found = check_point(harness, slave(harness))
        seen.append((found.taken, found.master_taken))
    assert seen == [(0, 0), (0, 3), (0, 3), (3, 3)]
