"""Counters of the receives of one proxy."""

from dataclasses import dataclass


@dataclass(slots=True)
class ReceiveMetrics:
    """Counters of receives since the start. `pops_in_progress` is the current number of receives in flight.

    The proxy of 5.3.3 has no such counters. `is_long_polling` is the label that its brokers add to a suspended request
    (RemotingMetricsConstant); the other names follow that style.
    """

    receives: int = 0
    """Receives that reached a broker."""
    is_long_polling: int = 0
    """Receives whose first pop found nothing and that waited."""
    is_short_polling_hit: int = 0
    """Receives whose first pop found messages, without waiting."""
    pop_with_notify: int = 0
    """Receives that waited for a notification at least part of the time, instead of in a pop."""
    notified: int = 0
    """Pops that followed a notification about messages."""
    pops_in_progress: int = 0
    """Receives that have no response yet: the current number, not a counter."""
