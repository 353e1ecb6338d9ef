"""The content that a table of a broker, such as its consumer offsets, had when upstream last wrote it to its file.

After a crash the broker reads this content. Upstream writes such files periodically. The emulator writes no file, and
runs nothing at those instants: the first change of an entry after such an instant saves the previous value.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from .scheduler import Scheduler

Key = TypeVar("Key")
Value = TypeVar("Value")

FIRST_WRITE_MS = 10_000
"""Time (ms) from each start of a broker to the first write of its files (BrokerController, 5.3.3)."""


class FileImage(Generic[Key, Value]):
    """Old values of entries changed since the last write. `interval_ms` returns ms between writes (at least 1)."""

    def __init__(self, scheduler: Scheduler, interval_ms: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._interval_ms = interval_ms
        self._next_ms = scheduler.now_ms + FIRST_WRITE_MS
        self._before: dict[Key, Value | None] = {}

    def unchanged_since_write(self, key: Key) -> bool:
        """True if the entry has not changed since the last write. The caller then calls `save` before the change."""
        now = self._scheduler.now_ms
        if now >= self._next_ms:
            self._before.clear()
            interval = self._interval_ms()
            self._next_ms += ((now - self._next_ms) // interval + 1) * interval
        return key not in self._before

    def save(self, key: Key, value: Value | None) -> None:
        """Save the value of an entry before its change; None if it did not exist."""
        self._before[key] = value

    def write(self) -> None:
        """Treat the current content as written, as if upstream wrote the file now, outside its schedule."""
        self._before.clear()

    def values_at_last_write(self) -> dict[Key, Value | None]:
        """Return the entries changed since the last write, with their values at that time."""
        return {} if self._scheduler.now_ms >= self._next_ms else dict(self._before)
