"""Copies of stored messages: what the broker stores a second time under another topic or with other properties."""

from . import properties as props
from . import record as records
from .java_numbers import parse_integer
from .message import Message
from .record import Record

_HOST_BITS = records.SYS_BORN_HOST_V6 | records.SYS_STORE_HOST_V6


def copy_of(record: Record) -> Message:
    """A message like a stored one, properties included; the broker may change it before it puts it."""
    return Message(
        record.topic,
        record.queue_id,
        record.body,
        record.property_map(),
        record.born_timestamp,
        record.born_host,
        record.sys_flag & ~_HOST_BITS,
        record.flag,
        record.reconsume_times,
    )


def send_home(message: Message) -> bool:
    """Address a redirected message to where it belongs; False when it does not say where."""
    topic = message.properties.get(props.REAL_TOPIC)
    if not topic:
        return False
    try:
        queue_id = parse_integer(message.properties.get(props.REAL_QUEUE_ID, ""))
    except ValueError:
        return False
    message.topic, message.queue_id = topic, queue_id
    return True
