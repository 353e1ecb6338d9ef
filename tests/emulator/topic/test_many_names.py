"""Lookups by connection, client, topic or group return the right entries among many others."""

import random

from engine_harness import EngineHarness
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, ConsumerData, Heartbeat, UnregisterClient
from rocketmq_testkit.emulator.operations.cluster import TopicListResult
from rocketmq_testkit.emulator.operations.groups import (
    CreateGroup,
    DeleteGroup,
    GroupConfig,
    GroupListResult,
    QueryGroupsOfTopic,
    QueryTopicsOfGroup,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from rocketmq_testkit.emulator.topic.topic_group_index import TopicGroupIndex


def beat(
    harness: EngineHarness, channel: DirectChannel, client: str, groups: dict[str, str], *, producers: list[str]
) -> None:
    """Send a client's heartbeat with consumer groups (each with a topic) and producer groups."""
    consumers = [ConsumerData(group, subscriptions=[build_subscription(topic, "*")]) for group, topic in groups.items()]
    harness.engine.execute(harness.broker, Heartbeat(client, producers, consumers), channel)


def groups_of(harness: EngineHarness, topic: str) -> list[str]:
    """Return the groups that consume a topic."""
    return harness.ask(GroupListResult, QueryGroupsOfTopic(topic)).groups


def test_a_closed_connection_is_removed_from_all_its_groups(harness: EngineHarness) -> None:
    """A closed connection is removed from all its groups; another one in the same groups stays."""
    harness.topic("T")
    one, other = DirectChannel("one"), DirectChannel("other")
    for channel, client in ((one, "a"), (other, "b")):
        beat(harness, channel, client, {"G": "T", "H": "T"}, producers=["P", "Q"])

    one.active = False
    harness.engine.submit(harness.broker, ChannelClosed(), one)

    clients = harness.broker.clients
    assert {name: group.client_ids() for name, group in clients.consumers.items()} == {"G": ["b"], "H": ["b"]}
    assert {name: list(members) for name, members in clients.producers.items()} == {"P": ["other"], "Q": ["other"]}
    assert (clients.is_consumer("G", "a"), clients.is_consumer("G", "b")) == (False, True)
    assert (clients.producer_channel("a"), clients.producer_channel("b")) == (None, other)
    assert clients.next_producer_channel("P") is other


def test_a_client_stays_in_its_group_until_its_last_connection_leaves(harness: EngineHarness) -> None:
    """A client with two connections stays in its group until both have left; replies use the remaining one."""
    harness.topic("T")
    one, other = DirectChannel("one"), DirectChannel("other")
    for channel in (one, other):
        beat(harness, channel, "a", {"G": "T"}, producers=["P"])
    clients = harness.broker.clients

    harness.engine.execute(harness.broker, UnregisterClient("a", "P", "G"), one)
    assert clients.is_consumer("G", "a")
    assert clients.producer_channel("a") is other

    harness.engine.execute(harness.broker, UnregisterClient("a", "P", "G"), other)
    assert not clients.is_consumer("G", "a")
    assert clients.producer_channel("a") is None
    assert clients.next_producer_channel("P") is None


def test_a_consumer_with_a_new_client_id_is_known_by_that_id_only(harness: EngineHarness) -> None:
    """A consumer whose connection sends a new client id is known by that id only."""
    harness.topic("T")
    channel = DirectChannel("one")
    beat(harness, channel, "a", {"G": "T"}, producers=[])
    beat(harness, channel, "b", {"G": "T"}, producers=[])
    clients = harness.broker.clients

    assert (clients.is_consumer("G", "a"), clients.is_consumer("G", "b")) == (False, True)
    harness.engine.submit(harness.broker, ChannelClosed(), channel)
    assert clients.consumers == {}
    assert not clients.is_consumer("G", "b")


def test_groups_of_a_topic_are_its_current_subscribers(harness: EngineHarness) -> None:
    """A group consumes a topic from its subscription until it subscribes to another or has no members."""
    for topic in ("T", "U"):
        harness.topic(topic)
    channel = DirectChannel("one")
    beat(harness, channel, "a", {"G": "T"}, producers=[])
    beat(harness, DirectChannel("other"), "b", {"H": "T"}, producers=[])
    assert groups_of(harness, "T") == ["G", "H"]

    beat(harness, channel, "a", {"G": "U"}, producers=[])
    assert (groups_of(harness, "T"), groups_of(harness, "U")) == (["H"], ["G"])

    harness.engine.submit(harness.broker, ChannelClosed(), channel)
    assert (groups_of(harness, "T"), groups_of(harness, "U")) == (["H"], [])


def test_deleting_a_topic_or_a_group_deletes_only_its_offsets(harness: EngineHarness) -> None:
    """Deleting a topic deletes its offsets of all groups, deleting a group those of all topics; others stay.

    The pull offsets and pending resets of a deleted topic stay as well (ConsumerOffsetManager.cleanOffsetByTopic).
    """
    names = [(group, topic) for group in ("G", "H", "I") for topic in ("T", "U", "V")]
    for group in ("G", "H", "I"):
        harness.engine.execute(harness.broker, CreateGroup(GroupConfig(group)))
    for topic in ("T", "U", "V"):
        harness.topic(topic)
    for group, topic in names:
        harness.engine.execute(harness.broker, UpdateConsumerOffset(group, topic, 0, 7))
        harness.broker.offsets.set_pull_offset(group, topic, 0, 9)
        harness.broker.offsets.reset(group, topic, 0, 3)

    harness.engine.execute(harness.broker, DeleteTopic("U"))
    harness.engine.execute(harness.broker, DeleteGroup("H", True))

    offsets = harness.broker.offsets
    left = [name for name in names if offsets.committed.get(name)]
    assert left == [("G", "T"), ("G", "V"), ("I", "T"), ("I", "V")]
    in_memory = [name for name in names if name[0] != "H"]
    assert [name for name in names if offsets.pull_offset(*name, 0) != -1] == in_memory
    assert [name for name in names if offsets.pending_reset(*name, 0) is not None] == in_memory
    assert harness.ask(TopicListResult, QueryTopicsOfGroup("I")).topics == ["T", "V"]
    assert groups_of(harness, "V") == ["G", "I"]


def test_the_name_index_returns_the_remaining_entries_in_order() -> None:
    """After any additions and removals an index returns the remaining entries by topic and group, in order."""
    draw = random.Random(5)
    index: TopicGroupIndex[tuple[str, str, int]] = TopicGroupIndex()
    known: dict[tuple[str, str, int], None] = {}
    for _ in range(3_000):
        entry = (draw.choice("abc"), draw.choice("xyz"), draw.randrange(3))
        if draw.random() < 0.5:
            index.add(entry[0], entry[1], entry)
            known.setdefault(entry)
        else:
            index.discard(entry[0], entry[1], entry)
            known.pop(entry, None)
        assert index.of_topic(entry[0]) == [each for each in known if each[0] == entry[0]]
        assert index.of_group(entry[1]) == [each for each in known if each[1] == entry[1]]
