"""Forks of an engine without messages that start before the instant of the fork.

Such a fork behaves as one that starts at the instant of the fork, so no timer and no table waits for the parent's time.
"""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from all_tables import held_by
from engine_harness import START_MS, EngineHarness, make_harness
from full_tables import full_tables
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.filter.filter_table import FilterTable
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.operations.clients import (
    ChannelClosed,
    ConsumerData,
    Heartbeat,
    SubscriptionData,
)
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import EndTransaction
from rocketmq_testkit.emulator.snapshot.durable_state import EngineState
from rocketmq_testkit.emulator.snapshot.earlier_start import start_earlier
from stored import stored_bodies

SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
EARLIER_MS = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * SECOND)
MONTH = 30 * DAY


def fork_at(harness: EngineHarness, start_ms: int | None = None) -> EngineHarness:
    """Return a harness with a fork that starts at another instant, by default at that of the fork."""
    state = harness.engine.fork_state()
    if start_ms is not None:
        start_earlier(state, start_ms)
    engine = Engine(state=state)
    return EngineHarness(engine, engine.brokers[0])


def prepared(**keys: Any) -> EngineHarness:
    """Return a harness with a topic that has run for 7.3 s."""
    harness = make_harness(**keys)
    harness.topic("A")
    harness.advance(7_300)
    return harness


def at_the_same_phase(harness: EngineHarness) -> int:
    """Return an earlier instant at which the slots of the timer begin as long ago as now."""
    return EARLIER_MS + harness.now_ms % SECOND


# delays


@pytest.mark.parametrize("age_ms", [0, 400, 1_000, 7_333])
@pytest.mark.parametrize("level", [1, 3])
def test_a_delayed_message_arrives_as_soon_as_in_a_fork_that_starts_later(age_ms: int, level: int) -> None:
    """A level is checked every 100 ms, first a second after the start of the parent's broker."""
    harness = make_harness()
    harness.topic("A")
    harness.advance(age_ms)
    arrivals = []
    for start_ms in (None, at_the_same_phase(harness)):
        child = fork_at(harness, start_ms)
        child.send("A", b"x", DELAY=str(level))
        waited = 0
        while not stored_bodies(child, "A"):
            child.advance(1)
            waited += 1
            assert waited < 12_000
        arrivals.append(waited)
    assert arrivals[0] == arrivals[1]


def test_the_version_of_the_delay_offsets_grows_alike() -> None:
    """Its number of changes counts the checks of the levels, which the parent has begun."""
    harness = prepared()
    results = []
    for start_ms in (None, at_the_same_phase(harness)):
        child = fork_at(harness, start_ms)
        child.send("A", b"x", DELAY="1")
        child.advance(60 * SECOND)
        found = child.broker.delays.checked_offsets()
        results.append((found.offsets, found.version, child.now_ms - found.changed_ms))
    assert results[0] == results[1]
    assert results[0][1] > 0


# transactions


def half(harness: EngineHarness) -> EndTransaction:
    """Send a half message, and return its commit."""
    sent = harness.send("A", b"half", TRAN_MSG="true", PGROUP="P")
    return EndTransaction("P", sent.queue_offset, sent.physical_offset, 8, False, sent.msg_id)


def test_a_half_message_is_checked_after_the_same_time() -> None:
    harness = prepared()
    found = []
    for start_ms in (None, EARLIER_MS + 123):
        child = fork_at(harness, start_ms)
        half(child)
        channel = DirectChannel("p", ("10.0.0.1", 5000))
        child.engine.submit(child.broker, Heartbeat("p", ["P"], []), channel)
        waited = 0
        while not any(isinstance(each, CheckTransactionState) for each in channel.effects):
            child.advance(100)
            waited += 100
            assert waited < 120 * SECOND
        found.append(waited)
    assert found[0] == found[1]


def test_the_end_of_a_transaction_is_written_after_the_same_time() -> None:
    harness = prepared()
    found = []
    for start_ms in (None, EARLIER_MS + 123):
        child = fork_at(harness, start_ms)
        child.engine.execute(child.broker, half(child))
        [due] = [each.due_ms for each in child.engine.scheduler.scheduled() if each.kind == "transaction op"]
        found.append(due - child.now_ms)
    assert found[0] == found[1]


