"""EndTransaction: commit or roll back a half message. Source: EndTransactionActivity (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations.send import EndTransaction

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.required_rights import to_produce
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, Rpc
from ..proxy.transaction_cache import TransactionCache
from ..rules.proxy_rules import is_blank
from ..rules.status import OK, Refusal, proxy_exception

_COMMIT_OR_ROLLBACK = {pb.COMMIT: records.SYS_TRANSACTION_COMMIT, pb.ROLLBACK: records.SYS_TRANSACTION_ROLLBACK}
_UNKNOWN = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndTransactionService:
    """Ends transactions."""

    routes: Routes
    transactions: TransactionCache
    scheduler: Scheduler

    def end_transaction(self, call: RpcCall, request: sv.EndTransactionRequest) -> None:
        """Commit or roll back a half message.

        Other resolutions consume the transaction id without ending the transaction.
        """
        topic = self.routes.topic_name(request.topic)
        transaction_id = request.transaction_id
        if is_blank(transaction_id):
            raise Refusal(pb.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        half = self.transactions.pop_newest(topic, transaction_id, self.scheduler.now_ms)
        if half is None:
            raise proxy_exception(pb.INTERNAL_SERVER_ERROR, "cannot found transaction data")
        operation = EndTransaction(
            producer_group=topic,  # a gRPC producer's group is named like its topic
            tran_state_table_offset=half.tran_state_table_offset,
            commit_log_offset=half.commit_log_offset,
            commit_or_rollback=_COMMIT_OR_ROLLBACK.get(request.resolution, _UNKNOWN),
            from_transaction_check=request.source == pb.SOURCE_SERVER_CHECK,
            msg_id=request.message_id,
            transaction_id=transaction_id,
            topic=topic,
        )

        def ended(_outcome: Outcome) -> None:
            # Upstream sends a oneway request to the broker and ignores its outcome. But the broker processes it on the
            # thread of this RPC, so the response waits for it.
            call.reply(sv.EndTransactionResponse(status=OK))

        call.submit(self.routes.master_named(half.broker_name), operation, ended)


END_TRANSACTION = Rpc(
    "EndTransaction",
    sv.EndTransactionRequest,
    sv.EndTransactionResponse,
    EndTransactionService.end_transaction,
    operations=(EndTransaction,),
    codes=(*CODES_OF_TOPIC_RPCS, pb.INVALID_TRANSACTION_ID, pb.INTERNAL_SERVER_ERROR),
    rights=to_produce,
    pool=ProxyPool.TRANSACTION,
    blocks_thread=True,
)
