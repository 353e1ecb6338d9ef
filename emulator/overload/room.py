"""Builds the thread pools for one run of a broker."""

from ..assembly.broker_context import BrokerContext
from ..assembly.room import Room
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import parts
from .request_pools import BrokerRequestPools


@parts
class OverloadRoom(Room):
    """The thread pools of requests.

    Their `apply_config` is no listener: it may reject a change of keys, so the broker calls it before the listeners.
    """

    request_pools: BrokerRequestPools


def build(context: BrokerContext) -> OverloadRoom:
    """Build the room. Raises ConfigError for an unusable key."""
    return OverloadRoom(
        request_pools=BrokerRequestPools(context.config, context.clock, context.gate, context.node),
        timer_kinds=[TimerKind.REQUEST_QUEUES, TimerKind.REQUEST_THREAD],
    )
