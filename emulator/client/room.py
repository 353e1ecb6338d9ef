"""Builds the registry of clients and the requests about them for one run of a broker."""

from collections.abc import Callable
from dataclasses import dataclass

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from ..gate.gate import Channel
from ..group.broker_tables import BrokerTables
from .assignments import Assignments, ReadQueues, RequestModes
from .client_registry import Clients
from .client_requests import Memberships
from .client_side_resets import ClientResets
from .consumer_requests import ConsumerInquiries
from .queue_locks import QueueLocks
from .server_requests import ClientQuestions


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRoom(Room):
    """Connected clients, their queue locks, and requests to them."""

    clients: Clients
    locks: QueueLocks
    questions: ClientQuestions
    resets: ClientResets


def build(
    context: BrokerContext,
    tables: BrokerTables,
    *,
    request_modes: RequestModes,
    read_queues: ReadQueues,
    drop_waiting: Callable[[Channel], None],
) -> ClientRoom:
    """Build the room. `drop_waiting` drops the waiting requests of a closed channel."""
    config, clock = context.config, context.clock
    store, topics, groups = tables.store, tables.topics, tables.groups
    clients = Clients(config=config, scheduler=clock, topics=topics, groups=groups, push=context.push)
    locks = QueueLocks(clock)
    questions = ClientQuestions(clock, context.push)
    memberships = Memberships(config=config, store=store, clients=clients, locks=locks, drop_waiting=drop_waiting)
    inquiries = ConsumerInquiries(
        config=config,
        tables=tables,
        clients=clients,
        questions=questions,
        complete=context.complete,
    )
    assignments = Assignments(
        config=config, topics=topics, groups=groups, clients=clients, read_queues=read_queues, modes=request_modes
    )
    resets = ClientResets(config=config, tables=tables, clients=clients, push=context.push)
    return ClientRoom(
        clients=clients,
        locks=locks,
        questions=questions,
        resets=resets,
        handlers=handlers_of(questions, memberships, inquiries, assignments),
        durables={"filters": clients.filters},
    )
