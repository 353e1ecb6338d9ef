"""Subscriptions to only some of a topic's messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Style
from .retry import SECONDS, SHORT_LEVELS

Expression = str | Mapping[str, str]
"""Tags as a string, or `expr` and `type`."""


def _filtered(
    s: ScenarioContext,
    count: int,
    expression: Expression,
    messages: Sequence[tuple[str, Fields]],
    *,
    style: Style | None = None,
) -> Any:
    """Return the bodies of the received messages, which should be `count`; the last message must arrive."""
    topic, group = s.pair(style or s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, {topic: expression}, style)
    more = {"group": "one"} if style == "orderly" else {}
    for content, fields in messages:
        producer.send(topic, content, **fields, **more)
    # There is one queue: once the last message has arrived, all earlier ones have been filtered. Another client thread
    # may still be about to deliver one of them.
    s.wait_for(1, consumer, prefix=messages[-1][0])
    s.wait_for(count, consumer)
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
def a_tag_subscription_receives_only_messages_with_that_tag(s: ScenarioContext) -> None:
    """A subscription to one tag receives the messages with that tag and no others."""
    s.note("received", _filtered(s, 2, "red", _TAGGED))


@scenario("FilterAPI.buildSubscriptionData", verbs={"send"})
def a_subscription_to_two_tags_receives_messages_with_either(s: ScenarioContext) -> None:
    """A subscription to `red || blue` receives the messages with either tag."""
    s.note("received", _filtered(s, 3, "red || blue", _TAGGED))


_SIZED: Sequence[tuple[str, Fields]] = [
    ("small red", {"props": {"colour": "red", "size": "3"}}),
    ("large red", {"props": {"colour": "red", "size": "30"}}),
    ("large blue", {"props": {"colour": "blue", "size": "30"}}),
    ("no size", {"props": {"colour": "red"}}),
    ("tagged", {"tag": "x", "props": {"colour": "green", "size": "1"}}),
    ("last", {"props": {"colour": "red", "size": "31"}}),
]
_RED_OR_TAGGED = {"expr": "(colour = 'red' AND size > 5) OR TAGS = 'x'", "type": "SQL92"}
_NO_SQL = "its subscriptions support tags only"


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", verbs={"send"}, without={"cpp": _NO_SQL})
def an_sql92_subscription_receives_only_matching_messages(s: ScenarioContext) -> None:
    """A subscription with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED))


_HASHED: Sequence[tuple[str, Fields]] = [
    ("BBBB", {"tag": "BBBB"}),
    ("AaAa", {"tag": "AaAa"}),
    ("AaBB", {"tag": "AaBB"}),
    ("none", {}),
    ("other case", {"tag": "aaaa"}),
    ("last", {"tag": "AaAa"}),
]
"""Three tags with the same hash."""


@scenario("PullAPIWrapper.processPullResult", verbs={"send"})
def a_message_with_another_tag_of_equal_hash_is_not_received(s: ScenarioContext) -> None:
    """A message whose tag only has the hash of the wanted tag passes the broker; the SDK or the proxy drops it."""
    s.note("received", _filtered(s, 2, "AaAa", _HASHED))


@scenario("PullAPIWrapper.processPullResult", verbs={"send"})
def a_subscription_to_two_of_three_tags_of_equal_hash_excludes_the_third(s: ScenarioContext) -> None:
    """A subscription to two of three tags with the same hash receives only the messages with those two."""
    s.note("received", _filtered(s, 3, "AaBB || AaAa", _HASHED))


@scenario("FilterAPI.buildSubscriptionData", verbs={"send"})
def blanks_and_empty_tags_in_a_tag_list_are_ignored(s: ScenarioContext) -> None:
    """Blanks around tags and empty tags in a list of tags are ignored."""
    s.note("received", _filtered(s, 3, "  red  ||||blue|| ", _TAGGED))


