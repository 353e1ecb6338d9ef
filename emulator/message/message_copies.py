"""Copies of stored messages: what the broker stores a second time under another topic or with other properties."""

from collections.abc import Mapping

from ..kernel.java_numbers import parse_integer
from . import properties as props
from . import stored_record as records
from .message import Message
from .stored_record import Record


def copy_of(record: Record, properties: dict[str, str] | None = None) -> Message:
    """A message like a stored one; the broker may change it before it puts it.

    `properties` are used as they are; None reads them from the record.
    """
    return Message(
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


def home_of(properties: Mapping[str, str]) -> tuple[str, int] | None:
    """The topic and queue id where a redirected message belongs; None when it does not say."""
    topic = properties.get(props.REAL_TOPIC)
    if not topic:
        return None
    try:
        return topic, parse_integer(properties.get(props.REAL_QUEUE_ID, ""))
    except ValueError:
        return None


def send_home(message: Message) -> bool:
    """Address a redirected message to where it belongs; False when it does not say where."""
    home = home_of(message.properties)
    if home is None:
        return False
    message.topic, message.queue_id = home
    return True
