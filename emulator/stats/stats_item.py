"""One counter with samples, from which sums and rates over a minute, an hour and a day are computed.

Upstream samples every counter each ten seconds, ten minutes and hour of the broker's run. The emulator runs nothing at
those instants: the next count after an instant adds the missing samples. Source: StatsItem, StatsItemSet (5.3.3).
"""

from typing import NamedTuple

SPANS = ((10_000, 7), (600_000, 7), (3_600_000, 25))
"""For the minute, the hour and the day: the interval between samples (ms), and the number of samples kept."""


class StatsSample(NamedTuple):
    """Totals at an instant."""

    messages: int
    size: int
    times: int


class StatsSnapshot(NamedTuple):
    """A counter between the first and last sample of a span: its sum, its rate per second, its average per event."""

    sum: int
    tps: float
    avgpt: float


NOTHING = StatsSample(0, 0, 0)
EMPTY = StatsSnapshot(0, 0.0, 0.0)


class StatsItem:
    """Counts messages, their bytes and the number of events. `start_ms`: start of the broker's run."""

    __slots__ = ("_samples", "_start_ms", "messages", "next_ms", "size", "times")

    def __init__(self, start_ms: int, now_ms: int) -> None:
        self._start_ms = start_ms
        ran_ms = now_ms - start_ms
        # As if there had been a sample right before the counter was created.
        self._samples = [[(ran_ms // apart_ms, NOTHING)] for apart_ms, _ in SPANS]
        self.next_ms = self._next_sample(now_ms)
        """The time of the next sample (ms)."""
        self.messages = self.size = self.times = 0

    def add(self, messages: int, size: int, now_ms: int, times: int = 1) -> None:
        """Count messages with a total of `size` bytes, and `times` events."""
        if now_ms >= self.next_ms:
            self.catch_up(now_ms)
        self.messages += messages
        self.size += size
        self.times += times

    def catch_up(self, now_ms: int) -> None:
        """Add the samples missing up to now. All have the same totals, because no count happened in between."""
        if now_ms < self.next_ms:
            return
        totals = StatsSample(self.messages, self.size, self.times)
        for (apart_ms, most), kept in zip(SPANS, self._samples, strict=True):
            last = (now_ms - self._start_ms) // apart_ms
            first = max(kept[-1][0] + 1, last - most + 1)
            kept += [(number, totals) for number in range(first, last + 1)]
            del kept[:-most]
        self.next_ms = self._next_sample(now_ms)

    def _next_sample(self, now_ms: int) -> int:
        apart_ms = SPANS[0][0]
        return now_ms + apart_ms - (now_ms - self._start_ms) % apart_ms

    def snapshots(self, now_ms: int, *, size: bool = False) -> list[StatsSnapshot]:
        """Return the snapshots of the minute, the hour and the day, of messages or of bytes."""
        self.catch_up(now_ms)
        return [_between(kept, apart_ms, size) for (apart_ms, _), kept in zip(SPANS, self._samples, strict=True)]


def _between(kept: list[tuple[int, StatsSample]], apart_ms: int, size: bool) -> StatsSnapshot:
    if len(kept) < 2:
        return EMPTY
    (first, before), (last, after) = kept[0], kept[-1]
    counted = after.size - before.size if size else after.messages - before.messages
    times = after.times - before.times
    return StatsSnapshot(counted, counted * 1000 / ((last - first) * apart_ms), counted / times if times else 0.0)
