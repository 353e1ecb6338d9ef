"""Index of store times: the first commit log offset of each millisecond in which a record was stored.

Upstream searches a time by binary search in the queue and reads a record at each step. The emulator searches only in
arrays: this index maps a time to a commit log offset, and the consume queue maps that offset to a unit.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from .consume_queue import BatchConsumeQueue, ConsumeQueue


class StoreTimeIndex:
    """Times (ms) and offsets of one log, since the index was created or since a clock went backward."""

    __slots__ = ("_physical_offsets", "_times", "last_ms")

    def __init__(self) -> None:
        self._times = array("q")
        self._physical_offsets = array("q")
        self.last_ms = -1
        """The last time in the index; a record with another store time must be noted before it is stored."""

    def add(self, time_ms: int, physical_offset: int) -> None:
        """Add a time and the offset of its first record.

        A clock that went backward (a snapshot taken on another host) clears the index first.
        """
        if time_ms < self.last_ms:
            del self._times[:], self._physical_offsets[:]
        self._times.append(time_ms)
        self._physical_offsets.append(physical_offset)
        self.last_ms = time_ms

    def truncate(self, end: int) -> None:
        """Remove the entries at or after an offset."""
        kept = bisect_left(self._physical_offsets, end)
        del self._times[kept:], self._physical_offsets[kept:]
        self.last_ms = self._times[-1] if kept else -1

    def trim(self, begin: int) -> None:
        """Remove the entries before an offset, except the one that covers it."""
        gone = bisect_right(self._physical_offsets, begin) - 1
        if gone > 0:
            del self._times[:gone], self._physical_offsets[:gone]

    @property
    def begin(self) -> int | None:
        """The first offset whose store time is known; None if none is."""
        return self._physical_offsets[0] if self._physical_offsets else None

    def first_offset_at(self, time_ms: int, *, after: bool) -> int | None:
        """Return the offset of the first record stored at or after a time (`after`: only after it), or None.

        The index must cover the time, see `covers`.
        """
        found = (bisect_right if after else bisect_left)(self._times, time_ms)
        return self._physical_offsets[found] if found < len(self._physical_offsets) else None

    def covers(self, time_ms: int, *, after: bool) -> bool:
        """True if the result of `first_offset_at` cannot be before the first known offset."""
        times = self._times
        return bool(times) and (time_ms > times[0] or (after and time_ms == times[0]))

    def search(self, queue: ConsumeQueue, time_ms: int, *, upper: bool, stored_at: Callable[[int], int]) -> int:
        """Return the offset in a queue at a time, with upstream's boundaries (ConsumeQueue.binarySearchInQueueByTime).

        Lower: the first message at or after it, the end of the queue if all are older. Upper: the last message at or
        before it, 0 if all are newer. In a queue of batches both return the first message of a record: of the first
        record at or after the time, or of the last one (BatchConsumeQueue.getOffsetInQueueByTime). 0 for an empty
        queue. `stored_at` as in `first_stored`.
        """
        if not queue.physical:
            return 0
        end = queue.max_offset
        if isinstance(queue, BatchConsumeQueue):
            upper, end = False, queue.first_unit_of_record(end - 1)
        found = min(self.first_stored(queue, time_ms, after=upper, stored_at=stored_at), end)
        if not upper:
            return found
        return found - 1 if found > queue.first else 0

    def first_stored(self, queue: ConsumeQueue, time_ms: int, *, after: bool, stored_at: Callable[[int], int]) -> int:
        """Return the offset of the first unit of a queue stored at or after a time (`after`: only after), or the end.

        `stored_at` returns the store time of the unit at an offset, for records that are not in the index.
        """
        if self.covers(time_ms, after=after):
            physical_offset = self.first_offset_at(time_ms, after=after)
            return queue.max_offset if physical_offset is None else queue.offset_at(physical_offset)
        # Restored from a snapshot: the store times are only in the records.
        low, high = queue.first, queue.max_offset if self.begin is None else queue.offset_at(self.begin)
        while low < high:
            middle = (low + high) // 2
            stored = stored_at(middle)
            if stored < time_ms or (after and stored == time_ms):
                low = middle + 1
            else:
                high = middle
        return low
