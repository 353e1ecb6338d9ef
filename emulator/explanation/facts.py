"""Facts on which explanations rest, and changes that would change a verdict. All times are engine time in ms."""

from collections.abc import Mapping
from enum import StrEnum

from ..kernel.value_class import frozen_view


@frozen_view
class Fact:
    """A fact on which an explanation rests: its name and its values."""

    name: str
    values: Mapping[str, object]


class ChangeAction(StrEnum):
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

    action: ChangeAction
    sentence: str
    by_ms: int | None = None
    """The time to advance the clock by, for `ADVANCE`."""
    client: str | None = None
