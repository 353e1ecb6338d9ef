"""Sending: send, send back, reply messages, end of a transaction, recall."""

from dataclasses import KW_ONLY, field, replace

from ..kernel.java_types import Int
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from ..message.names import AUTO_CREATE_TOPIC
from .base import Operation, Result


@value
class SendMessage(Operation):
    """Send one message, or a batch (`batch`: the body is the concatenation of MessageDecoder.encodeMessages).

    `queue_id` < 0 lets the broker choose. `born_host` is the client's (address, port). `sys_flag` bits: compression
    0x1 and 0x700, transaction type 0xC (prepared or rolled back: no queue gets it). The store takes the body: after
    the append the operation no longer holds it. `through_proxy`: the gRPC proxy submits it, so the check
    rejectRequest does not apply. `properties_length` is the approximate length of the names and values of
    `properties`, set when the message is stored; 0 if it is not known. Source: SendMessageRequestHeader (5.3.3).
    """

    producer_group: str
    topic: str
    queue_id: Int
    body: bytes
    properties: dict[str, str]
    born_host: tuple[str, int]
    born_timestamp: int
    sys_flag: Int = 0
    flag: Int = 0
    default_topic: str = AUTO_CREATE_TOPIC
    default_topic_queue_nums: Int = 4
    reconsume_times: Int = 0
    max_reconsume_times: Int | None = None
    unit_mode: bool = False
    batch: bool = False
    properties_length: int = field(default=0, repr=False, compare=False)
    through_proxy: bool = False

    def take_body(self) -> bytes:
        """Return the body and remove it from the operation, because the journal keeps operations, not bodies."""
        body = self.body
        self.body = b""
        return body

    def journaled(self) -> "SendMessage":
        """Return the operation without the body, which a message that was not stored still has."""
        return replace(self, body=b"") if self.body else self


@value
class SendReplyMessage(Operation):
    """Push a reply message to the client that sent the request, and store it if the broker is configured so.

    The result is a SendResult without transaction id, also if the reply cannot be pushed.
    Source: ReplyMessageProcessor (5.3.3).
    """

    message: SendMessage

    def journaled(self) -> Operation:
        """Return a copy without the body of the message."""
        return replace(self, message=self.message.journaled())


@value
class ClientResponded(Operation):
    """A client's response to a request of the broker; `ticket` is that of the request."""

    ticket: int
    code: int
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    _: KW_ONLY
    body: bytes = b""


@value
class SendResult(Result):
    """The position of the stored message.

    `code` is SUCCESS, FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE: all four mean stored.
    For a reply message that could not be pushed, `code` is SYSTEM_ERROR and `remark` the reason. A reply message that
    is not stored has no offset message id: `msg_id` is `0` if it was pushed, else empty.
    `msg_id` is the offset message id (32 or 56 upper-case hex digits; a comma list for a batch).
    `physical_offset` is the commit log position of the (first) record.
    """

    code: ResponseCode
    msg_id: str
    queue_id: int
    queue_offset: int
    transaction_id: str | None
    physical_offset: int
    recall_handle: str | None = None
    remark: str | None = None


@value
class WholeBatchSendResult(SendResult):
    """The position of a batch stored as one record; `transaction_id` is the id of the batch."""


@value
class SendMessageBack(Operation):
    """Send a message back to the broker for a later retry.

    `offset` is the physical offset of the message. With `delay_level` 0 the broker uses 3 + reconsume times; < 0 means
    the dead letter queue at once. `max_reconsume_times` None means the group's. `through_proxy`: as in SendMessage.
    Source: ConsumerSendMsgBackRequestHeader (5.3.3).
    """

    group: str
    offset: int
    delay_level: int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None
    through_proxy: bool = False


@value
class EndTransaction(Operation):
    """Commit (8), roll back (12) or leave unknown (0) a half message.

    `commit_log_offset` is the physical offset of the half message, `tran_state_table_offset` its offset in the queue of
    half messages. Source: EndTransactionRequestHeader.
    """

    producer_group: str
    tran_state_table_offset: int
    commit_log_offset: int
    commit_or_rollback: int
    from_transaction_check: bool
    msg_id: str
    transaction_id: str | None = None
    topic: str | None = None


@value
class RecallMessage(Operation):
    """Recall a timed message that has not been delivered yet. Source: RecallMessageRequestHeader."""

    topic: str
    recall_handle: str
    producer_group: str | None = None


@value
class RecallResult(Result):
    """`msg_id` is the unique key of the recalled message."""

    msg_id: str


@value
class ResumeCheckHalfMessage(Operation):
    """Resume the checks of a half message that the broker discarded. `message_id` is the broker's id of any copy of it.

    Raises SYSTEM_ERROR (no such message). Source: ResumeCheckHalfMessageRequestHeader (5.3.3).
    """

    message_id: str | None
