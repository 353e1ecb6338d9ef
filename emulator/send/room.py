"""Builds the services for sends, send-backs and replies, for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..client.room import ClientRoom
from ..group.broker_tables import BrokerTables
from ..kernel.timer_kind import TimerKind
from ..overload.request_pools import BrokerRequestPools
from ..schedule.recall_service import RecallService
from ..store.room import StoreRoom
from ..transaction.transaction_service import TransactionService
from .reply_service import ReplyService
from .send_back import RetryService
from .send_service import HalfStored, SendHooks, SendService


def build(
    context: BrokerContext,
    tables: BrokerTables,
    *,
    storing: StoreRoom,
    request_pools: BrokerRequestPools,
    recall: RecallService,
    client: ClientRoom,
    half_stored: HalfStored,
) -> Room:
    """Build the room. `half_stored` is called with each half message of a client."""
    config, store, topics = context.config, tables.store, tables.topics
    retry = RetryService(
        config=config,
        tables=tables,
        locks=client.locks,
        transient_store_pool=storing.transient_store_pool,
        random=context.stream("retry"),
    )
    sends = SendService(
        config=config,
        defects=context.defects,
        store=store,
        topics=topics,
        transient_store_pool=storing.transient_store_pool,
        random=context.stream("send"),
        hooks=SendHooks(
            lambda message, operation: TransactionService.prepare(message),
            retry.redirect,
            recall.handle_of,
            half_stored,
        ),
        request_pools=request_pools,
        sync_replication=storing.sync_replication,
    )
    replies = ReplyService(
        config=config,
        scheduler=context.clock,
        store=store,
        clients=client.clients,
        server_requests=client.server_requests,
        choose_queue=sends.check_and_choose_queue,
        complete=context.complete,
    )
    return Room(handlers=handlers_of(sends, retry, replies), timer_kinds=[TimerKind.REPLY_PUSH])
