"""ChangeInvisibleDuration: make a message visible at another time. Source: ChangeInvisibleDurationActivity (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.consume import ChangeInvisibleResult, ChangeInvisibleTime

from ..config.pools import ProxyPool
from ..config.proxy_config import ProxyConfig
from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proto.timestamps import duration_ms
from ..proxy.auto_renewal import Renewals
from ..proxy.required_rights import to_change_invisible_duration
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, NodeOperation, Rpc, one_operation
from ..rules.proxy_rules import check_invisible_time, group_name
from ..rules.status import OK, Refusal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InvisibleDurationService:
    """Changes the times at which messages become visible."""

    routes: Routes
    renewals: Renewals
    config: ProxyConfig
    scheduler: Scheduler
    defects: Defects

    def change_operation(self, call: RpcCall, request: sv.ChangeInvisibleDurationRequest) -> NodeOperation:
        """Make a message visible after a new duration, counted from now.

        Returns the broker that the handle names, and the operation. The response has the handle for further requests.
        """
        topic = self.routes.topic_name(request.topic)
        group = group_name(request.group)
        invisible_ms = duration_ms(request.invisible_duration)
        check_invisible_time(invisible_ms, 0, self.config)
        requested = ReceiptHandle.parse(request.receipt_handle)
        self.renewals.check_channel(call.session)
        handle = self.renewals.stop_renewing(call.session, group, request.message_id, requested)
        handle.check_not_expired(self.scheduler.now_ms)
        operation = ChangeInvisibleTime(
            consumer_group=group,
            topic=handle.real_topic(topic, group),
            queue_id=handle.queue_id,
            extra_info=handle.encode(),
            offset=handle.offset,
            invisible_ms=invisible_ms,
        )
        return self.routes.broker_of_handle(handle.broker_name), operation

    def _change_response(
        self, _call: RpcCall, request: sv.ChangeInvisibleDurationRequest, result: ChangeInvisibleResult
    ) -> sv.ChangeInvisibleDurationResponse:
        text = ReceiptHandle.parse(request.receipt_handle).encode_changed(result, self.defects)
        return sv.ChangeInvisibleDurationResponse(status=OK, receipt_handle=text)


def _abnormal(_request: sv.ChangeInvisibleDurationRequest, _error: EngineError) -> Refusal:
    return Refusal(pb.INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal")


CHANGE_INVISIBLE_DURATION = Rpc(
    "ChangeInvisibleDuration",
    sv.ChangeInvisibleDurationRequest,
    sv.ChangeInvisibleDurationResponse,
    one_operation(InvisibleDurationService.change_operation, InvisibleDurationService._change_response, _abnormal),
    operations=(ChangeInvisibleTime,),
    codes=(
        *CODES_OF_TOPIC_RPCS,
        pb.ILLEGAL_CONSUMER_GROUP,
        pb.ILLEGAL_INVISIBLE_TIME,
        pb.INVALID_RECEIPT_HANDLE,
        pb.INTERNAL_SERVER_ERROR,
    ),
    rights=to_change_invisible_duration,
    pool=ProxyPool.CONSUMER,
)
