"""A histogram with explicit bounds."""

from bisect import bisect_left
from collections.abc import Sequence

SECOND_MS = 1000
SIZE_BOUNDS = (1024, 4096, 524_288, 1_048_576, 2_097_152, 4_194_304)
"""Size of a received message, in bytes (BrokerMetricsManager.registerMetricsView)."""
CREATION_BOUNDS = (10, 100, SECOND_MS, 3 * SECOND_MS, 5 * SECOND_MS)
"""Duration of a request that creates or changes a topic or group, in ms (BrokerMetricsManager.registerMetricsView)."""
FINISH_BOUNDS = (5, 60, 600, 3600, 43_200, 86_400)
"""Age of a half message when it is committed, in seconds (BrokerMetricsManager.registerMetricsView)."""
DELAY_BOUNDS = (60, 600, 3600, 43_200, 86_400, 259_200)
"""Seconds from the send of a timed message until it is due (DefaultStoreMetricsManager.getMetricsView)."""
REQUEST_BOUNDS = (1, 3, 5, 7, 10, 100, SECOND_MS, 2 * SECOND_MS, 3 * SECOND_MS)
"""Time from a remoting request to its response, in ms (RemotingMetricsManager.getMetricsView)."""
SCAN_BOUNDS = (1, 10, 100, SECOND_MS, 2 * SECOND_MS, 3 * SECOND_MS)
"""Duration of a scan of the merge buffer, in ms (PopMetricsManager.getMetricsView)."""


class Histogram:
    """Numbers of values in each bucket, and the sum of all values.

    A bucket has the values above the previous bound, up to and including its own. The last one has those above all.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0

    def record(self, value: int, times: int = 1) -> None:
        """Add a value, `times` times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)
