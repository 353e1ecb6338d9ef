"""Filters: the messages that a tag or SQL92 expression selects for a pop or pull, and the offsets of the others."""

import pytest
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through
from protocol_values import handles

SQL, TAG = "SQL92", "TAG"
MESSAGES = (("small red", "red", "1"), ("large blue", "blue", "3"), ("large red", "red", "2"), ("large", "", "4"))
"""Body, tag and property `size` of each message."""
FOUND = [
    ("red", TAG, [b"small red", b"large red"]),
    (" red || blue ||", TAG, [b"small red", b"large blue", b"large red"]),
    ("RED", TAG, []),
    ("size > 1", SQL, [b"large blue", b"large red", b"large"]),
    ("size > 1 AND TAGS = 'red'", SQL, [b"large red"]),
    ("TAGS IS NULL", SQL, [b"large"]),
]


def fill(e: ProtocolClient, message_group: str = "") -> None:
    """Send all messages of MESSAGES."""
    for body, tag, size in MESSAGES:
        e.put(body.encode(), tag=tag, message_group=message_group, size=size)


@pytest.mark.parametrize(("expression", "kind", "found"), FOUND)
@through(*ALL)
def test_a_pop_with_an_expression_returns_only_the_matching_messages(
    e: ProtocolClient, expression: str, kind: str, found: list[bytes]
) -> None:
    """A pop returns the matching messages in the order of sending and skips the others for good."""
    e.topic()
    e.group()
    fill(e)
    assert e.bodies(expression=expression, kind=kind) == found
    assert e.bodies() == []
    assert e.committed() == len(MESSAGES)


@pytest.mark.parametrize(("expression", "kind", "found"), FOUND)
@through(*BROKER, enable_property_filter=True)
def test_a_pull_with_an_expression_returns_only_the_matching_messages(
    e: BrokerProtocolClient, expression: str, kind: str, found: list[bytes]
) -> None:
    """A pull returns the matching messages; its next offset is behind those that did not match."""
    e.topic()
    e.group()
    fill(e)
    response = e.pull(0, expression=expression, kind=kind).response
    assert response is not None
    assert (response.bodies, response.number) == (found, len(MESSAGES))


@pytest.mark.parametrize("expression", [expression for expression, kind, _ in FOUND if kind == SQL])
@through(*BROKER)
def test_without_enable_property_filter_a_pull_by_sql_is_rejected(e: BrokerProtocolClient, expression: str) -> None:
    e.topic()
    response = e.pull(0, expression=expression, kind=SQL).response
    assert response is not None
    assert (response.code, response.remark) == (1, "The broker does not support consumer to filter message by SQL92")


@pytest.mark.parametrize(("expression", "kind", "found"), FOUND)
@through(*ALL)
def test_an_ordered_pop_with_an_expression_returns_one_match_after_another(
    e: ProtocolClient, expression: str, kind: str, found: list[bytes]
) -> None:
    """An ordered pop of one message returns the next match once the previous one is acknowledged.

    Messages in between do not block the queue.
    """
    e.fifo()
    fill(e, "g")
    seen = []
    while taken := e.take(order=True, count=1, expression=expression, kind=kind):
        assert e.bodies(order=True, expression=expression, kind=kind) == []
        seen += [message.body for message in taken]
        e.ack(*handles(taken))
    assert seen == found


@pytest.mark.parametrize(
    ("expression", "kind", "again"), [("red", TAG, [b"large red", b"small red"]), ("size > 3", SQL, [b"large"])]
)
@through(*ALL)
def test_redelivered_messages_are_filtered_by_the_new_pops_expression(
    e: ProtocolClient, expression: str, kind: str, again: list[bytes]
) -> None:
    """A pop filters redelivered messages by its own expression and skips those that do not match."""
    e.topic()
    e.group()
    fill(e)
    assert len(e.bodies()) == len(MESSAGES)
    e.advance(15_000)
    assert sorted(e.bodies(expression=expression, kind=kind)) == again
    assert e.bodies() == []


@through(*ALL)
def test_tags_with_the_same_hash_match_at_the_broker_but_not_at_the_proxy(e: ProtocolClient) -> None:
    """The broker compares hash codes of tags, so tags with the same hash match.

    The proxy compares the tags themselves and acknowledges messages that do not match.
    """
    e.topic()
    e.group()
    for tag in ("BB", "Aa", "BB"):
        e.put(tag.encode(), tag=tag)
    assert e.bodies(expression="Aa") == ([b"Aa"] if e.proxied else [b"BB", b"Aa", b"BB"])
    e.advance(15_000)
    assert e.bodies(expression="Aa") == ([b"Aa"] if e.proxied else [b"BB", b"Aa", b"BB"])
