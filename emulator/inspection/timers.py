"""Delayed and timed messages."""

from typing import Literal

from ..kernel.value_class import frozen_value


@frozen_value
class TimerView:
    """A message that waits for its time."""

    message_id: str
    topic: str
    due_ms: int
    kind: Literal["level", "wheel"]
    level: int | None
    """The delay level, from 1; None on the timer wheel."""
