"""ForwardMessageToDeadLetterQueue: move a message to the dead letter queue.

Source: ForwardMessageToDLQActivity (5.3.3).
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.consume import AckMessage
from rocketmq_testkit.emulator.operations.send import SendMessageBack

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
from ..rules.status import Refusal, from_broker_exception, proxy_exception, status

_TO_DEAD_LETTER_QUEUE = -1
"""The delay level that means no further retry."""
_OK_WITH_BROKER_CODE = status(pb.OK, "0")
"""Upstream's text is the broker's response code, where other RPCs have `OK`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeadLetterService:
    """Moves messages to dead letter queues."""

    routes: Routes
    renewals: Renewals

    def forward_message_to_dead_letter_queue(
        self, call: RpcCall, request: sv.ForwardMessageToDeadLetterQueueRequest
    ) -> None:
        """Copy a message into the dead letter queue of its group, then acknowledge it.

        An expired handle is accepted. Raises Refusal if the handle is malformed or has no commit log offset, or if the
        client has no telemetry stream while a fault switches `telemetry_stream_needed` on.
        """
        topic = self.routes.topic_name(request.topic)
        group = group_name(request.group)
        handle_text = request.receipt_handle
        requested = ReceiptHandle.parse(handle_text)
        self.renewals.check_channel(call.session)
        handle = self.renewals.stop_renewing(call.session, group, request.message_id, requested)
        if handle is not requested:
            handle_text = handle.encode()
        if handle.commit_log_offset < 0:
            raise proxy_exception(pb.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
        broker = self.routes.broker_of_handle(handle.broker_name)
        real_topic = handle.real_topic(topic, group)

        def acknowledge(outcome: Outcome) -> None:
            if isinstance(outcome, EngineError):
                remark = outcome.remark or outcome.code.name
                raise from_broker_exception(outcome) or Refusal(pb.INTERNAL_SERVER_ERROR, remark)
            ack = AckMessage(
                consumer_group=group,
                topic=real_topic,
                queue_id=handle.queue_id,
                extra_info=handle_text,
                offset=handle.offset,
            )
            call.submit(broker, ack, respond)

        def respond(_outcome: Outcome) -> None:
            # The message is in the dead letter queue; upstream does not read the outcome of the acknowledgement.
            call.reply(sv.ForwardMessageToDeadLetterQueueResponse(status=_OK_WITH_BROKER_CODE))

        operation = SendMessageBack(
            group=group,
            offset=handle.commit_log_offset,
            delay_level=_TO_DEAD_LETTER_QUEUE,
            origin_msg_id=request.message_id,
            origin_topic=real_topic,
            max_reconsume_times=0,
            through_proxy=True,
        )
        call.submit(broker, operation, acknowledge)


FORWARD_MESSAGE_TO_DEAD_LETTER_QUEUE = Rpc(
    "ForwardMessageToDeadLetterQueue",
    sv.ForwardMessageToDeadLetterQueueRequest,
    sv.ForwardMessageToDeadLetterQueueResponse,
    DeadLetterService.forward_message_to_dead_letter_queue,
    operations=(SendMessageBack, AckMessage),
    codes=(*CODES_OF_TOPIC_RPCS, pb.ILLEGAL_CONSUMER_GROUP, pb.INVALID_RECEIPT_HANDLE, pb.INTERNAL_SERVER_ERROR),
    rights=to_consume,
    pool=ProxyPool.PRODUCER,  # as in GrpcMessagingApplication, although consumers send it
)
