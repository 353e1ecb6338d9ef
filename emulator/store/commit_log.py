"""The commit log: one append-only sequence of records in segments, bounded in bytes.

A physical offset is a byte position and is never reused. A record does not cross segments: the rest of a full segment
is skipped, where upstream writes padding. Source: CommitLog, MappedFileQueue (5.3.3).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from struct import Struct
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..message.record_run import RecordRun
from ..message.stored_record import is_readable

if TYPE_CHECKING:
    from .shared_segment import SharedSegment

END_BYTES = 8
"""The space that a segment must have left after a record: upstream marks the end of a full file there."""
MAX_BLOCK_FACTOR = 8
"""A read copies its records and all bytes between them as one block, at most this many times as large as the records.

If the block were larger, the read would copy the records one by one.
"""
RECORD_BYTES_MIN = 91
"""No record is smaller."""
_SIZE = Struct(">i")


class CommitLog:
    """Segments of `segment_bytes`, in total at most `max_bytes` (the newest segment is never dropped).

    `on_trim` is called with the new first offset after segments were dropped, `on_full` when a segment is full.
    """

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
        """The time at which each segment except the last became full (ms), oldest first."""
        self.truncations: list[int] = []
        """The offset of each truncation. Records before it are unchanged, unless they were dropped."""
        self.stored_bytes = 0
        self.max_offset = 0
        """The position of the next record, unless the record does not fit into the segment."""
        self.end_of_segment = segment_bytes - END_BYTES
        """The largest position at which a record of the last segment may end."""

    @property
    def shared(self) -> "Mapping[int, SharedSegment]":
        """The first bytes of segments that other engines share, by number of the segment: none, except in a fork."""
        return MappingProxyType({})

    def restore(self, segment_bytes: int, segments: dict[int, bytearray], full: dict[int, int]) -> None:
        """Rebuild from the segments of a recovered log (at least one, equal size, consecutive, oldest first)."""
        self.segment_bytes = segment_bytes
        self._segments, self._full = segments, full
        self._first, self._last = min(segments), max(segments)
        self._tail = segments[self._last]
        self.stored_bytes = sum(map(len, segments.values()))
        self.max_offset = self._last * segment_bytes + len(self._tail)
        self._set_end()

    def begin_at(self, physical_offset: int) -> None:
        """Let an empty log begin with the segment at a physical offset."""
        self.restore(self.segment_bytes, {physical_offset // self.segment_bytes: bytearray()}, {})

    def files(self) -> tuple[dict[int, bytearray], dict[int, int]]:
        """Return the segments by number and the times at which they became full (ms), for `restore`; not copied."""
        return self._segments, self._full

    @property
    def min_offset(self) -> int:
        """The first physical offset that is not dropped."""
        return self._first * self.segment_bytes

    def reserve(self, size: int, now_ms: int) -> int:
        """Return the physical offset of the next record of `size` bytes; starts a new segment if it does not fit.

        `now_ms` is the time by the broker's own clock, which a full file has as the time of its last change.
        """
        if self.max_offset + size > self.end_of_segment:
            self._begin_segment(now_ms)
        return self.max_offset

    def _set_end(self) -> None:
        self.end_of_segment = (self._last + 1) * self.segment_bytes - END_BYTES

    def _begin_segment(self, now_ms: int) -> None:
        self._full[self._last] = now_ms
        self._last += 1
        self._tail = self._segments[self._last] = bytearray()
        self.max_offset = self._last * self.segment_bytes
        self._set_end()
        self._trim()
        self._on_full()

    @property
    def free_bytes(self) -> int:
        """The number of bytes that records may still take in the current segment."""
        return self.end_of_segment - self.max_offset

    def append(self, record: bytes) -> None:
        """Append a record at the offset that `reserve` returned, or several records that fit into the segment."""
        self._tail += record
        size = len(record)
        self.max_offset += size
        self.stored_bytes += size

    def truncate(self, end: int) -> None:
        """Truncate the log at `end`, the start or the end of a stored record."""
        self.truncations.append(end)
        for number in [number for number in self._segments if number * self.segment_bytes > end]:
            self.stored_bytes -= len(self._segments.pop(number))
            self._full.pop(number - 1, None)
        self._last = max(self._segments)
        self._tail = self._segments[self._last]
        kept = end - self._last * self.segment_bytes
        self.stored_bytes -= max(len(self._tail) - kept, 0)
        # A new object: a snapshot that is being written, and a fork, read the truncated bytes from the old one.
        self._tail = self._segments[self._last] = self._tail[:kept]
        self.max_offset = end
        self._set_end()

    def common_end(self, other: "CommitLog", equal_until: int = 0) -> int:
        """Return the offset from which this log differs from another: the end of the last record that both share.

        `equal_until`: the end of a record up to which both are known to be equal.
        """
        if equal_until >= self.max_offset or self._is_prefix_of(other, equal_until):
            return self.max_offset
        end = max(self.min_offset, other.min_offset, equal_until)
        for ours, theirs in zip(self.records_from(end), other.records_from(end), strict=False):
            if ours != theirs:
                break
            end = ours[0] + len(ours[1])
        return end

    def _is_prefix_of(self, other: "CommitLog", equal_until: int) -> bool:
        """True if this log is a prefix of the other one, apart from segments that the other one dropped."""
        for number in range(max(self._first, equal_until // self.segment_bytes), self._last + 1):
            segment, theirs = self.bytes_of_segment(number), other.bytes_of_segment(number)
            if theirs is None and number < other._first:
                continue  # the other log has dropped it
            at = max(equal_until - number * self.segment_bytes, 0)
            if segment is None or theirs is None or theirs[at : len(segment)] != segment[at:]:
                return False
            if number != self._last and len(theirs) != len(segment):
                return False
        return True

    def bytes_of_segment(self, number: int) -> bytearray | None:
        """Return the bytes of a segment, None if the log does not have the segment."""
        return self._segments.get(number)

    def read(self, physical_offset: int, size: int) -> bytes:
        """Return `size` bytes at an offset that must be stored."""
        at = physical_offset % self.segment_bytes
        return bytes(memoryview(self._segments[physical_offset // self.segment_bytes])[at : at + size])

    def read_ascending(self, physical_offsets: Sequence[int], sizes: "array[int]", total: int) -> Sequence[bytes]:
        """Read records at ascending offsets that must be stored, as those of a queue are; `total`: their total size."""
        if not physical_offsets:
            return []
        number, start = divmod(physical_offsets[0], self.segment_bytes)
        end = physical_offsets[-1] + sizes[-1] - number * self.segment_bytes
        if end > self.segment_bytes or end - start > MAX_BLOCK_FACTOR * total:
            return [
                self.read(physical_offset, size) for physical_offset, size in zip(physical_offsets, sizes, strict=True)
            ]
        block = bytes(memoryview(self._segments[number])[start:end])
        if end - start == total:
            return RecordRun(block, sizes)
        first = physical_offsets[0]
        return [
            block[physical_offset - first : physical_offset - first + size]
            for physical_offset, size in zip(physical_offsets, sizes, strict=True)
        ]

    def part_of(self, physical_offset: int) -> tuple[bytearray, int, int]:
        """Return the buffer that contains an offset, the position in it, and the end of the log's bytes in it.

        The buffer is a segment, or a part of one that begins with a record. Raises KeyError if it was dropped.
        """
        segment = self._segments[physical_offset // self.segment_bytes]
        return segment, physical_offset % self.segment_bytes, len(segment)

    def parts(self, begin: int, end: int) -> Iterator[tuple[int, bytearray, int, int]]:
        """Yield (offset of its first byte, buffer, first position, position after the last) of a part of the log."""
        while begin < end:
            buffer, at, stop = self.part_of(begin)
            if at >= stop:
                begin = (begin // self.segment_bytes + 1) * self.segment_bytes
                continue
            stop = min(stop, end - begin + at)
            yield begin - at, buffer, at, stop
            begin += stop - at

    def record_at(self, physical_offset: int) -> bytes | None:
        """Return the record that starts at an offset, or None if none starts there, or if it cannot be decoded."""
        if not self.min_offset <= physical_offset < self.max_offset:
            return None
        segment, at, end = self.part_of(physical_offset)
        if at + 8 > end:
            return None
        size = _SIZE.unpack_from(segment, at)[0]
        # The magic codes of both record versions begin with these three bytes.
        if size < RECORD_BYTES_MIN or at + size > end or segment[at + 4 : at + 7] != b"\xda\xa3\x20":
            return None
        if Struct(">q").unpack_from(segment, at + 28)[0] != physical_offset:
            return None
        record = bytes(memoryview(segment)[at : at + size])
        return record if is_readable(record) else None

    def size_at(self, physical_offset: int) -> int | None:
        """Return the 32-bit number at an offset (the size, if a record starts there); None outside the log."""
        if not self.min_offset <= physical_offset < self.max_offset:
            return None
        segment, at, end = self.part_of(physical_offset)
        if at + _SIZE.size > end:
            return None
        size: int = _SIZE.unpack_from(segment, at)[0]
        return size

    def bytes_at(self, physical_offset: int, size: int) -> bytes | None:
        """Return `size` bytes from an offset in the log, or None if the segment contains fewer."""
        segment, at, end = self.part_of(physical_offset)
        return bytes(memoryview(segment)[at : at + size]) if at + size <= end else None

    def records_from(self, physical_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, record) for all records from `physical_offset` on, the start of a record or of a segment."""
        position = max(physical_offset, self.min_offset)
        while position < self.max_offset:
            segment, at, end = self.part_of(position)
            if at >= end:
                position = (position // self.segment_bytes + 1) * self.segment_bytes
                continue
            size = _SIZE.unpack_from(segment, at)[0]
            yield position, bytes(memoryview(segment)[at : at + size])
            position += size

    def full_files(self) -> Iterable[int]:
        """Return the times at which the segments except the last became full (ms), oldest segment first."""
        return self._full.values()

    def drop_oldest(self, count: int) -> None:
        """Drop the `count` oldest segments; the last one stays."""
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
