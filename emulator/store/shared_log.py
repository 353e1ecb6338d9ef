"""The commit log of a fork: it reads the bytes of its parent's log and stores its own records.

The parent only appends to a segment, and truncates it by a new object. So a fork holds the parent's segments and the
length of the last one. Of a segment that has shared bytes, the fork's own bytes are in a buffer of their own; no record
is in both.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence

from ..message.record_run import RecordRun
from .commit_log import MAX_BLOCK_FACTOR, CommitLog
from .shared_segment import SharedSegment


class SharedLog(CommitLog):
    """A commit log whose first bytes belong to other engines, which continue to append to their buffers."""

    def __init__(
        self, segment_bytes: int, max_bytes: int, on_trim: Callable[[int], None], on_full: Callable[[], None]
    ) -> None:
        super().__init__(segment_bytes, max_bytes, on_trim, on_full)
        self._shared: dict[int, SharedSegment] = {}
        """The shared bytes by number of the segment. `_segments` has the bytes after them."""

    @property
    def shared(self) -> Mapping[int, SharedSegment]:
        """The shared bytes by number of the segment; not copied."""
        return self._shared

    def restore(
        self,
        segment_bytes: int,
        segments: dict[int, bytearray],
        full: dict[int, int],
        shared: Mapping[int, SharedSegment] | None = None,
    ) -> None:
        """Rebuild from segments; `shared` has the first bytes of some of them."""
        super().restore(segment_bytes, segments, full)
        self._shared = dict(shared or {})
        self.stored_bytes += sum(each.length for each in self._shared.values())
        self._set_tail()

    def _set_tail(self) -> None:
        self._tail = self._segments[self._last]
        self.max_offset = self._last * self.segment_bytes + self._shared_length(self._last) + len(self._tail)
        self._set_end()

    def _shared_length(self, number: int) -> int:
        shared = self._shared.get(number)
        return 0 if shared is None else shared.length

    def truncate(self, end: int) -> None:
        """Truncate the log at `end`, the start or the end of a stored record."""
        self.truncations.append(end)
        for number in [number for number in self._segments if number * self.segment_bytes > end]:
            self.stored_bytes -= len(self._segments.pop(number)) + self._shared_length(number)
            self._shared.pop(number, None)
            self._full.pop(number - 1, None)
        self._last = max(self._segments)
        kept = end - self._last * self.segment_bytes
        segment, shared = self._segments[self._last], self._shared.get(self._last)
        shared_length = 0 if shared is None else shared.length
        self.stored_bytes -= max(shared_length + len(segment) - kept, 0)
        if shared is None and kept:
            # A segment of its own or of another engine: nobody appends to it, but a snapshot may be reading it.
            self._shared[self._last] = SharedSegment((segment,), (0,), kept)
            self._segments[self._last] = bytearray()
        elif shared is not None and kept < shared_length:
            self._segments[self._last] = bytearray()
            if kept:
                self._shared[self._last] = shared.cut(kept)
            else:
                del self._shared[self._last]
        else:
            self._segments[self._last] = segment[: kept - shared_length]
        self._set_tail()
        self.max_offset = end

    def bytes_of_segment(self, number: int) -> bytearray | None:
        """Return a copy of a segment's bytes, None if the log does not have the segment."""
        own, shared = self._segments.get(number), self._shared.get(number)
        if own is None or shared is None:
            return own
        return bytearray().join([*(buffer[:length] for buffer, length in shared.parts()), own])

    def read(self, physical_offset: int, size: int) -> bytes:
        """Return `size` bytes at an offset that must be stored."""
        buffer, at, _ = self.part_of(physical_offset)
        return bytes(memoryview(buffer)[at : at + size])

    def read_ascending(self, physical_offsets: Sequence[int], sizes: "array[int]", total: int) -> Sequence[bytes]:
        """Read records at ascending offsets that must be stored, as those of a queue are; `total`: their total size."""
        if not physical_offsets:
            return []
        first = physical_offsets[0]
        buffer, start, stop = self.part_of(first)
        end = start + physical_offsets[-1] + sizes[-1] - first
        if end > stop or end - start > MAX_BLOCK_FACTOR * total:
            return [
                self.read(physical_offset, size) for physical_offset, size in zip(physical_offsets, sizes, strict=True)
            ]
        block = bytes(memoryview(buffer)[start:end])
        if end - start == total:
            return RecordRun(block, sizes)
        return [
            block[physical_offset - first : physical_offset - first + size]
            for physical_offset, size in zip(physical_offsets, sizes, strict=True)
        ]

    def part_of(self, physical_offset: int) -> tuple[bytearray, int, int]:
        """Return the buffer that contains an offset, the position in it, and the end of the log's bytes in it."""
        number, at = divmod(physical_offset, self.segment_bytes)
        own, shared = self._segments[number], self._shared.get(number)
        if shared is None:
            return own, at, len(own)
        if at < shared.length:
            return shared.find(at)
        return own, at - shared.length, len(own)

    def _drop_first(self) -> None:
        shared = self._shared.pop(self._first, None)
        if shared is not None:
            self.stored_bytes -= shared.length
        super()._drop_first()


def share_segments(
    segments: Mapping[int, bytearray], shared: Mapping[int, SharedSegment]
) -> tuple[dict[int, bytearray], dict[int, SharedSegment]]:
    """Return both parts of a log's segments for a fork (see `SharedLog.restore`), which shares their present bytes."""
    own, shared_after = dict(segments), dict(shared)
    for number in {*shared, max(segments)}:
        tail, before = segments[number], shared.get(number)
        if before is not None:
            shared_after[number] = before.with_more(tail)
        elif tail:
            shared_after[number] = SharedSegment((tail,), (0,), len(tail))
        own[number] = bytearray()
    return own, shared_after
