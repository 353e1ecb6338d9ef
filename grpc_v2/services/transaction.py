"""EndTransaction, and the transaction check of a producer by a broker. Source: EndTransactionActivity (5.3.3)."""

from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.gate.gate import Outcome
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations import EndTransaction

from ..convert.message_encoder import fill_message
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.proxy import Proxy
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import NAMES, Rpc
from ..proxy.sessions import SessionChannel
from ..rules.proxy_rules import is_blank
from ..rules.status import OK, Refusal, proxy_exception

_COMMIT_OR_ROLLBACK = {pb.COMMIT: records.SYS_TRANSACTION_COMMIT, pb.ROLLBACK: records.SYS_TRANSACTION_ROLLBACK}
_UNKNOWN = 0


def end_transaction(call: RpcCall, request: sv.EndTransactionRequest) -> None:
    """Commit or roll back a half message.

    Other resolutions consume the transaction id without ending the transaction.
    """
    proxy = call.proxy
    topic = proxy.topic_name(request.topic)
    transaction_id = request.transaction_id
    if is_blank(transaction_id):
        raise Refusal(pb.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
    data = proxy.transactions.take(topic, transaction_id, proxy.now_ms)
    if data is None:
        raise proxy_exception(pb.INTERNAL_SERVER_ERROR, "cannot found transaction data")
    operation = EndTransaction(
        topic,
        data.tran_state_table_offset,
        data.commit_log_offset,
        _COMMIT_OR_ROLLBACK.get(request.resolution, _UNKNOWN),
        request.source == pb.SOURCE_SERVER_CHECK,
        request.message_id,
        transaction_id,
        topic,
    )

    def ended(_outcome: Outcome) -> None:
        # In upstream the request to the broker is oneway, so its outcome is ignored; but it runs on the request's
        # thread.
        call.reply(sv.EndTransactionResponse(status=OK))

    call.ask(proxy.routes.named(data.broker_name), operation, ended)


def check_transaction(proxy: Proxy, channel: SessionChannel, effect: CheckTransactionState) -> None:
    """Send a check of a half message's transaction to a producer, on its newest telemetry stream."""
    record = records.decode(effect.record)
    transaction_id = record.property_map().get(props.TRANSACTION_ID) or effect.transaction_id
    now_ms = proxy.now_ms
    proxy.transactions.add(
        record.topic,
        transaction_id,
        effect.broker_name,
        effect.tran_state_table_offset,
        effect.commit_log_offset,
        now_ms,
    )
    if not channel.streams:
        return
    command = sv.TelemetryCommand()
    recover = command.recover_orphaned_transaction_command
    recover.transaction_id = transaction_id
    fill_message(recover.message, record, record.topic, record.reconsume_times, now_ms)
    channel.streams[-1].server_call.send(command.SerializeToString())


END_TRANSACTION = Rpc(
    "EndTransaction",
    sv.EndTransactionRequest,
    sv.EndTransactionResponse,
    end_transaction,
    (EndTransaction,),
    (*NAMES, pb.INVALID_TRANSACTION_ID, pb.INTERNAL_SERVER_ERROR),
)
