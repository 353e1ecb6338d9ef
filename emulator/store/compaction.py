"""What is left of compacted topics: of each key the last message, as soon as a file of its log is full.

Upstream writes what arrives in a queue once more, into a log of the queue's own, whose files have an index beside them.
From time to time it writes all files anew but the one that is being filled, without what a later message with the same
keys has replaced, and without what has no body. Here nothing is written twice: a read works out, from the times at
which messages were stored, what those rounds have left by then. What the broker's log does not hold any more is gone
here, where upstream's logs of queues keep it. Source: CompactionLog, CompactionStore, SparseConsumeQueue (5.3.3).
"""

from bisect import bisect_left
from itertools import chain
from struct import Struct
from typing import NamedTuple

from ..config import BrokerConfig
from ..kernel.random_streams import Chance
from ..message import properties as props
from ..message import stored_record as records
from .consume_queue import ConsumeQueue
from .message_store import MessageStore

_UNIT_BYTES = 46
"""Of an index, which ends with a unit that says so."""
_END_BYTES = 8
"""What a file of the log ends with."""
_FILES_OF_INDEX_MIN = 5
_PLACE = Struct(">q")
_PLACE_AT = 28


class Entry(NamedTuple):
    """A message of a queue, and its place in the log of the queue."""

    offset: int
    size: int
    keys: str
    has_body: bool
    place: int = 0


class _File:
    """Messages one after the other. `base`: where in the log it begins, `end`: behind its last message."""

    __slots__ = ("base", "end", "entries")

    def __init__(self, base: int) -> None:
        self.base = self.end = base
        self.entries: list[Entry] = []


def _last_offset(file: _File) -> int:
    return file.entries[-1].offset


def _offset(entry: Entry) -> int:
    return entry.offset


class CompactedQueue:
    """The log of one queue, as it is at the time of `catch_up`. `period_ms`: from one round to the next."""

    def __init__(self, config: BrokerConfig, store: MessageStore, queue: ConsumeQueue, period_ms: int) -> None:
        self.queue = queue
        self._store = store
        self._period_ms = period_ms
        self._units = config.compaction_cq_mapped_file_size // _UNIT_BYTES
        self._file_bytes = _file_bytes(self._units * _UNIT_BYTES, config.compaction_mapped_file_size)
        self._files: list[_File] = []
        self._taken = queue.first
        self._next_round_ms: int | None = None
        self._done = -1
        """The offset up to which rounds have looked at keys."""

    @property
    def min_offset(self) -> int:
        """The first offset that is left, 0 if there never was any."""
        return max(self._files[0].entries[0].offset, self.queue.first) if self._files else 0

    @property
    def max_offset(self) -> int:
        """The one behind the last message with keys; the minimum at least."""
        return max(_last_offset(self._files[-1]) + 1, self.queue.first) if self._files else 0

    def left(self, offset: int, count: int) -> list[Entry]:
        """The next messages from an offset on that is neither below the minimum nor the maximum.

        Those of one file, as an answer never has those of two.
        """
        entries = self._files[bisect_left(self._files, offset, key=_last_offset)].entries
        first = bisect_left(entries, offset, key=_offset)
        return entries[first : first + count]

    def catch_up(self, now_ms: int) -> None:
        """Take up what was stored, and do the rounds that were due between."""
        queue, log = self.queue, self._store.log
        while self._taken < queue.max_offset:
            offset = max(self._taken, queue.first)
            self._taken = offset + 1
            physical_offset, size, _ = queue.unit(offset)
            record = records.decode(log.read(physical_offset, size))
            self._rounds(record.store_timestamp)
            keys = record.property_map().get(props.KEYS, "")
            # What holds several messages is one here.
            if keys.strip() and record.queue_offset == offset:
                self._append(self._files, Entry(offset, size, keys, bool(record.body)))
            if self._next_round_ms is None:
                self._next_round_ms = record.store_timestamp + self._period_ms
        self._rounds(now_ms)
        while len(self._files) > 1 and _last_offset(self._files[0]) < queue.first:
            del self._files[0]

    def _rounds(self, now_ms: int) -> None:
        """The round that is due; others beside it would find nothing new."""
        if self._next_round_ms is not None and now_ms >= self._next_round_ms:
            self._next_round_ms += ((now_ms - self._next_round_ms) // self._period_ms + 1) * self._period_ms
            self._compact()

    def _compact(self) -> None:
        full = self._files[:-1]
        fresh = [entry for file in full for entry in file.entries if entry.offset > self._done]
        if not fresh:
            return
        latest = {entry.keys: entry.offset for entry in fresh}
        kept: list[_File] = []
        for entry in chain.from_iterable(file.entries for file in full):
            if entry.offset >= latest.get(entry.keys, -1) and entry.has_body:
                self._append(kept, entry)
        # Upstream's round fails where nothing would be left.
        if kept:
            self._files = [*kept, self._files[-1]]
            self._done = fresh[-1].offset

    def _append(self, files: list[_File], entry: Entry) -> None:
        if not files or not self._has_room(files[-1], entry):
            made = _File(files[-1].base + self._file_bytes if files else 0)
            if not self._has_room(made, entry):
                return
            files.append(made)
        file = files[-1]
        file.entries.append(entry._replace(place=file.end))
        file.end += entry.size

    def _has_room(self, file: _File, entry: Entry) -> bool:
        used = file.end - file.base + entry.size + _END_BYTES
        return len(file.entries) + 1 < self._units and used <= self._file_bytes


class Compaction:
    """The logs of all queues of compacted topics, each made when it is first read."""

    def __init__(self, config: BrokerConfig, store: MessageStore, chance: Chance, name: str) -> None:
        self._config = config
        self._store = store
        self._chance = chance
        self._name = name
        self._logs: dict[tuple[str, int], CompactedQueue] = {}

    def of(self, queue: ConsumeQueue) -> CompactedQueue:
        """The log of a queue as it is now."""
        key = queue.topic, queue.queue_id
        log = self._logs.get(key)
        if log is None or log.queue is not queue:
            interval = self._config.compaction_schedule_internal
            # The same after a restart: what has been dropped does not come back.
            pause = 1000 + self._chance.fixed(f"{self._name} compaction of {key}", max(interval, 1))
            log = self._logs[key] = CompactedQueue(self._config, self._store, queue, interval + pause)
        log.catch_up(self._store.now_ms)
        return log


def moved(record: bytes, place: int) -> bytes:
    """A record as the log of its queue holds it: with its place there."""
    return record[:_PLACE_AT] + _PLACE.pack(place) + record[_PLACE_AT + _PLACE.size :]


def _file_bytes(index_bytes: int, wanted: int) -> int:
    """How long a file of the log is: as many times its index as comes closest, but five times at least."""
    times, rest = divmod(wanted, index_bytes)
    if times < _FILES_OF_INDEX_MIN:
        return index_bytes * _FILES_OF_INDEX_MIN
    return times * index_bytes if 0 < rest < index_bytes >> 1 else (times + 1) * index_bytes
