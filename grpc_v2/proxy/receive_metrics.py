"""How receives went: counters of one proxy."""

from dataclasses import dataclass


@dataclass(slots=True)
class ReceiveMetrics:
    """Counts of receives since the start; `pops_in_progress` is how many are under way at this moment.

    5.3.3 counts none of this at its proxy; `is_long_polling` is the label that its brokers put to a request that was
    suspended (RemotingMetricsConstant), and the others are named in its manner.
    """

    receives: int = 0
    """Receives that were let through to a broker."""
    is_long_polling: int = 0
    """Receives that found nothing at once and waited."""
    is_short_polling_hit: int = 0
    """Receives whose first pop had messages, without waiting."""
    pop_with_notify: int = 0
    """Receives that waited, at least for a while, for a notification and not in a pop."""
    notified: int = 0
    """Pops that were made because a notification said that there are messages."""
    pops_in_progress: int = 0
    """Receives that are not answered yet; not a count but the present number."""
