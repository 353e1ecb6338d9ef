"""Receipts: messages that clients hold, with the end of the time for which they hold them."""

from typing import Literal

from ..kernel.value_class import frozen_value
from .places import Place


@frozen_value
class ReceiptView:
    """A message in flight."""

    group: str
    place: Place
    channel: str | None
    """The connection of the client; None if it is no longer known."""
    popped_ms: int
    until_ms: int | None
    """The end of the invisible duration; None for a pulled message."""
    attempt: int
    """The number of the delivery, from 1."""
    holder: Literal["buffer", "log", "kv", "order", "pull"]
    """Where the broker holds it: the merge buffer, check points in the log, key-value records, an ordered batch."""
    returned: bool
    """True if the client changed the invisible duration after a failure."""
