"""Events of the past, as readers of the history see them. All times are engine time in ms."""

from dataclasses import KW_ONLY, field
from enum import StrEnum

from ..kernel.value_class import frozen_view
from .record_kind import RecordKind


@frozen_view
class RecordedEvent:
    """A record of a run of messages: consecutive offsets of one queue in one request or response."""

    at_ms: int
    kind: RecordKind
    channel: str
    """The connection: `grpc:` with the client id, or the id of a remoting connection."""
    group: str
    first: int
    count: int
    hold_ms: int | None
    """The invisible duration that the event began (ms); None if it began none."""
    in_order: bool = False
    """True if the group pops in order."""
    by_slave: bool = False
    """True if a slave served the request."""
    number: int = field(default=0, compare=False)
    """Its position in the sequence of all records of the engine: several events can have one time."""


@frozen_view
class RefusedRequest:
    """A request of a client that a broker or the proxy refused. Texts are cut to 200 characters."""

    at_ms: int
    node: str
    channel: str
    label: str
    """The request code or RPC."""
    _: KW_ONLY
    operation: str
    """The class of the engine's operation; the label again if a protocol layer refused the request."""
    topic: str
    group: str
    message_id: str
    keys: str
    code: str
    remark: str


class MoveKind(StrEnum):
    """Reason of an `OffsetMove`."""

    FIRST = "first"
    """The group got its first offset in the queue."""
    RESET = "reset"
    """An administrator or a client reset the offset."""
    CLONE = "clone"
    """An administrator copied the offset from another group."""
    BACKWARD = "backward"
    """A client committed a lower offset."""


@frozen_view
class OffsetMove:
    """A change of a group's committed offset that no delivery explains."""

    at_ms: int
    kind: MoveKind
    before: int | None
    """The offset until then; None if the group had none."""
    after: int
    _: KW_ONLY
    channel: str
    """The connection of the client that requested it; empty for the broker itself and for direct calls."""


@frozen_view
class LostMessage:
    """A stored message that a crash removed from the log, because it was not flushed."""

    at_ms: int
    broker: str
    topic: str
    queue_id: int
    _: KW_ONLY
    queue_offset: int
    message_id: str
    keys: str
    stored_at_ms: int
    born_host: bytes
    """The address of the producer, as in stored records."""


class TrimReason(StrEnum):
    """Reason for which a broker deleted its oldest messages."""

    LIMIT = "limit"
    """The log reached `storeMaxBytes`."""
    RETENTION = "retention"
    """`fileReservedTime` ended."""
    DISK = "disk"
    """The simulated disk was full."""
    REQUEST = "request"
    """An administrator requested the clean-up."""


@frozen_view
class Trim:
    """A deletion of the oldest messages of a broker: physical offsets `before` to `after` - 1."""

    at_ms: int
    reason: TrimReason
    before: int
    after: int


@frozen_view
class RuleFiring:
    """A rule of faults that acted."""

    at_ms: int
    rule: str
    operation: str
    channel: str
    _: KW_ONLY
    effect: str
    """The kind of the fault, such as `drop_response`."""
    message_ids: tuple[str, ...]


class BrokerEventKind(StrEnum):
    """A change of the state of a broker."""

    STARTED = "started"
    STOPPED = "stopped"
    KILLED = "killed"
    CRASHED = "crashed"
    RESTARTED = "restarted"


@frozen_view
class BrokerEvent:
    """A start or an end of a broker's run."""

    at_ms: int
    kind: BrokerEventKind
    power_loss: bool = False
