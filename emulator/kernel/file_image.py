"""What a table of the broker was when its file was last written: that is what a crash leaves of it.

Upstream writes such files periodically. Here nothing runs at those instants: the first change of an entry after one of
them keeps what the entry was.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from .scheduler import Scheduler

Key = TypeVar("Key")
Value = TypeVar("Value")

FIRST_WRITE_MS = 10_000
"""Upstream's files are written this long after the start for the first time (BrokerController, 5.3.3)."""


class LastWrite(Generic[Key, Value]):
    """Changes since the last write. `interval_ms` is asked for the period (ms, at least 1)."""

    def __init__(self, scheduler: Scheduler, interval_ms: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._interval_ms = interval_ms
        self._next_ms = scheduler.now_ms + FIRST_WRITE_MS
        self._before: dict[Key, Value | None] = {}

    def is_first_change(self, key: Key) -> bool:
        """Was the entry as it is now when the file was written? Then `keep` it before changing it."""
        now = self._scheduler.now_ms
        if now >= self._next_ms:
            self._before.clear()
            interval = self._interval_ms()
            self._next_ms += ((now - self._next_ms) // interval + 1) * interval
        return key not in self._before

    def keep(self, key: Key, value: Value | None) -> None:
        """Remember what an entry was; None when it was not there."""
        self._before[key] = value

    def write(self) -> None:
        """Write the file now, beside its times."""
        self._before.clear()

    def lost(self) -> dict[Key, Value | None]:
        """The entries that were changed since the last write, as they were then."""
        return {} if self._scheduler.now_ms >= self._next_ms else dict(self._before)
