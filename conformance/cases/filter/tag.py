"""TAG filters: the messages that a tag expression matches."""

from ...case import remoting_case
from ...context.remoting import RemotingContext

TAGGED = (
    ("a", "A"),
    ("b", "B"),
    ("Aa", "Aa"),
    ("BB", "BB"),
    ("none", None),
    ("star", "*"),
    ("a|b", "A|B"),
    (" a ", " A "),
)
"""Body and tag of the messages in most cases. `Aa` and `BB` have the same hash."""


def _tagged(t: RemotingContext) -> str:
    topic = t.topic(queues=1)
    t.readable(topic, *(t.send(topic, body, tag=tag) for body, tag in TAGGED))
    return topic


@remoting_case("FilterAPI.buildSubscriptionData")
def a_tag_finds_its_messages(t: RemotingContext) -> None:
    """A tag expression matches the messages with one of its tags; `*`, an empty or no expression matches all."""
    topic, group = _tagged(t), t.group()
    for expression in ("A", "A||B", "B||A||C", "C", "*", "", None):
        t.note(f"expression {expression}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def tags_of_an_expression_are_trimmed(t: RemotingContext) -> None:
    """Blanks around a tag in an expression and empty tags are ignored. A message's own tag is not trimmed."""
    topic, group = _tagged(t), t.group()
    for expression in (" A ", "A || B", "A||", "||A", "A||||B"):
        t.note(f"expression {expression!r}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def only_double_bars_divide_tags(t: RemotingContext) -> None:
    """A single bar or a comma does not separate tags, and `*` together with other tags is an ordinary tag."""
    topic, group = _tagged(t), t.group()
    for expression in ("A|B", "A,B", "**", "*||A", "   "):
        t.note(f"expression {expression!r}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def a_tag_expression_of_bars_only_is_rejected(t: RemotingContext) -> None:
    """A tag expression of bars only is a parse error."""
    topic, group = _tagged(t), t.group()
    t.note("pulled", t.pull(topic, group, expression="||"), 23)
    t.note("popped", t.pop(topic, group, expression="||"), 23)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def tags_are_compared_by_their_hash(t: RemotingContext) -> None:
    """The broker compares tag hashes: a tag also matches messages with another tag of the same hash."""
    topic, group = _tagged(t), t.group()
    t.note("Aa pulled", t.pull(topic, group, expression="Aa").found)
    t.note("BB pulled", t.pull(topic, group, expression="BB").found)
    t.note("Aa popped", t.pop(topic, group, expression="Aa").found)


@remoting_case("MessageExtBrokerInner.tagsString2tagsCode")
def tags_may_be_of_any_script(t: RemotingContext) -> None:
    """A tag may contain any characters."""
    topic, group = t.topic(queues=1), t.group()
    tags = ("größe", "标签", "\N{GRINNING FACE}", "a b", "x" * 200)
    t.readable(topic, *(t.send(topic, f"m{number}", tag=tag) for number, tag in enumerate(tags)))
    for number, tag in enumerate(tags):
        t.note(f"tag {number}", t.pull(topic, group, expression=tag).found)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_matches_returns_at_once_with_the_next_offset(t: RemotingContext) -> None:
    """A pull that matches no message returns at once, with the offset after the examined messages."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5, tag="A")
    t.note("from 0", t.pull(topic, group, expression="B"), 20)
    t.note("from 0, although it would wait", t.pull(topic, group, expression="B", suspend_ms=10_000), 20)
    t.note("from 5", t.pull(topic, group, offset=5, expression="B"), 19)


@remoting_case("DefaultMessageStore.getMessage")
def messages_skipped_by_a_filter_do_not_count_to_the_pull_limit(t: RemotingContext) -> None:
    """A pull for two messages continues past skipped messages until it has two."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, f"m{number}", tag="AB"[number % 2]) for number in range(8)))
    t.note("first", t.pull(topic, group, expression="B", max_messages=2), 0)
    t.note("then", t.pull(topic, group, offset=4, expression="B", max_messages=2), 0)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_without_matches_moves_the_offset_past_skipped_messages(t: RemotingContext) -> None:
    """A pop that matches no message returns none, and the group's offset passes the skipped messages."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5, tag="A")
    t.note("popped", t.pop(topic, group, expression="B"), 210)
    t.until(lambda: t.committed(topic, group)["offset"] == "5", 3)
    t.note("offset", t.committed(topic, group), 0)
    t.note("popped by the tag", t.pop(topic, group, expression="A"), 210)


@remoting_case("FilterAPI.build")
def a_pull_with_an_unknown_expression_type_returns_all_messages(t: RemotingContext) -> None:
    """A pull with an unknown expression type returns all messages, and one with an empty type none.

    Without a type the expression consists of tags.
    """
    topic, group = _tagged(t), t.group()
    for kind in (None, "", "tag", "FOO"):
        t.note(f"type {kind}", t.pull(topic, group, expression="A", type=kind).found)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_refuses_unknown_expression_types(t: RemotingContext) -> None:
    """A pop with an unknown expression type is rejected; with an empty type it returns no message.

    Without a type the expression consists of tags.
    """
    topic = _tagged(t)
    for kind in (None, "", "tag", "FOO"):
        t.note(f"type {kind}", t.pop(topic, t.group(), expression="A", type=kind).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def a_pop_filters_as_a_pull_does(t: RemotingContext) -> None:
    """Pops and pulls with the same tag expression return the same messages."""
    topic = _tagged(t)
    for expression in ("A", " A ", "A||B", "||A", "A|B", "*||A", "*", "", None):
        t.note(f"expression {expression!r}", t.pop(topic, t.group(), expression=expression).found)
