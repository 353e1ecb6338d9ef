"""ChangeInvisibleDuration: change when a message becomes visible. Source: ChangeInvisibleDurationActivity (5.3.3)."""

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import ChangeInvisibleResult, ChangeInvisibleTime

from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proto.timestamps import duration_ms
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import NAMES, Ask, Rpc, one_operation
from ..rules.proxy_rules import check_invisible_time
from ..rules.status import OK, Refusal


def change_invisible_duration(call: RpcCall, request: sv.ChangeInvisibleDurationRequest) -> Ask:
    """Make a message visible after a new duration, counted from now.

    The response has the handle for further requests.
    """
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    group = proxy.group_name(request.group)
    invisible_ms = duration_ms(request.invisible_duration)
    check_invisible_time(invisible_ms, 0, proxy.config)
    own = ReceiptHandle.parse(request.receipt_handle)
    handle = proxy.renewals.take(call.session, group, request.message_id, own)
    handle.check_not_expired(proxy.now_ms)
    operation = ChangeInvisibleTime(
        group, handle.real_topic(topic, group), handle.queue_id, handle.encode(), handle.offset, invisible_ms
    )
    return proxy.routes.holder(handle.broker_name), operation


def _new_handle(
    _call: RpcCall, request: sv.ChangeInvisibleDurationRequest, result: ChangeInvisibleResult
) -> sv.ChangeInvisibleDurationResponse:
    new = ReceiptHandle.parse(request.receipt_handle).changed(result)
    return sv.ChangeInvisibleDurationResponse(status=OK, receipt_handle=new.encode())


def _abnormal(_request: sv.ChangeInvisibleDurationRequest, _error: EngineError) -> Refusal:
    return Refusal(pb.INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal")


CHANGE_INVISIBLE_DURATION = Rpc(
    "ChangeInvisibleDuration",
    sv.ChangeInvisibleDurationRequest,
    sv.ChangeInvisibleDurationResponse,
    one_operation(change_invisible_duration, _new_handle, _abnormal),
    (ChangeInvisibleTime,),
    (
        *NAMES,
        pb.ILLEGAL_CONSUMER_GROUP,
        pb.ILLEGAL_INVISIBLE_TIME,
        pb.INVALID_RECEIPT_HANDLE,
        pb.INTERNAL_SERVER_ERROR,
    ),
)
