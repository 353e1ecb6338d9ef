"""The commit log as of one instant, for readers on another thread than the engine's.

It shares the bytes of the engine's log, which continues to append to its last segment. A buffer cannot grow while a
view of it exists, so every reader here copies its bytes in one step, during which the engine's thread cannot run.
"""

from array import array
from collections.abc import Iterator, Sequence
from struct import Struct

from ..message.stored_record import is_readable
from .commit_log import RECORD_BYTES_MIN, CommitLog
from .shared_log import SharedLog, share_segments

_SIZE = Struct(">i")
_OFFSET = Struct(">q")
_OFFSET_AT = 28
_MAGIC_AT = 4
_MAGIC = b"\xda\xa3\x20"
_HEAD_BYTES = _OFFSET_AT + _OFFSET.size


class LogAtInstant(SharedLog):
    """A copy of a log that is only read."""

    @classmethod
    def of(cls, log: CommitLog) -> "LogAtInstant":
        """Return the copy of a log as of now."""
        made = cls(log.segment_bytes, log.max_bytes, _ignore_trim, _ignore_full)
        segments, full = log.files()
        own, shared = share_segments(segments, log.shared)
        made.restore(log.segment_bytes, own, dict(full), shared)
        made.max_offset = log.max_offset  # a segment may have been begun without a record
        made.truncations = list(log.truncations)
        return made

    def read(self, physical_offset: int, size: int) -> bytes:
        """Return `size` bytes at an offset that must be stored."""
        buffer, at, _ = self.part_of(physical_offset)
        return bytes(buffer[at : at + size])

    def read_ascending(self, physical_offsets: Sequence[int], sizes: "array[int]", total: int) -> Sequence[bytes]:
        """Read records at ascending offsets that must be stored."""
        return [self.read(offset, size) for offset, size in zip(physical_offsets, sizes, strict=True)]

    def bytes_at(self, physical_offset: int, size: int) -> bytes | None:
        """Return `size` bytes from an offset in the log, or None if the segment contains fewer."""
        buffer, at, end = self.part_of(physical_offset)
        return bytes(buffer[at : at + size]) if at + size <= end else None

    def record_at(self, physical_offset: int) -> bytes | None:
        """Return the record that starts at an offset, or None if none starts there, or if it cannot be decoded."""
        if not self.min_offset <= physical_offset < self.max_offset:
            return None
        buffer, at, end = self.part_of(physical_offset)
        head = bytes(buffer[at : at + _HEAD_BYTES])
        if head[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:  # or shorter
            return None
        size: int = _SIZE.unpack_from(head)[0]
        if size < RECORD_BYTES_MIN or at + size > end or _OFFSET.unpack_from(head, _OFFSET_AT)[0] != physical_offset:
            return None
        record = bytes(buffer[at : at + size])
        return record if is_readable(record) else None

    def records_from(self, physical_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, record) for all records from `physical_offset` on, the start of a record or of a segment."""
        position = max(physical_offset, self.min_offset)
        while position < self.max_offset:
            buffer, at, end = self.part_of(position)
            if at >= end:
                position = (position // self.segment_bytes + 1) * self.segment_bytes
                continue
            size = _SIZE.unpack(buffer[at : at + _SIZE.size])[0]
            yield position, bytes(buffer[at : at + size])
            position += size


def _ignore_trim(_first: int) -> None:
    """Do nothing: a copy is never trimmed."""


def _ignore_full() -> None:
    """Do nothing: a copy never grows."""
