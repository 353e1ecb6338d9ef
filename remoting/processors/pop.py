"""Pop consumption: pop, acknowledge, change the invisible duration, notification, peek.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: PopMessageProcessor, AckMessageProcessor, ChangeInvisibleTimeProcessor, NotificationProcessor,
PeekMessageProcessor, PollingInfoProcessor (5.3.3). Absent numbers count as 0 where upstream's headers have primitives.
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    Notification,
    NotificationResult,
    PeekMessage,
    PollingInfo,
    PollingInfoResult,
    PopMessage,
    PopResult,
    RollBackPops,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies.pop import BatchAckBody
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import CONSUMER_GROUP_AND_TOPIC, no_rights, on_fields
from ..wire.ext_fields import Header, Int, Long, header
from ..wire.response_frame import NOT_SET, encode_read_response

TABLE = RequestTable(Role.BROKER)

NO_EXTRA_INFO = (
    "java.lang.IllegalArgumentException: split extraInfo is null, "
    "org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil.split(ExtraInfoUtil.java:35)"
)
"""Remark of upstream's exception for a request without a receipt handle."""
_NO_POP = {"invisibleTime": "0", "restNum": "0", "popTime": "0", "reviveQid": "0"}
_NO_CHANGE = {"invisibleTime": "0", "popTime": "0", "reviveQid": "0"}
_NO_NOTIFICATION = {"hasMsg": "false", "pollingFull": "false"}
"""Ext fields of error responses: the unset fields of upstream's response headers."""


@header
class PopMessageRequestHeader(Header):
    """Request to pop messages: receive them and make them invisible for a duration.

    Errors: POLLING_TIMEOUT, POLLING_FULL (no message found), TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST,
    NO_PERMISSION, INVALID_PARAMETER (queue id, more than 32 messages), SUBSCRIPTION_PARSE_FAILED, SYSTEM_ERROR (no
    timer wheel, negative number of messages).
    """

    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: Int = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


@header
class AckMessageRequestHeader(Header):
    """Request to acknowledge one popped message.

    Errors: TOPIC_NOT_EXIST, MESSAGE_ILLEGAL (queue id, offset that is not in the ordered batch), NO_MESSAGE (offset
    outside the queue), SYSTEM_ERROR (handle).
    """

    consumer_group: str = ""
    topic: str
    queue_id: Int
    extra_info: str | None = None
    offset: Long


@header
class ChangeInvisibleTimeRequestHeader(Header):
    """Request to change the invisible duration of a popped message. Errors: as for an acknowledgement."""

    consumer_group: str = ""
    topic: str
    queue_id: Int
    extra_info: str | None = None
    offset: Long
    invisible_time: Long


@header
class NotificationRequestHeader(Header):
    """Request to wait until a pop would find a message.

    Errors: NO_PERMISSION, TOPIC_NOT_EXIST, INVALID_PARAMETER (queue id), SUBSCRIPTION_GROUP_NOT_EXIST.
    """

    consumer_group: str
    topic: str
    queue_id: Int = 0
    poll_time: Long = 0
    born_time: Long = 0
    order: bool = False
    attempt_id: str | None = None


@header
class PeekMessageRequestHeader(Header):
    """Request to read the messages that a pop would receive, without popping them.

    Errors: PULL_NOT_FOUND, SYSTEM_ERROR (negative number of messages), otherwise as for a notification.
    """

    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0


@header
class PollingInfoRequestHeader(Header):
    """Request for the number of waiting pops. Errors: as for a notification."""

    consumer_group: str
    topic: str
    queue_id: Int = 0


def _pop_response(call: RemotingCall, result: PopResult) -> bytes:
    order = "" if result.order_count_info is None else f'"orderCountInfo":"{result.order_count_info}",'
    fields = (
        f'"invisibleTime":"{result.invisible_ms}","startOffsetInfo":"{result.start_offset_info}",'
        f'"restNum":"{result.rest_num}",{order}"popTime":"{result.pop_time}",'
        f'"reviveQid":"{result.revive_qid}","msgOffsetInfo":"{result.msg_offset_info}"'
    )
    remark = result.remark or ("FOUND" if result.messages else "NO_MESSAGE_IN_QUEUE")
    return encode_read_response(
        call.number, result.code, remark, fields, b"".join([each.record for each in result.messages])
    )


def _peek_response(call: RemotingCall, result: PopResult) -> bytes:
    fields = f'"invisibleTime":"0","restNum":"{result.rest_num}","popTime":"0","reviveQid":"0"'
    remark = result.remark or ("FOUND" if result.messages else "NO_MESSAGE_IN_QUEUE")
    return encode_read_response(
        call.number, result.code, remark, fields, b"".join([each.record for each in result.messages])
    )


def _pop_error(call: RemotingCall, error: EngineError) -> bytes:
    thrown = error.code == ResponseCode.SYSTEM_ERROR and not error.details.get("answered")
    return call.response(error.remark, None if thrown else _NO_POP, code=error.code)


@TABLE.processor(
    RequestCode.POP_MESSAGE,
    header=PopMessageRequestHeader,
    rights=on_fields(Action.SUB, fields=CONSUMER_GROUP_AND_TOPIC),
    pool=BrokerPool.PULL,
    response=_pop_response,
    error=_pop_error,
)
def pop_message(call: RemotingCall, header: PopMessageRequestHeader, body: bytes) -> PopMessage:
    """Translate a pop. Messages in the response body and their offsets have the same order."""
    return PopMessage(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.max_msg_nums,
        header.invisible_time,
        header.poll_time,
        call.dispatcher.engine_time_ms(header.born_time),
        header.init_mode,
        header.exp_type,
        header.exp,
        header.order,
        header.attempt_id,
    )


