"""The transaction check of a producer by a broker, over telemetry. Source: GrpcClientChannel (5.3.3)."""

from dataclasses import dataclass

from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records

from ..convert.message_encoder import fill_message
from ..proto import service_pb2 as sv
from ..proxy.sessions import SessionChannel
from ..proxy.transaction_cache import TransactionCache, TransactionData


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransactionCheckSender:
    """Sends transaction checks to producers."""

    transactions: TransactionCache
    scheduler: Scheduler

    def send(self, channel: SessionChannel, effect: CheckTransactionState) -> None:
        """Send a check of a half message's transaction to a producer, on its newest telemetry stream."""
        record = records.decode(effect.record)
        transaction_id = record.property_map().get(props.TRANSACTION_ID) or effect.transaction_id
        now_ms = self.scheduler.now_ms
        half = TransactionData(effect.broker_name, effect.tran_state_table_offset, effect.commit_log_offset)
        self.transactions.add(record.topic, transaction_id, half, now_ms)
        if not channel.streams:
            return
        command = sv.TelemetryCommand()
        recover = command.recover_orphaned_transaction_command
        recover.transaction_id = transaction_id
        fill_message(recover.message, record, record.topic, record.reconsume_times, now_ms)
        channel.streams[-1].send(command.SerializeToString())