@scenario("ConsumerGroupInfo.updateSubscription", verbs={"send"})
def a_consumer_restarted_with_another_tag_continues_at_the_group_offset(s: ScenarioContext) -> None:
    """A consumer that returns with another tag continues at its group's offset, with the messages of that tag."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    for label, wanted in (("first", "red"), ("then", "blue")):
        consumer = s.consumer(group, {topic: wanted})
        for tag in ("red", "blue", wanted):
            producer.send(topic, f"{label} {tag}", tag=tag)
        s.wait_for(2, consumer, prefix=label)
        s.wait_until_idle(consumer)
        s.note(label, sorted(consumer.bodies))
        s.until_committed(topic, group)
        s.leave(consumer)


@scenario("PopMessageProcessor.popMsgFromQueue", verbs={"simple", "receive"})
def a_message_filtered_out_by_one_consumer_is_skipped_for_its_group(s: ScenarioContext) -> None:
    """A message that the first receiving consumer of a group filters out is skipped.

    The group's other consumer does not receive it, although the tag matches.
    """
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumers = {wanted: s.consumer(group, {topic: wanted}) for wanted in ("red", "blue")}
    for number in range(2):
        for tag in consumers:
            producer.send(topic, f"{tag} {number}", tag=tag)
    for wanted, consumer in consumers.items():
        s.wait_until_idle(consumer)
        s.note(wanted, sorted(consumer.bodies))


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", modes={"concurrent"}, without={"cpp": _NO_SQL})
def a_concurrent_consumer_receives_only_sql92_matches(s: ScenarioContext) -> None:
    """A concurrent consumer with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED, style="concurrent"))


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", modes={"orderly"}, without={"cpp": _NO_SQL})
def an_orderly_consumer_receives_only_sql92_matches(s: ScenarioContext) -> None:
    """An orderly consumer with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED, style="orderly"))


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", modes={"broadcast"}, without={"cpp": _NO_SQL})
def a_broadcasting_consumer_receives_only_sql92_matches(s: ScenarioContext) -> None:
    """A broadcasting consumer with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED, style="broadcast"))


@scenario("PopMessageProcessor.popMsgFromQueue", modes={"pop"})
def a_popping_consumer_receives_only_sql92_matches(s: ScenarioContext) -> None:
    """A popping consumer with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED, style="pop"))


@scenario(
    "PullMessageProcessor.processRequest",
    verbs={"lite", "poll"},
    without={"cpp": _NO_SQL, "go-remoting": "its pull consumer sends the expression as a tag"},
)
def a_lite_pull_consumer_receives_only_sql92_matches(s: ScenarioContext) -> None:
    """A lite pull consumer with an SQL92 expression receives the messages whose properties satisfy it."""
    s.note("received", _filtered(s, 3, _RED_OR_TAGGED, _SIZED, style="lite"))


@scenario("ExpressionMessageFilter.isMatchedByCommitLog", modes={"orderly"})
def an_orderly_consumer_receives_only_messages_with_its_tags(s: ScenarioContext) -> None:
    """An orderly consumer receives the messages with its tags, and none whose tag only has the hash of one."""
    s.note("received", _filtered(s, 3, "AaAa || red", [*_HASHED[:-1], *_TAGGED], style="orderly"))


@scenario(
    "ConsumeMessageConcurrentlyService.processConsumeResult",
    modes={"concurrent"},
    settings=SHORT_LEVELS,
    time_passes=True,
    without={"cpp": _NO_SQL},
)
def a_failed_message_that_matched_sql92_is_redelivered(s: ScenarioContext) -> None:
    """A message that matched an SQL92 expression is redelivered after its consumption failed."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, {topic: _RED_OR_TAGGED}, "concurrent", fail={"large red": 1})
    for content, fields in _SIZED:
        producer.send(topic, content, **fields)
    s.wait_for(2, consumer, prefix="large red", seconds=SECONDS, jump_s=5)
    s.wait_for(1, consumer, prefix="last")
    s.wait_for(4, consumer)
    s.note(
        "received",
        sorted([body, message["attempt"]] for body, message in zip(consumer.bodies, consumer.messages, strict=True)),
    )


@scenario("MQClientInstance.checkClientInBroker", protocol="remoting", modes={"concurrent"}, without={"cpp": _NO_SQL})
def an_invalid_sql92_expression_fails_the_start_of_java_consumers(s: ScenarioContext) -> None:
    """A Java consumer has the broker check its SQL92 expression and does not start if it is invalid; Go's starts."""
    topic, group = s.pair("concurrent")
    unreadable = {"expr": "colour = = 'red'", "type": "SQL92"}
    s.refusal("start", lambda: s.consumer(group, {topic: unreadable}, "concurrent"))


@scenario("SqlFilter.compile", verbs={"simple"})
def a_receive_with_an_invalid_sql92_expression_is_refused(s: ScenarioContext) -> None:
    """A receive with an SQL92 expression that does not parse is rejected."""
    topic, group = s.pair("simple")

    def receive() -> None:
        s.consumer(group, {topic: {"expr": "colour =", "type": "SQL92"}}).receive()

    s.refusal("receive", receive)
