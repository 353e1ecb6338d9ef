"""What a broker keeps of the SQL92 expressions of heartbeats, which has a version of its own."""

from collections.abc import Sequence

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import VARIED, with_keys
from ...worlds.remoting import Remoting

RED, BLUE, BROKEN = "color = 'red'", "color = 'blue'", "color ="


class _Group:
    """A group whose one client says what it wants of a topic with a red and a blue message."""

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
        """Unregister: the broker forgets the group."""
        ext = {"clientID": self.client, "consumerGroup": self.name}
        self.t.ask(RequestCode.UNREGISTER_CLIENT, ext, to=self.connection)

    def see(self, label: str, versions: Sequence[int]) -> None:
        """Note what pulls find that bring no expression along, but its version."""
        for version in versions:
            answer = self.t.pull(self.topic, self.name, sysFlag=0, subVersion=version, to=self.connection)
            self.t.see(f"{label}, version {version}", answer.found)


@remoting_case("PullMessageProcessor.processRequest")
def an_empty_expression_is_not_kept(t: Remoting) -> None:
    """A newer heartbeat with an empty SQL92 expression leaves the old one in force; its own pulls are refused."""
    group = _Group(t)
    group.wants(RED, 1)
    group.see("red", (0, 1, 2))
    group.wants("", 2)
    group.see("empty", (1, 2, 3))
    group.wants(BLUE, 3)
    group.see("blue", (1, 2, 3))


@remoting_case("ConsumerFilterManager.FilterDataMapByTopic.register")
def a_broken_expression_removes_the_old_one(t: Remoting) -> None:
    """A newer heartbeat whose expression does not compile takes the old one away; an older one changes nothing."""
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
    """A group that left and came back with an older version gets what its former expression finds."""
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
    """An expression is kept while the group asks for tags, and still stands when it comes back to SQL92."""
    group = _Group(t)
    group.wants(RED, 5)
    group.wants("*", 6, "TAG")
    group.see("tags", (6,))
    group.wants("", 7)
    group.see("empty", (5, 7))


@remoting_case("ConsumerFilterManager.build")
def a_kind_that_nobody_knows_is_not_kept(t: Remoting) -> None:
    """An expression of an unknown kind is no expression: pulls that rely on it are refused, and the old one is gone."""
    group = _Group(t)
    group.wants(RED, 1, "SQL")
    group.see("unknown kind", (1,))
    group.wants(RED, 2)
    group.see("SQL92", (2,))
    group.wants(RED, 3, "sql92")
    group.see("in small letters", (2, 3))


FORGETFUL = with_keys(VARIED, "filterDataCleanTimeSpan")
_WRITTEN_SECONDS = 12
"""Brokers look for what they may forget when they write it down, every 10 s."""


@remoting_case("ConsumerFilterManager.clean", settings=FORGETFUL)
def an_expression_of_nobody_is_forgotten_in_time(t: Remoting) -> None:
    """What no consumer wants any more is forgotten after filterDataCleanTimeSpan; what one wants is kept."""
    gone, there = _Group(t), _Group(t)
    for group in (gone, there):
        group.wants(RED, 5)
    gone.leaves()
    t.wait(_WRITTEN_SECONDS)
    for label, group in (("gone", gone), ("there", there)):
        group.wants(BLUE, 3)
        group.see(label, (3, 5))
