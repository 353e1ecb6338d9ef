"""A half message as the transaction check uses it.

Source: TransactionalMessageServiceImpl.needDiscard, checkPrepareQueueOffset, TransactionalMessageBridge,
AbstractTransactionalMessageCheckListener.sendCheckMessage (5.3.3).
"""

from collections.abc import Mapping

from ..gate.effects import CheckTransactionState
from ..kernel.java_numbers import parse_boolean, parse_long
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore, StoredPosition
from ..message.message_copies import copy_of, original_queue_of
from ..message.names import HALF_TOPIC
from ..message.stored_record import Record

NO_NUMBER = -1
"""Value that upstream uses for a text that is not a number."""
NO_IMMUNITY_OFFSET = -1
"""A stored first offset of -1 disables the immunity."""


def is_half(properties: Mapping[str, str]) -> bool:
    """Return True if a send is for a half message: TRAN_MSG decides, regardless of the sys flag."""
    text = properties.get(props.TRANSACTION_PREPARED)
    return text is not None and parse_boolean(text)


class HalfMessage:
    """A stored half message; changes of its properties appear in the copies made of it.

    `text` is the encoded properties including the check count; other changes do not appear in it.
    """

    __slots__ = ("properties", "record", "text")

    def __init__(self, stored: bytes) -> None:
        self.record: Record = records.decode(stored)
        self.text = self.record.properties
        self.properties = props.decode(self.text)
        end = props.PROPERTY_SEPARATOR
        if not self.text.endswith(end) or self.text.count(end) != len(self.properties):
            self.text = props.encode(self.properties)  # it contained text that was not a key-value pair, which is lost

    def count_check(self, most: int) -> bool:
        """Increment the check count. Returns False if it has already reached `most`."""
        text = self.properties.get(props.TRANSACTION_CHECK_TIMES)
        times = 0 if text is None else _number(text)
        if text is not None and times >= most:
            return False
        counted = str(times + 1)
        self.text = props.encode_with(self.text, self.properties, props.TRANSACTION_CHECK_TIMES, counted)
        self.properties[props.TRANSACTION_CHECK_TIMES] = counted
        return True

    def first_offset(self) -> int:
        """Return the queue offset of its first append to the half topic, and record it in the properties."""
        return _number(self.properties.setdefault(props.TRAN_PREPARED_QUEUE_OFFSET, str(self.record.queue_offset)))

    def immunity_enabled(self) -> bool:
        """Return False if the recorded first offset is -1 or not a number."""
        text = self.properties.get(props.TRAN_PREPARED_QUEUE_OFFSET)
        return text is None or _number(text) != NO_IMMUNITY_OFFSET

    def copy(self) -> MessageToStore:
        """Return a copy to be stored again."""
        return copy_of(self.record, dict(self.properties))

    def check_request(
        self, text: str, stored: StoredPosition, store_host: bytes, broker_name: str
    ) -> CheckTransactionState:
        """Return the check request for a producer: real topic and queue, but offsets of the re-appended copy.

        `text` is the encoded properties.
        """
        record, properties = self.record, self.properties
        topic, queue_id = original_queue_of(properties) or (record.topic, record.queue_id)
        encoded = records.encode(
            records.form_of(topic.encode(), len(record.born_host), len(record.store_host)),
            queue_id,
            record.flag,
            stored.queue_offset,
            stored.physical_offset,
            record.sys_flag & ~records.HOST_BITS,
            record.born_timestamp,
            record.born_host,
            record.store_timestamp,
            record.store_host,
            record.reconsume_times,
            record.prepared_transaction_offset,
            record.body,
            props.encode_with(text, properties, props.WAIT, "false").encode(),
        )
        unique_key = properties.get(props.UNIQ_KEY, "")
        return CheckTransactionState(
            encoded,
            HALF_TOPIC,
            stored.queue_offset,
            stored.physical_offset,
            msg_id=unique_key,
            transaction_id=unique_key,
            offset_msg_id=records.offset_message_id(store_host, stored.physical_offset),
            broker_name=broker_name,
        )


def check_immunity_ms(text: str, transaction_time_out: int) -> int:
    """Return the age (ms) up to which the check skips a half message that has an immunity time.

    `text` is the immunity time in seconds; if it is -1 or not a number, the result is `transaction_time_out`.
    This can be shorter than `transaction_time_out`, unlike the immunity for late ends
    (`transaction_service.immunity_ms`).
    Source: TransactionalMessageServiceImpl.getImmunityTime (5.3.3).
    """
    asked = _number(text)
    return transaction_time_out if asked == NO_NUMBER else asked * 1000


def _number(text: str) -> int:
    try:
        return parse_long(text)
    except ValueError:
        return NO_NUMBER
