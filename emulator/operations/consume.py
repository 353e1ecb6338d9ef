"""Consuming messages: pull, pop, ack, change of the invisible duration, notification, peek."""

from collections.abc import Sequence
from dataclasses import field, replace
from enum import Enum

from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from .base import Operation, Result


class PullStatus(Enum):
    """The outcome of a read of one queue; its name is the remark of the response. Source: GetMessageStatus (5.3.3)."""

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


FLAG_COMMIT_OFFSET = 0x1
"""Bit of a pull's `sys_flag`: the broker commits `commit_offset`. Source of these bits: PullSysFlag (5.3.3)."""
FLAG_SUSPEND = 0x2
"""The pull may wait for messages."""
FLAG_SUBSCRIPTION = 0x4
"""The pull's filter is `subscription`; without this bit, the filter is the subscription in the group's heartbeats."""
FLAG_LITE_PULL = 0x10
"""The client is a lite pull consumer."""
INIT_MIN = 0
"""The `init_mode` of a pop with which a new group starts at the minimum offset; with any other at the maximum."""
RENEWAL = "RenewMessage"
"""Label of the calls by which the proxy itself extends invisible durations while a consumer processes messages."""


@value
class PullMessage(Operation):
    """Pull messages of one queue from an offset, with long polling if the request allows it.

    `sys_flag` has the bits `FLAG_...`: only with its bit a field has an effect. `suspend_timeout_ms` >= 0.
    Source: PullMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    sys_flag: int
    commit_offset: int = 0
    suspend_timeout_ms: int = 0
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
    """For a static topic: the number that clients have to add to the offsets in records."""
    forwarded: bool = False
    """True if another broker has responded to the pull."""
    read_part: tuple[str, int] | None = None
    """For a static topic: the broker and the physical queue that were read."""

    def journaled(self) -> Result:
        """Return a copy without the records."""
        if not self.records:
            return self
        # Not `replace`: it takes as long as reading several messages.
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
            self.read_part,
        )


@value
class PopMessage(Operation):
    """Pop messages: read and hide them for an invisible duration, without owning a queue.

    `queue_id` < 0 means all read queues. `invisible_ms` is the invisible duration, `poll_ms` the long polling time
    (0 = none), `born_ms` the time of the request by the client's clock (0 = now). `init_mode` 0 = minimum, 1 = maximum
    offset for a new group. `attempt_id` identifies a repeated ordered pop. Source: PopMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int
    invisible_ms: int
    poll_ms: int = 0
    born_ms: int = 0
    init_mode: int = INIT_MIN
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


@value
class PoppedMessage:
    """One popped record and the fields of its receipt handle.

    `topic_digit` is 0 for the topic itself, 1 or 2 for its pop retry topic (v1, v2); `queue_offset` and `queue_id`
    are positions in that topic. `start_offset` is the check point's.
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

    The info texts have one part for each queue read, joined with `;`: `<digit> <queue id> <offset>`, and in
    `msg_offset_info` the offsets of all messages of the queue, joined with `,`. `digit` is that of PoppedMessage.
    `order_count_info` of an ordered pop has the numbers of earlier deliveries: `<digit> qo<queue id>%<offset> <count>`
    for each redelivered message, and `<digit> <queue id> <count>` with the least of a queue. `rest_num` is the number
    of messages left in the queues. Source: PopMessageResponseHeader.
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
        """Return a copy without the messages; `msg_offset_info` still lists their offsets."""
        return replace(self, messages=[]) if self.messages else self


@value
class AckMessage(Operation):
    """Acknowledge one popped message.

    `topic` is the topic that holds the message (for digit 1 and 2 the pop retry topic), `extra_info` the receipt handle
    as text. Source: AckMessageRequestHeader (5.3.3).
    """

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int


@value
class BatchAck:
    """Acknowledgements of one check point; bit i of `bits` (lowest byte first) stands for offset `start_offset` + i.

    `topic` is the original topic, `retry` the topic digit as text (`"0"`, `"1"`, `"2"`). Source: BatchAck (5.3.3).
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
    """Convert a number (>= 0) to the bytes of a Java BitSet with the same bits, lowest byte first."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


@value
class BatchAckMessage(Operation):
    """Acknowledge many popped messages of one broker. If `acks` is None or empty, the response code is NO_MESSAGE."""

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
    """Convert KV records to check points. Source: POP_ROLLBACK of AdminBrokerProcessor (5.3.3)."""


@value
class ChangeInvisibleResult(Result):
    """The changed fields of the new receipt handle."""

    pop_time: int
    invisible_ms: int
    revive_qid: int


@value
class Notification(Operation):
    """Wait until a pop would find messages. Source: NotificationRequestHeader (5.3.3).

    `poll_ms`, `born_ms` and `attempt_id`: as in PopMessage. `for_pop`: the emulator's proxy waits for messages by this
    request, and then sends a pop. The broker also responds to it when another pop has left messages in the queue, which
    upstream's broker does not.
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
    """`polling_full` is True if too many requests were already waiting."""

    has_msg: bool
    polling_full: bool = False


@value
class PeekMessage(Operation):
    """Return the messages that a pop would read, without popping them. Source: PeekMessageRequestHeader (5.3.3)."""

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int


@value
class PollingInfo(Operation):
    """Count the waiting pops of a queue. Source: PollingInfoRequestHeader (5.3.3)."""

    consumer_group: str
    topic: str
    queue_id: int


@value
class PollingInfoResult(Result):
    """The number of waiting pops of this topic, group and queue id."""

    polling_num: int = field(default=0)
