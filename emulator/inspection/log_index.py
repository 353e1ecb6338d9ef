"""Index of one commit log: the records that contain a text as their id or as one of their keys.

The index is built on demand and continues where it ended. Its entries are hashes, so a caller compares the records that
it gets. Until a search would read much of the log twice, the bytes of the log are searched instead, because that takes
50 ms for a million records, and the index a second. Sends maintain nothing.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from zlib import crc32

from ..message import properties as props
from ..store.commit_log import CommitLog

SEARCHED_BYTES = 4 << 20
"""The most bytes of the log that each search may read without the index (1 ms)."""
LONG_SEARCHES = 2
"""The number of searches that may read more than that before the index is built."""
BLOCK_ENTRIES = 1 << 16
_OFFSET_BITS = 32
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1
_HASHES = re.compile(rb"KEYS?\x01([^\x02\x00]*)")
"""The values of UNIQ_KEY and KEYS. Other properties with a similar name add entries that match no record."""
_ORIGIN = props.ORIGIN_MESSAGE_ID.encode() + b"\x01"
_MAGIC = b"\xda\xa3\x20"
_BEFORE = (b"\x01", b" ")
_AFTER = b"\x02\x00 "
"""The bytes that may follow a value: the separator, the next record (the last separator may be missing), a blank."""


class _Block:
    """Entries of a segment of the log that begins at `base`: the hash of a value and its position, in one number."""

    __slots__ = ("base", "entries", "ordered")

    def __init__(self, base: int) -> None:
        self.base = base
        self.entries = array("Q")
        self.ordered = True

    def add(self, value: bytes, position: int) -> None:
        self.entries.append(crc32(value) << _OFFSET_BITS | position)
        self.ordered = False

    def positions(self, hashed: int) -> Iterator[int]:
        if not self.ordered:
            self.entries = array("Q", sorted(self.entries))
            self.ordered = True
        entries = self.entries
        at = bisect_left(entries, hashed << _OFFSET_BITS)
        while at < len(entries) and entries[at] >> _OFFSET_BITS == hashed:
            yield self.base + (entries[at] & _OFFSET_MASK)
            at += 1

    def truncate(self, end: int) -> None:
        self.entries = array("Q", [each for each in self.entries if self.base + (each & _OFFSET_MASK) < end])


class LogIndex:
    """The index of one commit log, which it never changes."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._blocks: list[_Block] = []
        self._end = log.min_offset
        """The physical offset up to which the log is indexed."""
        self._truncations = len(log.truncations)
        self._long_searches = 0

    def records(self, text: str) -> list[bytes]:
        """Return the stored records that may have a text as id or key, and all that have it, the oldest first."""
        wanted = text.encode(errors="replace")
        if not wanted:
            return []
        self._follow_log()
        if self._log.max_offset - self._end > SEARCHED_BYTES:
            self._long_searches += 1
            if self._long_searches > LONG_SEARCHES:
                self._build()
        hits = [each for block in self._blocks for each in block.positions(crc32(wanted))]
        hits += self._search(wanted)
        found = {
            start: record
            for hit in hits
            if (start := self._start_of(hit)) is not None and (record := self._log.record_at(start)) is not None
        }
        return [found[start] for start in sorted(found)]

    def _follow_log(self) -> None:
        """Drop the entries of deleted and truncated records."""
        log = self._log
        for end in log.truncations[self._truncations :]:
            self._end = min(self._end, end)
            for block in self._blocks:
                block.truncate(end)
        self._truncations = len(log.truncations)
        self._end = max(self._end, log.min_offset)
        while self._blocks and self._blocks[0].base < log.min_offset:
            del self._blocks[0]

    def _segments(self, begin: int) -> Iterator[tuple[int, bytearray, int]]:
        """Yield (offset of its first byte, segment, position to begin at) of the log from an offset on."""
        size = self._log.segment_bytes
        while begin < self._log.max_offset:
            segment, at = self._log.segment_of(begin)
            yield begin - at, segment, at
            begin += size - at

    def _build(self) -> None:
        for base, segment, begin in self._segments(self._end):
            for match in _HASHES.finditer(segment, begin):
                value, position = match.group(1), match.start(1)
                self._add(base, value, position)
                if b" " in value:
                    for word in value.split(b" "):
                        self._add(base, word, position)
            at = segment.find(_ORIGIN, begin)
            while at >= 0:
                begin_of_value = at + len(_ORIGIN)
                value = bytes(segment[begin_of_value : segment.find(b"\x02", begin_of_value)])
                self._add(base, value, begin_of_value)
                at = segment.find(_ORIGIN, begin_of_value)
        self._end = self._log.max_offset

    def _add(self, base: int, value: bytes, position: int) -> None:
        blocks = self._blocks
        if not blocks or blocks[-1].base != base or len(blocks[-1].entries) >= BLOCK_ENTRIES:
            blocks.append(_Block(base))
        blocks[-1].add(value, position)

    def _search(self, wanted: bytes) -> Iterator[int]:
        """Yield the positions of a text in the part of the log that is not indexed."""
        for base, segment, begin in self._segments(self._end):
            for before in _BEFORE:
                needle = before + wanted
                at = segment.find(needle, begin)
                while at >= 0:
                    end = at + len(needle)
                    if end == len(segment) or segment[end] in _AFTER:
                        yield base + at + 1
                    at = segment.find(needle, at + 1)

    def _start_of(self, position: int) -> int | None:
        """Return the offset of the record that contains a position; None if the position is in no record."""
        log = self._log
        if not log.min_offset <= position < log.max_offset:
            return None
        segment, at = log.segment_of(position)
        base, found = position - at, at
        while (found := segment.rfind(_MAGIC, 0, found)) >= 4:
            record = log.record_at(base + found - 4)
            if record is not None:
                return base + found - 4 if found - 4 + len(record) > at else None
        return None
