"""SQL92 expressions of heartbeats that the broker stores with a version (ConsumerFilterManager)."""

from collections.abc import Sequence

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.settings import CHANGED_KEYS, shared_settings

RED, BLUE, BROKEN = "color = 'red'", "color = 'blue'", "color ="


class _Group:
    """A group whose single client subscribes to a topic with a red and a blue message."""

    def __init__(self, t: RemotingContext) -> None:
        self.t, self.topic, self.name = t, t.topic(queues=1), t.group()
        self.client = t.new("client")
        self.connection: RemotingClient | None = None
        t.readable(self.topic, *(t.send(self.topic, each, properties={"color": each}) for each in ("red", "blue")))

    def wants(self, expression: str, version: int, kind: str = "SQL92") -> None:
        """Send a heartbeat with an expression of a version."""
        if self.connection is None:
            self.connection = self.t.connect()
        groups = {self.name: {self.topic: expression}}
        self.t.heartbeat(self.client, groups=groups, expression_type=kind, version=version, to=self.connection)

    def leaves(self) -> None:
        """Unregister the client, so that the broker removes the group."""
        ext = {"clientID": self.client, "consumerGroup": self.name}
        self.t.request(RequestCode.UNREGISTER_CLIENT, ext, to=self.connection)

    def note(self, label: str, versions: Sequence[int]) -> None:
        """Record the results of pulls that name only the subscription's version, not its expression."""
        for version in versions:
            response = self.t.pull(self.topic, self.name, sysFlag=0, subVersion=version, to=self.connection)
            self.t.note(f"{label}, version {version}", response.found)


@remoting_case("PullMessageProcessor.processRequest")
def an_empty_expression_is_not_kept(t: RemotingContext) -> None:
    """A newer heartbeat with an empty SQL92 expression does not replace the old one, but its pulls are rejected."""
    group = _Group(t)
    group.wants(RED, 1)
    group.note("red", (0, 1, 2))
    group.wants("", 2)
    group.note("empty", (1, 2, 3))
    group.wants(BLUE, 3)
    group.note("blue", (1, 2, 3))


@remoting_case("ConsumerFilterManager.FilterDataMapByTopic.register")
def a_broken_expression_removes_the_old_one(t: RemotingContext) -> None:
    """A newer heartbeat with an expression that does not compile removes the old one; an older one has no effect."""
    group = _Group(t)
    group.wants(RED, 5)
    group.wants(BROKEN, 4)
    group.note("broken and older", (5,))
    group.wants(BROKEN, 5)
    group.note("broken and as old", (5,))
    group.wants(BROKEN, 6)
    group.note("broken and newer", (5, 6))
    group.wants(BLUE, 6)
    group.note("as old as the broken one", (6,))
    group.wants(BLUE, 7)
    group.note("newer", (7,))


@remoting_case("ConsumerFilterManager.unRegister")
def an_expression_outlives_its_group(t: RemotingContext) -> None:
    """A group that unregisters and returns with an older version is filtered by its former expression."""
    group = _Group(t)
    group.wants(RED, 5)
    group.leaves()
    group.wants(BLUE, 3)
    group.note("older", (3, 5))
    group.leaves()
    group.wants(BLUE, 5)
    group.note("as old", (5,))
    group.leaves()
    group.wants(BLUE, 6)
    group.note("newer", (6,))


@remoting_case("ConsumerFilterManager.register")
def a_tag_subscription_keeps_the_stored_sql_expression(t: RemotingContext) -> None:
    """An SQL92 expression is kept while the group subscribes by tag, and is used again with SQL92."""
    group = _Group(t)
    group.wants(RED, 5)
    group.wants("*", 6, "TAG")
    group.note("tags", (6,))
    group.wants("", 7)
    group.note("empty", (5, 7))


@remoting_case("ConsumerFilterManager.build")
def an_expression_of_unknown_type_removes_the_stored_one(t: RemotingContext) -> None:
    """An expression of an unknown type is not stored and removes the old one. Pulls that rely on it are rejected."""
    group = _Group(t)
    group.wants(RED, 1, "SQL")
    group.note("unknown kind", (1,))
    group.wants(RED, 2)
    group.note("SQL92", (2,))
    group.wants(RED, 3, "sql92")
    group.note("in small letters", (2, 3))


SHORT_EXPIRY = shared_settings(CHANGED_KEYS, "filterDataCleanTimeSpan")
_WRITTEN_SECONDS = 12
"""Seconds after which the broker has persisted the expressions. It removes expired ones then, every 10 s."""


@remoting_case("ConsumerFilterManager.clean", settings=SHORT_EXPIRY)
def a_stored_expression_without_consumers_expires(t: RemotingContext) -> None:
    """An expression without consumers expires after filterDataCleanTimeSpan; one with a consumer is kept."""
    gone, there = _Group(t), _Group(t)
    for group in (gone, there):
        group.wants(RED, 5)
    gone.leaves()
    t.wait(_WRITTEN_SECONDS)
    for label, group in (("gone", gone), ("there", there)):
        group.wants(BLUE, 3)
        group.note(label, (3, 5))
