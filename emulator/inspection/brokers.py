"""The brokers whose stored messages inspection shows."""

from collections.abc import Iterable

from ..cluster.broker import Broker


def stores_of(brokers: Iterable[Broker]) -> dict[str, Broker]:
    """Return one broker for each name: the master, or a slave if there is no master. A stopped broker counts."""
    found: dict[str, Broker] = {}
    for broker in brokers:
        if broker.is_master or broker.name not in found:
            found[broker.name] = broker
    return dict(sorted(found.items()))
