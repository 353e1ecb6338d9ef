"""Stored copies, grouped by their message."""

from collections.abc import Iterable

from ..client.client_text import host_port
from ..message import properties as props
from ..message import stored_record as records
from .messages import CopyState, MessageWithCopies
from .stored_copies import StoredCopy


def messages_of(copies: Iterable[StoredCopy]) -> list[MessageWithCopies]:
    """Group copies by message, the oldest message first. The same copy may come twice.

    Two topics may have messages of one id, such as a message and the received one that a client sent on. They are two
    messages.
    """
    grouped: dict[tuple[str, str], list[StoredCopy]] = {}
    each_once = {copy.view.place: copy for copy in copies}.values()
    for copy in sorted(each_once, key=store_order):
        grouped.setdefault((copy.message_id, copy.origin), []).append(copy)
    return [_message(each) for each in grouped.values()]


def store_order(copy: StoredCopy) -> tuple[int, str, int]:
    """Return the sort key of a copy: store time, broker name, physical offset."""
    place = copy.view.place
    return copy.view.stored_at_ms, place.broker, place.physical_offset


def _message(copies: list[StoredCopy]) -> MessageWithCopies:
    """Describe a message by its oldest copy in its own topic, or else by its oldest copy.

    A mark of a recall (see `MessageWithCopies`) is chosen only if there is no other copy.
    """
    own = (copy for copy in copies if copy.view.state is CopyState.STORED)
    sent = (copy for copy in copies if props.TIMER_DEL_UNIQKEY not in copy.properties)
    chosen = next(own, None) or next(sent, copies[0])
    properties = chosen.properties
    return MessageWithCopies(
        message_id=chosen.message_id,
        topic=chosen.origin,
        tag=properties.get(props.TAGS),
        keys=chosen.keys,
        message_group=properties.get(props.SHARDING_KEY),
        born_at_ms=chosen.parts.born_timestamp,
        sender=host_port(*records.unpack_host(chosen.parts.born_host)),
        properties=properties,
        copies=tuple(copy.view for copy in copies),
    )