@TABLE.processor(
    RequestCode.PEEK_MESSAGE,
    header=PeekMessageRequestHeader,
    rights=on_fields(Action.SUB, fields="topic consumerGroup"),
    pool=BrokerPool.PULL,
    response=_peek_response,
    error=_pop_error,
)
def peek_message(call: RemotingCall, header: PeekMessageRequestHeader, body: bytes) -> PeekMessage:
    """Translate a peek. Messages stay visible, so the response has no pop time and no receipt handle."""
    return PeekMessage(header.consumer_group, header.topic, header.queue_id, header.max_msg_nums)


@TABLE.processor(
    RequestCode.ACK_MESSAGE,
    header=AckMessageRequestHeader,
    rights=on_fields(Action.SUB, fields=CONSUMER_GROUP_AND_TOPIC),
    pool=BrokerPool.ACK,
)
def ack_message(call: RemotingCall, header: AckMessageRequestHeader, body: bytes) -> AckMessage:
    """Translate an acknowledgement. The engine validates the receipt handle."""
    if header.extra_info is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, NO_EXTRA_INFO)
    return AckMessage(header.consumer_group, header.topic, header.queue_id, header.extra_info, header.offset)


def _change_response(call: RemotingCall, result: ChangeInvisibleResult) -> bytes:
    ext = {
        "invisibleTime": str(result.invisible_ms),
        "popTime": str(result.pop_time),
        "reviveQid": str(result.revive_qid),
    }
    return call.response(NOT_SET, ext)


def _change_error(call: RemotingCall, error: EngineError) -> bytes:
    if error.code == ResponseCode.SYSTEM_ERROR and error.remark is not None:  # upstream's handler threw
        return call.response(error.remark, code=error.code)
    return call.response(NOT_SET if error.remark is None else error.remark, _NO_CHANGE, code=error.code)


@TABLE.processor(
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    header=ChangeInvisibleTimeRequestHeader,
    rights=on_fields(Action.SUB, fields=CONSUMER_GROUP_AND_TOPIC),
    pool=BrokerPool.ACK,
    response=_change_response,
    error=_change_error,
)
def change_invisible_time(
    call: RemotingCall, header: ChangeInvisibleTimeRequestHeader, body: bytes
) -> ChangeInvisibleTime:
    """Translate a change of the invisible duration. The client makes its new receipt handle from the response."""
    if header.extra_info is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, NO_EXTRA_INFO)
    return ChangeInvisibleTime(
        header.consumer_group, header.topic, header.queue_id, header.extra_info, header.offset, header.invisible_time
    )


@TABLE.processor(
    RequestCode.BATCH_ACK_MESSAGE, header=NoHeader, rights=no_rights, pool=BrokerPool.ACK, body=BatchAckBody
)
def batch_ack_message(call: RemotingCall, header: NoHeader, body: BatchAckBody) -> BatchAckMessage:
    """Translate acknowledgements of several check points. Without any the engine responds with NO_MESSAGE."""
    return BatchAckMessage(None if body.acks is None else [each.ack() for each in body.acks], body.broker_name)


def _notification_response(call: RemotingCall, result: NotificationResult) -> bytes:
    ext = {
        "hasMsg": "true" if result.has_msg else "false",
        "pollingFull": "true" if result.polling_full else "false",
    }
    return call.response(NOT_SET, ext)


def _notification_error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, _NO_NOTIFICATION, code=error.code)


@TABLE.processor(
    RequestCode.NOTIFICATION,
    header=NotificationRequestHeader,
    rights=on_fields(Action.SUB, fields=CONSUMER_GROUP_AND_TOPIC),
    pool=BrokerPool.PULL,
    response=_notification_response,
    error=_notification_error,
)
def notification(call: RemotingCall, header: NotificationRequestHeader, body: bytes) -> Notification:
    """Translate a notification request. The proxy sends it before it pops."""
    return Notification(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.poll_time,
        call.dispatcher.engine_time_ms(header.born_time),
        header.order,
        header.attempt_id,
    )


def _polling_info_response(call: RemotingCall, result: PollingInfoResult) -> bytes:
    return call.response(NOT_SET, {"pollingNum": str(result.polling_num)})


def _polling_info_error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, {"pollingNum": "0"}, code=error.code)


@TABLE.processor(
    RequestCode.POLLING_INFO,
    header=PollingInfoRequestHeader,
    rights=on_fields(Action.GET, fields=CONSUMER_GROUP_AND_TOPIC),
    pool=BrokerPool.PULL,
    response=_polling_info_response,
    error=_polling_info_error,
)
def polling_info(call: RemotingCall, header: PollingInfoRequestHeader, body: bytes) -> PollingInfo:
    """Translate a request for the number of waiting pops of one topic, group and queue id."""
    return PollingInfo(header.consumer_group, header.topic, header.queue_id)


def _rolled_back(call: RemotingCall, result: Done) -> bytes:
    return call.response(NOT_SET)


@TABLE.processor(RequestCode.POP_ROLLBACK, header=NoHeader, rights=no_rights, response=_rolled_back)
def pop_rollback(call: RemotingCall, header: NoHeader, body: bytes) -> RollBackPops:
    """Translate a conversion of KV records to check points, sent before popConsumerKVServiceEnable is switched off."""
    return RollBackPops()
