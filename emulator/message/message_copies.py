"""Copies of stored messages, which the broker stores under another topic or with other properties."""

from collections.abc import Mapping

from ..kernel.java_numbers import parse_integer
from . import properties as props
from . import stored_record as records
from .message import MessageToStore
from .stored_record import Record


def copy_of(record: Record, properties: dict[str, str] | None = None) -> MessageToStore:
    """Return a copy of a stored message, which the broker may change before storing it.

    `properties` are used without a copy; None means those of the record.
    """
    return MessageToStore(
        record.topic,
        record.queue_id,
        record.body,
        record.property_map() if properties is None else properties,
        record.born_timestamp,
        record.born_host,
        record.sys_flag & ~records.HOST_BITS,
        record.flag,
        record.reconsume_times,
    )


def original_queue_of(properties: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the original topic and queue id of a delayed, timed or half message.

    None if its properties lack one of them, or if the queue id is no number.
    """
    topic = properties.get(props.REAL_TOPIC)
    if not topic:
        return None
    try:
        return topic, parse_integer(properties.get(props.REAL_QUEUE_ID, ""))
    except ValueError:
        return None


def restore_original_queue(message: MessageToStore) -> bool:
    """Restore the topic and queue of a delayed, timed or half message. Returns False if they are unknown."""
    original = original_queue_of(message.properties)
    if original is None:
        return False
    message.topic, message.queue_id = original
    return True
