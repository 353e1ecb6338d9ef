"""A slave's copies of its master's delay offsets and timer check point; a slave delivers no message from them."""

import pytest
from engine_world import START_MS, World
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
def world() -> World:
    configs = [BrokerConfig(), BrokerConfig(broker_id=1, broker_role="SLAVE")]
    engine = Engine(brokers=configs, now_ms=START_MS)
    made = World(engine, engine.brokers[0])
    made.topic("T")
    return made


def slave(world: World) -> Broker:
    return world.engine.brokers[1]


def offsets_of(world: World, broker: Broker) -> DelayOffsetsResult:
    return world.ask(DelayOffsetsResult, GetAllDelayOffset(), broker)


def delays(world: World, broker: Broker) -> dict[int, int]:
    return offsets_of(world, broker).offsets


def check_point(world: World, broker: Broker) -> TimerCheckPointResult:
    return world.ask(TimerCheckPointResult, GetTimerCheckPoint(), broker)


def copied_part(world: World, broker: Broker) -> tuple[int, int, int]:
    """Return the parts of a broker's check point that a slave copies."""
    found = check_point(world, broker)
    return found.read_ms, found.version, found.master_taken


def count(world: World, broker: Broker) -> int | None:
    found = world.ask(TimerMetricsResult, GetTimerMetrics(), broker).topics.get("T")
    return None if found is None else found.count


def stored(broker: Broker) -> int:
    return broker.store.max_offset("T", 0)


def test_a_slave_copies_delay_offsets_with_the_tables(world: World) -> None:
    """A slave has no delay offsets until it copies its master's tables, and delivers nothing."""
    world.send("T", DELAY="1")
    world.advance(60_000)
    assert (delays(world, world.broker), delays(world, slave(world))) == ({1: 1}, {})
    world.advance(20_000)
    assert delays(world, slave(world)) == {1: 1}
    assert stored(slave(world)) == stored(world.broker) == 1


def next_copy(world: World) -> DelayOffsetsResult:
    """Advance until the slave copies the delay offsets, at most two minutes; return them."""
    before = offsets_of(world, slave(world))
    for _ in range(1200):
        world.advance(100)
        if (now := offsets_of(world, slave(world))) != before:
            return now
    raise AssertionError("the slave copied nothing")


def test_a_slave_returns_the_version_of_the_delay_offsets_that_it_copied(world: World) -> None:
    """A slave returns version and time of its last copy of the delay offsets, not the master's current ones."""
    world.send("T", DELAY="1")
    master, copy = world.broker, slave(world)
    assert offsets_of(world, copy) == DelayOffsetsResult({}, 0, START_MS)
    first = next_copy(world)
    assert first == offsets_of(world, master)
    assert first.offsets == {1: 1}
    assert first.version > 0
    world.advance(5_000)
    assert offsets_of(world, copy) == first
    assert first != offsets_of(world, master)
    second = next_copy(world)
    assert second == offsets_of(world, master)
    assert second.version > first.version


def test_copied_delay_offsets_survive_a_crash_of_the_slave(world: World) -> None:
    """Copied delay offsets survive a crash of the slave, because they are written to a file at once."""
    world.send("T", DELAY="1")
    world.advance(80_000)
    world.engine.crash(slave(world))
    assert delays(world, slave(world)) == {1: 1}


def test_a_slave_copies_the_timer_check_point_every_three_seconds(world: World) -> None:
    """A slave copies its master's check point every three seconds, from ten seconds after its start on."""
    first = check_point(world, slave(world))
    assert (first.version, first.master_taken) == (0, 0)
    assert START_MS - first.read_ms > 6 * 86_400_000
    world.send("T", TIMER_DELAY_SEC="3600")
    world.advance(9_999)
    assert check_point(world, slave(world)).master_taken == 0
    world.advance(1)
    known = copied_part(world, slave(world))
    assert known == copied_part(world, world.broker)
    world.advance(2_999)
    assert copied_part(world, slave(world)) == known
    world.advance(1)
    assert check_point(world, slave(world)) == check_point(world, world.broker)
    assert stored(slave(world)) == 0


def test_a_slave_counts_the_timed_messages_that_enter_its_wheel(world: World) -> None:
    """A slave counts the timed messages that enter its wheel until it copies its master's counts."""
    world.advance(20_000)
    world.send("T", TIMER_DELAY_SEC="600")
    assert (count(world, world.broker), count(world, slave(world))) == (1, None)
    world.advance(5_000)
    assert count(world, slave(world)) == 1
    world.advance(700_000)
    assert (count(world, world.broker), count(world, slave(world))) == (0, 0)
    assert stored(slave(world)) == stored(world.broker) == 1


def test_a_slave_keeps_the_last_check_point_of_a_stopped_master(world: World) -> None:
    """A slave keeps the last check point of a stopped master and updates it when the master returns."""
    world.send("T", TIMER_DELAY_SEC="3600")
    world.advance(20_000)
    known = check_point(world, slave(world))
    world.engine.stop(world.broker)
    world.advance(30_000)
    assert check_point(world, slave(world)) == known
    world.engine.start(world.broker)
    assert check_point(world, slave(world)) == known
    world.advance(3_000)
    later = check_point(world, slave(world))
    assert later.read_ms > known.read_ms
    assert later.master_taken == 1


def test_a_restarted_slave_returns_its_last_check_point_until_its_first_check(world: World) -> None:
    world.send("T", TIMER_DELAY_SEC="3600")
    world.advance(20_000)
    known = check_point(world, slave(world))
    world.engine.stop(slave(world))
    world.advance(30_000)
    world.engine.start(slave(world))
    assert check_point(world, slave(world)) == known
    world.advance(10_000)
    assert check_point(world, slave(world)) == check_point(world, world.broker)


def test_a_slave_counts_each_replicated_record_as_stored(world: World) -> None:
    before = slave(world).store.stats.puts
    for _ in range(3):
        world.send("T")
    assert slave(world).store.stats.puts - before == 3


def test_a_slave_reports_the_smaller_timer_progress_of_itself_and_its_master(world: World) -> None:
    for _ in range(3):
        world.send("T", TIMER_DELAY_SEC="3600")
    seen = []
    for ms in (9_999, 1, 999, 1):
        world.advance(ms)
        found = check_point(world, slave(world))
        seen.append((found.taken, found.master_taken))
    assert seen == [(0, 0), (0, 3), (0, 3), (3, 3)]
