"""Delayed and timed messages."""

from collections.abc import Iterator
from typing import Literal

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_value
from ..message.names import REVIVE_TOPIC_PREFIX
from .brokers import stores_of
from .engine_parts import EngineParts
from .stored_copies import decoded


@frozen_value
class TimerView:
    """A message that waits for its time."""

    message_id: str
    topic: str
    due_ms: int
    kind: Literal["level", "wheel"]
    level: int | None
    """The delay level, from 1; None on the timer wheel."""


def read_timers(parts: EngineParts) -> list[TimerView]:
    """Return the messages that wait for their time, the next first; recalled ones and check points are left out."""
    found = [view for broker in stores_of(parts.brokers).values() for view in _of_broker(broker)]
    return sorted(found, key=lambda view: (view.due_ms, view.message_id))


def _of_broker(broker: Broker) -> Iterator[TimerView]:
    for due_ms, level, stored in broker.delays.waiting():
        copy = decoded(broker, stored)
        if copy is not None:
            yield TimerView(copy.message_id, copy.origin, broker.delays.next_check_ms(due_ms), "level", level)
    for slot_ms, waiting in broker.timers.waiting():
        copy = decoded(broker, waiting.stored)
        if copy is None or waiting.is_recalled(copy.properties) or copy.origin.startswith(REVIVE_TOPIC_PREFIX):
            continue
        # A message that waits longer than the wheel is wide is in the slot in which it will be rolled.
        yield TimerView(copy.message_id, copy.origin, copy.view.due_ms or slot_ms, "wheel", None)
