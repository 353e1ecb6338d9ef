"""Pull messages by offset, and send messages back.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: PullMessageProcessor, SendMessageProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.config.keys import camel_case
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.record_run import concatenate
from rocketmq_testkit.emulator.operations.consume import PullMessage, PullResult
from rocketmq_testkit.emulator.operations.send import SendMessageBack
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import RequestTable, Role
from ..request.required_rights import no_rights, to_consume, to_send_back
from ..wire.command import VERSION_MAX_RECONSUME_TIMES
from ..wire.ext_fields import Header, Int, Long, header
from ..wire.response_frame import encode_read_response

TABLE = RequestTable(Role.BROKER)


@header
class PullMessageRequestHeader(Header):
    """Request to pull messages of one queue from an offset. It may wait for messages (long polling).

    Errors: NO_PERMISSION (ext `forbiddenType`), SUBSCRIPTION_GROUP_NOT_EXIST, TOPIC_NOT_EXIST, INVALID_PARAMETER (queue
    id), SUBSCRIPTION_PARSE_FAILED, SUBSCRIPTION_NOT_EXIST, SUBSCRIPTION_NOT_LATEST, FILTER_DATA_NOT_EXIST,
    FILTER_DATA_NOT_LATEST, SYSTEM_ERROR (SQL92 filters are off), SYSTEM_BUSY (slave). Not emulated: `maxMsgBytes`,
    which the default store ignores as well.
    """

    FAST = True

    consumer_group: str
    topic: str
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int
    commit_offset: Long = 0
    suspend_timeout_millis: Long = 0
    subscription: str | None = None
    sub_version: Long = 0
    expression_type: str | None = None


@header
class ConsumerSendMsgBackRequestHeader(Header):
    """Request to send a message back for a later retry. `offset` is its physical offset.

    Errors: SYSTEM_ERROR (no message at the offset), SUBSCRIPTION_GROUP_NOT_EXIST, NO_PERMISSION, SYSTEM_BUSY (slave).
    """

    offset: Long
    group: str
    delay_level: Int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int | None = None


def _pull_response(call: RemotingCall, result: PullResult) -> bytes:
    if result.offset_delta is not None:
        return _static_topic_response(call, result)
    fields = (
        f'"suggestWhichBrokerId":"{result.suggest_which_broker_id}","groupSysFlag":"{result.group_sys_flag}",'
        f'"nextBeginOffset":"{result.next_begin_offset}","maxOffset":"{result.max_offset}",'
        f'"minOffset":"{result.min_offset}","topicSysFlag":"{result.topic_sys_flag}"'
    )
    return encode_read_response(call.number, result.code, result.status.value, fields, concatenate(result.records))


def _static_topic_response(call: RemotingCall, result: PullResult) -> bytes:
    """Encode the response for a static topic.

    Upstream loses the remark when it rewrites the response for a logical queue.
    """
    fields = {
        "suggestWhichBrokerId": str(result.suggest_which_broker_id),
        "groupSysFlag": str(result.group_sys_flag),
        "nextBeginOffset": str(result.next_begin_offset),
        "maxOffset": str(result.max_offset),
        "minOffset": str(result.min_offset),
        "topicSysFlag": str(result.topic_sys_flag),
        "offsetDelta": str(result.offset_delta),
    }
    remark: str | None = None
    if result.code is ResponseCode.SUCCESS:
        remark = "" if result.forwarded else result.status.value
    return call.response(remark, fields, concatenate(result.records), code=result.code)


def _pull_error(call: RemotingCall, error: EngineError) -> bytes:
    ext = {camel_case(name): str(value) for name, value in error.details.items()}
    return call.response(error.remark, ext, code=error.code)


@TABLE.processor(
    RequestCode.PULL_MESSAGE,
    header=PullMessageRequestHeader,
    rights=to_consume(Action.SUB),
    pool=BrokerPool.PULL,
    response=_pull_response,
    error=_pull_error,
)
@TABLE.processor(
    RequestCode.LITE_PULL_MESSAGE,
    header=PullMessageRequestHeader,
    rights=no_rights,
    pool=BrokerPool.LITE_PULL,
    response=_pull_response,
    error=_pull_error,
)
def pull_message(call: RemotingCall, header: PullMessageRequestHeader, body: bytes) -> PullMessage:
    """Translate a pull or a lite pull. A lite pull differs only by a bit of its sysFlag."""
    return PullMessage(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.queue_offset,
        header.max_msg_nums,
        header.sys_flag,
        header.commit_offset,
        header.suspend_timeout_millis,
        header.sub_version,
        header.subscription,
        header.expression_type,
    )


@TABLE.processor(
    RequestCode.CONSUMER_SEND_MSG_BACK,
    header=ConsumerSendMsgBackRequestHeader,
    rights=to_send_back,
    pool=BrokerPool.SEND,
)
def send_message_back(call: RemotingCall, header: ConsumerSendMsgBackRequestHeader, body: bytes) -> SendMessageBack:
    """Translate a send-back. Versions below 121 (3.4.9) cannot set the maximum number of retries."""
    accepts_max_reconsume = call.version >= VERSION_MAX_RECONSUME_TIMES
    return SendMessageBack(
        group=header.group,
        offset=header.offset,
        delay_level=header.delay_level,
        origin_msg_id=header.origin_msg_id,
        origin_topic=header.origin_topic,
        unit_mode=header.unit_mode,
        max_reconsume_times=header.max_reconsume_times if accepts_max_reconsume else None,
    )
