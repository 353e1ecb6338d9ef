"""Which parked calls run out of time, and when; told the time, in seconds."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Protocol


class Expiring(Protocol):
    """What has a deadline."""

    @property
    def done(self) -> bool:
        """Whether the deadline no longer matters."""

    def expire(self) -> None:
        """Take notice that the time is up."""


class Deadlines:
    """A heap of deadlines; what ends in time stays in it until it is met or swept out."""

    _LEAST_SWEEP: Final = 256

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Expiring]] = []
        self._sequence = 0
        self._sweep_above = self._LEAST_SWEEP

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> float | None:
        """When `expire` has to be called next, None when nothing waits."""
        return self._heap[0][0] if self._heap else None

    def add(self, due: float, item: Expiring) -> None:
        """Have `item` expire at `due`."""
        if len(self._heap) >= self._sweep_above:
            self._heap = [entry for entry in self._heap if not entry[2].done]
            heapify(self._heap)
            self._sweep_above = max(self._LEAST_SWEEP, 2 * len(self._heap))
        self._sequence += 1
        heappush(self._heap, (due, self._sequence, item))

    def expire(self, now: float) -> None:
        """Expire whatever is due, in order."""
        while self._heap and self._heap[0][0] <= now:
            item = heappop(self._heap)[2]
            if not item.done:
                item.expire()
