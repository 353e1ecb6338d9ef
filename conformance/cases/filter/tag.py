"""TAG filters: the messages that a tag expression matches."""

from ...case import remoting_case
from ...worlds.remoting import Remoting

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


def _tagged(t: Remoting) -> str:
    topic = t.topic(queues=1)
    t.readable(topic, *(t.send(topic, body, tag=tag) for body, tag in TAGGED))
    return topic


@remoting_case("FilterAPI.buildSubscriptionData")
def a_tag_finds_its_messages(t: Remoting) -> None:
    """A tag expression matches the messages with one of its tags; `*`, an empty or no expression matches all."""
    topic, group = _tagged(t), t.group()
    for expression in ("A", "A||B", "B||A||C", "C", "*", "", None):
        t.see(f"expression {expression}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def tags_of_an_expression_are_trimmed(t: Remoting) -> None:
    """Blanks around a tag in an expression and empty tags are ignored. A message's own tag is not trimmed."""
    topic, group = _tagged(t), t.group()
    for expression in (" A ", "A || B", "A||", "||A", "A||||B"):
        t.see(f"expression {expression!r}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def only_double_bars_divide_tags(t: Remoting) -> None:
    """A single bar or a comma does not separate tags, and `*` together with other tags is an ordinary tag."""
    topic, group = _tagged(t), t.group()
    for expression in ("A|B", "A,B", "**", "*||A", "   "):
        t.see(f"expression {expression!r}", t.pull(topic, group, expression=expression).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def bars_alone_are_refused(t: Remoting) -> None:
    """A tag expression of bars only is a parse error."""
    topic, group = _tagged(t), t.group()
    t.see("pulled", t.pull(topic, group, expression="||"), 23)
    t.see("popped", t.pop(topic, group, expression="||"), 23)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def tags_are_compared_by_their_hash(t: Remoting) -> None:
    """The broker compares tag hashes: a tag also matches messages with another tag of the same hash."""
    topic, group = _tagged(t), t.group()
    t.see("Aa pulled", t.pull(topic, group, expression="Aa").found)
    t.see("BB pulled", t.pull(topic, group, expression="BB").found)
    t.see("Aa popped", t.pop(topic, group, expression="Aa").found)


@remoting_case("MessageExtBrokerInner.tagsString2tagsCode")
def tags_may_be_of_any_script(t: Remoting) -> None:
    """A tag may contain any characters."""
    topic, group = t.topic(queues=1), t.group()
    tags = ("größe", "标签", "\N{GRINNING FACE}", "a b", "x" * 200)
    t.readable(topic, *(t.send(topic, f"m{number}", tag=tag) for number, tag in enumerate(tags)))
    for number, tag in enumerate(tags):
        t.see(f"tag {number}", t.pull(topic, group, expression=tag).found)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_that_matches_nothing_moves_on(t: Remoting) -> None:
    """A pull that matches no message returns at once, with the offset after the examined messages."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5, tag="A")
    t.see("from 0", t.pull(topic, group, expression="B"), 20)
    t.see("from 0, although it would wait", t.pull(topic, group, expression="B", suspend_ms=10_000), 20)
    t.see("from 5", t.pull(topic, group, offset=5, expression="B"), 19)


@remoting_case("DefaultMessageStore.getMessage")
def filtered_messages_do_not_count(t: Remoting) -> None:
    """A pull for two messages continues past skipped messages until it has two."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, f"m{number}", tag="AB"[number % 2]) for number in range(8)))
    t.see("first", t.pull(topic, group, expression="B", max_messages=2), 0)
    t.see("then", t.pull(topic, group, offset=4, expression="B", max_messages=2), 0)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_that_matches_nothing_moves_on(t: Remoting) -> None:
    """A pop that matches no message returns none, and the group's offset passes the skipped messages."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5, tag="A")
    t.see("popped", t.pop(topic, group, expression="B"), 210)
    t.until(lambda: t.committed(topic, group)["offset"] == "5", 3)
    t.see("offset", t.committed(topic, group), 0)
    t.see("popped by the tag", t.pop(topic, group, expression="A"), 210)


@remoting_case("FilterAPI.build")
def an_unknown_expression_type_filters_nothing_in_a_pull(t: Remoting) -> None:
    """A pull with an unknown expression type returns all messages; without a type the expression consists of tags."""
    topic, group = _tagged(t), t.group()
    for kind in (None, "", "tag", "FOO"):
        t.see(f"type {kind}", t.pull(topic, group, expression="A", type=kind).found)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_refuses_unknown_expression_types(t: Remoting) -> None:
    """A pop with an unknown expression type is rejected; with an empty type it returns no message."""
    topic = _tagged(t)
    for kind in (None, "", "tag", "FOO"):
        t.see(f"type {kind}", t.pop(topic, t.group(), expression="A", type=kind).found)


@remoting_case("FilterAPI.buildSubscriptionData")
def a_pop_filters_as_a_pull_does(t: Remoting) -> None:
    """Pops and pulls with the same tag expression return the same messages."""
    topic = _tagged(t)
    for expression in ("A", " A ", "A||B", "||A", "A|B", "*||A", "*", "", None):
        t.see(f"expression {expression!r}", t.pop(topic, t.group(), expression=expression).found)
