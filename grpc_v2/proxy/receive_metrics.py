"""Counters of the receives of one proxy."""

from dataclasses import KW_ONLY, dataclass
from typing import Final

from rocketmq_testkit.emulator.stats.metric import Metrics, NodeMetrics, counter, gauge

PROXY_NODE: Final = "proxy"
"""The name of the proxy among the nodes that have metrics."""
RECEIVE: Final = "receive"
"""The key of these counters in `MessagingService.metrics()`, and a part of their names at `/metrics`."""


@dataclass(slots=True)
class ReceiveMetrics(Metrics):
    """Counters of receives since the start. `pops_in_progress` is the current number of receives in flight.

    The proxy of 5.3.3 has no such counters. `is_long_polling` is the label that its brokers add to a suspended request
    (RemotingMetricsConstant); the other names follow that style.
    """

    receives: int = counter("Receives that reached a broker.")
    is_long_polling: int = counter("Receives whose first pop found nothing and that waited.")
    is_short_polling_hit: int = counter("Receives whose first pop found messages, without waiting.")
    pop_with_notify: int = counter(
        "Receives that waited for a notification at least part of the time, instead of in a pop."
    )
    _: KW_ONLY
    notified: int = counter("Pops that followed a notification about messages.")
    pops_in_progress: int = gauge("Receives that have no response yet.")


def receive_metrics(nodes: NodeMetrics) -> ReceiveMetrics:
    """Return the counters of receives among the metrics of all nodes."""
    found = nodes[PROXY_NODE][RECEIVE]
    assert isinstance(found, ReceiveMetrics)
    return found
