"""Builds the statistics of one run of a broker."""

from collections.abc import Callable, Collection
from functools import partial

from ..assembly.broker_context import BrokerContext
from ..assembly.room import Room
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import parts
from .broker_stats import BrokerStats, LmqBrokerStats
from .store_stats import StoreStats


@parts
class StatsRoom(Room):
    """Counters of messages, requests and connections."""

    counters: StoreStats


def build(
    context: BrokerContext, scheduler: Scheduler, system_topics: Collection[str], settle: Callable[[], None]
) -> StatsRoom:
    """Build the room with counters that start at zero. `system_topics` are not counted as application topics.

    `scheduler` is the engine's, whose clock no fault sets wrong. `settle` is called when samples are added; it turns
    tallies of other counters into totals.
    """
    config = context.config
    by_name = partial(LmqBrokerStats if config.enable_lmq else BrokerStats, config, scheduler)
    return StatsRoom(counters=StoreStats(scheduler, by_name, system_topics, settle))
