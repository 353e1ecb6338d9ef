"""Builds the parts of pop consumption for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import ArrivalListener, Listeners
from ..assembly.room import Room
from ..client.client_registry import ClientRegistry
from ..group.broker_tables import BrokerTables
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..operations.consume import Notification, PopMessage
from ..pull.queue_reader import QueueReader
from ..schedule.timer_service import TimerService
from .ack_service import AckService
from .consumer_order_info import OrderInfoTable
from .notification_service import NotificationService
from .pop_inflight_counter import PopInflightCounter
from .pop_init_offset import PopInitOffsets
from .pop_kv_records import PopRecords
from .pop_kv_service import PopKvService
from .pop_long_polling import PopLongPolling
from .pop_merge_buffer import PopMergeBuffer
from .pop_positions import PopPositions
from .pop_retry_writer import PopRetryWriter
from .pop_service import PopService
from .pop_wake_ups import WakeUps
from .revive_log import ReviveLog
from .revive_service import ReviveService


@parts
class PopRoom(Room):
    """Pops, acknowledgements, redelivery, and the records of messages in flight."""

    pops: PopService
    notifications: NotificationService
    revive: ReviveService
    orders: OrderInfoTable
    in_flight: PopInflightCounter
    buffer: PopMergeBuffer
    positions: PopPositions
    kv_service: PopKvService | None
    """The service of pops with KV records; None if it is not configured."""


def build(
    context: BrokerContext,
    tables: BrokerTables,
    *,
    records: PopRecords,
    clients: ClientRegistry,
    reader: QueueReader,
    timers: TimerService,
) -> PopRoom:
    """Build the room."""
    config, clock, gate = context.config, context.clock, context.gate
    store, topics, groups, offsets = tables.store, tables.topics, tables.groups, tables.offsets
    waiting_pops: PopLongPolling[PopMessage] = PopLongPolling(
        config, clock, gate, TimerKind.POP, defects=context.defects
    )
    waiting_notifications: PopLongPolling[Notification] = PopLongPolling(
        config, clock, gate, TimerKind.NOTIFICATION, defects=context.defects, newest_first=True
    )
    wake_ups = WakeUps(context.emulation, waiting_pops, waiting_notifications)
    orders = OrderInfoTable(config, context.defects, clock, wake_ups.order_unblocked)
    in_flight = PopInflightCounter(config, clock, wake_ups.queue_below_threshold)
    revive_log = ReviveLog(config.broker_cluster_name, store, timers)
    buffer = PopMergeBuffer(
        config=config,
        scheduler=clock,
        offsets=offsets,
        log=revive_log,
        exists=lambda topic, group: topics.find(topic) is not None and groups.find(group) is not None,
    )
    init_offsets = PopInitOffsets(config, store, offsets, orders)
    retry_writer = PopRetryWriter(config=config, tables=tables, on_redelivered=wake_ups.redelivered)
    kv_service: PopKvService | None = None
    if config.pop_consumer_kv_service_init:
        kv_service = PopKvService(
            config=config,
            scheduler=clock,
            store=store,
            offsets=offsets,
            init_offsets=init_offsets,
            reader=reader,
            orders=orders,
            records=records,
            retry_writer=retry_writer,
            switch=context.interference.revive,
        )
    pops = PopService(
        config=config,
        scheduler=clock,
        random=context.stream("pop"),
        tables=tables,
        clients=clients,
        init_offsets=init_offsets,
        reader=reader,
        orders=orders,
        buffer=buffer,
        in_flight=in_flight,
        kv_service=kv_service,
        complete=context.complete,
        polling=waiting_pops,
        wake_ups=wake_ups,
    )
    notifications = NotificationService(
        config=config,
        scheduler=clock,
        random=context.stream("notification"),
        tables=tables,
        reader=reader,
        orders=orders,
        buffer=buffer,
        pops=waiting_pops,
        complete=context.complete,
        polling=waiting_notifications,
    )
    acks = AckService(
        config=config,
        scheduler=clock,
        tables=tables,
        orders=orders,
        log=revive_log,
        buffer=buffer,
        in_flight=in_flight,
        kv_service=kv_service,
        wake_pops=wake_ups.order_unblocked,
    )
    revive = ReviveService(
        config=config,
        defects=context.defects,
        timers=timers,
        scheduler=context.master_clock,
        tables=tables,
        log=revive_log,
        retry_writer=retry_writer,
        in_flight=in_flight,
        switch=context.interference.revive,
    )
    return PopRoom(
        pops=pops,
        notifications=notifications,
        revive=revive,
        orders=orders,
        in_flight=in_flight,
        buffer=buffer,
        positions=revive_log.positions,
        kv_service=kv_service,
        handlers=handlers_of(pops, notifications, acks),
        listeners=Listeners(
            arrivals=[
                ArrivalListener(waiting_pops.arrived, waiting_pops.by_topic),
                ArrivalListener(waiting_notifications.arrived, waiting_notifications.by_topic),
            ],
            watchers={revive_log.topic: revive.arrived},
            channel_closed=[waiting_pops.drop_inactive, waiting_notifications.drop_inactive],
        ),
        durables={"orders": orders},
        memories={"pops in flight": in_flight, **({} if kv_service is None else {"records of pops": kv_service})},
        timer_kinds=[
            *(TimerKind.POP, TimerKind.NOTIFICATION, TimerKind.REVIVE, TimerKind.ORDER_LOCK),
            *(TimerKind.POP_BUFFER, TimerKind.POP_CACHE, TimerKind.POP_RECORDS),
        ],
    )
