"""AckMessage: acknowledge each entry separately, respond with one overall status.

Source: AckMessageActivity, ConsumerProcessor (5.3.3).
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.client.deliveries import Deliveries
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.consume import AckMessage

from ..config.pools import ProxyPool
from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.auto_renewal import Renewals
from ..proxy.required_rights import to_consume
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, Rpc
from ..rules.proxy_rules import group_name
from ..rules.status import OK, Refusal, overall_status, rejection


class _PendingAcks:
    """The entries of one request, until the last of them has its status."""

    __slots__ = ("call", "refused", "response", "waiting")

    def __init__(self, call: RpcCall, entries: int) -> None:
        self.call = call
        self.response = sv.AckMessageResponse()
        self.waiting = entries
        self.refused = 0
        """The entries that became no operation."""

    def entry_done(self) -> None:
        """Count an entry that has its status. Sends the response after the last one."""
        self.waiting -= 1
        if self.waiting:
            return
        response = self.response
        entries = response.entries
        response.status.CopyFrom(overall_status(entry.status.code for entry in entries))
        if self.refused == len(entries) and self.call.rpc.gate.rules is not None:
            from ..proxy.proxy_only_call import obey_rules

            obey_rules(self.call, lambda call: call.reply(response))
        else:
            self.call.reply(response)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AckMessageService:
    """Acknowledges messages."""

    routes: Routes
    renewals: Renewals
    scheduler: Scheduler
    deliveries: Deliveries

    def ack_message(self, call: RpcCall, request: sv.AckMessageRequest) -> None:
        """Acknowledge messages. Each handle has its own result."""
        topic = self.routes.topic_name(request.topic)
        group = group_name(request.group)
        entries = request.entries
        if not entries:
            raise Refusal(pb.INTERNAL_SERVER_ERROR, "ack message result is empty")
        acks = _PendingAcks(call, len(entries))
        for entry in entries:
            result = acks.response.entries.add(message_id=entry.message_id, receipt_handle=entry.receipt_handle)
            self._acknowledge(acks, result, topic, group)

    def _acknowledge(self, acks: _PendingAcks, result: sv.AckMessageResultEntry, topic: str, group: str) -> None:
        call = acks.call
        handle_text = result.receipt_handle
        handle: ReceiptHandle | None = None
        try:
            requested = ReceiptHandle.parse(handle_text)
            handle = self.renewals.stop_renewing(call.session, group, result.message_id, requested)
            handle.check_not_expired(self.scheduler.now_ms)
            broker = self.routes.broker_of_handle(handle.broker_name)
        except Refusal as refusal:
            entry = sv.AckMessageEntry(message_id=result.message_id, receipt_handle=result.receipt_handle)
            refused_request = sv.AckMessageRequest(
                group=pb.Resource(name=group), topic=pb.Resource(name=topic), entries=[entry]
            )
            call.journal_refusal(rejection(refusal), refused_request)
            if handle is not None:
                place = handle.broker_name, handle.real_topic(topic, group), handle.queue_id
                self.deliveries.acknowledgement_refused(
                    call.channel,
                    group,
                    place,
                    handle.offset,
                    popped_ms=handle.pop_time,
                    until_ms=handle.next_visible_ms,
                )
            result.status.CopyFrom(refusal.status())
            acks.refused += 1
            acks.entry_done()
            return
        if handle is not requested:
            handle_text = handle.encode()

        def acknowledged(outcome: Outcome) -> None:
            if isinstance(outcome, EngineError):
                result.status.code = pb.INTERNAL_SERVER_ERROR
                result.status.message = "ack failed: status is abnormal"
            else:
                result.status.CopyFrom(OK)
            acks.entry_done()

        real_topic = handle.real_topic(topic, group)
        operation = AckMessage(
            consumer_group=group,
            topic=real_topic,
            queue_id=handle.queue_id,
            extra_info=handle_text,
            offset=handle.offset,
        )
        call.submit(broker, operation, acknowledged)


ACK_MESSAGE = Rpc(
    "AckMessage",
    sv.AckMessageRequest,
    sv.AckMessageResponse,
    AckMessageService.ack_message,
    operations=(AckMessage,),
    codes=(
        *CODES_OF_TOPIC_RPCS,
        pb.ILLEGAL_CONSUMER_GROUP,
        pb.INVALID_RECEIPT_HANDLE,
        pb.MULTIPLE_RESULTS,
        pb.INTERNAL_SERVER_ERROR,
    ),
    rights=to_consume,
    pool=ProxyPool.CONSUMER,
)
