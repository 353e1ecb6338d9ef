"""Index of one commit log: the records that contain a text as their id or as one of their keys.

It has the hashes of the values of each block of the log, in order; a block with the wanted hash is searched for the
text, and so is the end of the log without blocks. The caller compares the records that it gets.

Sends do not update the index. It grows block by block: while the emulator is idle, and with each search that has read
much without it. Indexing takes 30 times as long as searching, so no search indexes more than a small share of the log.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from zlib import crc32

from ..store.commit_log import CommitLog

SEARCHED_BYTES = 1 << 20
"""The most bytes at the end of the log that are left without the index: each search reads them (1 ms)."""
LONG_SEARCHES = 2
"""The number of searches that may read more than SEARCHED_BYTES before searches extend the index."""
INDEXED_SHARE = 32
"""A long search indexes the 32nd part of the bytes that it reads, which doubles its time."""
BLOCK_BYTES = 1 << 18
_VALUES = re.compile(rb"KEYS?\x01([^\x02\x00]*)")
"""The values of UNIQ_KEY and KEYS. Other properties with a similar name add hashes that match no record."""
_SEVERAL_KEYS = re.compile(rb"KEYS\x01([^\x02\x00 ]* [^\x02\x00]*)")
_ORIGINS = re.compile(rb"ORIGIN_MESSAGE_ID\x01([^\x02\x00]*)")
_MAGIC = b"\xda\xa3\x20"
_BEFORE = (b"\x01", b" ")
_BEFORE_BYTES = frozenset(b"\x01 ")
_LONG_TEXT = 16
"""A text of at least 16 bytes is searched alone, in one pass; a shorter one, which bodies may contain very often, is
searched together with the byte before it."""
_AFTER = b"\x02\x00 "
"""The bytes that may follow a value: the separator, the next record (the last separator may be missing), a blank."""


class _Block:
    """The hashes of the values in whole records of a segment, from `begin` to before `end` in the log."""

    __slots__ = ("begin", "end", "hashes")

    def __init__(self, begin: int, end: int, values: list[bytes]) -> None:
        self.begin = begin
        self.end = end
        self.hashes = array("I", sorted(map(crc32, values)))

    def may_have(self, hashed: int) -> bool:
        """True if the block has a value with a hash."""
        at = bisect_left(self.hashes, hashed)
        return at < len(self.hashes) and self.hashes[at] == hashed


class LogIndex:
    """The index of one commit log. It never changes the log."""

    def __init__(self, log: CommitLog, like: "LogIndex | None" = None) -> None:
        """`like`: the index of another log that begins with the same records; its blocks are shared."""
        self._log = log
        self._blocks: list[_Block] = [] if like is None else list(like._blocks)
        self._end: int = log.min_offset if like is None else like._end
        """The physical offset up to which the log is indexed."""
        self._truncations: int = len(log.truncations) if like is None else like._truncations
        self._long_searches = 0

    @property
    def is_behind(self) -> bool:
        """True if a search has to read more than `SEARCHED_BYTES` without the index."""
        return self._log.max_offset - max(self._end, self._log.min_offset) > SEARCHED_BYTES

    def extend(self) -> bool:
        """Index the next block of the log. Returns False if the index is not behind."""
        self._follow_log()
        if self.is_behind:
            self._build(self._end + 1)
            return True
        return False

    def records(self, text: str) -> list[bytes]:
        """Return all stored records with a text as id or key, and maybe others that contain it, the oldest first."""
        wanted = text.encode(errors="replace")
        if not wanted:
            return []
        self._follow_log()
        if self.is_behind:
            self._long_searches += 1
            if self._long_searches > LONG_SEARCHES:
                self._build(self._end + (self._log.max_offset - self._end) // INDEXED_SHARE)
        hashed, hits = crc32(wanted), list[int]()
        for block in self._blocks:
            if block.may_have(hashed):
                hits += self._search(wanted, block.begin, block.end)
        hits += self._search(wanted, self._end, self._log.max_offset)
        starts = {start for hit in hits if (start := self._start_of(hit)) is not None}
        return [record for start in sorted(starts) if (record := self._log.record_at(start)) is not None]

    def _follow_log(self) -> None:
        """Drop the blocks with deleted and truncated records."""
        log = self._log
        for end in log.truncations[self._truncations :]:
            while self._blocks and self._blocks[-1].end > end:
                self._end = self._blocks.pop().begin
        self._truncations = len(log.truncations)
        self._end = max(self._end, log.min_offset)
        kept = bisect_left(self._blocks, log.min_offset, key=lambda block: block.begin)
        del self._blocks[:kept]

    def _build(self, until: int) -> None:
        """Index up to the end of the block that contains an offset."""
        for base, segment, begin, stop in self._log.parts(self._end, self._log.max_offset):
            while begin < stop:
                end = self._block_end(base + begin, base + stop) - base
                values = _VALUES.findall(segment, begin, end) + _ORIGINS.findall(segment, begin, end)
                for several in _SEVERAL_KEYS.findall(segment, begin, end):
                    values += several.split(b" ")
                self._blocks.append(_Block(base + begin, base + end, values))
                begin, self._end = end, base + end
                if self._end >= until:
                    return

    def _block_end(self, begin: int, stop: int) -> int:
        """Return the end of a block: the start of a record, or the end of the segment."""
        if begin + BLOCK_BYTES >= stop:
            return stop
        start = self._start_of(begin + BLOCK_BYTES)
        return stop if start is None or start <= begin else start

    def _search(self, wanted: bytes, begin: int, end: int) -> Iterator[int]:
        """Yield the positions of a text that is a value in a part of the log."""
        needles = [before + wanted for before in _BEFORE] if len(wanted) < _LONG_TEXT else [wanted]
        for base, segment, first, stop in self._log.parts(begin, end):
            for needle in needles:
                at = segment.find(needle, first, stop)
                while at >= 0:
                    after = at + len(needle)
                    value = after - len(wanted)
                    if segment[value - 1] in _BEFORE_BYTES and (after == len(segment) or segment[after] in _AFTER):
                        yield base + value
                    at = segment.find(needle, at + 1, stop)

    def _start_of(self, position: int) -> int | None:
        """Return the offset of the record that contains a position; None if the position is in no record."""
        log = self._log
        if not log.min_offset <= position < log.max_offset:
            return None
        segment, at, _ = log.part_of(position)
        base, found = position - at, at + 4 + len(_MAGIC)  # of a record that starts here
        while (found := segment.rfind(_MAGIC, 0, found)) >= 4:
            record = log.record_at(base + found - 4)
            if record is not None:
                return base + found - 4 if found - 4 + len(record) > at else None
        return None
