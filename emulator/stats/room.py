"""Builds the statistics of one run of a broker."""

from collections.abc import Callable, Collection
from functools import partial

from ..assembly.broker_context import BrokerContext
from ..assembly.room import Room
from ..kernel.value_class import parts
from .broker_stats import BrokerStats, LmqBrokerStats
from .store_stats import StoreStats


@parts
class StatsRoom(Room):
    """Counters of messages, requests and connections."""

    counters: StoreStats


def build(context: BrokerContext, system_topics: Collection[str], settle: Callable[[], None]) -> StatsRoom:
    """Build the room with counters that start at zero. `system_topics` are not counted as application topics.

    `settle` is called when samples are added; it turns tallies of other counters into totals.
    """
    # Sampling measures durations, which a skew of the broker's clock does not change.
    config, now_ms = context.config, context.clock.now_ms - context.interference.skew.ms
    by_name = partial(LmqBrokerStats if config.enable_lmq else BrokerStats, config, now_ms)
    return StatsRoom(counters=StoreStats(now_ms, by_name, system_topics, settle))
