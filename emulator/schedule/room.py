"""Builds the services for delay levels, the timer wheel and recall, for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import Listeners, PutHook
from ..assembly.room import Room
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..message.names import TIMER_TOPIC
from ..store.message_store import MessageStore
from ..store.sync_replication import SyncReplication
from ..topic.topic_table import TopicTable
from .delay_levels import DELAYS, DelayService
from .recall_service import RecallService
from .timer_service import TIMES, TimerService


@parts
class ScheduleRoom(Room):
    """Delayed messages."""

    delays: DelayService
    timers: TimerService
    recall: RecallService


def build(
    context: BrokerContext, store: MessageStore, topics: TopicTable, sync_replication: SyncReplication
) -> ScheduleRoom:
    """Build the room. Raises ConfigError if the delay levels cannot be parsed."""
    config, master_clock = context.config, context.master_clock
    delays = DelayService(config, context.emulation, master_clock, store)
    timers = TimerService(
        config=config, defects=context.defects, scheduler=master_clock, store=store, random=context.stream("timer")
    )
    recall = RecallService(
        config=config, scheduler=context.clock, store=store, topics=topics, sync_replication=sync_replication
    )
    return ScheduleRoom(
        delays=delays,
        timers=timers,
        recall=recall,
        handlers=handlers_of(delays, timers, recall),
        listeners=Listeners(
            before_put=[
                PutHook(timers.before_put, TIMES, frozenset({TIMER_TOPIC})),
                PutHook(delays.before_put, DELAYS),
            ],
            watchers={TIMER_TOPIC: timers.arrived},
            config_changed=[timers.apply_config],
        ),
        durables={"delay_offsets": delays, "timer": timers},
        memories={"checks of delay levels": delays},
        timer_kinds=[TimerKind.DELAY_LEVEL, TimerKind.TIMER],
    )
