"""RecallMessage: recall a timed message. Source: RecallMessageActivity (5.3.3)."""

import binascii
from base64 import urlsafe_b64decode

from rocketmq_testkit.emulator.operations import RecallMessage, RecallResult

from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import NAMES, Ask, Rpc, one_operation
from ..rules.status import OK


def recall_message(call: RpcCall, request: sv.RecallMessageRequest) -> Ask:
    """Recall a message before it is delivered, by the handle in the response to its send."""
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    proxy.routes.check_type(topic, "DELAY")
    handle = request.recall_handle
    return proxy.routes.holder(_broker_name(handle), pb.BAD_REQUEST), RecallMessage(topic, handle, topic)


def _broker_name(handle: str) -> str:
    """Return the broker name in a handle. Empty if the handle is invalid: any broker can reject it then."""
    try:
        parts = urlsafe_b64decode(handle + "=" * (-len(handle) % 4)).decode().split(" ")
    except (binascii.Error, ValueError):
        return ""
    return parts[2] if len(parts) > 2 else ""


def _recalled(_call: RpcCall, _request: sv.RecallMessageRequest, result: RecallResult) -> sv.RecallMessageResponse:
    return sv.RecallMessageResponse(status=OK, message_id=result.msg_id)


RECALL_MESSAGE = Rpc(
    "RecallMessage",
    sv.RecallMessageRequest,
    sv.RecallMessageResponse,
    one_operation(recall_message, _recalled),
    (RecallMessage,),
    (*NAMES, pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, pb.INTERNAL_SERVER_ERROR),
)
