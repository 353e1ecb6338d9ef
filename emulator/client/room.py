"""Builds the registry of clients and the handlers of requests about them, for one run of a broker."""

from collections.abc import Callable

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..gate.call import Channel
from ..group.broker_tables import BrokerTables
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from .assignments import AssignmentService, ReadQueues, RequestModes
from .client_registry import ClientRegistry
from .client_requests import ClientRequests
from .client_side_resets import ClientSideResets
from .consumer_requests import ConsumerRequests
from .group_notices import GroupNotices
from .queue_locks import QueueLocks
from .server_requests import ServerRequests


@parts
class ClientRoom(Room):
    """Connected clients, their queue locks, and requests to them."""

    clients: ClientRegistry
    locks: QueueLocks
    server_requests: ServerRequests
    resets: ClientSideResets


def build(
    context: BrokerContext,
    tables: BrokerTables,
    *,
    request_modes: RequestModes,
    read_queues: ReadQueues,
    drop_waiting: Callable[[Channel], None],
) -> ClientRoom:
    """Build the room. `drop_waiting` drops those waiting requests of a channel whose calls are no longer active."""
    config, clock = context.config, context.clock
    store, topics, groups = tables.store, tables.topics, tables.groups
    notices = GroupNotices(
        config=config,
        scheduler=clock,
        push_to_all=context.push_to_all,
        run_after_turn=context.gate.run_after_turn,
    )
    clients = ClientRegistry(
        config=config, scheduler=clock, topics=topics, groups=groups, notices=notices, push=context.push
    )
    locks = QueueLocks(clock, context.interference.stolen_locks)
    server_requests = ServerRequests(clock, context.push)
    client_requests = ClientRequests(
        config=config, store=store, clients=clients, locks=locks, drop_waiting=drop_waiting
    )
    consumer_requests = ConsumerRequests(
        config=config,
        tables=tables,
        clients=clients,
        server_requests=server_requests,
        complete=context.complete,
    )
    assignments = AssignmentService(
        config=config, topics=topics, groups=groups, clients=clients, read_queues=read_queues, modes=request_modes
    )
    resets = ClientSideResets(config=config, tables=tables, clients=clients, push=context.push)
    return ClientRoom(
        clients=clients,
        locks=locks,
        server_requests=server_requests,
        resets=resets,
        handlers=handlers_of(server_requests, client_requests, consumer_requests, assignments),
        durables={"filters": clients.filters},
        timer_kinds=[TimerKind.CLIENT_HOUSEKEEPING, TimerKind.LATE_NOTICES, TimerKind.CONSUMER_REQUEST],
    )
