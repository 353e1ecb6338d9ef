"""ForwardMessageToDeadLetterQueue: move a message to the dead letter queue.

Source: ForwardMessageToDLQActivity (5.3.3).
"""

from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import AckMessage, SendMessageBack

from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import NAMES, Rpc
from ..rules.status import Refusal, proxy_exception, status, thrown_by_broker

_AT_ONCE = -1
_DONE = status(pb.OK, "0")
"""Upstream's text is the broker's response code, where other RPCs have `OK`."""


def forward_message_to_dead_letter_queue(call: RpcCall, request: sv.ForwardMessageToDeadLetterQueueRequest) -> None:
    """Copy a message into the dead letter queue of its group, then acknowledge it. An expired handle is accepted."""
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    group = proxy.group_name(request.group)
    text = request.receipt_handle
    own = ReceiptHandle.parse(text)
    handle = proxy.renewals.take(call.session, group, request.message_id, own)
    if handle is not own:
        text = handle.encode()
    if handle.commit_log_offset < 0:
        raise proxy_exception(pb.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
    broker = proxy.routes.holder(handle.broker_name)
    real_topic = handle.real_topic(topic, group)

    def acknowledge(outcome: Outcome) -> None:
        if isinstance(outcome, EngineError):
            remark = outcome.remark or outcome.code.name
            raise thrown_by_broker(outcome) or Refusal(pb.INTERNAL_SERVER_ERROR, remark)
        ack = AckMessage(group, real_topic, handle.queue_id, text, handle.offset)
        call.ask(broker, ack, answer)

    def answer(_outcome: Outcome) -> None:
        call.reply(sv.ForwardMessageToDeadLetterQueueResponse(status=_DONE))

    operation = SendMessageBack(
        group,
        handle.commit_log_offset,
        _AT_ONCE,
        request.message_id,
        real_topic,
        max_reconsume_times=0,
        through_proxy=True,
    )
    call.ask(broker, operation, acknowledge)


FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE = Rpc(
    "ForwardMessageToDeadLetterQueue",
    sv.ForwardMessageToDeadLetterQueueRequest,
    sv.ForwardMessageToDeadLetterQueueResponse,
    forward_message_to_dead_letter_queue,
    (SendMessageBack, AckMessage),
    (*NAMES, pb.ILLEGAL_CONSUMER_GROUP, pb.INVALID_RECEIPT_HANDLE, pb.INTERNAL_SERVER_ERROR),
)
