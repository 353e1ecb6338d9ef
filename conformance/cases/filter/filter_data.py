"""SQL92 expressions of heartbeats that the broker stores with a version (ConsumerFilterManager)."""

from collections.abc import Sequence

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import VARIED, with_keys
from ...worlds.remoting import Remoting

RED, BLUE, BROKEN = "color = 'red'", "color = 'blue'", "color ="


class _Group:
    """A group whose single client subscribes to a topic with a red and a blue message."""

    def __init__(self, t: Remoting) -> None:
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
        self.t.ask(RequestCode.UNREGISTER_CLIENT, ext, to=self.connection)

    def see(self, label: str, versions: Sequence[int]) -> None:
        """Record the results of pulls that name only the subscription's version, not its expression."""
        for version in versions:
            answer = self.t.pull(self.topic, self.name, sysFlag=0, subVersion=version, to=self.connection)
            self.t.see(f"{label}, version {version}", answer.found)


@remoting_case("PullMessageProcessor.processRequest")
def an_empty_expression_is_not_kept(t: Remoting) -> None:
    """A newer heartbeat with an empty SQL92 expression does not replace the old one, but its pulls are rejected."""
    group = _Group(t)
    group.wants(RED, 1)
    group.see("red", (0, 1, 2))
    group.wants("", 2)
    group.see("empty", (1, 2, 3))
    group.wants(BLUE, 3)
    group.see("blue", (1, 2, 3))


@remoting_case("ConsumerFilterManager.FilterDataMapByTopic.register")
def a_broken_expression_removes_the_old_one(t: Remoting) -> None:
    """A newer heartbeat with an expression that does not compile removes the old one; an older one has no effect."""
    group = _Group(t)
    group.wants(RED, 5)
    group.wants(BROKEN, 4)
    group.see("broken and older", (5,))
    group.wants(BROKEN, 5)
    group.see("broken and as old", (5,))
    group.wants(BROKEN, 6)
    group.see("broken and newer", (5, 6))
    group.wants(BLUE, 6)
    group.see("as old as the broken one", (6,))
    group.wants(BLUE, 7)
    group.see("newer", (7,))


@remoting_case("ConsumerFilterManager.unRegister")
def an_expression_outlives_its_group(t: Remoting) -> None:
    """A group that unregisters and returns with an older version is filtered by its former expression."""
    group = _Group(t)
    group.wants(RED, 5)
    group.leaves()
    group.wants(BLUE, 3)
    group.see("older", (3, 5))
    group.leaves()
    group.wants(BLUE, 5)
    group.see("as old", (5,))
    group.leaves()
    group.wants(BLUE, 6)
    group.see("newer", (6,))


@remoting_case("ConsumerFilterManager.register")
def tags_leave_an_expression_alone(t: Remoting) -> None:
    """An SQL92 expression is kept while the group subscribes by tag, and is used again with SQL92."""
    group = _Group(t)
    group.wants(RED, 5)
    group.wants("*", 6, "TAG")
    group.see("tags", (6,))
    group.wants("", 7)
    group.see("empty", (5, 7))


@remoting_case("ConsumerFilterManager.build")
def a_kind_that_nobody_knows_is_not_kept(t: Remoting) -> None:
    """An expression of an unknown type is not stored and removes the old one. Pulls that rely on it are rejected."""
    group = _Group(t)
    group.wants(RED, 1, "SQL")
    group.see("unknown kind", (1,))
    group.wants(RED, 2)
    group.see("SQL92", (2,))
    group.wants(RED, 3, "sql92")
    group.see("in small letters", (2, 3))


FORGETFUL = with_keys(VARIED, "filterDataCleanTimeSpan")
_WRITTEN_SECONDS = 12
"""Seconds after which the broker has persisted the expressions. It removes expired ones then, every 10 s."""


@remoting_case("ConsumerFilterManager.clean", settings=FORGETFUL)
def an_expression_of_nobody_is_forgotten_in_time(t: Remoting) -> None:
    """An expression without consumers expires after filterDataCleanTimeSpan; one with a consumer is kept."""
    gone, there = _Group(t), _Group(t)
    for group in (gone, there):
        group.wants(RED, 5)
    gone.leaves()
    t.wait(_WRITTEN_SECONDS)
    for label, group in (("gone", gone), ("there", there)):
        group.wants(BLUE, 3)
        group.see(label, (3, 5))
