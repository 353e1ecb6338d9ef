"""Builds the statistics of one run of a broker."""

from collections.abc import Collection

from ..assembly.broker_context import BrokerContext
from .broker_stats import BrokerStats, LmqBrokerStats
from .store_stats import StoreStats


def build(context: BrokerContext, system_topics: Collection[str]) -> StoreStats:
    """Return counters that start at zero. `system_topics` are not counted as application topics."""
    config, now_ms = context.config, context.clock.now_ms
    by_name = (LmqBrokerStats if config.enable_lmq else BrokerStats)(config, now_ms)
    return StoreStats(now_ms, by_name, system_topics)
