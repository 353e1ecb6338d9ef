"""Send messages: SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, replies, recall.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: SendMessageProcessor, ReplyMessageProcessor, RecallMessageProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from functools import lru_cache

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import properties
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.emulator.operations.send import (
    RecallMessage,
    RecallResult,
    SendMessage,
    SendReplyMessage,
    SendResult,
    WholeBatchSendResult,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import RequestTable, Role
from ..request.required_rights import no_rights, on_topic, to_send
from ..wire.command import VERSION_MAX_RECONSUME_TIMES
from ..wire.ext_fields import Header, Int, Long, header, wire
from ..wire.response_frame import HEAD, NOT_SET, TAIL, quoted

TABLE = RequestTable(Role.BROKER)

SUCCESS = ResponseCode.SUCCESS

NO_BODY = (
    "java.lang.NullPointerException: Cannot read the array length because the return value of "
    '"org.apache.rocketmq.remoting.protocol.RemotingCommand.getBody()" is null'
)


@header
class SendMessageRequestHeader(Header):
    """Request to store a message or a batch of messages.

    Errors: TOPIC_NOT_EXIST, NO_PERMISSION, INVALID_PARAMETER (name, queue id), MESSAGE_ILLEGAL (size),
    SUBSCRIPTION_GROUP_NOT_EXIST (retry topic), SYSTEM_BUSY (slave), SERVICE_NOT_AVAILABLE (full disk).
    """

    producer_group: str = ""
    topic: str
    default_topic: str = AUTO_CREATE_TOPIC
    default_topic_queue_nums: Int = 4
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str = ""
    reconsume_times: Int = 0
    unit_mode: bool = False
    batch: bool = False
    max_reconsume_times: Int | None = None


@header
class SendMessageRequestHeaderV2(Header):
    """SendMessageRequestHeader with field names of one letter. Java clients send this form."""

    FAST = True
    UPSTREAM = "SendMessageRequestHeader"  # upstream converts it to that class first

    producer_group: str = wire("a", default="")
    topic: str = wire("b")
    default_topic: str = wire("c", default=AUTO_CREATE_TOPIC)
    default_topic_queue_nums: Int = wire("d", default=4)
    queue_id: Int = wire("e")
    sys_flag: Int = wire("f")
    born_timestamp: Long = wire("g")
    flag: Int = wire("h")
    properties: str = wire("i", default="")
    reconsume_times: Int = wire("j", default=0)
    unit_mode: bool = wire("k", default=False)
    max_reconsume_times: Int | None = wire("l", default=None)
    batch: bool = wire("m", default=False)


@header
class RecallMessageRequestHeader(Header):
    """Request to recall a timed message before it is delivered.

    Errors: NO_PERMISSION (recall is off), TOPIC_NOT_EXIST, ILLEGAL_OPERATION (handle, time), SLAVE_NOT_AVAILABLE,
    SERVICE_NOT_AVAILABLE, SYSTEM_ERROR (the recall cannot be stored).
    """

    producer_group: str | None = None
    topic: str
    recall_handle: str = ""


def send_response(call: RemotingCall, result: SendResult) -> bytes:
    """Encode the position of the stored message.

    It is the most frequent response, so its header is a single format string.
    """
    code, id_ = result.code, result.transaction_id
    transaction_id = "" if id_ is None else f'"transactionId":{quoted(id_)},'
    config = call.dispatcher.broker_config
    fields = _region_and_trace_text(config.region_id, config.trace_on)
    if result.recall_handle is not None or result.__class__ is WholeBatchSendResult:
        fields += _handle_and_batch(call, result)
    text = (
        f'{{"code":{0 if code is SUCCESS else int(code)},"extFields":{{"queueId":"{result.queue_id}",{transaction_id}'
        f'"msgId":"{result.msg_id}",{fields}"queueOffset":"{result.queue_offset}"}},"flag":1,"language":"JAVA",'
        f'"opaque":{call.number},{TAIL}'
    ).encode()
    size = len(text)
    return HEAD.pack(4 + size, size) + text


def send_error(call: RemotingCall, error: EngineError) -> bytes:
    """Encode the response to a rejected send, which has the region and the trace switch.

    Both are absent if upstream's handler throws, or if the request is rejected before the handler.
    """
    thrown = error.code == ResponseCode.SYSTEM_ERROR and (error.remark or "").startswith("java.")
    if thrown or error.code == ResponseCode.NOT_LEADER_FOR_QUEUE:
        return call.response(error.remark, code=error.code)
    config = call.dispatcher.broker_config
    ext = {"TRACE_ON": "true" if config.trace_on else "false", "MSG_REGION": config.region_id}
    return call.response(error.remark, ext, code=error.code)


@TABLE.processor(
    RequestCode.SEND_MESSAGE,
    header=SendMessageRequestHeader,
    rights=to_send("topic", "group"),
    pool=BrokerPool.SEND,
    response=send_response,
    error=send_error,
)
@TABLE.processor(
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    header=SendMessageRequestHeaderV2,
    rights=to_send("b", "a"),
    pool=BrokerPool.SEND,
    response=send_response,
    error=send_error,
)
def send_message(
    call: RemotingCall, header: SendMessageRequestHeader | SendMessageRequestHeaderV2, body: bytes
) -> SendMessage:
    """Translate a send. The header, not the request code, marks a batch.

    Versions below 121 (3.4.9) cannot set the maximum number of retries (SendMessageProcessor.handleRetryAndDLQ).
    """
    if not body:
        raise EngineError(ResponseCode.SYSTEM_ERROR, NO_BODY)
    max_reconsume_times = header.max_reconsume_times
    if max_reconsume_times is not None and call.version < VERSION_MAX_RECONSUME_TIMES:
        max_reconsume_times = None
    return SendMessage(
        header.producer_group,
        header.topic,
        header.queue_id,
        body,
        properties.decode(header.properties),
        call.channel.peer_address,
        header.born_timestamp,
        header.sys_flag,
        header.flag,
        header.default_topic,
        header.default_topic_queue_nums,
        header.reconsume_times,
        max_reconsume_times,
        header.unit_mode,
        header.batch,
    )


def reply_response(call: RemotingCall, result: SendResult) -> bytes:
    """Encode the result of a reply, like that of a send. The remark says why a reply was not delivered.

    A reply that was neither delivered nor stored has no queue id, message id and offset.
    """
    config = call.dispatcher.broker_config
    ext = {"TRACE_ON": "true" if config.trace_on else "false", "MSG_REGION": config.region_id}
    if result.msg_id:
        place = {"queueId": str(result.queue_id), "msgId": result.msg_id, "queueOffset": str(result.queue_offset)}
        ext = {**place, **ext}
    return call.response(result.remark, ext, code=result.code)


@TABLE.processor(
    RequestCode.SEND_REPLY_MESSAGE,
    header=SendMessageRequestHeader,
    rights=no_rights,
    pool=BrokerPool.REPLY,
    response=reply_response,
    error=send_error,
)
@TABLE.processor(
    RequestCode.SEND_REPLY_MESSAGE_V2,
    header=SendMessageRequestHeaderV2,
    rights=no_rights,
    pool=BrokerPool.REPLY,
    response=reply_response,
    error=send_error,
)
def send_reply_message(
    call: RemotingCall, header: SendMessageRequestHeader | SendMessageRequestHeaderV2, body: bytes
) -> SendReplyMessage:
    """Translate a reply message, which the broker forwards to the client that sent the request."""
    return SendReplyMessage(send_message(call, header, body))


def _recall_response(call: RemotingCall, result: RecallResult) -> bytes:
    ext = {"msgId": result.msg_id, "MSG_REGION": call.dispatcher.broker_config.region_id}
    return call.response(NOT_SET, ext)


def _recall_error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, {"MSG_REGION": call.dispatcher.broker_config.region_id}, code=error.code)


@TABLE.processor(
    RequestCode.RECALL_MESSAGE,
    header=RecallMessageRequestHeader,
    rights=on_topic(Action.PUB),
    pool=BrokerPool.SEND,
    response=_recall_response,
    error=_recall_error,
)
def recall_message(call: RemotingCall, header: RecallMessageRequestHeader, body: bytes) -> RecallMessage:
    """Translate a recall. Its recall handle is from the response to the send."""
    return RecallMessage(header.topic, header.recall_handle, header.producer_group)


def _handle_and_batch(call: RemotingCall, result: SendResult) -> str:
    """Encode the recall handle of a timed message, and the id of a batch that was stored as one record."""
    handle = result.recall_handle
    if handle is not None and call.processor.code is RequestCode.SEND_BATCH_MESSAGE:
        handle = None  # as upstream: only a batch sent with another request code gets a recall handle
    text = "" if handle is None else f'"recallHandle":{quoted(handle)},'
    if result.__class__ is WholeBatchSendResult:
        text += f'"batchUniqId":{quoted(result.transaction_id or "")},'
    return text


@lru_cache(maxsize=64)
def _region_and_trace_text(region: str, trace_on: bool) -> str:
    return f'"TRACE_ON":"{"true" if trace_on else "false"}","MSG_REGION":{quoted(region)},'
