"""A half message as the transaction check looks at it.

Source: TransactionalMessageServiceImpl.needDiscard, checkPrepareQueueOffset, TransactionalMessageBridge,
AbstractTransactionalMessageCheckListener.sendCheckMessage (5.3.3).
"""

from collections.abc import Mapping

from ..gate.effects import CheckTransactionState
from ..kernel.java_numbers import parse_boolean, parse_long
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import Message, Stored
from ..message.message_copies import copy_of, home_of
from ..message.names import HALF_TOPIC
from ..message.stored_record import Record

NO_NUMBER = -1
"""What upstream reads from a text that is no number."""
DECIDED_ELSEWHERE = -1
"""A first offset of -1 switches the immunity off."""


def is_half(properties: Mapping[str, str]) -> bool:
    """Whether a send is that of a half message: TRAN_MSG decides, whatever its sys flag says."""
    text = properties.get(props.TRANSACTION_PREPARED)
    return text is not None and parse_boolean(text)


class HalfMessage:
    """A stored half message; changes of its properties show in the copies made of it.

    `text` is that of its properties, up to the count of checks: other changes do not show there.
    """

    __slots__ = ("properties", "record", "text")

    def __init__(self, stored: bytes) -> None:
        self.record: Record = records.decode(stored)
        self.text = self.record.properties
        self.properties = props.decode(self.text)
        end = props.PROPERTY_SEPARATOR
        if not self.text.endswith(end) or self.text.count(end) != len(self.properties):
            self.text = props.encode(self.properties)  # something in it was no pair, and is lost

    def count_check(self, most: int) -> bool:
        """Count one more check; False when `most` are used up."""
        text = self.properties.get(props.TRANSACTION_CHECK_TIMES)
        times = 0 if text is None else _number(text)
        if text is not None and times >= most:
            return False
        counted = str(times + 1)
        self.text = props.encode_with(self.text, self.properties, props.TRANSACTION_CHECK_TIMES, counted)
        self.properties[props.TRANSACTION_CHECK_TIMES] = counted
        return True

    def first_offset(self) -> int:
        """The queue offset of its first appearance in the half topic, which is noted from now on."""
        return _number(self.properties.setdefault(props.TRAN_PREPARED_QUEUE_OFFSET, str(self.record.queue_offset)))

    def may_be_put_off(self) -> bool:
        """False when the noted first offset is -1 or no number."""
        text = self.properties.get(props.TRAN_PREPARED_QUEUE_OFFSET)
        return text is None or _number(text) != DECIDED_ELSEWHERE

    def copy(self) -> Message:
        """A copy to be stored again."""
        return copy_of(self.record, dict(self.properties))

    def question(self, text: str, stored: Stored, store_host: bytes, broker_name: str) -> CheckTransactionState:
        """The message as a producer is asked about it: addressed to where it belongs, found where it was put back.

        `text` is that of its properties.
        """
        record, properties = self.record, self.properties
        topic, queue_id = home_of(properties) or (record.topic, record.queue_id)
        encoded = records.encode(
            topic.encode(),
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
            unique_key,
            unique_key,
            records.offset_message_id(store_host, stored.physical_offset),
            broker_name,
        )


def check_immunity_ms(text: str, transaction_time_out: int) -> int:
    """How long the check leaves a half message alone that asks for it: the usual time for -1 and what is no number.

    Shorter than usual is possible here, and not where an end comes too late (`transactions.immunity_ms`).
    Source: TransactionalMessageServiceImpl.getImmunityTime (5.3.3).
    """
    asked = _number(text)
    return transaction_time_out if asked == NO_NUMBER else asked * 1000


def _number(text: str) -> int:
    try:
        return parse_long(text)
    except ValueError:
        return NO_NUMBER
