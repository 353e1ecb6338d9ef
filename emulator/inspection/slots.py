"""The slot of the timer wheel that holds one message of the timer topic."""

from bisect import bisect_left
from operator import attrgetter

from ..cluster.broker import Broker
from ..kernel.java_numbers import parse_long
from ..message import properties as props
from ..message import stored_record as records
from ..schedule.timer_state import Slot, SlotMessage

_offset = attrgetter("offset")


def slot_of(broker: Broker, message: records.Record) -> Slot | None:
    """Return the slot in which a stored message of the timer topic waits; None if it waits no more."""
    slots, offset = broker.timers.slots, message.queue_offset
    try:
        due_ms = parse_long(message.property_map().get(props.TIMER_OUT_MS, ""))
    except ValueError:
        return None  # the timer ignores it
    own = slots.get(due_ms)
    if own is not None and entry_of(own, offset) is not None:
        return own
    if due_ms < broker.store.now_ms:
        return None  # it was delivered
    return next((slot for slot in slots.values() if entry_of(slot, offset) is not None), None)  # to be stored again


def entry_of(slot: Slot, offset: int) -> SlotMessage | None:
    """Return the message of a slot with an offset of the timer topic. A slot has its messages in their order."""
    at = bisect_left(slot.waiting, offset, key=_offset)
    return slot.waiting[at] if at < len(slot.waiting) and slot.waiting[at].offset == offset else None
