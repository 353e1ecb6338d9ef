"""Changing subscriptions, and consumers of one group with different subscriptions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_members import consumer_data, java_hash, subscription
from ...context.remoting import RemotingContext
from ...deployment.target import Capability
from ...helpers.filtered import check

RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
RED, BLUE = "color = 'red'", "color = 'blue'"
NO_HASH = "f5a5a608"
"""A tag whose hash is 0, like that of a message without tag."""


class _Group:
    """A group of a topic with a red, a blue and an untagged message, whose clients have one connection each."""

    def __init__(self, t: RemotingContext) -> None:
        self.t, self.topic, self.name = t, t.topic(queues=1), t.group()
        colors = ("red", "blue")
        sends = [t.send(self.topic, each, tag=each, properties={"color": each}) for each in colors]
        t.readable(self.topic, *sends, t.send(self.topic, "none"))

    def beat(self, client: RemotingClient, version: int, expression: str, kind: str = "TAG", **more: Any) -> None:
        """Send a heartbeat over a client's connection. `more`: members of the subscription."""
        data = {**subscription(self.topic, expression, kind, version), **more}
        self.t.heartbeat(f"{self.name}-{id(client)}", consumerDataSet=[consumer_data(self.name, data)], to=client)

    def note(self, label: str, *versions: int, to: RemotingClient | None = None) -> None:
        """Record the results of pulls that name only the subscription's version, not its expression."""
        for version in versions or (0,):
            response = self.t.pull(self.topic, self.name, sysFlag=0, subVersion=version, to=to)
            self.t.note(f"{label}, version {version}", response.found)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def the_newest_tag_subscription_counts_for_all_consumers(t: RemotingContext) -> None:
    """If consumers of a group subscribe to different tags, the newest subscription counts for all."""
    group, first, second = _Group(t), t.connect(), t.connect()
    group.beat(first, 1, "red")
    group.note("first", 1)
    group.beat(second, 2, "blue")
    group.note("second", 1, 2)
    group.beat(first, 1, "red")
    group.note("first again", 1, 2)
    group.beat(first, 3, "red || blue")
    group.note("first, newer", 2, 3, to=second)
    group.beat(second, 3, "blue")
    group.note("second, as new", 3)
    t.disconnect(first)
    group.note("first is gone", 3)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def the_newest_of_tag_and_sql_subscriptions_counts_for_the_group(t: RemotingContext) -> None:
    """If consumers of a group subscribe by tag and by SQL92, the newest subscription counts. Older ones are ignored."""
    group, first, second = _Group(t), t.connect(), t.connect()
    group.beat(first, 1, "red")
    group.beat(second, 2, BLUE, "SQL92")
    group.note("SQL92 is newer", 1, 2)
    group.beat(first, 3, "red")
    group.note("tags are newer", 2, 3)
    group.beat(second, 2, BLUE, "SQL92")
    group.note("SQL92 is older", 2, 3)
    group.beat(second, 4, RED, "SQL92")
    group.note("SQL92 is newest", 3, 4)


@remoting_case("ConsumerManager.unregisterConsumer")
def tags_of_a_returning_group_count_even_with_an_older_version(t: RemotingContext) -> None:
    """When all consumers have left, the next consumer's tags count, even with an older version."""
    group, first = _Group(t), t.connect()
    group.beat(first, 5, "red")
    group.note("before", 5)
    t.disconnect(first)
    t.until(lambda: t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group.name}).code != 0, 5)
    group.note("nobody", 0)
    group.beat(t.connect(), 2, "blue")
    group.note("older", 2, 5)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def only_the_tag_hashes_of_a_heartbeat_are_compared(t: RemotingContext) -> None:
    """Only the tag hashes of a heartbeat are compared, and only if its expression is not `*`."""
    group, client = _Group(t), t.connect()
    wanted: Sequence[tuple[str, str, Mapping[str, Any]]] = (
        ("hashes of another tag", "red", {"codeSet": [java_hash("blue")]}),
        ("tags without hashes", "red", {"codeSet": []}),
        ("hashes without tags", "red", {"tagsSet": []}),
        ("star with hashes", "*", {"codeSet": [java_hash("blue")], "tagsSet": ["blue"]}),
        ("nothing with hashes", "", {"codeSet": [java_hash("blue")], "tagsSet": ["blue"]}),
        ("nothing", "", {}),
        ("class filter", "red", {"classFilterMode": True}),
        ("class filter and SQL92", BLUE, {"classFilterMode": True, "expressionType": "SQL92"}),
    )
    for version, (label, expression, members) in enumerate(wanted, 1):
        group.beat(client, version, expression, **members)
        group.note(label, version)


