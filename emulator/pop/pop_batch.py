"""The messages that one pop has collected so far, and the encoding of a retry message in a pop response."""

from dataclasses import field

from ..filter.message_filter import MessageFilter
from ..kernel.value_class import value
from ..message import properties as props
from ..message import stored_record as records
from ..message.receipt import Receipt
from ..operations.consume import PopMessage, PoppedMessage, PullStatus
from ..pull.queue_reader import QueueReader, Read

_NEVER = bytes(4)
READ_AGAIN = (PullStatus.OFFSET_TOO_SMALL, PullStatus.OFFSET_OVERFLOW_BADLY, PullStatus.OFFSET_FOUND_NULL)
"""Read outcomes after which the pop commits the corrected offset and reads once more from there."""


@value
class PopBatch:
    """The messages of a pop response and the parts of its header texts.

    `starts`, `offsets` and `counts` are the parts of startOffsetInfo, msgOffsetInfo and orderCountInfo. `rest_num` is
    the number of messages left in the queues (restNum). `pop_time` is in ms since the epoch. `revive_qid` is the id of
    the revive queue.
    """

    operation: PopMessage
    message_filter: MessageFilter | None
    pop_time: int
    revive_qid: int
    messages: list[PoppedMessage] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)
    rest_num: int = 0

    @property
    def free_slots(self) -> int:
        """Number of messages that still fit into the response."""
        return self.operation.max_msg_nums - len(self.messages)

    def read(self, reader: QueueReader, topic: str, queue_id: int, offset: int) -> Read:
        """Read at most as many messages as still fit into the response."""
        asked, group = self.operation.topic, self.operation.consumer_group
        read = reader.read(topic, queue_id, offset, self.free_slots, self.message_filter, group)
        if read.records:
            reader.count_out(asked, group, read, is_retry=topic != asked)
        return read

    def add_header_info(self, queue_id: int, digit: int, start_offset: int, read: Read) -> None:
        """Add a queue to `startOffsetInfo` and `msgOffsetInfo`."""
        self.starts.append(f"{digit} {queue_id} {start_offset}")
        self.offsets.append(f"{digit} {queue_id} {','.join(map(str, read.offsets))}")


def reconsume_times_of(record: bytes) -> int:
    """Return the reconsume times of a stored record.

    They are at a fixed position if both hosts are IPv4 addresses. Only other records are decoded.
    """
    if not record[39] & 0x30:
        if record[72:76] == _NEVER:
            return 0
        times = int.from_bytes(record[72:76], "big")
        if times >> 31 == 0:
            return times
    return records.decode(record).reconsume_times


def with_receipt(record: bytes, topic: str, receipt: Receipt) -> bytes:
    """Return a retry message encoded under another topic, with its receipt handle as the property POP_CK."""
    parts = records.decode(record)
    return records.reencode(parts, topic=topic, properties=parts.property_map() | {props.POP_CK: receipt.text()})
