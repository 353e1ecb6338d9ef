"""Builds the services for pulls, and the reader of queues, for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import ArrivalListener, Listeners
from ..assembly.room import Room
from ..client.client_registry import ClientRegistry
from ..group.broker_tables import BrokerTables
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..store.compaction import Compaction
from .cold_data import ColdData
from .pull_service import PullService
from .queue_reader import QueueReader
from .slow_group_guard import SlowGroupGuard


@parts
class PullRoom(Room):
    """Pulls, and the reader of queues that pops use as well."""

    pulls: PullService
    reader: QueueReader
    compaction: Compaction
    slow_group_guard: SlowGroupGuard
    cold_data: ColdData


def build(context: BrokerContext, tables: BrokerTables, clients: ClientRegistry) -> PullRoom:
    """Build the room."""
    config, clock, store = context.config, context.clock, tables.store
    slow_group_guard = SlowGroupGuard(config, clock, tables.groups)
    compaction = Compaction(config, store, context.random_streams, context.identity)
    reader = QueueReader(
        config=config,
        store=store,
        topics=tables.topics,
        compaction=compaction,
        slow_group_guard=slow_group_guard,
    )
    cold_data = ColdData(config, clock, reader)
    pulls = PullService(
        config=config,
        emulation=context.emulation,
        scheduler=clock,
        tables=tables,
        clients=clients,
        reader=reader,
        cold_data=cold_data,
        complete=context.complete,
    )
    return PullRoom(
        pulls=pulls,
        reader=reader,
        compaction=compaction,
        slow_group_guard=slow_group_guard,
        cold_data=cold_data,
        handlers=handlers_of(pulls, cold_data),
        listeners=Listeners(
            arrivals=[ArrivalListener(pulls.hold.arrived, pulls.hold.held)],
            config_changed=[slow_group_guard.apply_config],
            channel_closed=[pulls.hold.drop_inactive, pulls.cold_hold.drop_inactive],
        ),
        timer_kinds=[TimerKind.PULL, TimerKind.SLOW_GROUPS, TimerKind.COLD_DATA, TimerKind.BROADCAST_OFFSETS],
    )
