"""AckMessage: acknowledge each entry separately, respond with one overall status.

Source: AckMessageActivity, ConsumerProcessor (5.3.3).
"""

from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import AckMessage

from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import NAMES, Rpc
from ..rules.status import OK, Refusal, overall, rejection


class _Acks:
    """The entries of one request, until the last of them has its status."""

    __slots__ = ("call", "response", "waiting")

    def __init__(self, call: RpcCall, entries: int) -> None:
        self.call = call
        self.response = sv.AckMessageResponse()
        self.waiting = entries

    def done(self) -> None:
        """Count an entry that has its status. Sends the response after the last one."""
        self.waiting -= 1
        if self.waiting:
            return
        response = self.response
        response.status.CopyFrom(overall(entry.status.code for entry in response.entries))
        self.call.reply(response)


def ack_message(call: RpcCall, request: sv.AckMessageRequest) -> None:
    """Acknowledge messages. Each handle has its own result."""
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    group = proxy.group_name(request.group)
    entries = request.entries
    if not entries:
        raise Refusal(pb.INTERNAL_SERVER_ERROR, "ack message result is empty")
    acks = _Acks(call, len(entries))
    for entry in entries:
        answer = acks.response.entries.add(message_id=entry.message_id, receipt_handle=entry.receipt_handle)
        _acknowledge(acks, answer, topic, group)


def _acknowledge(acks: _Acks, answer: sv.AckMessageResultEntry, topic: str, group: str) -> None:
    call = acks.call
    proxy = call.proxy
    text = answer.receipt_handle
    try:
        own = ReceiptHandle.parse(text)
        handle = proxy.renewals.take(call.session, group, answer.message_id, own)
        handle.check_not_expired(proxy.now_ms)
        broker = proxy.routes.holder(handle.broker_name)
    except Refusal as refusal:
        entry = sv.AckMessageEntry(message_id=answer.message_id, receipt_handle=answer.receipt_handle)
        one = sv.AckMessageRequest(group=pb.Resource(name=group), topic=pb.Resource(name=topic), entries=[entry])
        call.journal_refusal(rejection(refusal), one)
        answer.status.CopyFrom(refusal.status())
        acks.done()
        return
    if handle is not own:
        text = handle.encode()

    def acknowledged(outcome: Outcome) -> None:
        if isinstance(outcome, EngineError):
            answer.status.code = pb.INTERNAL_SERVER_ERROR
            answer.status.message = "ack failed: status is abnormal"
        else:
            answer.status.CopyFrom(OK)
        acks.done()

    real_topic = handle.real_topic(topic, group)
    operation = AckMessage(group, real_topic, handle.queue_id, text, handle.offset)
    call.ask(broker, operation, acknowledged)


ACK_MESSAGE = Rpc(
    "AckMessage",
    sv.AckMessageRequest,
    sv.AckMessageResponse,
    ack_message,
    (AckMessage,),
    (
        *NAMES,
        pb.ILLEGAL_CONSUMER_GROUP,
        pb.INVALID_RECEIPT_HANDLE,
        pb.MULTIPLE_RESULTS,
        pb.INTERNAL_SERVER_ERROR,
    ),
)
