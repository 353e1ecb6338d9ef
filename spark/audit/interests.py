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
    """True if the group pops and starts with messages that arrive after its first request."""
    lowest_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    """The lowest offset that the group requested or received, by node and queue."""

    @property
    def tags(self) -> str | None:
        """The filter as one tag expression; None for all messages, or if tags cannot express it."""
        if any(type_ != TAG for type_, _ in self.expressions):
            return None
        return " || ".join(sorted(expression for _, expression in self.expressions)) or None

    def read_at(self, node: str, queue_id: int, offset: int) -> None:
        """Record that the group read at this offset."""
        self.lowest_offsets[node, queue_id] = min(offset, self.lowest_offsets.get((node, queue_id), offset))

    def must_receive(self, place: MessagePosition, identity: MessageIdentity) -> bool:
        """True if the group reads from the message's position on, and its filter matches the message."""
        if not any(_matches(type_, expression, identity) for type_, expression in self.expressions):
            return False
        lowest = self.lowest_offsets.get((place.node, place.queue_id))
        if lowest is not None:
            return place.offset >= lowest
        return not self.from_end or identity.stored_ms >= self.since_ms


def _matches(type_: str, expression: str, identity: MessageIdentity) -> bool:
    if type_ != TAG:
        return compile_sql(expression).matches(identity.properties)
    wanted = wanted_tags(expression)
    return wanted is None or identity.properties.get(props.TAGS) in wanted


def interests(lines: Iterable[Line]) -> tuple[dict[tuple[str, str], Interest], set[str]]:
    """Return the interests by group and topic, and the groups that acknowledge messages."""
    collector = _InterestCollector()
    for line in lines:
        # A refused request changed nothing, so it creates no interest. The line of a rule of faults is no request.
        if line["event"] in ("refused", "faulted"):
            continue
        subject = line["subject"]
        match line["operation"]:
            case "Heartbeat":
                collector.heartbeat(subject)
            case "PopMessage":
                collector.popped(line, subject)
            case "PullMessage":
                collector.pulled(line, subject)
            case "UpdateConsumerOffset":
                collector.acknowledging.add(subject["consumer_group"])
            case "SendMessageBack":
                collector.acknowledging.add(subject["group"])
    return collector.found, {
        group for group in collector.acknowledging - collector.broadcasting if not _is_predefined(group)
    }


def _filter(expression_type: str | None, expression: str | None) -> tuple[str, str]:
    """Return a filter as (type, expression); the default is all messages."""
    return expression_type or TAG, expression or EVERYTHING


def _is_predefined(group: str) -> bool:
    """True for a group that upstream's own tools and services use."""
    return group in names.PREDEFINED_GROUPS or group.startswith(names.SYSTEM_GROUP_PREFIX)


class _InterestCollector:
    def __init__(self) -> None:
        self.found: dict[tuple[str, str], Interest] = {}
        self.acknowledging: set[str] = set()
        """Groups that acknowledge messages at the broker."""
        self.broadcasting: set[str] = set()
        """Groups whose clients keep their own offsets."""
        self._subscribed: dict[tuple[str, str], tuple[str, str]] = {}
        """Filters of heartbeats, by group and topic."""

    def heartbeat(self, subject: Line) -> None:
        for consumer in subject["consumers"]:
            group = consumer["group"]
            kind = kind_of(consumer["consume_type"], consumer["message_model"])
            (self.acknowledging if kind.reports_progress else self.broadcasting).add(group)
            for each in consumer["subscriptions"]:
                self._subscribed[group, each["topic"]] = _filter(each["expression_type"], each["sub_string"])

    def popped(self, line: Line, subject: Line) -> None:
        group = subject["consumer_group"]
        self.acknowledging.add(group)
        interest = self._interest(line, group, subject["topic"])
        if interest is not None:
            interest.expressions.add(_filter(subject["exp_type"], subject["exp"]))
            interest.from_end |= subject["init_mode"] != INIT_MIN

    def pulled(self, line: Line, subject: Line) -> None:
        group, topic = subject["consumer_group"], subject["topic"]
        # A commit of offset 0 acknowledges nothing.
        if (committed_by_pull(subject["sys_flag"], subject["commit_offset"]) or 0) > 0:
            self.acknowledging.add(group)
        interest = self._interest(line, group, topic)
        if interest is not None:
            wanted = self._subscribed.get((group, topic), _filter(None, None))
            if subject["sys_flag"] & FLAG_SUBSCRIPTION:
                wanted = _filter(subject["expression_type"], subject["subscription"])
            interest.expressions.add(wanted)
            interest.read_at(line["node"], subject["queue_id"], subject["queue_offset"])

    def _interest(self, line: Line, group: str, topic: str) -> Interest | None:
        if names.is_retry(topic):
            return None
        return self.found.setdefault((group, topic), Interest(line["now_ms"]))
