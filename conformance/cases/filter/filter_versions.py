"""Changing subscriptions, and consumers of one group with different subscriptions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...targets.target import Capability
from ...worlds.filtered import check
from ...worlds.remoting import Remoting, java_hash, subscription

RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
RED, BLUE = "color = 'red'", "color = 'blue'"
NO_HASH = "f5a5a608"
"""A tag whose hash is 0, like that of a message without tag."""


class _Group:
    """A group of a topic with a red, a blue and an untagged message, whose clients have one connection each."""

    def __init__(self, t: Remoting) -> None:
        self.t, self.topic, self.name = t, t.topic(queues=1), t.group()
        colors = ("red", "blue")
        sends = [t.send(self.topic, each, tag=each, properties={"color": each}) for each in colors]
        t.readable(self.topic, *sends, t.send(self.topic, "none"))

    def beat(self, client: RemotingClient, version: int, expression: str, kind: str = "TAG", **more: Any) -> None:
        """Send a heartbeat over a client's connection. `more`: members of the subscription."""
        data = {**subscription(self.topic, expression, kind, version), **more}
        consumer = {
            "groupName": self.name,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "subscriptionDataSet": [data],
        }
        self.t.heartbeat(f"{self.name}-{id(client)}", consumerDataSet=[consumer], to=client)

    def see(self, label: str, *versions: int, to: RemotingClient | None = None) -> None:
        """Record the results of pulls that name only the subscription's version, not its expression."""
        for version in versions or (0,):
            answer = self.t.pull(self.topic, self.name, sysFlag=0, subVersion=version, to=to)
            self.t.see(f"{label}, version {version}", answer.found)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def consumers_that_do_not_agree(t: Remoting) -> None:
    """If consumers of a group subscribe to different tags, the newest subscription counts for all."""
    group, first, second = _Group(t), t.connect(), t.connect()
    group.beat(first, 1, "red")
    group.see("first", 1)
    group.beat(second, 2, "blue")
    group.see("second", 1, 2)
    group.beat(first, 1, "red")
    group.see("first again", 1, 2)
    group.beat(first, 3, "red || blue")
    group.see("first, newer", 2, 3, to=second)
    group.beat(second, 3, "blue")
    group.see("second, as new", 3)
    t.disconnect(first)
    group.see("first is gone", 3)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def consumers_that_want_tags_and_sql(t: Remoting) -> None:
    """If consumers of a group subscribe by tag and by SQL92, the newest subscription counts. Older ones are ignored."""
    group, first, second = _Group(t), t.connect(), t.connect()
    group.beat(first, 1, "red")
    group.beat(second, 2, BLUE, "SQL92")
    group.see("SQL92 is newer", 1, 2)
    group.beat(first, 3, "red")
    group.see("tags are newer", 2, 3)
    group.beat(second, 2, BLUE, "SQL92")
    group.see("SQL92 is older", 2, 3)
    group.beat(second, 4, RED, "SQL92")
    group.see("SQL92 is newest", 3, 4)


@remoting_case("ConsumerManager.unregisterConsumer")
def a_group_that_comes_back_wants_anew(t: Remoting) -> None:
    """When all consumers have left, the next consumer's tags count, even with an older version."""
    group, first = _Group(t), t.connect()
    group.beat(first, 5, "red")
    group.see("before", 5)
    t.disconnect(first)
    t.until(lambda: t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group.name}).code != 0, 5)
    group.see("nobody", 0)
    group.beat(t.connect(), 2, "blue")
    group.see("older", 2, 5)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def hashes_of_a_heartbeat_count(t: Remoting) -> None:
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
        group.see(label, version)


@remoting_case("MessageExtBrokerInner.tagsString2tagsCode")
def a_tag_whose_hash_is_nought(t: Remoting) -> None:
    """A message without a tag has the hash 0, so a tag with that hash matches it as well."""
    t.require(java_hash(NO_HASH) == 0, f"{NO_HASH} has another hash")
    group = _Group(t)
    t.readable(group.topic, t.send(group.topic, "nought", tag=NO_HASH), t.send(group.topic, "empty", tag=""))
    t.see("pulled", t.pull(group.topic, group.name, expression=NO_HASH).found)
    t.see("popped", t.pop(group.topic, group.name, expression=NO_HASH).bodies)


@remoting_case("FilterAPI.buildSubscriptionData")
def only_small_characters_are_trimmed(t: Remoting) -> None:
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
        t.see(label, t.pull(topic, t.group(), expression=expression).found)


@remoting_case("PullMessageProcessor.processRequest")
def an_expression_of_a_pull_is_its_own(t: Remoting) -> None:
    """A pull with an expression is filtered by it and does not change the group's subscription."""
    group, client = _Group(t), t.connect()
    group.beat(client, 5, "red")
    for expression, kind in (("blue", "TAG"), (BLUE, "SQL92"), ("*", "TAG")):
        t.see(expression, t.pull(group.topic, group.name, expression=expression, type=kind, subVersion=9).found)
        group.see("of the group", 5)
    group.beat(client, 6, RED, "SQL92")
    for expression, kind in (("blue", "TAG"), (BLUE, "SQL92")):
        t.see(expression, t.pull(group.topic, group.name, expression=expression, type=kind).found)
        group.see("of the group by SQL92", 6)
    t.see("popped by blue", t.pop(group.topic, group.name, expression="blue").bodies)
    group.see("of the group that pops", 6)


@remoting_case("ClientManageProcessor.checkClientConfig")
def a_check_registers_nothing(t: Remoting) -> None:
    """CHECK_CLIENT_CONFIG stores no expression: neither a valid nor an invalid one changes the subscription."""
    group, client = _Group(t), t.connect()
    group.beat(client, 5, RED, "SQL92")
    t.see("good", check(t, group.name, group.topic, BLUE), 0)
    t.see("bad", check(t, group.name, group.topic, "color ="), 23)
    group.see("then", 5)


@remoting_case("ClientManageProcessor.checkClientConfig")
def odd_checks(t: Remoting) -> None:
    """CHECK_CLIENT_CONFIG accepts everything that it does not check. Missing parts return different errors."""
    topic, group = t.topic(queues=1), t.group()
    for kind in ("TAG", "", None, "SQL92", "sql92", "tag"):
        for expression in ("*", "", None):
            t.see(f"{expression} of {kind}", check(t, group, topic, expression, kind))
    for label, body in (
        ("empty object", b"{}"),
        ("no subscription", dumps({"clientId": "client", "group": group})),
        ("empty subscription", dumps({"subscriptionData": {}})),
        ("null", dumps({"subscriptionData": None})),
    ):
        t.see(label, t.ask(RequestCode.CHECK_CLIENT_CONFIG, None, body))


def _see_after(t: Remoting, group: _Group, versions: Sequence[tuple[int, str]]) -> None:
    for version, expression in versions:
        group.beat(t.connect(), version, expression, "SQL92")
        group.see(f"{expression} of version {version}", version)


@remoting_case("ConsumerFilterManager.decode", needs=RESTARTS, tidy=True)
def an_expression_outlives_a_restart(t: Remoting) -> None:
    """After a broker restart a newer expression replaces the stored one, and an older one does not."""
    group = _Group(t)
    group.beat(t.connect(), 5, RED, "SQL92")
    group.see("before", 5)
    t.restart()
    group.see("nobody", 5)
    _see_after(t, group, ((3, BLUE), (5, BLUE), (6, BLUE)))
