"""A copy of an engine as of one instant: later changes of the engine do not change the results of its readers."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from engine_world import World, make_world
from full_tables import full_tables
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
from world_with_data import world_with_data

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


def consuming(table: str) -> World:
    """Return a world with messages in flight, waiting requests, queue locks and rejections; `table` stores its pops."""
    world = make_world(**TABLES[table][0])
    in_every_state(world)
    world.topic("B", 2)
    beat = Heartbeat("c1", [], [ConsumerData("G", subscriptions=[SubscriptionData(name, "*") for name in "AB"])])
    world.engine.execute(world.broker, beat)
    for number in range(6):
        world.send("B", b"%d" % number, queue=number % 2, KEYS=f"key-{number}")
    world.pull("B", queue=0)
    world.engine.execute(world.broker, UpdateConsumerOffset("G", "B", 0, 1))
    held = world.popped("B", queue=1, group="P", count=2, invisible_ms=60_000)
    world.ack("B", world.receipt(held[0]), group="P")
    world.popped("B", group="O", queue=0, count=2, order=True)
    world.pull("A", offset=9, suspend_ms=30_000)
    world.pop("B", group="W", queue=0, poll_ms=30_000, count=32)
    world.pop("B", group="W", queue=0, poll_ms=30_000)
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "every state": lambda: _with(in_every_state),
    "full tables": full_tables,
    "full tables with a slave": lambda: full_tables(slaves=1),
    "lived in": world_with_data,
    **{f"consuming {table}": partial(consuming, table) for table in TABLES},
}


def _with(prepare: Callable[[World], object]) -> World:
    world = make_world()
    prepare(world)
    return world


def _change(world: World) -> None:
    """Change the engine in many ways: sends, deliveries, acknowledgements, time, settings, deletions, a crash."""

    def run(operation: Operation) -> None:
        world.engine.submit(world.broker, operation)

    for name in ("A", "B"):
        for _ in range(5):
            world.engine.submit(world.broker, CreateTopic(TopicConfig(name, 3, 3)))
            world.send(name, b"later", KEYS="later", DELAY="1")
            world.send(name, b"later")
        for group in ("G", "P", "O", "W", "H"):
            run(UpdateConsumerOffset(group, name, 0, 1))
            world.pop(name, group=group)
            run(ResetOffset(group, name, 0))
    run(Heartbeat("c9", [], [ConsumerData("G", subscriptions=[SubscriptionData("Z", "*")])]))
    world.advance(5_000)
    run(UpdateBrokerConfig({"brokerPermission": "2"}))
    world.advance(600_000)
    world.engine.crash(world.broker)
    run(DeleteGroup("G"))
    run(DeleteTopic("A"))
    world.advance(100_000)


@pytest.mark.parametrize("name", WORLDS)
def test_readers_of_a_copy_return_the_state_of_its_instant(name: str) -> None:
    world = WORLDS[name]()
    before = readings(world.engine)
    copy = instant_copy(world.engine)
    assert readings(copy) == before
    assert readings(world.engine) == before
    copy = instant_copy(world.engine)
    _change(world)
    after = readings(world.engine)
    assert sum(after.get(each) != before[each] for each in before) > len(before) / 4
    assert readings(copy) == before


def test_each_attribute_of_a_broker_that_readers_use_is_copied() -> None:
    root = Path(__file__).parents[2] / "emulator"
    texts = [each.read_text() for folder in ("inspection", "explanation") for each in (root / folder).glob("*.py")]
    used = {name for text in [*texts, (root / "consumer_lag.py").read_text()] for name in BROKER.findall(text)}
    # Views of brokers have these two attributes as well.
    assert used - {"permission", "unreachable"} <= {*_OF_BROKER}


def test_a_copy_of_a_copy_of_a_changed_engine_is_equal() -> None:
    world = consuming("log")
    copy = instant_copy(world.engine)
    world.send("B", b"later")
    assert readings(instant_copy(copy)) == readings(copy)


def test_the_work_of_a_copy_does_not_grow_with_the_messages_in_flight() -> None:
    """This holds for stored, delayed, timed, half, pulled and popped messages, and for recorded deliveries."""

    def lines(count: int) -> int:
        world = make_world()
        in_every_state(world)
        world.topic("B")
        for number in range(count):
            world.send("B", b"%d" % number)
            world.send("B", b"%d" % number, DELAY="17")
            world.send("B", b"%d" % number, TIMER_DELIVER_MS=str(world.now_ms + 3_600_000))
            world.send("B", b"%d" % number, TRAN_MSG="true", PGROUP="P")
        while world.popped("B", invisible_ms=60_000):
            pass
        instant_copy(world.engine)  # generates the copying functions of all classes
        return executed_lines(lambda: instant_copy(world.engine))

    assert lines(600) <= lines(60) + 100
