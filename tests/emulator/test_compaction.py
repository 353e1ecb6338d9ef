"""Topics with cleanup.policy=COMPACTION."""

from typing import Any

import pytest
from engine_world import World, make_world
from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.operations import CreateTopic, DeleteTopic, PullResult, TopicConfig
from rocketmq_testkit.emulator.record import decode


def compacted(world: World, name: str = "T") -> str:
    world.engine.ask(world.broker, CreateTopic(TopicConfig(name, 1, 1, 6), {"+cleanup.policy": "COMPACTION"}))
    return name


def pulled(world: World, topic: str, offset: int = 0, expression: str = "*") -> PullResult:
    outcome = world.pull(topic, offset, expression=expression).outcome
    assert isinstance(outcome, PullResult)
    return outcome


@pytest.mark.parametrize("properties", [{}, {"KEYS": " "}, {"TAGS": "k"}])
def test_a_message_needs_a_key(world: World, properties: dict[str, Any]) -> None:
    """One without is refused; in a topic that is not compacted it is not."""
    compacted(world)
    with pytest.raises(EngineError, match="Required message key is missing") as found:
        world.send("T", **properties)
    assert found.value.code == ResponseCode.MESSAGE_ILLEGAL
    world.send(world.topic("U"), **properties)
    assert world.send("T", KEYS="k").queue_offset == 0


def test_a_deleted_topic_is_compacted_no_more(world: World) -> None:
    """Made again without the attribute, it takes messages without keys."""
    compacted(world)
    world.engine.ask(world.broker, DeleteTopic("T"))
    world.send(world.topic("T"))


def test_it_is_read_without_a_filter(world: World) -> None:
    """Whatever tag is asked for, by pull or pop."""
    compacted(world)
    for tag in "ab":
        world.send("T", KEYS="k", TAGS=tag)
    found = pulled(world, "T", expression="b")
    assert [decode(each).property_map()["TAGS"] for each in found.records] == ["a", "b"]
    assert len(world.popped("T", expression="b")) == 2


def test_a_filter_counts_without_the_logs() -> None:
    """enableCompaction=false leaves the one that all topics have."""
    world = make_world(enable_compaction=False)
    compacted(world)
    for tag in "ab":
        world.send("T", KEYS="k", TAGS=tag)
    assert len(pulled(world, "T", expression="b").records) == 1


@pytest.mark.parametrize(("offset", "code", "following"), [(2, 19, 2), (3, 21, 0), (9, 21, 0), (-1, 0, 2)])
def test_where_a_read_may_begin(world: World, offset: int, code: int, following: int) -> None:
    """Beyond the end one is sent to the beginning, where other topics send one to the end."""
    compacted(world)
    for _ in range(2):
        world.send("T", KEYS="k")
    found = pulled(world, "T", offset)
    assert (found.code, found.next_begin_offset) == (code, following)


def test_it_is_remembered_over_a_crash(world: World) -> None:
    """As the topic is."""
    compacted(world)
    world.broker.crash()
    with pytest.raises(EngineError, match="Required message key is missing"):
        world.send("T")
