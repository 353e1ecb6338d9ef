"""The delivery record: deliveries and acknowledgements of all brokers of an engine, in a ring of packed records.

A record stands for a run: messages with consecutive offsets of one queue in one request or response. It takes 32 bytes.
The ring consists of chunks, which are allocated when they are first used. When all are full, the oldest is dropped.
A search makes a summary of the queues and offsets of a full chunk, so that further searches skip most chunks.
"""

import struct
import sys
from array import array
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from .record_keys import Link, Queue, RecordKeys
from .record_kind import RecordKind

RECORD_BYTES = 32
CHUNK_RECORDS = 1_024
"""The maximum number of records of a chunk."""
NO_HOLD = 0xFFFF_FFFF
"""The `hold_ms` of an event that begins no invisible duration."""
HOLD_MAX = NO_HOLD - 1
"""The longest invisible duration (ms) that a record expresses; longer ones count as this one."""
IN_ORDER, BY_SLAVE = 1, 2
"""Bits of `flags`: the group pops in order; a slave served the request."""
RENEWALS_MAX = 4_096
"""The maximum number of renewed messages whose renewals share a record."""
_LAYOUT = struct.Struct("@qqIIIHBB")
"""at_ms, first offset, queue, link, hold_ms, number of messages, kind, flags; in native order, which is faster.

The record of a commit has the number of messages in place of hold_ms, because a commit can pass very many.
"""
_PASSED_MAX = 0xFFFF_FFFF
"""The most messages in the record of a commit; of more, the last ones are recorded."""
_LARGEST = 2**63 - 1
_STARTS_MAX = 64
"""If no run of a chunk is longer, a search compares the first offsets of its records instead of decoding all."""
_COMMITTED = RecordKind.COMMITTED
_pack = _LAYOUT.pack_into


class DeliveryEntry(NamedTuple):
    """One record, with the numbers of its queue and its link."""

    at_ms: int
    first: int
    queue: int
    link: int
    hold_ms: int | None
    length: int
    kind: RecordKind
    flags: int
    number: int = 0
    """Its position in the sequence of all records that were ever appended."""


class _Chunk:
    """Records in their order, and their summary once a search has made it."""

    __slots__ = ("data", "high", "is_shared", "is_summarized", "low", "queues")

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.is_shared = False
        """True if another engine reads the data, too: it must be copied before a change."""
        self.is_summarized = False
        self.queues = -1
        """Bit n: the chunk has records of queues whose number is n modulo 64."""
        self.low, self.high = -_LARGEST, _LARGEST
        """No offset is lower or higher."""

    def fork(self) -> "_Chunk":
        """Return an equal chunk for a fork, with the same data."""
        made = _Chunk(self.data)
        made.is_summarized, made.queues, made.low, made.high = self.is_summarized, self.queues, self.low, self.high
        self.is_shared = made.is_shared = True
        return made

    def own_data(self) -> bytearray:
        """Return the data, for a change of a record. No other engine sees the change."""
        if self.is_shared:
            self.data, self.is_shared = self.data.copy(), False
        return self.data

    def summarize(self) -> None:
        """Compute the summary of a full chunk, column by column. A no-op if it is known.

        It takes about 0.1 ms. Searches need it, and not deliveries, whose time it would increase.
        """
        if self.is_summarized:
            return
        self.is_summarized = True
        data = self.data
        numbers, firsts = array("I", data), array("q", data)[1::4]
        self.queues = 0
        for number in set(numbers[4::8]):
            self.queues |= 1 << number % 64
        self.low, self.high = min(firsts), max(firsts) + _longest(memoryview(data))

    def may_have(self, queue: int, offset: int | None) -> bool:
        """True if the full chunk can have a record of an offset of a queue, or of any offset (None)."""
        self.summarize()
        return bool(self.queues >> queue % 64 & 1) and (offset is None or self.low <= offset <= self.high)


