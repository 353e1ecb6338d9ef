"""A copy of an engine as of one instant: later changes of the engine do not change the results of its readers."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from full_tables import full_tables
from harness_with_data import harness_with_data
from inspected import TABLES, in_every_state
from operation_counts import executed_lines
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.idle_consumer import IdleConsumers
from rocketmq_testkit.emulator.explanation.scene import Scene
from rocketmq_testkit.emulator.explanation.timeline import history_of
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.instant_copy import _OF_BROKER, instant_copy
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.groups import DeleteGroup
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig

BROKER = re.compile(r"\bbroker\.([a-z_]+)")


def readings(engine: Engine) -> dict[str, Any]:
    """Return the results of all readers: inspection, explanations and histories."""
    look = Inspection(engine, NoSurroundings())
    return dict(_readings(engine, look))


def _readings(engine: Engine, look: Inspection) -> Iterator[tuple[str, Any]]:
    now_ms = engine.scheduler.now_ms
    for name in ("receipts", "topics", "groups", "locks", "timers", "half_messages", "polls", "brokers", "connections"):
        yield name, getattr(look, name)()
    yield "configuration", look.configuration()
    explainer = Explainer(look, engine.history, lambda: now_ms)
    idle = IdleConsumers(Scene(look, engine.history, now_ms))
    for topic in look.topics():
        yield f"queues of {topic.name}", look.queues(topic.name)
        yield f"copies of {topic.name}", look.copies(topic.name)
        messages = look.messages(topic.name)
        yield f"messages of {topic.name}", messages
        if not topic.system:
            yield f"found in {topic.name}", [look.find(each.message_id) for each in messages]
            yield f"histories in {topic.name}", [history_of(each, look, engine.history) for each in messages]
            yield f"explanations in {topic.name}", list(explainer.explain_each(messages))
            yield f"single in {topic.name}", [explainer.explain(each, each.message_id) for each in messages]
            places = [copy.place for each in messages for copy in each.copies]
            yield f"receipts in {topic.name}", [look.receipts(None, place) for place in places]
            yield f"waiting in {topic.name}", [look.waits_for_time(place) for place in places]
            yield f"half in {topic.name}", [look.half_message(each) for each in messages]
        for group in look.groups():
            yield f"assignments {group.name} {topic.name}", look.assignments(group.name, topic.name)
    for group in look.groups():
        yield f"idle {group.name}", idle.group(group.name)
        yield f"receipts {group.name}", look.receipts(group.name)


def consuming(table: str) -> EngineHarness:
    """Return a harness with messages in flight, waiting requests, locks and rejections; `table` stores its pops."""
    harness = make_harness(**TABLES[table][0])
    in_every_state(harness)
    harness.topic("B", 2)
    beat = Heartbeat("c1", [], [ConsumerData("G", subscriptions=[SubscriptionData(name, "*") for name in "AB"])])
    harness.engine.execute(harness.broker, beat)
    for number in range(6):
        harness.send("B", b"%d" % number, queue=number % 2, KEYS=f"key-{number}")
    harness.pull("B", queue=0)
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "B", 0, 1))
    held = harness.popped("B", queue=1, group="P", count=2, invisible_ms=60_000)
    harness.ack("B", harness.receipt(held[0]), group="P")
    harness.popped("B", group="O", queue=0, count=2, order=True)
    harness.pull("A", offset=9, suspend_ms=30_000)
    harness.pop("B", group="W", queue=0, poll_ms=30_000, count=32)
    harness.pop("B", group="W", queue=0, poll_ms=30_000)
    return harness


HARNESSES: dict[str, Callable[[], EngineHarness]] = {
    "every state": lambda: _with(in_every_state),
    "full tables": full_tables,
    "full tables with a slave": lambda: full_tables(slaves=1),
    "lived in": harness_with_data,
    **{f"consuming {table}": partial(consuming, table) for table in TABLES},
}


def _with(prepare: Callable[[EngineHarness], object]) -> EngineHarness:
    harness = make_harness()
    prepare(harness)
    return harness


def _change(harness: EngineHarness) -> None:
    """Change the engine in many ways: sends, deliveries, acknowledgements, time, settings, deletions, a crash."""

    def run(operation: Operation) -> None:
        harness.engine.submit(harness.broker, operation)

    for name in ("A", "B"):
        for _ in range(5):
            harness.engine.submit(harness.broker, CreateTopic(TopicConfig(name, 3, 3)))
            harness.send(name, b"later", KEYS="later", DELAY="1")
            harness.send(name, b"later")
        for group in ("G", "P", "O", "W", "H"):
            run(UpdateConsumerOffset(group, name, 0, 1))
            harness.pop(name, group=group)
            run(ResetOffset(group, name, 0))
    run(Heartbeat("c9", [], [ConsumerData("G", subscriptions=[SubscriptionData("Z", "*")])]))
    harness.advance(5_000)
    run(UpdateBrokerConfig({"brokerPermission": "2"}))
    harness.advance(600_000)
    harness.engine.crash(harness.broker)
    run(DeleteGroup("G"))
    run(DeleteTopic("A"))
    harness.advance(100_000)


@pytest.mark.parametrize("name", HARNESSES)
def test_readers_of_a_copy_return_the_state_of_its_instant(name: str) -> None:
    harness = HARNESSES[name]()
    before = readings(harness.engine)
    copy = instant_copy(harness.engine)
    assert readings(copy) == before
    assert readings(harness.engine) == before
    copy = instant_copy(harness.engine)
    _change(harness)
    after = readings(harness.engine)
    assert sum(after.get(each) != before[each] for each in before) > len(before) / 4
    assert readings(copy) == before


def test_each_attribute_of_a_broker_that_readers_use_is_copied() -> None:
    root = Path(__file__).parents[2] / "emulator"
    texts = [each.read_text() for folder in ("inspection", "explanation") for each in (root / folder).glob("*.py")]
    used = {name for text in [*texts, (root / "consumer_lag.py").read_text()] for name in BROKER.findall(text)}
    # Views of brokers have these two attributes as well.
    assert used - {"permission", "unreachable"} <= {*_OF_BROKER}


def test_a_copy_of_a_copy_of_a_changed_engine_is_equal() -> None:
    harness = consuming("log")
    copy = instant_copy(harness.engine)
    harness.send("B", b"later")
    assert readings(instant_copy(copy)) == readings(copy)


def test_the_work_of_a_copy_does_not_grow_with_the_messages_in_flight() -> None:
    """This holds for stored, delayed, timed, half, pulled and popped messages, and for recorded deliveries."""

    def lines(count: int) -> int:
        harness = make_harness()
        in_every_state(harness)
        harness.topic("B")
        for number in range(count):
            harness.send("B", b"%d" % number)
            harness.send("B", b"%d" % number, DELAY="17")
            harness.send("B", b"%d" % number, TIMER_DELIVER_MS=str(harness.now_ms + 3_600_000))
            harness.send("B", b"%d" % number, TRAN_MSG="true", PGROUP="P")
        while harness.popped("B", invisible_ms=60_000):
            pass
        instant_copy(harness.engine)  # generates the copying functions of all classes
        return executed_lines(lambda: instant_copy(harness.engine))

    assert lines(600) <= lines(60) + 100
