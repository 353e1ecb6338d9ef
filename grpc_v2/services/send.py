"""SendMessage: one message, or several messages of one topic as a batch.

Source: SendMessageActivity, ProducerProcessor, LocalMessageService (5.3.3).
"""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.random_streams import RandomStream
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult

from ..config.pools import ProxyPool
from ..config.proxy_config import ProxyConfig
from ..convert.batch_body import encode_batch
from ..convert.message_encoder import parse_number
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.required_rights import to_send
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, Rpc, expect
from ..proxy.transaction_cache import TransactionCache, TransactionData
from ..rules.message_rules import check_body, message_type, stored_properties, sys_flag
from ..rules.status import OK, Refusal, overall_status, proxy_exception, status

_CODE_OF_SEND_STATUS = {
    ResponseCode.FLUSH_DISK_TIMEOUT: pb.MASTER_PERSISTENCE_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: pb.SLAVE_PERSISTENCE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: pb.HA_NOT_AVAILABLE,
}
_MESSAGE_ILLEGAL = (
    "the message is illegal, maybe msg body or properties length not matched. msg body length limit 4194304B,"
    " msg properties length limit 32KB."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SendMessageService:
    """Stores messages of producers. `message_ids` is the random stream of the ids that the proxy generates."""

    routes: Routes
    transactions: TransactionCache
    config: ProxyConfig
    scheduler: Scheduler
    message_ids: RandomStream

    def send_message(self, call: RpcCall, request: sv.SendMessageRequest) -> None:
        """Store messages of one topic. The response has one entry, regardless of their number."""
        messages = request.messages
        if not messages:
            raise Refusal(pb.MESSAGE_CORRUPTED, "no message to send")
        config, routes = self.config, self.routes
        first = messages[0]
        topic = routes.topic_name(first.topic)
        born_host = host, port = call.server_call.peer
        peer = f"{host}:{port}"
        now_ms = self.scheduler.now_ms
        checked: list[tuple[bytes, dict[str, str]]] = []
        for message in messages:
            if message is not first and message.topic != first.topic:
                raise Refusal(pb.MESSAGE_CORRUPTED, "topic in message is not same")
            body = message.body
            check_body(body, config)
            checked.append((body, stored_properties(message, peer, now_ms, config)))
        body, properties = checked[0]
        if config.enable_topic_message_type_check:
            routes.check_type(topic, message_type(properties))
        is_batch = len(checked) > 1
        if is_batch:
            broker, queue_id = routes.choose_queue(topic, "")
            encoded = encode_batch(checked)
            if encoded is None:
                raise proxy_exception(pb.INTERNAL_SERVER_ERROR, _MESSAGE_ILLEGAL)
            # The batch has the first message's properties, and the broker adds them to every message.
            body, properties = encoded, dict(properties)
        else:
            broker, queue_id = routes.choose_queue(topic, properties.get(props.SHARDING_KEY, ""))
        reconsume_times = 0
        if topic.startswith(names.RETRY_PREFIX):
            reconsume_times = parse_number(properties.pop(props.RECONSUME_TIME, None)) or 0
        message_id, flag = properties[props.UNIQ_KEY], sys_flag(first)
        operation = SendMessage(
            producer_group=topic,  # a gRPC producer's group is named like its topic
            topic=topic,
            queue_id=queue_id,
            body=body,
            properties=properties,
            born_host=born_host,
            born_timestamp=now_ms,
            sys_flag=flag,
            reconsume_times=reconsume_times,
            batch=is_batch,
            through_proxy=True,
        )

        def stored(outcome: Outcome) -> None:
            result: SendResult = expect(outcome, SendResult)
            if flag & records.SYS_TRANSACTION_PREPARED and result.code is ResponseCode.SUCCESS:
                half = TransactionData(broker.name, result.queue_offset, result.physical_offset)
                self.transactions.add(topic, message_id, half, self.scheduler.now_ms)
            # A batch has an id of its own, which none of its messages has (MessageClientIDSetter.setUniqID).
            call.reply(_response(result, self._new_message_id() if is_batch else message_id, message_id))

        call.submit(broker, operation, stored)

    def _new_message_id(self) -> str:
        """Generate a message id in the form of a client's id (32 hex digits)."""
        bits = self.message_ids.bits
        return f"7F000001{bits():016X}{bits() & 0xFFFFFFFF:08X}"


def _response(result: SendResult, message_id: str, transaction_id: str) -> sv.SendMessageResponse:
    if result.code is ResponseCode.SUCCESS:
        response = sv.SendMessageResponse(status=OK)
        entry = response.entries.add(
            status=OK,
            message_id=message_id,
            transaction_id=result.transaction_id or transaction_id,
            offset=result.queue_offset,
        )
        if result.recall_handle:
            entry.recall_handle = result.recall_handle
        return response
    code = _CODE_OF_SEND_STATUS.get(result.code, pb.INTERNAL_SERVER_ERROR)
    response = sv.SendMessageResponse(status=overall_status([code]))
    response.entries.add(status=status(code, f"send message failed, sendStatus={result.code.name}"))
    return response


SEND_MESSAGE = Rpc(
    "SendMessage",
    sv.SendMessageRequest,
    sv.SendMessageResponse,
    SendMessageService.send_message,
    operations=(SendMessage,),
    codes=(
        *CODES_OF_TOPIC_RPCS,
        pb.MESSAGE_CORRUPTED,
        pb.MESSAGE_BODY_EMPTY,
        pb.MESSAGE_BODY_TOO_LARGE,
        pb.MESSAGE_PROPERTIES_TOO_LARGE,
        pb.ILLEGAL_MESSAGE_PROPERTY_KEY,
        pb.ILLEGAL_MESSAGE_TAG,
        pb.ILLEGAL_MESSAGE_KEY,
        pb.ILLEGAL_MESSAGE_ID,
        pb.BAD_REQUEST,
        pb.ILLEGAL_DELIVERY_TIME,
        pb.ILLEGAL_MESSAGE_GROUP,
        pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
        pb.FORBIDDEN,
        pb.MASTER_PERSISTENCE_TIMEOUT,
        pb.SLAVE_PERSISTENCE_TIMEOUT,
        pb.HA_NOT_AVAILABLE,
        pb.INTERNAL_SERVER_ERROR,
    ),
    rights=to_send,
    pool=ProxyPool.PRODUCER,
)
