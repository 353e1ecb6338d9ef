"""Builds the services around the message store for one run of a broker."""

from dataclasses import dataclass

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.listeners import Listeners
from ..assembly.room import Room
from ..topic.topic_table import Topics
from .file_deletion import CleanUp
from .message_store import MessageStore
from .slave_acknowledgements import Acknowledgements
from .write_buffers import StoreBuffers


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRoom(Room):
    """File deletion, write buffers, and synchronous replication."""

    acknowledgements: Acknowledgements
    buffers: StoreBuffers


def build(context: BrokerContext, store: MessageStore, topics: Topics) -> StoreRoom:
    """Build the room."""
    config, clock = context.config, context.clock
    clean_up = CleanUp(config, clock, store, topics)
    return StoreRoom(
        acknowledgements=Acknowledgements(config, clock, store, context.complete),
        buffers=StoreBuffers(config),
        handlers=handlers_of(clean_up),
        listeners=Listeners(full_files=[clean_up.look_ahead], configured=[clean_up.look_ahead]),
    )
