"""Delayed and timed messages."""

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import chain
from typing import Literal

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..message import stored_record as records
from ..message.names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from .brokers import stores_of
from .engine_parts import EngineParts
from .places import Place
from .slots import entry_of, slot_of
from .stored_copies import decoded


@frozen_view
class TimerView:
    """A message that waits for its time."""

    message_id: str
    topic: str
    due_ms: int
    kind: Literal["level", "wheel"]
    _: KW_ONLY
    level: int | None
    """The delay level, from 1; None on the timer wheel."""


def read_timers(parts: EngineParts) -> list[TimerView]:
    """Return the messages that wait for their time, the next first; recalled ones and check points are left out."""
    return [view for view in timers_in_steps(parts) if view is not None]


def timers_in_steps(parts: EngineParts) -> Iterator[TimerView | None]:
    """Return the same messages one by one. None is a step before the first of them.

    The call decides which messages are read: those that are delivered meanwhile are still listed.
    """
    brokers = stores_of(parts.brokers).values()
    return _in_order([source for broker in brokers for source in (_delayed(broker), _timed(broker))])


def waits_for_time(parts: EngineParts, place: Place) -> bool:
    """True if a timed message waits, see `Inspection.waits_for_time`."""
    broker = stores_of(parts.brokers).get(place.broker)
    record = None if broker is None else broker.store.log.record_at(place.physical_offset)
    if broker is None or record is None:
        return False
    found = records.decode(record)
    slot = slot_of(broker, found)
    entry = None if slot is None else entry_of(slot, found.queue_offset)
    return slot is not None and entry is not None and not slot.is_recalled(entry, found.property_map())


def _in_order(sources: list[Iterator[TimerView | None]]) -> Iterator[TimerView | None]:
    found: list[tuple[int, str, int, TimerView]] = []
    for view in chain.from_iterable(sources):
        if view is not None:
            found.append((view.due_ms, view.message_id, len(found), view))
        yield None
    found.sort()
    for *_, view in found:
        yield view


def _delayed(broker: Broker) -> Iterator[TimerView | None]:
    held = [(level, queue, first, queue.max_offset) for level, queue, first in broker.delays.undelivered()]

    def views() -> Iterator[TimerView | None]:
        for level, queue, first, end in held:
            for offset in range(first, end):
                stored = broker.store.record(queue.topic, queue.queue_id, offset)
                copy = None if stored is None else decoded(broker, stored)
                if copy is None:
                    yield None
                else:
                    due_ms = broker.delays.next_check_ms(queue.unit(offset)[2])
                    yield TimerView(copy.message_id, copy.origin, due_ms, "level", level=level)

    return views()


def _timed(broker: Broker) -> Iterator[TimerView | None]:
    held = [(slot_ms, slot, tuple(slot.waiting)) for slot_ms, slot in broker.timers.slots.items()]

    def views() -> Iterator[TimerView | None]:
        for slot_ms, slot, waiting in held:
            for entry in waiting:
                stored = broker.store.record(TIMER_TOPIC, 0, entry.offset)
                copy = None if stored is None else decoded(broker, stored)
                if (
                    copy is None
                    or slot.is_recalled(entry, copy.properties)
                    or copy.origin.startswith(REVIVE_TOPIC_PREFIX)
                ):
                    yield None
                else:
                    # A message that waits longer than the wheel is wide is in the slot in which it will be rolled.
                    due_ms = copy.view.due_ms or slot_ms + broker.timers.precision_ms
                    yield TimerView(copy.message_id, copy.origin, due_ms, "wheel", level=None)

    return views()
