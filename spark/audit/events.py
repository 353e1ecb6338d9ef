"""The audited journal: one event per line.

A journal is JSON Lines or Parquet with the columns of `COLUMNS`; further columns are ignored. It is written by a
broker, which sees the requests of all clients, or by clients, each of which knows its own actions. A recording, called
run in names, has all events with the same `run_id`.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from typing import IO, Any

LATEST_US = 2**60
"""Upper bound of instants, in the year 38504; far below the maximum of a long, so that sums fit."""
LONGEST_MS = 2**40
"""Upper bound of `invisibleMs`, some 35 years."""
OPEN_US = 2**62
"""The end of a reservation of unknown length. A reservation keeps a message for the consumer that received it."""


class JournalError(ValueError):
    """A journal that cannot be audited; the text says which line or file, and why."""


class EventKind(StrEnum):
    """Type of an event. Events with an equal `seq` (or none) and an equal time are processed in this order."""

    STORED = "stored"
    """A broker has stored the message; consumers may see it, from `deliverAtUs` on if that is given."""
    TXN_PREPARED = "txnPrepared"
    """A broker has stored the half message; consumers must not see it."""
    TXN_COMMITTED = "txnCommitted"
    """The half message was committed, so consumers may see it."""
    TXN_ROLLED_BACK = "txnRolledBack"
    RECALLED = "recalled"
    """A timed message was recalled."""
    SEND_FAILED = "sendFailed"
    """The producer does not know if a broker has stored the message, because of an error or a lost response."""
    SUBSCRIBED = "subscribed"
    """A group subscribed to a topic: messages with the tags of `expression`, from `consumeFrom` on."""
    SKIPPED = "skipped"
    """The group need not receive this message: its filter excludes it, or the group starts after it."""
    DELIVERED = "delivered"
    """The group received the message, for `invisibleMs` if that is given."""
    INVISIBILITY_CHANGED = "invisibilityChanged"
    """The group keeps the message, from now on for `invisibleMs`."""
    NACKED = "nacked"
    """The group returned the message; it may be redelivered after `invisibleMs`, or at once if that is not given."""
    REVIVED = "revived"
    """The broker has made the message available for redelivery."""
    ACKED = "acked"
    """The group has acknowledged the message."""
    DEADLETTERED = "deadlettered"
    """The message went to the group's dead letter queue."""


RANK = {kind: rank for rank, kind in enumerate(EventKind)}
OF_MESSAGES = frozenset(
    {
        EventKind.STORED,
        EventKind.TXN_PREPARED,
        EventKind.TXN_COMMITTED,
        EventKind.TXN_ROLLED_BACK,
        EventKind.RECALLED,
        EventKind.SEND_FAILED,
    }
)
"""Events that concern a message for every group; all others name a group."""
MAKES_VISIBLE = frozenset({EventKind.STORED, EventKind.TXN_COMMITTED})
RESERVES = frozenset({EventKind.DELIVERED, EventKind.INVISIBILITY_CHANGED})
"""Events that reserve the message for its consumer, for an unknown time if `invisibleMs` is not given."""
RELEASES = frozenset({EventKind.NACKED, EventKind.REVIVED})
"""Events that end a reservation: the message waits for redelivery."""
SETTLES = frozenset({EventKind.ACKED, EventKind.DEADLETTERED})
"""Events after which the group must not receive the message again."""
FIRST, LAST = "first", "last"
"""The values of `consumeFrom`."""

