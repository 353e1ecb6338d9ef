"""The interests of groups, from an emulator's journal: topics, filters, and the offsets at which they started."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rocketmq_testkit.emulator.client.consumer_kind import kind_of
from rocketmq_testkit.emulator.client.consumption import committed_by_pull
from rocketmq_testkit.emulator.filter.message_filter import EVERYTHING, TAG
from rocketmq_testkit.emulator.filter.sql_filter import compile_sql
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, INIT_MIN

from .events import Event, EventKind, wanted_tags

Line = Mapping[str, Any]
"""A line of an emulator's journal, in the format of the control port."""


class MessagePosition(NamedTuple):
    """Position of a message: node, topic, queue and offset."""

    node: str
    topic: str
    queue_id: int
    offset: int

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "MessagePosition":
        """Return the position of a message in the format of the control port."""
        return cls(message["broker"], message["topic"], message["queue_id"], message["queue_offset"])


@dataclass(frozen=True, slots=True)
class MessageIdentity:
    """Identity of a message: the topic to which it was sent (not that of a copy), its id and its properties."""

    topic: str
    message_id: str
    properties: Mapping[str, str]
    stored_ms: int

    def event(self, ms: int, kind: EventKind, group: str | None = None, **more: Any) -> Event:
        """Create an event of this message."""
        get = self.properties.get
        return Event(
            ms * 1000,
            kind,
            self.topic,
            self.message_id,
            group=group,
            message_group=get(props.SHARDING_KEY),
            keys=get(props.KEYS),
            tags=get(props.TAGS),
            **more,
        )


@dataclass(slots=True)
class Interest:
    """A group's requests for a topic, and the offset at which it started to read each queue."""

    since_ms: int
    expressions: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of (type, expression)."""
    from_end: bool = False
    """True if the group pops and starts with messages that arrive later."""
    floors: dict[tuple[str, int], int] = field(default_factory=dict)
    """The lowest offset that the group requested or received, by node and queue."""

    @property
    def tags(self) -> str | None:
        """The filter as one tag expression; None for all messages, or if tags cannot express it."""
        if any(type_ != TAG for type_, _ in self.expressions):
            return None
        return " || ".join(sorted(expression for _, expression in self.expressions)) or None

    def lower(self, node: str, queue_id: int, offset: int) -> None:
        """Record that the group read at this offset."""
        self.floors[node, queue_id] = min(offset, self.floors.get((node, queue_id), offset))

    def must_receive(self, place: MessagePosition, named: MessageIdentity) -> bool:
        """True if the group reads from the message's position on, and its filter matches the message."""
        if not any(_matches(type_, expression, named) for type_, expression in self.expressions):
            return False
        floor = self.floors.get((place.node, place.queue_id))
        if floor is not None:
            return place.offset >= floor
        return not self.from_end or named.stored_ms >= self.since_ms


def _matches(type_: str, expression: str, named: MessageIdentity) -> bool:
    if type_ != TAG:
        return compile_sql(expression).matches(named.properties)
    wanted = wanted_tags(expression)
    return wanted is None or named.properties.get(props.TAGS) in wanted


def interests(lines: Iterable[Line]) -> tuple[dict[tuple[str, str], Interest], set[str]]:
    """Return the interests by group and topic, and the groups that acknowledge messages."""
    asked = _InterestCollector()
    for line in lines:
        # A refused request changed nothing, so it creates no interest. The line of a rule of faults is no request.
        if line["event"] in ("refused", "faulted"):
            continue
        subject = line["subject"]
        match line["operation"]:
            case "Heartbeat":
                asked.heartbeat(subject)
            case "PopMessage":
                asked.popped(line, subject)
            case "PullMessage":
                asked.pulled(line, subject)
            case "UpdateConsumerOffset":
                asked.consuming.add(subject["consumer_group"])
            case "SendMessageBack":
                asked.consuming.add(subject["group"])
    return asked.found, {group for group in asked.consuming - asked.broadcasting if not _is_tool(group)}


def _filter(expression_type: str | None, expression: str | None) -> tuple[str, str]:
    """Return a filter as (type, expression); the default is all messages."""
    return expression_type or TAG, expression or EVERYTHING


def _is_tool(group: str) -> bool:
    return group in names.PREDEFINED_GROUPS or group.startswith(names.SYSTEM_GROUP_PREFIX)


class _InterestCollector:
    def __init__(self) -> None:
        self.found: dict[tuple[str, str], Interest] = {}
        self.consuming: set[str] = set()
        self.broadcasting: set[str] = set()
        self._subscribed: dict[tuple[str, str], tuple[str, str]] = {}
        """Filters of heartbeats, by group and topic."""

    def heartbeat(self, subject: Line) -> None:
        for consumer in subject["consumers"]:
            group = consumer["group"]
            kind = kind_of(consumer["consume_type"], consumer["message_model"])
            (self.consuming if kind.reports_progress else self.broadcasting).add(group)
            for each in consumer["subscriptions"]:
                self._subscribed[group, each["topic"]] = _filter(each["expression_type"], each["sub_string"])

    def popped(self, line: Line, subject: Line) -> None:
        group = subject["consumer_group"]
        self.consuming.add(group)
        interest = self._interest(line, group, subject["topic"])
        if interest is not None:
            interest.expressions.add(_filter(subject["exp_type"], subject["exp"]))
            interest.from_end |= subject["init_mode"] != INIT_MIN

    def pulled(self, line: Line, subject: Line) -> None:
        group, topic = subject["consumer_group"], subject["topic"]
        if (committed_by_pull(subject["sys_flag"], subject["commit_offset"]) or 0) > 0:
            self.consuming.add(group)
        interest = self._interest(line, group, topic)
        if interest is not None:
            wanted = self._subscribed.get((group, topic), _filter(None, None))
            if subject["sys_flag"] & FLAG_SUBSCRIPTION:
                wanted = _filter(subject["expression_type"], subject["subscription"])
            interest.expressions.add(wanted)
            interest.lower(line["node"], subject["queue_id"], subject["queue_offset"])

    def _interest(self, line: Line, group: str, topic: str) -> Interest | None:
        if names.is_retry(topic):
            return None
        return self.found.setdefault((group, topic), Interest(line["now_ms"]))
