"""Converts an emulator's journal into events of messages.

That journal contains requests and responses in order, without the messages. The converter finds the message at a
position from the journal's sends. Messages that the broker itself stored (copies for a retry, dead letters, committed
half messages) are found in the topics. Groups that broadcast, and groups that read but never commit, do not acknowledge
messages and are left out.
"""

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from rocketmq_testkit.emulator.client.consumption import (
    acknowledged_offsets,
    committed_by_pull,
    holding_topic,
    popped_places,
)
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.schedule.delay_levels import parse_delay_levels

from .events import Event, EventKind, JournalError
from .interests import Line, MessageIdentity, MessagePosition, interests

STORED = frozenset({"SUCCESS", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"})
"""Outcomes of a send after which the broker has stored the message."""
ROLLED_BACK = 12
"""The `commit_or_rollback` of an EndTransaction that rolls back."""


def events_from_journal(lines: Iterable[Line], messages: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Return the events of a journal's lines and of all topics' messages, both in the format of the control port.

    Raises JournalError if a delivered message no longer exists.
    """
    return _JournalConverter(list(lines), list(messages)).events()


class _JournalConverter:
    """Converts the lines of one journal and the messages of all topics into events."""

    def __init__(self, lines: Sequence[Line], messages: Sequence[Mapping[str, Any]]) -> None:
        self._lines = lines
        self._interests, self._groups = interests(lines)
        self._retry_topics = {names.retry_topic(group): (group, "") for group, _ in self._interests}
        """The group of each retry topic, and the original topic of its messages if it has only one, as after pops."""
        for group, topic in self._interests:
            for v2 in (False, True):
                self._retry_topics[names.pop_retry_topic(topic, group, v2=v2)] = (group, topic)
        self._places: dict[MessagePosition, MessageIdentity] = {}
        """Messages of the journal's sends by position, without half messages and delayed ones."""
        self._known: set[tuple[str, str]] = set()
        """Topic and id of each message of the journal's sends."""
        self._halves: dict[tuple[str, int], MessageIdentity] = {}
        """Half messages by (node, physical offset)."""
        self._outstanding: dict[tuple[str, str, str, int], dict[int, MessageIdentity]] = defaultdict(dict)
        """Messages that a group has pulled but not committed, by (node, group, topic, queue id) and offset."""
        self._delays_ms = parse_delay_levels(BrokerConfig().message_delay_level)
        self._events: list[tuple[int, float, Event]] = []
        """Each event with its instant in ms, and its order among the events of that instant (the index of its line)."""
        self._first_deliveries: dict[MessagePosition, Line] = {}
        """The line of the first delivery of the message at each position."""
        self._in_topics = [(MessagePosition.of(message), self._identity(message), message) for message in messages]
        """Position, identity and all fields of each message in the topics."""
        self._stored = {place: identity for place, identity, _ in self._in_topics}
        self._physical = {(place.node, message["physical_offset"]): place for place, _, message in self._in_topics}
        """Positions by (node, physical offset)."""
        self._converters: dict[str, Callable[[Line, Line, Line], None]] = {
            "SendMessage": self._sent,
            "EndTransaction": self._ended,
            "RecallMessage": self._recalled,
            "PopMessage": self._popped,
            "PullMessage": self._pulled,
            "AckMessage": self._acked,
            "BatchAckMessage": self._acked_many,
            "ChangeInvisibleTime": self._hidden,
            "UpdateConsumerOffset": self._committed,
            "SendMessageBack": self._sent_back,
        }
        """Functions that add the events of a line, by operation.

        Arguments: the line, its subject (the fields of the operation), and its outcome.
        """

    def events(self) -> list[Event]:
        """Return all events, numbered in order."""
        for line in self._lines:
            convert = self._converters.get(line["operation"])
            outcome = line["outcome"]
            if convert is not None and line["event"] == "responded" and "error" not in outcome:
                convert(line, line["subject"], outcome)
        self._from_topics()
        self._subscriptions()
        self._events.sort(key=lambda each: each[:2])
        return [replace(event, seq=number) for number, (_, _, event) in enumerate(self._events)]

    def _note(self, line: Line, event: Event) -> None:
        self._events.append((line["now_ms"], line["index"], event))

    def _note_stored(self, place: MessagePosition, ms: int, event: Event) -> None:
        """Add the event of a stored message that no line of the journal reports.

        It precedes the first delivery of the message if both have the same instant; otherwise it follows all lines of
        its instant.
        """
        delivery = self._first_deliveries.get(place)
        order = delivery["index"] - 0.5 if delivery is not None and delivery["now_ms"] == ms else inf
        self._events.append((ms, order, event))

    def _identity(self, message: Mapping[str, Any]) -> MessageIdentity:
        properties = message["properties"]
        topic = message["topic"]
        if names.is_retry_or_dlq(topic):
            topic = self._retry_topics.get(topic, ("", ""))[1] or properties.get(props.RETRY_TOPIC, topic)
            # The property RETRY_TOPIC of a dead letter may name a pop retry topic.
            topic = self._retry_topics.get(topic, ("", topic))[1] or topic
        return MessageIdentity(topic, message["message_id"], properties, message["stored_at_ms"])

    def _first_delivered(self, line: Line, place: MessagePosition) -> MessageIdentity:
        """Return the message at a position, and note the line if it is the message's first delivery."""
        self._first_deliveries.setdefault(place, line)
        return self._at(place)

    def _at(self, place: MessagePosition) -> MessageIdentity:
        identity = self._places.get(place) or self._stored.get(place)
        if identity is None:
            raise JournalError(
                f"a client received the message at offset {place.offset} of queue {place.queue_id} of {place.topic} "
                f"on {place.node}, but the broker has deleted it; audit before messages are deleted"
            )
        if place.topic.startswith(names.DLQ_PREFIX):
            return replace(identity, topic=place.topic)
        return identity

    # producers

    def _sent(self, line: Line, subject: Line, outcome: Line) -> None:
        if outcome["code"] not in STORED or subject["batch"] or names.is_retry_or_dlq(subject["topic"]):
            return
        properties = subject["properties"]
        ms = line["now_ms"]
        identity = MessageIdentity(subject["topic"], properties[props.UNIQ_KEY], properties, ms)
        self._known.add((identity.topic, identity.message_id))
        due_ms = self._due(properties, ms)
        if properties.get(props.TRANSACTION_PREPARED) == "true":
            self._halves[line["node"], outcome["physical_offset"]] = identity
            self._note(line, identity.event(ms, EventKind.TXN_PREPARED))
        elif due_ms is not None:
            self._note(line, identity.event(ms, EventKind.STORED, deliver_at_us=due_ms * 1000))
        else:
            self._places[
                MessagePosition(line["node"], identity.topic, outcome["queue_id"], outcome["queue_offset"])
            ] = identity
            self._note(line, identity.event(ms, EventKind.STORED))

    def _due(self, properties: Mapping[str, str], ms: int) -> int | None:
        """Return the instant at which a delayed message becomes visible; None if it is not delayed."""
        if props.TIMER_OUT_MS in properties:
            return int(properties[props.TIMER_OUT_MS])
        level = properties.get(props.DELAY, "0")
        if not level.isdigit() or int(level) == 0 or props.REAL_TOPIC not in properties:
            return None
        return ms + self._delays_ms[min(int(level), len(self._delays_ms)) - 1]

    def _ended(self, line: Line, subject: Line, _outcome: Line) -> None:
        half = self._halves.get((line["node"], subject["commit_log_offset"]))
        if half is not None and subject["commit_or_rollback"] == ROLLED_BACK:
            self._note(line, half.event(line["now_ms"], EventKind.TXN_ROLLED_BACK))

    def _recalled(self, line: Line, subject: Line, outcome: Line) -> None:
        identity = MessageIdentity(subject["topic"], outcome["msg_id"], {}, line["now_ms"])
        self._note(line, identity.event(line["now_ms"], EventKind.RECALLED))

    # consumers

    def _popped(self, line: Line, subject: Line, outcome: Line) -> None:
        group, topic = subject["consumer_group"], subject["topic"]
        if group not in self._groups:
            return
        for held_in, queue_id, offset in popped_places(topic, group, outcome["msg_offset_info"] or ""):
            identity = self._first_delivered(line, MessagePosition(line["node"], held_in, queue_id, offset))
            if held_in == topic:
                self._interests[group, topic].read_at(line["node"], queue_id, offset)
            event = identity.event(line["now_ms"], EventKind.DELIVERED, group, invisible_ms=outcome["invisible_ms"])
            self._note(line, event)

    def _pulled(self, line: Line, subject: Line, outcome: Line) -> None:
        group, topic, queue_id = subject["consumer_group"], subject["topic"], subject["queue_id"]
        if group not in self._groups:
            return
        committed = committed_by_pull(subject["sys_flag"], subject["commit_offset"])
        if committed is not None:
            self._commit(line, group, topic, queue_id, until=committed)
        for offset in outcome["offsets"] if outcome["status"] == "FOUND" else ():
            identity = self._first_delivered(line, MessagePosition(line["node"], topic, queue_id, offset))
            self._outstanding[line["node"], group, topic, queue_id][offset] = identity
            self._note(line, identity.event(line["now_ms"], EventKind.DELIVERED, group))

    def _committed(self, line: Line, subject: Line, _outcome: Line) -> None:
        queue_id, offset = subject["queue_id"], subject["commit_offset"]
        if queue_id is not None and offset is not None:
            self._commit(line, subject["consumer_group"], subject["topic"], queue_id, until=offset)

    def _commit(self, line: Line, group: str, topic: str, queue_id: int, *, until: int) -> None:
        pulled = self._outstanding[line["node"], group, topic, queue_id]
        for offset in sorted(offset for offset in pulled if offset < until):
            self._note(line, pulled.pop(offset).event(line["now_ms"], EventKind.ACKED, group))

    def _acked(self, line: Line, subject: Line, _outcome: Line) -> None:
        self._settle(line, subject["consumer_group"], subject["topic"], subject["queue_id"], offset=subject["offset"])

    def _acked_many(self, line: Line, subject: Line, _outcome: Line) -> None:
        for ack in subject["acks"] or ():
            group = ack["consumer_group"]
            topic = holding_topic(ack["topic"], group, ack["retry"])
            for offset in acknowledged_offsets(ack["start_offset"], b64decode(ack["bits"])):
                self._settle(line, group, topic, ack["queue_id"], offset=offset)

    def _settle(self, line: Line, group: str, topic: str, queue_id: int, *, offset: int) -> None:
        identity = self._at(MessagePosition(line["node"], topic, queue_id, offset))
        self._note(line, identity.event(line["now_ms"], EventKind.ACKED, group))

    def _hidden(self, line: Line, subject: Line, outcome: Line) -> None:
        identity = self._at(MessagePosition(line["node"], subject["topic"], subject["queue_id"], subject["offset"]))
        event = identity.event(
            line["now_ms"],
            EventKind.INVISIBILITY_CHANGED,
            subject["consumer_group"],
            invisible_ms=max(outcome["invisible_ms"], 0),
        )
        self._note(line, event)

    def _sent_back(self, line: Line, subject: Line, _outcome: Line) -> None:
        place = self._physical.get((line["node"], subject["offset"]))
        if place is None or subject["group"] not in self._groups:
            return
        # A later commit also covers this offset, but does not acknowledge the message, which was sent back.
        self._outstanding[line["node"], subject["group"], place.topic, place.queue_id].pop(place.offset, None)
        self._note(line, self._at(place).event(line["now_ms"], EventKind.NACKED, subject["group"]))

    # events that only topics reveal

    def _from_topics(self) -> None:
        for place, identity, message in self._in_topics:
            ms = message["stored_at_ms"]
            if place.topic.startswith(names.DLQ_PREFIX):
                group = place.topic.removeprefix(names.DLQ_PREFIX)
                self._note_stored(place, ms, identity.event(ms, EventKind.DEADLETTERED, group))
                self._note_stored(place, ms, replace(identity, topic=place.topic).event(ms, EventKind.STORED))
            elif names.is_retry(place.topic):
                group = self._retry_topics.get(place.topic, ("", ""))[0]
                if group in self._groups:
                    self._note_stored(place, ms, identity.event(ms, EventKind.REVIVED, group))
            elif identity.properties.get(props.TRANSACTION_PREPARED) == "true":
                self._note_stored(place, ms, identity.event(ms, EventKind.TXN_COMMITTED))
            elif (identity.topic, identity.message_id) not in self._known:
                self._note_stored(place, ms, identity.event(ms, EventKind.STORED))

    def _subscriptions(self) -> None:
        everything = {**self._stored, **self._places}
        for (group, topic), interest in self._interests.items():
            if group not in self._groups:
                continue
            ms = interest.since_ms
            event = Event(ms * 1000, EventKind.SUBSCRIBED, topic, group=group, expression=interest.tags)
            self._events.append((ms, -1, event))
            for place, identity in everything.items():
                if place.topic == topic and not interest.must_receive(place, identity):
                    skipped = identity if not topic.startswith(names.DLQ_PREFIX) else replace(identity, topic=topic)
                    self._events.append(
                        (identity.stored_ms, inf, skipped.event(identity.stored_ms, EventKind.SKIPPED, group))
                    )
