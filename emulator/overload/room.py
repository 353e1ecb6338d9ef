"""Builds the thread pools for one run of a broker."""

from dataclasses import dataclass

from ..assembly.broker_context import BrokerContext
from ..assembly.room import Room
from .request_pools import RequestPools


@dataclass(frozen=True, slots=True, kw_only=True)
class OverloadRoom(Room):
    """The thread pools of requests.

    Their `configured` is no listener: it may refuse a change of keys, so the broker calls it before all others.
    """

    request_pools: RequestPools


def build(context: BrokerContext) -> OverloadRoom:
    """Build the room. Raises ConfigError for an unusable key."""
    return OverloadRoom(request_pools=RequestPools(context.config, context.clock, context.gate, context.node))