# pops


def test_acknowledged_messages_are_not_in_flight() -> None:
    """With a threshold, a queue with too many messages in flight returns no more."""
    child = fork_at(prepared(enable_pop_message_threshold=True, pop_inflight_message_threshold=1), EARLIER_MS)
    for number in range(3):
        child.send("A", b"%d" % number)
    first, second = child.popped("A", count=2)
    assert child.popped("A") == []
    for each in (first, second):
        child.ack("A", child.receipt(each))
    assert child.broker.pop_in_flight.count(("A", "G", 0)) == 0
    assert len(child.popped("A")) == 1


def test_an_unacknowledged_message_is_redelivered_after_the_same_time() -> None:
    harness = prepared()
    found = []
    for start_ms in (None, at_the_same_phase(harness)):
        child = fork_at(harness, start_ms)
        child.send("A", b"x")
        child.popped("A", invisible_ms=10_000)
        waited = 0
        while not child.popped("A"):
            child.advance(100)
            waited += 100
            assert waited < 30 * SECOND
        found.append(waited)
    assert found[0] == found[1]


# filters


def filters(harness: EngineHarness) -> FilterTable:
    return harness.broker.clients.filters


def test_a_filter_without_consumers_expires_a_day_after_its_last_use() -> None:
    harness = prepared(enable_property_filter=True)
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    data = ConsumerData("G", subscriptions=[SubscriptionData("A", "a > 1", "SQL92", sub_version=3)])
    channel = DirectChannel("c", ("10.0.0.1", 5000))
    harness.engine.submit(harness.broker, Heartbeat("c", [], [data]), channel)
    harness.engine.submit(harness.broker, ChannelClosed(), channel)
    harness.advance(HOUR)
    child = fork_at(harness, EARLIER_MS)
    child.advance(23 * HOUR - 1)
    assert filters(child).find("A", "G") is not None
    child.advance(1)
    assert filters(child).find("A", "G") is None


# history


def test_the_record_of_deliveries_is_complete() -> None:
    """There is no message whose deliveries could be missing."""
    assert fork_at(prepared(), EARLIER_MS).engine.history.complete_since_ms() is None


def test_an_engine_from_a_snapshot_without_messages_has_a_complete_record() -> None:
    state = prepared().engine.state()
    assert Engine(state=state).history.complete_since_ms() is None


# all instants


def instants_near(root: object, near_ms: int) -> dict[str, int]:
    """Return the numbers that an object holds, directly or not, and that are within a month of an instant."""
    return {
        path: int(text)
        for path, text in held_by(root).items()
        if re.fullmatch("[0-9]+", text) and abs(int(text) - near_ms) < MONTH
    }


@pytest.mark.parametrize("slaves", [0, 1])
def test_no_instant_of_the_parent_is_left_in_the_engine(slaves: int) -> None:
    harness = make_harness() if not slaves else full_tables(slaves=1)
    if slaves:
        for broker in harness.engine.brokers:
            harness.engine.crash(broker)  # loses all messages, because none is flushed
            assert broker.store.log.max_offset == 0
    else:
        harness.topic("A")
    harness.advance(70 * SECOND)
    harness.engine.journal.clear()
    child = fork_at(harness, EARLIER_MS)
    assert instants_near(fork_at(harness).engine, START_MS)
    assert instants_near(child.engine, START_MS) == {}


def test_no_instant_of_the_parent_is_left_in_the_tables() -> None:
    """Also in those whose entries are about messages, which a crash can outlive."""
    keys = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}
    for harness in (full_tables(slaves=1), full_tables(**keys)):
        state: EngineState = harness.engine.fork_state()
        start_earlier(state, EARLIER_MS)
        assert state.now_ms == EARLIER_MS
        for broker in state.brokers:
            broker.log.segments, broker.log.shared, broker.queues, broker.memories = {}, {}, [], {}
        assert instants_near(state, START_MS) == {}