class DeliveryRecord:
    """The newest records: at most `max_entries` (>= 0; with 0, `append` and `renew` are no-ops).

    Their times are the engine's (ms), and the caller appends them in the order of time.
    """

    def __init__(self, max_entries: int, keys: RecordKeys) -> None:
        self.keys = keys
        self.max_entries = max_entries
        self.is_on = max_entries > 0
        self.dropped = 0
        """The number of records that were appended and dropped since."""
        self._queues, self._links = keys.queues.numbers, keys.links.numbers
        self._chunk_records = max(min(CHUNK_RECORDS, max_entries // 8), 1)
        self._chunks_max = max_entries // self._chunk_records
        self._chunks: deque[_Chunk] = deque()
        self._end = self._chunk_records * RECORD_BYTES
        self._at = self._end
        """The position of the next record in the newest chunk. At its end, the next record begins a new chunk."""
        self._data = bytearray()
        """The data of the newest chunk."""
        self._renewed: dict[tuple[int, int, int], int] = {}
        """The numbers of the records of renewals, by queue, link and offset; the first record of all has number 0."""
        self.keys_version = 1
        """Numbers of keys that a writer keeps are valid while this number is the same; it is never 0."""
        if not self.is_on:  # both cost nothing then
            self.append = _append_nothing  # type: ignore[method-assign]
            self.append_numbered = _append_nothing  # type: ignore[method-assign]

    def fork(self) -> "DeliveryRecord":
        """Return an equal record for a fork. It shares the data of full chunks, and copies only the newest chunk."""
        made = DeliveryRecord(self.max_entries, self.keys.copy())
        made.dropped, made._renewed, made.keys_version = self.dropped, self._renewed.copy(), self.keys_version
        if self._chunks:
            *full, newest = self._chunks
            made._chunks.extend(chunk.fork() for chunk in full)
            made._data, made._at = newest.data.copy(), self._at
            made._chunks.append(_Chunk(made._data))
        return made

    def append(  # noqa: PLR0917 - once per delivery; keywords would cost time
        self,
        kind: RecordKind,
        at_ms: int,
        queue: Queue,
        link: Link,
        first: int,
        count: int = 1,
        hold_ms: int = NO_HOLD,
        flags: int = 0,
    ) -> None:
        """Append a record of a run: `count` (1 to 65,535) messages from queue offset `first`.

        `hold_ms` (0 to HOLD_MAX) is the invisible duration that begins with the event.
        """
        at = self._at
        if at == self._end:
            self._begin_chunk()
            at = 0
        try:
            queue_number = self._queues[queue]
            link_number = self._links[link]
        except KeyError:
            queue_number, link_number = self.keys.queues.number(queue), self.keys.links.number(link)
        _pack(self._data, at, at_ms, first, queue_number, link_number, hold_ms, count, kind, flags)
        self._at = at + RECORD_BYTES

    def numbers_of(self, queue: Queue, link: Link) -> tuple[int, int]:
        """Return the numbers of a queue and a link, for `append_numbered`; zeros while the record is off."""
        return (self.keys.queues.number(queue), self.keys.links.number(link)) if self.is_on else (0, 0)

    def append_numbered(  # noqa: PLR0917 - once per delivery; keywords would cost time
        self, kind: RecordKind, at_ms: int, queue: int, link: int, first: int, count: int, flags: int
    ) -> None:
        """Append a record as `append` does, with the numbers of its queue and its link in place of their names."""
        at = self._at
        if at == self._end:
            self._begin_chunk(queue, link)
            at = 0
        _pack(self._data, at, at_ms, first, queue, link, NO_HOLD, count, kind, flags)
        self._at = at + RECORD_BYTES

    def append_commit(self, at_ms: int, queue: Queue, link: Link, *, first: int, end: int) -> None:
        """Append a record of a commit that passed the messages from queue offset `first` to `end` - 1."""
        first = max(first, end - _PASSED_MAX)
        self.append(_COMMITTED, at_ms, queue, link, first, 0, end - first)

    def renew(self, at_ms: int, queue: Queue, link: Link, *, offset: int, hold_ms: int) -> None:
        """Record that the proxy renewed the invisible duration of a message for its client.

        Later renewals of the message change its record, so that a long processing does not fill the ring.
        """
        if not self.is_on:
            return
        key = (self.keys.queues.number(queue), self.keys.links.number(link), offset)
        number = self._renewed.get(key, -1)
        if number >= self.dropped:
            chunk, at = divmod(number - self.dropped, self._chunk_records)
            data = self._chunks[chunk].own_data()
            _pack(data, at * RECORD_BYTES, at_ms, offset, *key[:2], hold_ms, 1, RecordKind.RENEWED, 0)
            return
        if len(self._renewed) >= RENEWALS_MAX:
            self._renewed.clear()
        self._renewed[key] = self.dropped + len(self)
        self.append(RecordKind.RENEWED, at_ms, queue, link, offset, 1, hold_ms)

    def of(self, queue: Queue, offset: int | None = None) -> list[DeliveryEntry]:
        """Return the records of an offset of a queue, or of all its offsets, the oldest first."""
        wanted = self.keys.queues.known(queue)
        found: list[DeliveryEntry] = []
        if wanted is None:
            return found
        newest = len(self._chunks) - 1
        for index, chunk in enumerate(self._chunks):
            if index < newest and not chunk.may_have(wanted, offset):
                continue
            begin = self.dropped + index * self._chunk_records
            data = self._filled(index)
            for position in range(len(data) // RECORD_BYTES) if offset is None else _near(data, offset):
                packed = _LAYOUT.unpack_from(data, position * RECORD_BYTES)
                if packed[2] != wanted:
                    continue
                length = packed[4] if packed[6] == _COMMITTED else packed[5]
                if offset is None or packed[1] <= offset < packed[1] + length:
                    found.append(_unpacked(packed, begin + position))
        return found

    @property
    def since_ms(self) -> int | None:
        """The time of the oldest record, None if there is none."""
        return _LAYOUT.unpack_from(self._chunks[0].data)[0] if self._chunks else None

    @property
    def held_bytes(self) -> int:
        """The memory of the chunks."""
        return sum(len(chunk.data) for chunk in self._chunks)

    def __len__(self) -> int:
        return (len(self._chunks) * self._end - (self._end - self._at)) // RECORD_BYTES if self._chunks else 0

    def _filled(self, index: int) -> memoryview:
        """Return the records of a chunk: all of its data, or of the newest chunk the filled part."""
        data = memoryview(self._chunks[index].data)
        return data[: self._at] if index == len(self._chunks) - 1 else data

    def _begin_chunk(self, queue: int = -1, link: int = -1) -> None:
        """Begin a chunk. `queue` and `link`: numbers of which the chunk gets a record."""
        if len(self._chunks) == self._chunks_max:
            self._chunks.popleft()
            self.dropped += self._chunk_records
            self._remove_unused_keys(queue, link)
        chunk = _Chunk(bytearray(self._chunk_records * RECORD_BYTES))
        self._chunks.append(chunk)
        self._data = chunk.data

    def _remove_unused_keys(self, queue: int, link: int) -> None:
        keys = self.keys
        if keys.queues.is_large or keys.links.is_large:
            columns = [memoryview(chunk.data).cast("I") for chunk in self._chunks]
            keys.queues.keep({queue, *(number for column in columns for number in column[4::8])})
            keys.links.keep({link, *(number for column in columns for number in column[5::8])})
            self.keys_version += 1


def _longest(data: memoryview) -> int:
    """Return the length of the longest run of records (at least one)."""
    longest = max(data.cast("H")[14::16])
    kinds = data[30::RECORD_BYTES].tobytes()
    if _COMMITTED in kinds:
        passed = data.cast("I")[6::8]
        return max(longest, *(long for kind, long in zip(kinds, passed, strict=True) if kind == _COMMITTED))
    return longest


def _near(data: memoryview, offset: int) -> Iterable[int]:
    """Return the positions of the records that may have an offset, in their order. All of them if runs are long."""
    count = len(data) // RECORD_BYTES
    longest = _longest(data) if count else 0
    if longest > _STARTS_MAX:
        return range(count)
    firsts = data.cast("q")[1::4].tobytes()
    found = []
    for first in range(offset - longest + 1, offset + 1):
        wanted = first.to_bytes(8, sys.byteorder, signed=True)
        at = firsts.find(wanted)
        while at >= 0:
            position, inside = divmod(at, 8)
            if not inside:
                found.append(position)
            at = firsts.find(wanted, at + 1)
    return sorted(found)


def _unpacked(packed: tuple[int, ...], number: int) -> DeliveryEntry:
    at_ms, first, queue, link, hold_ms, count, kind, flags = packed
    if kind == _COMMITTED:
        return DeliveryEntry(at_ms, first, queue, link, None, hold_ms, _COMMITTED, flags, number)
    hold = None if hold_ms == NO_HOLD else hold_ms
    return DeliveryEntry(at_ms, first, queue, link, hold, count, RecordKind(kind), flags, number)


def _append_nothing(*_record: object, **_more: object) -> None:
    """Append nothing: the record is off."""
