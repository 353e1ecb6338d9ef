"""Deadlines of pending calls. Time is injected: the caller passes the current time (seconds)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Protocol


class Expiring(Protocol):
    """An item with a deadline."""

    @property
    def done(self) -> bool:
        """True if the deadline no longer matters."""

    def expire(self) -> None:
        """Handle the expiry of the deadline."""


class Deadlines:
    """A heap of deadlines. Items that are done stay in it until they are due or swept out."""

    _LEAST_SWEEP: Final = 256

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Expiring]] = []
        self._sequence = 0
        self._sweep_above = self._LEAST_SWEEP

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> float | None:
        """The time of the next `expire` call, None if there is no deadline."""
        return self._heap[0][0] if self._heap else None

    def add(self, due: float, item: Expiring) -> None:
        """Register `item` to expire at `due`."""
        if len(self._heap) >= self._sweep_above:
            self._heap = [entry for entry in self._heap if not entry[2].done]
            heapify(self._heap)
            self._sweep_above = max(self._LEAST_SWEEP, 2 * len(self._heap))
        self._sequence += 1
        heappush(self._heap, (due, self._sequence, item))

    def clear(self) -> None:
        """Remove all deadlines. None of them expires."""
        self._heap.clear()
        self._sweep_above = self._LEAST_SWEEP

    def expire(self, now: float) -> None:
        """Expire all due items, in order."""
        while self._heap and self._heap[0][0] <= now:
            item = heappop(self._heap)[2]
            if not item.done:
                item.expire()
