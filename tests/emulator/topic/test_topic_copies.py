"""Copies of the topic table of a master on its slaves."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.emulator.topic.topic_table import TopicTable


@pytest.fixture
def master() -> EngineHarness:
    return make_harness()


def create(harness: EngineHarness, name: str, **attributes: str) -> None:
    changes = {f"+{key}": value for key, value in attributes.items()}
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig(name, 1, 1, 6), changes))


def users_topics(table: TopicTable) -> list[str]:
    return [name for name in table.table if name.startswith("user-")]


def test_a_copy_that_ends_at_attributes_keeps_topics_behind_them(master: EngineHarness) -> None:
    """Upstream's slave fails at the first topic with attributes: it does not change later ones, but deletes topics."""
    slave = make_harness().broker.topics
    for name in ("user-first", "user-typed", "user-last"):
        create(master, name)
    slave.copy_from(master.broker.topics)
    create(master, "user-typed", **{"message.type": "FIFO"})
    create(master, "user-last")
    slave.table["user-deleted"] = TopicConfig("user-deleted", 1, 1, 6)
    slave.copy_until_attributes(master.broker.topics)
    assert users_topics(slave) == ["user-first", "user-typed", "user-last"]
    assert slave.table["user-typed"].attributes == {}
