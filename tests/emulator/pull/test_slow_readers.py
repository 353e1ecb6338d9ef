"""A broker protects itself from groups that read too far behind the end of its log."""

from typing import Any

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import (
    CreateGroup,
    CreateTopic,
    DeleteGroup,
    DeleteTopic,
    Done,
    GroupConfig,
    PeekMessage,
    PullMessage,
    PullResult,
    TopicConfig,
    UpdateBrokerConfig,
)

FAR = 100_000
"""Bytes that are too many."""
LOOK_MS = 180_000
BODY = b"x" * 1_000
MANY = 120
"""Messages behind which the log goes on for too long."""


def make_slow_world(**keys: Any) -> World:
    """A topic with many messages and a group, which has read nothing."""
    protects: dict[str, Any] = {
        "disable_consume_if_consumer_read_slowly": True,
        "consumer_fallbehind_threshold": FAR,
    }
    world = make_world(**{**protects, **keys})
    world.topic("T")
    world.ask(Done, CreateGroup(GroupConfig("G")))
    for _ in range(MANY):
        world.send("T", BODY)
    return world


@pytest.fixture
def slow_world() -> World:
    return make_slow_world()


def may_read(world: World, group: str = "G") -> bool:
    """Whether the group is switched on."""
    return world.broker.groups.table[group].consume_enable


def switch_on(world: World) -> None:
    """What an administrator does about it."""
    world.ask(Done, CreateGroup(GroupConfig("G")))


def test_a_slow_group_is_switched_off_at_the_next_look(slow_world: World) -> None:
    """There is one every three minutes since the start; then no read of the group is served, and others are."""
    slow_world.advance(1_000)
    assert isinstance(slow_world.pull("T", count=1).outcome, PullResult)
    version = slow_world.broker.groups.version_counter
    slow_world.advance(LOOK_MS - 1_001)
    assert may_read(slow_world)
    slow_world.advance(1)
    assert not may_read(slow_world)
    assert slow_world.broker.groups.version_counter == version + 1
    for call in (slow_world.pull("T", 100), slow_world.pop("T")):
        refusal = refused(call)
        assert (refusal.code, refusal.remark) == (ResponseCode.NO_PERMISSION, "subscription group no permission, G")
    assert isinstance(slow_world.pull("T", 119, group="other").outcome, PullResult)


def test_nothing_happens_by_default() -> None:
    """However far behind a group is, and nothing is scheduled for it."""
    world = make_slow_world(disable_consume_if_consumer_read_slowly=False)
    due = len(list(world.engine.scheduler.scheduled()))
    world.pull("T", count=1)
    assert len(list(world.engine.scheduler.scheduled())) == due
    world.advance(2 * LOOK_MS)
    assert may_read(world)


@pytest.mark.parametrize("how", ["pull", "pull with a filter", "pop", "pop with records", "peek"])
def test_whoever_reads_is_noted(how: str) -> None:
    """By any way of reading; what counts is the last message that was looked at, whether it was given or not."""
    kv = how == "pop with records"
    world = make_slow_world(pop_consumer_kv_service_init=kv, pop_consumer_kv_service_enable=kv)
    if how == "pull":
        world.pull("T", count=1)
    elif how == "pull with a filter":
        world.pull("T", count=1, expression="none")
        world.advance(LOOK_MS)
        assert may_read(world)  # it was passed over by all of them
        world.pull("T", count=1)
    elif how == "peek":
        world.engine.submit(world.broker, PeekMessage("G", "T", 0, 1))
    else:
        world.pop("T", count=1, invisible_ms=10 * LOOK_MS)
    world.advance(LOOK_MS)
    assert not may_read(world)


def test_who_has_read_what_is_newer_in_time_stays(slow_world: World) -> None:
    """The last read of a queue counts, and one that found the end of it most of all."""
    slow_world.pull("T", count=1)
    slow_world.pull("T", MANY)
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)
    slow_world.pull("T", count=1)
    slow_world.pull("T", MANY - 1)
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)


def test_one_slow_queue_is_enough(slow_world: World) -> None:
    """How far a group is elsewhere does not help it; a read of no message is no read."""
    slow_world.topic("U")
    slow_world.pull("T", count=1)
    slow_world.send("U")
    slow_world.pull("U", 0)
    slow_world.pull("T", 5 * MANY)
    slow_world.advance(LOOK_MS)
    assert not may_read(slow_world)


def test_who_is_switched_on_again_has_to_be_quick(slow_world: World) -> None:
    """A group that has not read what is newer by the next look is switched off again."""
    slow_world.pull("T", count=1)
    slow_world.advance(LOOK_MS)
    switch_on(slow_world)
    slow_world.advance(LOOK_MS)
    assert not may_read(slow_world)
    switch_on(slow_world)
    slow_world.pull("T", MANY - 1)
    slow_world.advance(3 * LOOK_MS)
    assert may_read(slow_world)


