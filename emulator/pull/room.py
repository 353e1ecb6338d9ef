"""Builds pulls for one run of a broker."""

from dataclasses import dataclass

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import ArrivalListener, Listeners
from ..assembly.room import Room
from ..client.client_registry import ClientRegistry
from ..group.broker_tables import BrokerTables
from ..store.compaction import Compaction
from .cold_data import ColdData
from .pull_service import PullService
from .queue_reader import QueueReader
from .slow_group_guard import SlowReaders


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRoom(Room):
    """Pulls, and the reader of queues that pops use as well."""

    pulls: PullService
    reader: QueueReader
    slow_readers: SlowReaders


def build(context: BrokerContext, tables: BrokerTables, clients: ClientRegistry) -> PullRoom:
    """Build the room."""
    config, clock, store = context.config, context.clock, tables.store
    slow_readers = SlowReaders(config, clock, tables.groups)
    reader = QueueReader(
        config=config,
        store=store,
        topics=tables.topics,
        compaction=Compaction(config, store, context.random_streams, context.identity),
        slow_readers=slow_readers,
    )
    pulls = PullService(
        config=config,
        emulation=context.emulation,
        scheduler=clock,
        tables=tables,
        clients=clients,
        reader=reader,
        complete=context.complete,
    )
    return PullRoom(
        pulls=pulls,
        reader=reader,
        slow_readers=slow_readers,
        handlers=handlers_of(pulls, ColdData(config)),
        listeners=Listeners(
            arrivals=[ArrivalListener(pulls.hold.arrived, pulls.hold.is_awaited)],
            configured=[slow_readers.configured],
            channel_closed=[pulls.hold.drop_inactive],
        ),
    )
