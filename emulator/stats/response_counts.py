"""Responses of a broker to remoting clients, with their latencies.

A response only adds to a tally by latency. Like that of sends, the tally becomes totals when metrics are read, and at
the next count after each second or when it is full.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from .histogram import REQUEST_BOUNDS, Histogram
from .tally import Tally

Kind = bool | str
"""True for a oneway request, a text for one that waited for messages, and False for any other."""


class ResponseCounts:
    """Counts the responses of one run of a broker."""

    def __init__(self) -> None:
        self.tally = Tally[tuple[str, int, int, Kind]](self.settle)
        """Responses since the last settlement, by name of the request code, response code, latency (ms) and kind."""
        self._totals: defaultdict[tuple[str, int, Kind], Histogram] = defaultdict(partial(Histogram, REQUEST_BOUNDS))

    def begin_run(self) -> None:
        """Start at zero."""
        self.tally.clear()
        self._totals.clear()

    def settle(self) -> None:
        """Turn the tally into totals."""
        for (label, code, latency_ms, kind), times in self.tally.take():
            self._totals[label, code, kind].record(latency_ms, times)

    def totals(self) -> Mapping[tuple[str, int, Kind], Histogram]:
        """Return the latencies by name of the request code, response code and kind."""
        self.settle()
        return self._totals
