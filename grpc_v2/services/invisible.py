"""ChangeInvisibleDuration: hide a message for another while. Source: ChangeInvisibleDurationActivity (5.3.3)."""

from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.operations import ChangeInvisibleResult, ChangeInvisibleTime

from ..calls import RpcCall
from ..instants import duration_ms
from ..method_table import NAMES, Ask, Rpc, one_operation
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy_rules import check_invisible_time
from ..receipt import ReceiptHandle
from ..status import OK, Refusal


def change_invisible_duration(call: RpcCall, request: sv.ChangeInvisibleDurationRequest) -> Ask:
    """A message becomes visible a given time from now; the handle in the answer is the one to use from then on."""
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    group = proxy.group_name(request.group)
    invisible_ms = duration_ms(request.invisible_duration)
    check_invisible_time(invisible_ms, 0, proxy.config)
    text = request.receipt_handle
    handle = ReceiptHandle.parse(text)
    handle.check_not_expired(proxy.now_ms)
    if call.session is not None:
        call.session.renewable.pop(text, None)
    operation = ChangeInvisibleTime(
        group, handle.real_topic(topic, group), handle.queue_id, text, handle.offset, invisible_ms
    )
    return proxy.routes.named(handle.broker_name), operation


def _new_handle(
    _call: RpcCall, request: sv.ChangeInvisibleDurationRequest, result: ChangeInvisibleResult
) -> sv.ChangeInvisibleDurationResponse:
    old = ReceiptHandle.parse(request.receipt_handle)
    new = old._replace(
        start_offset=old.offset,
        pop_time=result.pop_time,
        invisible_ms=result.invisible_ms,
        revive_queue_id=result.revive_qid,
    )
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
