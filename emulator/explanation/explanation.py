"""Explanations and histories of messages, as data. All times are engine time in ms."""

from collections.abc import Mapping
from enum import StrEnum

from ..inspection.places import Place
from ..kernel.value_class import frozen_view
from .reason import Reason


@frozen_view
class Fact:
    """A fact on which an explanation rests: its name and its values."""

    name: str
    values: Mapping[str, object]


class Action(StrEnum):
    """The kind of a `Change`."""

    ADVANCE = "advance"
    """Advance the emulator's clock."""
    ACKNOWLEDGE = "acknowledge"
    """Let a client acknowledge messages or commit an offset."""
    SUBSCRIBE = "subscribe"
    """Change a subscription."""
    CONFIGURE = "configure"
    """Change a configuration key, a topic, a group or a right."""
    START = "start"
    """Start a client."""
    SEND = "send"
    """Send a message."""
    RESET = "reset"
    """Reset the offsets of a group."""
    REMOVE_RULE = "remove_rule"
    """Remove a rule of faults."""
    WAIT = "wait"
    """Wait for an action of a client or a broker."""


@frozen_view
class Change:
    """Something that would change the verdict."""

    action: Action
    sentence: str
    by_ms: int | None = None
    """The time to advance the clock by, for `ADVANCE`."""
    client: str | None = None


@frozen_view
class Explanation:
    """The state of a message for one group, or in the store, and the reason for it.

    `str()` is the sentence, `repr()` adds facts and changes.
    """

    reason: Reason
    sentence: str
    message_id: str
    topic: str
    group: str | None
    place: Place | None
    until_ms: int | None
    """The time at which the verdict changes without a request; None if there is none."""
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]
    history_since_ms: int | None
    """The time of the oldest record if older ones were dropped, else None."""
    groups: tuple["Explanation", ...] = ()
    """Explanations for each group, if the call named no group."""
    at_ms: int = 0
    """The time of the verdict."""

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        from .blocks import block

        text = block(f"Explanation {self.reason.name}", self.sentence, self.facts, self.changes, now_ms=self.at_ms)
        return "\n".join([text, *map(repr, self.groups)])

    def as_json(self) -> dict[str, object]:
        """Return the explanation in JSON types, as `GET /v1/explain/{message}` does."""
        from .json_forms import explanation_form

        return explanation_form(self)


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
    group: str | None
    place: Place | None
    attempt: int | None
    """The number of the delivery, from 1; None for other steps."""
    detail: str
    sdk: str = ""
    """Language and version of the client's SDK; empty if the client never registered."""


@frozen_view
class MessageHistory:
    """The steps of a message in the order of their times. `repr()` is a timeline."""

    message_id: str
    topic: str
    since_ms: int | None
    """The time of the oldest record if older ones were dropped, else None."""
    trace: Mapping[str, str]
    """The trace context that the producer's SDK put into properties."""
    steps: tuple[HistoryStep, ...]
    group: str | None = None
    """The group of the steps; None for those of all groups."""
    note: str = ""
    """Why there are no steps, or none of the group; empty if there are."""

    def __repr__(self) -> str:
        from .timeline import timeline

        return timeline(self)

    def as_json(self) -> dict[str, object]:
        """Return the history in JSON types, as `GET /v1/history/{message}` does."""
        from .json_forms import history_form

        return history_form(self)


@frozen_view
class IdleExplanation:
    """Why a consumer or a group is idle."""

    subject: str
    """`group billing` or `client c1`."""
    sentence: str
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        from .blocks import block

        return block(f"IdleExplanation of {self.subject}", self.sentence, self.facts, self.changes)

    def as_json(self) -> dict[str, object]:
        """Return the explanation in JSON types, as `GET /v1/groups/{group}/explain` does."""
        from .json_forms import idle_form

        return idle_form(self)