@pytest.mark.parametrize("what", ["the topic", "the group", "the run"])
def test_what_is_deleted_is_forgotten(slow_world: World, what: str) -> None:
    """A topic or a group of the same name begins anew, and so does a broker."""
    slow_world.pull("T", count=1)
    if what == "the topic":
        slow_world.ask(Done, DeleteTopic("T"))
    elif what == "the group":
        slow_world.ask(Done, DeleteGroup("G", True))
        switch_on(slow_world)
    else:
        slow_world.engine.restart()
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)


def test_keys_may_change_at_any_time(slow_world: World) -> None:
    """What was not too far behind may be so by another threshold, and nobody is switched off once the rule is."""
    slow_world.ask(Done, UpdateBrokerConfig({"consumerFallbehindThreshold": "1000000"}))
    slow_world.pull("T", count=1)
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)
    slow_world.ask(Done, UpdateBrokerConfig({"consumerFallbehindThreshold": str(FAR)}))
    slow_world.ask(Done, UpdateBrokerConfig({"disableConsumeIfConsumerReadSlowly": "false"}))
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)
    slow_world.ask(Done, UpdateBrokerConfig({"disableConsumeIfConsumerReadSlowly": "true"}))
    slow_world.advance(LOOK_MS)
    assert not may_read(slow_world)


def test_it_can_be_left_unnoted() -> None:
    """diskFallRecorded=false lets nobody be found slow."""
    world = make_slow_world(disk_fall_recorded=False)
    world.pull("T", count=1)
    world.advance(LOOK_MS)
    assert may_read(world)


def test_a_pull_that_waits_is_refused_when_it_is_looked_at_again(slow_world: World) -> None:
    """The group may have another queue in which it waits for messages."""
    slow_world.topic("U")
    slow_world.pull("T", count=1)
    slow_world.advance(LOOK_MS - 1_000)
    waiting = slow_world.pull("U", 0, suspend_ms=15_000)
    slow_world.advance(20_000)
    assert refused(waiting).code == ResponseCode.NO_PERMISSION


def test_compacted_topics_are_not_looked_at(slow_world: World) -> None:
    """Upstream reads them elsewhere (CompactionStore)."""
    topic = CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"})
    slow_world.ask(Done, topic)
    for _ in range(MANY):
        slow_world.send("C", BODY, KEYS="k")
    slow_world.pull("C", count=1)
    slow_world.advance(LOOK_MS)
    assert may_read(slow_world)


def test_topics_of_batches_are_looked_at(slow_world: World) -> None:
    """As any others."""
    attributes = {"queue.type": "BatchCQ"}
    slow_world.ask(Done, CreateTopic(TopicConfig("B", 1, 1, attributes=attributes)))
    slow_world.send("B", BODY)
    for _ in range(MANY):
        slow_world.send("T", BODY)
    slow_world.pull("B", count=1)
    slow_world.advance(LOOK_MS)
    assert not may_read(slow_world)


def test_figures_of_light_queues_go_by_one_name() -> None:
    """The last read of any of them counts, and a group that is called like one is never switched off."""
    world = make_slow_world(enable_lmq=True, enable_multi_dispatch=True)
    for name in ("a", "b"):
        world.send("T", BODY, INNER_MULTI_DISPATCH=f"%LMQ%{name}")
        for _ in range(MANY if name == "a" else 0):
            world.send("T", BODY)
    world.pull("%LMQ%a", count=1)
    world.pull("%LMQ%a", count=1, group="%LMQ%a")
    world.pull("%LMQ%b", count=1)
    world.advance(LOOK_MS)
    assert may_read(world)
    world.pull("%LMQ%a", count=1)
    world.advance(LOOK_MS)
    assert not may_read(world)
    assert isinstance(world.pull("%LMQ%b", count=1, group="%LMQ%a").outcome, PullResult)


def test_a_slave_protects_itself_too() -> None:
    """From who reads there; its master serves on, until tables are copied the other way, which they never are."""
    keys: dict[str, Any] = {
        "disable_consume_if_consumer_read_slowly": True,
        "consumer_fallbehind_threshold": FAR,
        "slave_read_enable": True,
    }
    master, copy = BrokerConfig(**keys), BrokerConfig(**keys, broker_id=1, broker_role="SLAVE")
    engine = Engine(brokers=[master, copy], now_ms=1_700_000_000_000)
    world, slave = World(engine, engine.brokers[0]), engine.brokers[1]
    world.topic("T")
    world.ask(Done, CreateGroup(GroupConfig("G")))
    for _ in range(MANY):
        world.send("T", BODY)
    world.advance(LOOK_MS - 5_000)
    assert engine.ask(slave, PullMessage("G", "T", 0, 0, 1, 4, 0, 0, 0, "*", "TAG"))
    world.advance(5_000)
    assert not slave.groups.table["G"].consume_enable
    assert may_read(world)
    with pytest.raises(EngineError, match="subscription group no permission"):
        engine.ask(slave, PullMessage("G", "T", 0, 0, 1, 4, 0, 0, 0, "*", "TAG"))
