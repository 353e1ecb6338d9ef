"""The commit log: one append-only sequence of records in segments, bounded in bytes.

A physical offset is a byte position and never comes twice. A record does not cross a segment: the rest of a full
segment is skipped, as upstream pads it. Source: CommitLog, MappedFileQueue (5.3.3).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct

from ..message.record_run import RecordRun

END_BYTES = 8
"""What a segment must have left behind a record: upstream marks the end of a full file there."""
FAR_APART = 8
"""Records among so many times their bytes, or fewer, are copied out of the log together and then parted."""
_SIZE = Struct(">i")


class CommitLog:
    """Segments of `segment_bytes`, together at most `max_bytes` (the newest segment is never dropped)."""

    def __init__(
        self, segment_bytes: int, max_bytes: int, on_trim: Callable[[int], None], on_full: Callable[[], None]
    ) -> None:
        self.segment_bytes = segment_bytes
        self.max_bytes = max_bytes
        self._on_trim = on_trim
        self._on_full = on_full
        self._segments: dict[int, bytearray] = {0: bytearray()}
        self._first = 0
        self._last = 0
        self._tail = self._segments[0]
        self._full: dict[int, int] = {}
        """When each segment before the last was left, in ms, oldest first."""
        self.cuts: list[int] = []
        """Where the log was cut off, each time that it was: what it held up to there it holds still, or has dropped."""
        self.stored_bytes = 0
        self.max_offset = 0
        """Where the next record goes, unless it does not fit into the segment."""

    def take_up(self, segment_bytes: int, segments: dict[int, bytearray], full: dict[int, int]) -> None:
        """Become what a log has left: at least one segment of that size, numbered without gaps, oldest first."""
        self.segment_bytes = segment_bytes
        self._segments, self._full = segments, full
        self._first, self._last = min(segments), max(segments)
        self._tail = segments[self._last]
        self.stored_bytes = sum(map(len, segments.values()))
        self.max_offset = self._last * segment_bytes + len(self._tail)

    def files(self) -> tuple[dict[int, bytearray], dict[int, int]]:
        """The segments by number, and when each but the last was full (ms), as `take_up` wants them; not copied."""
        return self._segments, self._full

    @property
    def min_offset(self) -> int:
        """The first physical offset still held."""
        return self._first * self.segment_bytes

    def place(self, size: int, now_ms: int) -> int:
        """The physical offset that a record of `size` bytes will get; a new segment is begun if it does not fit."""
        if len(self._tail) + size + END_BYTES > self.segment_bytes:
            self._full[self._last] = now_ms
            self._last += 1
            self._tail = self._segments[self._last] = bytearray()
            self.max_offset = self._last * self.segment_bytes
            self._trim()
            self._on_full()
        return self.max_offset

    @property
    def room(self) -> int:
        """How many bytes of records the segment still takes."""
        return self.segment_bytes - len(self._tail) - END_BYTES

    def append(self, record: bytes) -> None:
        """Store a record at the place that `place` gave, or several for which there is room."""
        self._tail += record
        size = len(record)
        self.max_offset += size
        self.stored_bytes += size

    def truncate(self, end: int) -> None:
        """Cut off everything from `end` on, the start or the end of a record that is held."""
        self.cuts.append(end)
        for number in [number for number in self._segments if number * self.segment_bytes > end]:
            self.stored_bytes -= len(self._segments.pop(number))
            self._full.pop(number - 1, None)
        self._last = max(self._segments)
        self._tail = self._segments[self._last]
        kept = end - self._last * self.segment_bytes
        self.stored_bytes -= max(len(self._tail) - kept, 0)
        del self._tail[kept:]
        self.max_offset = end

    def parts_from(self, other: "CommitLog", alike: int = 0) -> int:
        """Where this log is another one no longer: the end of the last record that both hold alike.

        Up to `alike`, the end of a record in both, they are known to be.
        """
        if self._begins(other, alike):
            return self.max_offset
        end = max(self.min_offset, other.min_offset, alike)
        for ours, theirs in zip(self.records_from(end), other.records_from(end), strict=False):
            if ours != theirs:
                break
            end = ours[0] + len(ours[1])
        return end

    def _begins(self, other: "CommitLog", alike: int) -> bool:
        """Whether another log goes on where this one ends."""
        for number in range(max(self._first, alike // self.segment_bytes), self._last + 1):
            segment, theirs = self._segments[number], other._segments.get(number)
            if theirs is None and number < other._first:
                continue  # dropped there already
            at = max(alike - number * self.segment_bytes, 0)
            if theirs is None or theirs[at : len(segment)] != segment[at:]:
                return False
            if number != self._last and len(theirs) != len(segment):
                return False
        return True

    def read(self, physical_offset: int, size: int) -> bytes:
        """`size` bytes at an offset that is known to be held."""
        at = physical_offset % self.segment_bytes
        return bytes(memoryview(self._segments[physical_offset // self.segment_bytes])[at : at + size])

    def read_ascending(self, physical_offsets: Sequence[int], sizes: "array[int]", total: int) -> Sequence[bytes]:
        """Records at offsets that are known to be held and ascend, as those of a queue do; `total`: all their bytes."""
        if not physical_offsets:
            return []
        number, start = divmod(physical_offsets[0], self.segment_bytes)
        end = physical_offsets[-1] + sizes[-1] - number * self.segment_bytes
        if end > self.segment_bytes or end - start > FAR_APART * total:
            return [self.read(place, size) for place, size in zip(physical_offsets, sizes, strict=True)]
        block = bytes(memoryview(self._segments[number])[start:end])
        if end - start == total:
            return RecordRun(block, sizes)
        first = physical_offsets[0]
        return [
            block[place - first : place - first + size] for place, size in zip(physical_offsets, sizes, strict=True)
        ]

    def segment_of(self, physical_offset: int) -> tuple[bytearray, int]:
        """The segment that holds an offset, and the position in it. Raises KeyError when it is gone."""
        return self._segments[physical_offset // self.segment_bytes], physical_offset % self.segment_bytes

    def record_at(self, physical_offset: int) -> bytes | None:
        """The record that begins at an offset, or None when none begins there."""
        if not self.min_offset <= physical_offset < self.max_offset:
            return None
        segment, at = self.segment_of(physical_offset)
        if at + 8 > len(segment):
            return None
        size = _SIZE.unpack_from(segment, at)[0]
        if size < 91 or at + size > len(segment) or segment[at + 4 : at + 7] != b"\xda\xa3\x20":
            return None
        if Struct(">q").unpack_from(segment, at + 28)[0] != physical_offset:
            return None
        return bytes(memoryview(segment)[at : at + size])

    def size_at(self, physical_offset: int) -> int | None:
        """The number where the size of a record would stand that begins at an offset; None where the log has none."""
        if not self.min_offset <= physical_offset < self.max_offset:
            return None
        segment, at = self.segment_of(physical_offset)
        if at + _SIZE.size > len(segment):
            return None
        size: int = _SIZE.unpack_from(segment, at)[0]
        return size

    def bytes_at(self, physical_offset: int, size: int) -> bytes | None:
        """So many bytes from an offset in the log on, or None where its segment holds less."""
        segment, at = self.segment_of(physical_offset)
        return bytes(memoryview(segment)[at : at + size]) if at + size <= len(segment) else None

    def records_from(self, physical_offset: int) -> Iterator[tuple[int, bytes]]:
        """(offset, record) of all records from an offset on, which must be the start of a record or of a segment."""
        position = max(physical_offset, self.min_offset)
        while position < self.max_offset:
            segment, at = self.segment_of(position)
            if at >= len(segment):
                position = (position // self.segment_bytes + 1) * self.segment_bytes
                continue
            size = _SIZE.unpack_from(segment, at)[0]
            yield position, bytes(memoryview(segment)[at : at + size])
            position += size

    def full_files(self) -> Iterable[int]:
        """When each segment but the last was full, in ms, oldest first."""
        return self._full.values()

    def drop_oldest(self, count: int) -> None:
        """Drop so many of the oldest segments; the last one stays."""
        for _ in range(count):
            if self._first < self._last:
                self._drop_first()
        if count:
            self._on_trim(self.min_offset)

    def _trim(self) -> None:
        dropped = False
        while self.stored_bytes > self.max_bytes and self._first < self._last:
            self._drop_first()
            dropped = True
        if dropped:
            self._on_trim(self.min_offset)

    def _drop_first(self) -> None:
        self.stored_bytes -= len(self._segments.pop(self._first))
        del self._full[self._first]
        self._first += 1
