"""Builds the services around the message store for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import Listeners
from ..assembly.room import Room
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from ..topic.topic_table import TopicTable
from .file_deletion import FileDeletion
from .message_store import MessageStore
from .sync_replication import SyncReplication
from .write_buffers import TransientStorePool


@parts
class StoreRoom(Room):
    """File deletion, write buffers, and synchronous replication."""

    sync_replication: SyncReplication
    transient_store_pool: TransientStorePool


def build(context: BrokerContext, store: MessageStore, topics: TopicTable) -> StoreRoom:
    """Build the room."""
    config, clock = context.config, context.clock
    file_deletion = FileDeletion(config, clock, store, topics)
    return StoreRoom(
        sync_replication=SyncReplication(config, clock, store, context.complete),
        transient_store_pool=TransientStorePool(config),
        handlers=handlers_of(file_deletion),
        listeners=Listeners(full_files=[file_deletion.schedule_check], config_changed=[file_deletion.schedule_check]),
        timer_kinds=[TimerKind.CLEAN_UP, TimerKind.SLAVE_ACKNOWLEDGEMENT],
    )
