"""Steps of the history of a message. All times are engine time in ms."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from enum import StrEnum

from ..inspection.places import Place
from ..kernel.value_class import frozen_view
from .clock_text import DAY_MS


class StepKind(StrEnum):
    """The event of a step of a history."""

    SENT = "sent"
    """The producer sent the message, and the broker stored it."""
    REFUSED = "refused"
    """A broker or the proxy refused a request about the message."""
    HALF = "half"
    """The broker stored the half message of a transaction."""
    CHECKED = "checked"
    """The broker requested the state of the transaction."""
    COMMITTED = "committed"
    """The transaction was committed."""
    ROLLED_BACK = "rolled back"
    """The transaction was rolled back."""
    DISCARDED = "discarded"
    """The broker gave the half message up after too many checks."""
    DELAYED = "delayed"
    """A delay level or the timer wheel holds the message."""
    RECALLED = "recalled"
    """The producer recalled the timed message."""
    AVAILABLE = "available"
    """The broker stored the message in its own topic after a delay or a transaction."""
    DELIVERED = "delivered"
    """The message was written to a client."""
    SKIPPED = "skipped"
    """The proxy popped the message and did not pass it on."""
    NOT_WRITTEN = "not written"
    """The message was popped, and the client's call or connection had ended."""
    RETURNED = "returned"
    """A client changed the invisible duration, as SDKs do after a failure."""
    RENEWED = "renewed"
    """The proxy renewed the invisible duration for its client."""
    ACKNOWLEDGED = "acknowledged"
    """A client acknowledged the message, or committed an offset beyond it."""
    SENT_BACK = "sent back"
    """A client sent the message back."""
    REDELIVERED = "redelivered"
    """The broker stored the message in the retry topic of a group."""
    DEAD = "dead"
    """The broker stored the message in the dead letter queue of a group."""
    FAULT = "fault"
    """A rule of faults acted on a request about the message."""
    LOST = "lost"
    """A crash removed the message, because it was not flushed."""


@frozen_view
class HistoryStep:
    """One event in the life of a message."""

    at_ms: int
    kind: StepKind
    node: str
    client: str | None
    _: KW_ONLY
    group: str | None = None
    place: Place | None = None
    attempt: int | None = None
    """The number of the delivery, from 1; None for other steps."""
    detail: str
    sdk: str = ""
    """Language and version of the client's SDK; empty if the client never registered."""


def are_of_several_days(steps: Sequence[HistoryStep]) -> bool:
    """True if the steps are of more than one day (UTC)."""
    return len({step.at_ms // DAY_MS for step in steps}) > 1
