"""Getting messages: pull, pop, ack, change of the invisible time, notification, peek."""

from collections.abc import Sequence
from dataclasses import field, replace
from enum import Enum

from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from .base import Operation, Result


class PullStatus(Enum):
    """How a read of one queue ended; the name is the remark of the answer. Source: GetMessageStatus (5.3.3)."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"
    OFFSET_RESET = "OFFSET_RESET"


@value
class PullMessage(Operation):
    """Read one queue from an offset, and wait if asked to.

    `sys_flag` bits: 1 commit_offset is valid, 2 may suspend, 4 `subscription` is valid, 16 lite pull.
    `suspend_timeout_ms` >= 0. Source: PullMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    sys_flag: int
    commit_offset: int
    suspend_timeout_ms: int
    sub_version: int = 0
    subscription: str | None = None
    expression_type: str | None = None


@value
class PullResult(Result):
    """Stored records and the next offset.

    `code` is SUCCESS, PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY or PULL_OFFSET_MOVED; `records` are stored-record bytes,
    `offsets` their queue offsets.
    """

    code: ResponseCode
    status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    records: Sequence[bytes]
    offsets: Sequence[int] = ()
    suggest_which_broker_id: int = 0
    topic_sys_flag: int = 0
    group_sys_flag: int = 0
    offset_delta: int | None = None
    """Of a static topic: what clients have to add to the offsets in records."""
    forwarded: bool = False
    """Whether another broker has answered."""

    def journaled(self) -> Result:
        """The answer without the records."""
        if not self.records:
            return self
        # Written out: `replace` takes as long as the reading of several messages.
        return PullResult(
            self.code,
            self.status,
            self.next_begin_offset,
            self.min_offset,
            self.max_offset,
            [],
            self.offsets,
            self.suggest_which_broker_id,
            self.topic_sys_flag,
            self.group_sys_flag,
            self.offset_delta,
            self.forwarded,
        )


@value
class PopMessage(Operation):
    """Take messages for a while without owning a queue.

    `queue_id` < 0 means all read queues. `invisible_ms` is how long they stay hidden, `poll_ms` how long to wait (0 =
    not at all), `born_ms` the client's clock (0 = now), `init_mode` 0 = minimum, 1 = maximum offset for a new group.
    `attempt_id` repeats an ordered pop. Source: PopMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int
    invisible_ms: int
    poll_ms: int
    born_ms: int
    init_mode: int
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


@value
class PoppedMessage:
    """One popped record and what its receipt handle is made of.

    `topic_digit` is 0 for the topic itself, 1 or 2 for its pop retry topic (v1, v2); `queue_offset` and `queue_id`
    address that real topic. `start_offset` is the check point's.
    """

    record: bytes
    topic_digit: int
    queue_id: int
    queue_offset: int
    start_offset: int
    physical_offset: int
    reconsume_times: int


@value
class PopResult(Result):
    """Popped messages in the order of `msg_offset_info`, or none with POLLING_TIMEOUT or POLLING_FULL.

    The info texts are upstream's: `"<digit> <queue> <offset>"` joined with `;`. Source: PopMessageResponseHeader.
    """

    code: ResponseCode
    pop_time: int
    invisible_ms: int
    revive_qid: int
    rest_num: int
    messages: list[PoppedMessage]
    start_offset_info: str = ""
    msg_offset_info: str = ""
    order_count_info: str | None = None
    remark: str | None = None

    def journaled(self) -> Result:
        """The answer without the messages; `msg_offset_info` still tells which they were."""
        return replace(self, messages=[]) if self.messages else self


@value
class AckMessage(Operation):
    """Acknowledge one popped message.

    `topic` is the real topic (for digit 1 and 2 the pop retry topic), `extra_info` the receipt handle as text.
    Source: AckMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int


@value
class BatchAck:
    """Acknowledgements of one check point; bit i of `bits` (lowest byte first) stands for offset `start_offset` + i.

    `topic` is the original topic, `retry` the digit as text (`"0"`, `"1"`, `"2"`). Source: BatchAck (5.3.3).
    """

    consumer_group: str
    topic: str
    retry: str
    start_offset: int
    queue_id: int
    revive_qid: int
    pop_time: int
    invisible_ms: int
    bits: bytes


def bit_set(bits: int) -> bytes:
    """The bits of a number (>= 0) as the bytes of a Java BitSet, lowest byte first."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


@value
class BatchAckMessage(Operation):
    """Acknowledge many popped messages of one broker. `acks` None or empty is answered NO_MESSAGE."""

    acks: list[BatchAck] | None
    broker_name: str | None = None


@value
class ChangeInvisibleTime(Operation):
    """Hide a popped message for `invisible_ms` from now. Source: ChangeInvisibleTimeRequestHeader (5.3.3)."""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    invisible_ms: int


@value
class RollBackPops(Operation):
    """Turn the records of the KV variant into check points. Source: POP_ROLLBACK of AdminBrokerProcessor (5.3.3)."""


@value
class ChangeInvisibleResult(Result):
    """What the new receipt handle is made of."""

    pop_time: int
    invisible_ms: int
    revive_qid: int


@value
class Notification(Operation):
    """Wait until a pop would find something. Source: NotificationRequestHeader (5.3.3).

    `for_pop`: the one who asks would else wait in a pop, and is told, too, when what one pop leaves is for the next;
    upstream has no such notifications.
    """

    consumer_group: str
    topic: str
    queue_id: int
    poll_ms: int
    born_ms: int
    order: bool = False
    attempt_id: str | None = None
    for_pop: bool = False


@value
class NotificationResult(Result):
    """`polling_full` is true when there was no room to wait."""

    has_msg: bool
    polling_full: bool = False


@value
class PeekMessage(Operation):
    """Read what a pop would read, without taking it. Source: PeekMessageRequestHeader (5.3.3)."""

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int


@value
class PollingInfo(Operation):
    """How many pops wait. Source: PollingInfoRequestHeader (5.3.3)."""

    consumer_group: str
    topic: str
    queue_id: int


@value
class PollingInfoResult(Result):
    """Number of waiting pops of this topic, group and queue id."""

    polling_num: int = field(default=0)
