"""Builds the handlers of requests for offsets, for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.handlers import handlers_of
from ..assembly.room import Room
from .broker_tables import BrokerTables
from .offset_requests import OffsetRequests


def build(context: BrokerContext, tables: BrokerTables) -> Room:
    """Build the room."""
    offset_requests = OffsetRequests(
        emulation=context.emulation,
        tables=tables,
    )
    return Room(handlers=handlers_of(offset_requests))
