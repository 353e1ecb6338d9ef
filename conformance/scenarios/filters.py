"""Subscriptions that want only some of a topic's messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..drivers.process import Fields
from ..scenario import scenario
from ..stage import Stage


def _filtered(s: Stage, expression: str | Mapping[str, str], messages: Sequence[tuple[str, Fields]]) -> Any:
    """The bodies that come through; the last message must."""
    topic, group = s.pair(s.usual)
    producer = s.producer(topic)
    consumer = s.consumer(group, {topic: expression})
    for content, fields in messages:
        producer.send(topic, content, **fields)
    # One queue: when the last one is here, all before it were decided upon.
    s.wait_for(1, consumer, stem=messages[-1][0])
    return sorted(consumer.bodies)


_TAGGED: Sequence[tuple[str, Fields]] = [
    ("red", {"tag": "red"}),
    ("green", {"tag": "green"}),
    ("none", {}),
    ("other case", {"tag": "Red"}),
    ("blue", {"tag": "blue"}),
    ("last", {"tag": "red"}),
]


@scenario("ExpressionMessageFilter.isMatchedByConsumeQueue", verbs={"send"})
def one_tag_is_wanted(s: Stage) -> None:
    """A subscription to one tag is given the messages of that tag and no others."""
    s.see("received", _filtered(s, "red", _TAGGED))


@scenario("FilterAPI.buildSubscriptionData", verbs={"send"})
def one_of_two_tags_is_wanted(s: Stage) -> None:
    """A subscription to `red || blue` is given the messages of both tags."""
    s.see("received", _filtered(s, "red || blue", _TAGGED))


_SIZED: Sequence[tuple[str, Fields]] = [
    ("small red", {"props": {"colour": "red", "size": "3"}}),
    ("large red", {"props": {"colour": "red", "size": "30"}}),
    ("large blue", {"props": {"colour": "blue", "size": "30"}}),
    ("no size", {"props": {"colour": "red"}}),
    ("tagged", {"tag": "x", "props": {"colour": "green", "size": "1"}}),
    ("last", {"props": {"colour": "red", "size": "31"}}),
]
_NO_SQL = "its subscriptions take tags only"


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", verbs={"send"}, without={"cpp": _NO_SQL})
def an_expression_over_properties(s: Stage) -> None:
    """A subscription by SQL92 is given the messages whose properties make it true."""
    expression = {"expr": "(colour = 'red' AND size > 5) OR TAGS = 'x'", "type": "SQL92"}
    s.see("received", _filtered(s, expression, _SIZED))


@scenario("SqlFilter.compile", verbs={"simple"})
def an_expression_that_cannot_be_read(s: Stage) -> None:
    """A receive with an SQL92 expression that does not parse is refused."""
    topic, group = s.pair("simple")

    def receive() -> None:
        s.consumer(group, {topic: {"expr": "colour =", "type": "SQL92"}}).receive()

    s.refusal("receive", receive)
