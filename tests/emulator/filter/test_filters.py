"""Filters by tag and by SQL92, from subscriptions of requests and of heartbeats."""

from dataclasses import replace

import pytest
from engine_harness import EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.filter.message_filter import build_subscription, filter_of
from rocketmq_testkit.emulator.message.stored_record import decode, property_map, reencode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import PullResult
from rocketmq_testkit.emulator.store.tags_code import tags_code_of

CHANNEL = DirectChannel("c", ("10.0.0.1", 5000))
RETRY = "%RETRY%G"


@pytest.mark.parametrize(
    ("expression", "tags"),
    [
        ("A||B", {"A", "B"}),
        ("\tA\n || \x07", {"A"}),
        ("\N{NO-BREAK SPACE}A", {"\N{NO-BREAK SPACE}A"}),
        ("A\N{IDEOGRAPHIC SPACE}||A", {"A\N{IDEOGRAPHIC SPACE}", "A"}),
    ],
)
def test_tags_are_trimmed_as_in_java(expression: str, tags: set[str]) -> None:
    """Tags are trimmed as in Java: characters up to the blank are removed, other white space stays."""
    assert build_subscription("T", expression).tags == tags


def subscribe(harness: EngineHarness, subscription: SubscriptionData) -> None:
    harness.engine.execute(
        harness.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=[subscription])]), CHANNEL
    )


def pull(harness: EngineHarness, topic: str = "A", expression: str | None = None, kind: str = "SQL92") -> list[bytes]:
    """Return the messages that a pull of group `G` finds, by its own expression or that of the heartbeat."""
    result = harness.engine.execute(harness.broker, pull_of("G", topic, expression=expression, kind=kind), CHANNEL)
    assert isinstance(result, PullResult)
    return [decode(each).body for each in result.records]


@pytest.fixture
def harness() -> EngineHarness:
    """Return a harness with a message with tag `red` and one without a tag, in topic `A`."""
    harness = make_harness(enable_property_filter=True, filter_support_retry=True)
    harness.topic("A")
    harness.send("A", b"red", TAGS="red")
    harness.send("A", b"none")
    return harness


def test_messages_match_by_the_tag_hashes_of_a_heartbeat_and_not_by_its_tags(harness: EngineHarness) -> None:
    """A star and a class filter match all messages."""
    by_tag = SubscriptionData("A", "red", "TAG", frozenset({"red"}), frozenset(), 1)
    subscribe(harness, by_tag)
    assert pull(harness) == []
    subscribe(harness, replace(by_tag, codes=frozenset({tags_code_of("red")}), sub_version=2))
    assert pull(harness) == [b"red"]
    subscribe(harness, replace(by_tag, sub_string="*", sub_version=3))
    assert pull(harness) == [b"red", b"none"]
    subscribe(harness, replace(by_tag, class_filter_mode=True, sub_version=4))
    assert pull(harness) == [b"red", b"none"]


def test_a_tag_whose_hash_is_0_matches_messages_without_a_tag(harness: EngineHarness) -> None:
    """A tag whose hash is 0 matches messages without a tag, which have the same hash."""
    assert pull(harness, expression="f5a5a608", kind="TAG") == [b"none"]


def test_retries_are_filtered_by_the_subscription_to_their_original_topic(harness: EngineHarness) -> None:
    """With filterSupportRetry a retry is filtered by the group's subscription to the message's original topic.

    An SQL92 expression in the pull is ignored.
    """
    harness.topic(RETRY)
    for topic in ("A", "B"):
        harness.send(RETRY, b"red of " + topic.encode(), TAGS="red", RETRY_TOPIC=topic)
        harness.send(RETRY, b"blue of " + topic.encode(), TAGS="blue", RETRY_TOPIC=topic)
    subscribe(harness, SubscriptionData("A", "TAGS = 'red'", "SQL92", sub_version=1))
    for expression in ("TRUE", "FALSE", "TAGS ="):
        assert pull(harness, RETRY, expression) == [b"red of A", b"red of B", b"blue of B"]
    assert pull(harness, RETRY, "blue", "TAG") == [b"blue of A", b"blue of B"]
    assert pull(harness, "A", "FALSE") == []


def test_a_subscription_of_an_unknown_type_has_no_filter() -> None:
    assert filter_of(SubscriptionData("A", "red", "FOO")) is None


@pytest.mark.parametrize("topic", ["A", "t" * 200])
@pytest.mark.parametrize("host", ["10.0.0.1", "fe80::1"])
def test_properties_are_found_in_records_of_every_layout(topic: str, host: str) -> None:
    """Properties are found in records of every layout without decoding them."""
    harness = make_harness()
    harness.topic("A")
    harness.broker.bind((host, 10911))
    harness.send("A", b"body")
    stored = harness.broker.store.record("A", 0, 0)
    assert stored is not None
    properties = {"color": "red", "größe": "\N{GRINNING FACE}"}
    assert property_map(reencode(decode(stored), topic=topic, properties=properties)) == properties
