"""Builds the handlers of requests of administrators and tools, for one run of a broker."""

from collections.abc import Callable

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import Listeners
from ..assembly.room import Room
from ..client.room import ClientRoom
from ..group.broker_tables import BrokerTables
from ..kernel.value_class import parts
from ..overload.request_pools import BrokerRequestPools
from ..pop.room import PopRoom
from ..pull.slow_group_guard import SlowGroupGuard
from ..schedule.timer_service import TimerService
from ..static_topic.queue_mappings import QueueMappings
from .broker_requests import BrokerAdministration
from .consume_stats import ConsumeStatsRequests
from .message_queries import MessageQueries
from .offset_resets import OffsetResets
from .tool_requests import BrokerTools
from .topic_and_group_requests import GroupAdministration, TopicAdministration


@parts
class AdminRoom(Room):
    """Requests about topics, groups, messages, offsets and the broker itself."""

    message_queries: MessageQueries


def build(  # noqa: PLR0913 - administration reaches every room
    context: BrokerContext,
    tables: BrokerTables,
    *,
    mappings: QueueMappings,
    request_pools: BrokerRequestPools,
    timers: TimerService,
    client: ClientRoom,
    slow_group_guard: SlowGroupGuard,
    pop: PopRoom,
    config_changed: Callable[[], None],
) -> AdminRoom:
    """Build the room. `config_changed` notifies all rooms that configuration keys have changed."""
    config, clock = context.config, context.clock
    store, topics = tables.store, tables.topics
    clients = client.clients
    message_queries = MessageQueries(config, store, clients)
    topic_requests = TopicAdministration(
        config=config,
        tables=tables,
        orders=pop.orders,
        in_flight=pop.in_flight,
        slow_group_guard=slow_group_guard,
        timer_metrics=timers.metrics,
        mappings=mappings,
    )
    group_requests = GroupAdministration(
        config=config,
        defects=context.defects,
        tables=tables,
        clients=clients,
        orders=pop.orders,
        in_flight=pop.in_flight,
        slow_group_guard=slow_group_guard,
        mappings=mappings,
    )
    broker_requests = BrokerAdministration(
        config=config,
        defects=context.defects,
        scheduler=clock,
        store=store,
        timer_congestion=timers.congestion,
        config_changed=config_changed,
        request_pools=request_pools,
    )
    resets = OffsetResets(
        config=config,
        tables=tables,
        client_resets=client.resets,
        orders=pop.orders,
        in_flight=pop.in_flight,
        kv_service=pop.kv_service,
    )
    consume_stats_requests = ConsumeStatsRequests(
        config=config,
        scheduler=clock,
        tables=tables,
        clients=clients,
    )
    tools = BrokerTools(config, store, topics)
    return AdminRoom(
        message_queries=message_queries,
        handlers=handlers_of(
            topic_requests, group_requests, broker_requests, resets, consume_stats_requests, message_queries, tools
        ),
        listeners=Listeners(config_changed=[message_queries.index.apply_config]),
    )
