"""RecallMessage: recall a timed message. Source: RecallMessageActivity (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.operations.send import RecallMessage, RecallResult
from rocketmq_testkit.emulator.schedule.recall_service import RecallHandle

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.required_rights import to_produce
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, NodeOperation, Rpc, one_operation
from ..rules.status import OK, proxy_exception


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecallMessageService:
    """Recalls timed messages."""

    routes: Routes

    def recall_operation(self, _call: RpcCall, request: sv.RecallMessageRequest) -> NodeOperation:
        """Recall a message before it is delivered, by the handle in the response to its send.

        Returns the broker that the handle names, and the operation. A gRPC producer's group is named like its topic.
        """
        topic = self.routes.topic_name(request.topic)
        self.routes.check_type(topic, "DELAY")
        handle = request.recall_handle
        try:
            name = RecallHandle.parse(handle).broker_name
        except ValueError as error:
            raise proxy_exception(pb.INTERNAL_SERVER_ERROR, str(error)) from None
        broker = self.routes.broker_of_handle(name, pb.BAD_REQUEST)
        return broker, RecallMessage(topic=topic, recall_handle=handle, producer_group=topic)

    def _recall_response(
        self, _call: RpcCall, _request: sv.RecallMessageRequest, result: RecallResult
    ) -> sv.RecallMessageResponse:
        return sv.RecallMessageResponse(status=OK, message_id=result.msg_id)


RECALL_MESSAGE = Rpc(
    "RecallMessage",
    sv.RecallMessageRequest,
    sv.RecallMessageResponse,
    one_operation(RecallMessageService.recall_operation, RecallMessageService._recall_response),
    operations=(RecallMessage,),
    codes=(
        *CODES_OF_TOPIC_RPCS,
        pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
        pb.BAD_REQUEST,
        pb.INTERNAL_SERVER_ERROR,
    ),
    rights=to_produce,
    pool=ProxyPool.PRODUCER,
    blocks_thread=True,
)