@remoting_case("MessageExtBrokerInner.tagsString2tagsCode")
def a_tag_with_hash_0_also_matches_untagged_messages(t: RemotingContext) -> None:
    """A message without a tag has the hash 0, so a tag with that hash matches it as well."""
    t.require(java_hash(NO_HASH) == 0, f"{NO_HASH} has another hash")
    group = _Group(t)
    t.readable(group.topic, t.send(group.topic, "nought", tag=NO_HASH), t.send(group.topic, "empty", tag=""))
    t.note("pulled", t.pull(group.topic, group.name, expression=NO_HASH).found)
    t.note("popped", t.pop(group.topic, group.name, expression=NO_HASH).bodies)


@remoting_case("FilterAPI.buildSubscriptionData")
def tags_are_trimmed_only_of_characters_up_to_u_0020(t: RemotingContext) -> None:
    """Tags are trimmed of all characters up to U+0020, including control characters.

    Other Unicode spaces belong to the tag.
    """
    topic = t.topic(queues=1)
    tags = ("A", "\N{NO-BREAK SPACE}A", "A\N{IDEOGRAPHIC SPACE}", "\x1fA", "a")
    t.readable(topic, *(t.send(topic, f"m{number}", tag=tag) for number, tag in enumerate(tags)))
    for label, expression in (
        ("plain", "A"),
        ("small", "a"),
        ("tab", "\tA\n"),
        ("control", "\x1fA\x07"),
        ("no-break space", "\N{NO-BREAK SPACE}A"),
        ("ideographic space", "A\N{IDEOGRAPHIC SPACE} || B"),
        ("only a no-break space", "\N{NO-BREAK SPACE}"),
        ("only control characters", "\x07"),
    ):
        t.note(label, t.pull(topic, t.group(), expression=expression).found)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_expression_does_not_change_the_group_subscription(t: RemotingContext) -> None:
    """A pull with an expression is filtered by it and does not change the group's subscription."""
    group, client = _Group(t), t.connect()
    group.beat(client, 5, "red")
    for expression, kind in (("blue", "TAG"), (BLUE, "SQL92"), ("*", "TAG")):
        t.note(expression, t.pull(group.topic, group.name, expression=expression, type=kind, subVersion=9).found)
        group.note("of the group", 5)
    group.beat(client, 6, RED, "SQL92")
    for expression, kind in (("blue", "TAG"), (BLUE, "SQL92")):
        t.note(expression, t.pull(group.topic, group.name, expression=expression, type=kind).found)
        group.note("of the group by SQL92", 6)
    t.note("popped by blue", t.pop(group.topic, group.name, expression="blue").bodies)
    group.note("of the group that pops", 6)


@remoting_case("ClientManageProcessor.checkClientConfig")
def check_client_config_does_not_change_the_subscription(t: RemotingContext) -> None:
    """CHECK_CLIENT_CONFIG stores no expression: neither a valid nor an invalid one changes the subscription."""
    group, client = _Group(t), t.connect()
    group.beat(client, 5, RED, "SQL92")
    t.note("good", check(t, group.name, group.topic, BLUE), 0)
    t.note("bad", check(t, group.name, group.topic, "color ="), 23)
    group.note("then", 5)


@remoting_case("ClientManageProcessor.checkClientConfig")
def check_client_config_accepts_unchecked_types_and_expressions(t: RemotingContext) -> None:
    """CHECK_CLIENT_CONFIG accepts everything that it does not check. Missing parts return different errors."""
    topic, group = t.topic(queues=1), t.group()
    for kind in ("TAG", "", None, "SQL92", "sql92", "tag"):
        for expression in ("*", "", None):
            t.note(f"{expression} of {kind}", check(t, group, topic, expression, kind=kind))
    for label, body in (
        ("empty object", b"{}"),
        ("no subscription", dumps({"clientId": "client", "group": group})),
        ("empty subscription", dumps({"subscriptionData": {}})),
        ("null", dumps({"subscriptionData": None})),
    ):
        t.note(label, t.request(RequestCode.CHECK_CLIENT_CONFIG, None, body))


def _note_after(t: RemotingContext, group: _Group, versions: Sequence[tuple[int, str]]) -> None:
    for version, expression in versions:
        group.beat(t.connect(), version, expression, "SQL92")
        group.note(f"{expression} of version {version}", version)


@remoting_case("ConsumerFilterManager.decode", needs=RESTARTS, tidy=True)
def an_expression_outlives_a_restart(t: RemotingContext) -> None:
    """After a broker restart a newer expression replaces the stored one, and an older one does not."""
    group = _Group(t)
    group.beat(t.connect(), 5, RED, "SQL92")
    group.note("before", 5)
    t.restart()
    group.note("nobody", 5)
    _note_after(t, group, ((3, BLUE), (5, BLUE), (6, BLUE)))
