"""Builds the services for transactions, for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import Listeners
from ..assembly.room import Room
from ..client.client_registry import ClientRegistry
from ..group.broker_tables import BrokerTables
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..message.names import HALF_TOPIC, OP_HALF_TOPIC
from ..store.sync_replication import SyncReplication
from .op_queue import OpQueue
from .transaction_check import TransactionChecks
from .transaction_service import TransactionService


@parts
class TransactionRoom(Room):
    """Half messages, their ends, and their checks."""

    transactions: TransactionService
    checks: TransactionChecks


def build(
    context: BrokerContext, tables: BrokerTables, clients: ClientRegistry, sync_replication: SyncReplication
) -> TransactionRoom:
    """Build the room."""
    config, store = context.config, tables.store
    op_queue = OpQueue(config, context.clock, store)
    transactions = TransactionService(
        config=config, scheduler=context.clock, store=store, op_queue=op_queue, sync_replication=sync_replication
    )
    checks = TransactionChecks(
        config=config,
        scheduler=context.master_clock,
        tables=tables,
        op_queue=op_queue,
        find_producer=clients.next_producer_channel,
        push=context.push,
        switch=context.interference.transaction_checks,
    )
    return TransactionRoom(
        transactions=transactions,
        checks=checks,
        handlers=handlers_of(transactions),
        memories={"ends of transactions": op_queue, "transaction checks": checks},
        listeners=Listeners(watchers={HALF_TOPIC: checks.arrived, OP_HALF_TOPIC: checks.arrived}),
        timer_kinds=[TimerKind.TRANSACTION_CHECK, TimerKind.TRANSACTION_OP],
    )
