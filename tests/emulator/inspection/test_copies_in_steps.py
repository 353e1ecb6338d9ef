"""The messages of a topic, read in steps of one message: a consistent list, without long steps."""

from collections.abc import Callable

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from full_tables import full_tables
from inspected import STATES, in_every_state, look
from operation_counts import executed_lines
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.inspection.messages import CopyState, CopyView
from rocketmq_testkit.emulator.operations.topics import DeleteTopic

FEW, MANY = 50, 400
LINES_MAX = 400
"""Maximum number of executed lines of Python in one step."""


def in_steps(harness: EngineHarness, topic: str = "A", state: CopyState | None = None) -> list[CopyView]:
    return [copy for copy in look(harness).copies_in_steps(topic, state) if copy is not None]


def test_copies_read_in_steps_equal_those_read_at_once(harness: EngineHarness) -> None:
    """This holds for all states, for each single state, and for topics with all kinds of queues."""
    in_every_state(harness)
    assert in_steps(harness) == look(harness).copies("A")
    for state in CopyState:
        assert in_steps(harness, "A", state) == look(harness).copies("A", state) != []
    tables = full_tables()
    for topic in tables.broker.topics.table:
        assert in_steps(tables, topic) == look(tables).copies(topic)


def test_copies_of_several_brokers_are_in_the_order_of_their_times() -> None:
    configs = [BrokerConfig(broker_name=name) for name in ("broker-b", "broker-a")]
    engine = Engine(brokers=configs, now_ms=START_MS)
    harnesses = [EngineHarness(engine, broker) for broker in engine.brokers]
    for each in harnesses:
        each.topic("A")
    for number in range(6):
        harnesses[number % 2].send("A", b"%d" % number)
        harnesses[0].advance(number % 3)  # some messages are stored at the same time
    found = in_steps(harnesses[0])
    assert found == look(harnesses[0]).copies("A")
    assert {copy.place.broker for copy in found} == {"broker-a", "broker-b"}


CHANGES: dict[str, Callable[[EngineHarness], object]] = {
    "a send": lambda harness: harness.send("A", b"later"),
    "delayed, timed and half messages": lambda harness: harness.advance(3 * 3_600_000),
    "a deleted topic": lambda harness: harness.engine.execute(harness.broker, DeleteTopic("A")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_during_the_steps_does_not_affect_the_copies(harness: EngineHarness, change: str) -> None:
    """The copies are those at the first step, even if they are delivered or deleted later."""
    in_every_state(harness)
    expected = look(harness).copies("A")
    steps = look(harness).copies_in_steps("A")
    first = next(steps)
    CHANGES[change](harness)
    found = [copy for copy in (first, *steps) if copy is not None]
    assert [(copy.place, copy.state, copy.record) for copy in found] == [
        (copy.place, copy.state, copy.record) for copy in expected
    ]
    assert {copy.state.value for copy in found} == set(STATES)


def test_the_work_of_a_step_does_not_grow_with_the_messages() -> None:
    """A step reads one record, even if other topics have many delayed, timed and retried messages."""

    def most_lines(count: int) -> int:
        harness = make_harness()
        for topic in ("A", "B"):
            harness.topic(topic)
            for _ in range(count):
                harness.send(topic)
                harness.send(topic, DELAY="18")
        steps = look(harness).copies_in_steps("A")
        found = []

        def step() -> None:
            found.append(next(steps, harness))

        lines = []
        while not found or found[-1] is not harness:
            lines.append(executed_lines(step))
        assert sum(copy is not None for copy in found[:-1]) == 2 * count
        return max(lines)

    assert most_lines(MANY) <= most_lines(FEW) + 20 <= LINES_MAX