COLUMNS: dict[str, tuple[str, type]] = {
    "run_id": ("run_id", str),
    "seq": ("seq", int),
    "ts_us": ("ts_us", int),
    "event": ("kind", str),
    "topic": ("topic", str),
    "msgId": ("message_id", str),
    "group": ("group", str),
    "messageGroup": ("message_group", str),
    "keys": ("keys", str),
    "tags": ("tags", str),
    "invisibleMs": ("invisible_ms", int),
    "deliverAtUs": ("deliver_at_us", int),
    "expression": ("expression", str),
    "consumeFrom": ("consume_from", str),
}
"""Columns of a journal: the field of `Event`, and the type of its values."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. Instants are microseconds since the epoch; `seq`, or else time, orders the events of a recording."""

    ts_us: int
    kind: EventKind
    topic: str
    message_id: str | None = None
    _: KW_ONLY
    group: str | None = None
    seq: int | None = None
    run_id: str = ""
    message_group: str | None = None
    keys: str | None = None
    tags: str | None = None
    invisible_ms: int | None = None
    deliver_at_us: int | None = None
    expression: str | None = None
    consume_from: str | None = None

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise JournalError(f"{problem}: {self.line()}")

    @property
    def order(self) -> int:
        """The position among the events of its recording."""
        return self.ts_us if self.seq is None else self.seq

    @property
    def reserved_until_us(self) -> int | None:
        """The instant until which the message is not redelivered; None if the event does not affect it."""
        if self.kind in RESERVES and self.invisible_ms is None:
            return OPEN_US
        if self.kind in RESERVES or self.kind in RELEASES:
            return self.ts_us + (self.invisible_ms or 0) * 1000
        return None

    def line(self) -> str:
        """The event as a line of a journal, without line break."""
        values = {column: getattr(self, field) for column, (field, _) in COLUMNS.items()}
        return json.dumps({column: value for column, value in values.items() if value not in (None, "")})

    def _problem(self) -> str:
        if not 0 <= self.ts_us < LATEST_US:
            return "ts_us is out of range"
        if self.seq is not None and not 0 <= self.seq < LATEST_US:
            return "seq is out of range"
        if self.invisible_ms is not None and not 0 <= self.invisible_ms < LONGEST_MS:
            return "invisibleMs is out of range"
        if self.deliver_at_us is not None and not 0 <= self.deliver_at_us < LATEST_US:
            return "deliverAtUs is out of range"
        if self.kind is not EventKind.SUBSCRIBED and not self.message_id:
            return "there is no msgId"
        if self.kind not in OF_MESSAGES and not self.group:
            return "there is no group"
        if not self.topic:
            return "there is no topic"
        if self.consume_from not in (None, FIRST, LAST):
            return f"consumeFrom is neither {FIRST} nor {LAST}"
        return ""


def wanted_tags(expression: str | None) -> frozenset[str] | None:
    """Return the tags in an expression (`"tea || coffee"`); None for all tags. Source: FilterAPI (5.3.3)."""
    found = frozenset(tag.strip() for tag in (expression or "*").split("||") if tag.strip())
    return None if not found or found == {"*"} else found


def parse(line: str) -> Event:
    """Parse the event of a line. Raises JournalError."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise JournalError(f"not a line of JSON: {line[:200]}") from None
    if not isinstance(found, dict):
        raise JournalError(f"not an object: {line[:200]}")
    given: dict[str, Any] = {}
    for column, (field, wanted) in COLUMNS.items():
        value = found.get(column)
        if value is None or value == "":
            continue
        if wanted is str and not isinstance(value, str):
            value = json.dumps(value)
        if wanted is int and (isinstance(value, bool) or not isinstance(value, int)):
            raise JournalError(f"{column} is not a whole number: {line[:200]}")
        given[field] = value
    for column in ("ts_us", "event", "topic"):
        if COLUMNS[column][0] not in given:
            raise JournalError(f"there is no {column}: {line[:200]}")
    try:
        given["kind"] = EventKind(given["kind"])
    except ValueError:
        raise JournalError(f"no event is called {given['kind']!r}; there are {', '.join(EventKind)}") from None
    return Event(**given)


def read_lines(lines: Iterable[str]) -> Iterator[Event]:
    """Yield the events of a journal's lines, skipping empty ones. Raises JournalError with the line number."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield parse(line)
            except JournalError as error:
                raise JournalError(f"line {number}: {error}") from None


def write_lines(events: Iterable[Event], file: IO[str]) -> int:
    """Write events as JSON Lines; returns their number."""
    count = 0
    for event in events:
        file.write(event.line() + "\n")
        count += 1
    return count


assert {each.name for each in fields(Event)} == {field for field, _ in COLUMNS.values()}
