"""Builds sends, send-backs and replies for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..client.room import ClientRoom
from ..group.broker_tables import BrokerTables
from ..overload.request_pools import RequestPools
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
    request_pools: RequestPools,
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
        buffers=storing.buffers,
        chance=context.stream("retry"),
    )
    sends = SendService(
        config=config,
        store=store,
        topics=topics,
        buffers=storing.buffers,
        chance=context.stream("send"),
        hooks=SendHooks(
            lambda message, operation: TransactionService.prepare(message),
            retry.redirect,
            recall.handle_of,
            half_stored,
        ),
        request_pools=request_pools,
        acknowledgements=storing.acknowledgements,
    )
    replies = ReplyService(
        config=config,
        scheduler=context.clock,
        store=store,
        clients=client.clients,
        questions=client.questions,
        place=sends.place,
        complete=context.complete,
    )
    return Room(handlers=handlers_of(sends, retry, replies))
