"""Compaction: the messages of compacted topics that remain after upstream's compaction rounds.

Upstream writes an arriving message of such a queue a second time, into a log of the queue's own with an index per file.
It leaves out messages without keys, which no read returns then. A periodic round rewrites all files except the one
being filled. It removes messages that a later message with the same keys replaced, and messages without a body.

The emulator writes nothing twice: a read computes, from the store times of the messages, which of them the rounds have
kept so far. Messages that the broker's commit log has dropped are missing here, while upstream's own logs keep them.
Source: CompactionLog, CompactionStore, SparseConsumeQueue (5.3.3).
"""

from bisect import bisect_left
from itertools import chain
from struct import Struct
from typing import NamedTuple

from ..config import BrokerConfig
from ..kernel.random_streams import RandomStreams
from ..message import properties as props
from ..message import stored_record as records
from .consume_queue import ConsumeQueue
from .message_store import MessageStore

_UNIT_BYTES = 46
"""The size of an index unit; an end marker takes one unit of each index."""
_END_BYTES = 8
"""The size of the end marker of a log file."""
_FILES_OF_INDEX_MIN = 5
"""A log file is at least this many times as large as an index file."""
_POSITION = Struct(">q")
_POSITION_AT = 28


class CompactedMessage(NamedTuple):
    """A message of a queue, and its position in the queue's own log."""

    offset: int
    size: int
    keys: str
    has_body: bool
    position: int = 0


class _File:
    """A file of consecutive messages. `base`: its start position in the log; `end`: the end of its last message."""

    __slots__ = ("base", "end", "entries")

    def __init__(self, base: int) -> None:
        self.base = self.end = base
        self.entries: list[CompactedMessage] = []


def _last_offset(file: _File) -> int:
    return file.entries[-1].offset


def _offset(entry: CompactedMessage) -> int:
    return entry.offset


class CompactedQueue:
    """The compacted log of one queue as of the last `catch_up`. `period_ms`: interval of the compaction rounds."""

    def __init__(self, config: BrokerConfig, store: MessageStore, queue: ConsumeQueue, period_ms: int) -> None:
        self.queue = queue
        self._store = store
        self._period_ms = period_ms
        self._units = config.compaction_cq_mapped_file_size // _UNIT_BYTES
        self._file_bytes = _file_bytes(self._units * _UNIT_BYTES, config.compaction_mapped_file_size)
        self._files: list[_File] = []
        self._taken = queue.first
        self._next_round_ms: int | None = None
        self._compared_until = -1
        """The offset of the last message whose keys a round has compared."""

    @property
    def min_offset(self) -> int:
        """An offset below which no message remains; 0 if no message was ever added."""
        return max(self._files[0].entries[0].offset, self.queue.first) if self._files else 0

    @property
    def max_offset(self) -> int:
        """The offset after the last message that was added; at least the minimum."""
        return max(_last_offset(self._files[-1]) + 1, self.queue.first) if self._files else 0

    def remaining(self, offset: int, count: int) -> list[CompactedMessage]:
        """Return up to `count` remaining messages from `offset` on; min_offset <= `offset` < max_offset.

        All are from one file, because a response never spans two files.
        """
        entries = self._files[bisect_left(self._files, offset, key=_last_offset)].entries
        first = bisect_left(entries, offset, key=_offset)
        return entries[first : first + count]

    def keeps(self, offset: int) -> bool:
        """True if the message at an offset was added and remains. Messages without keys are never added."""
        return any(entry.offset == offset for file in self._files for entry in file.entries)

    def catch_up(self, now_ms: int) -> None:
        """Add the messages stored since the last call, and run the compaction rounds that were due meanwhile."""
        queue, log = self.queue, self._store.log
        while self._taken < queue.max_offset:
            offset = max(self._taken, queue.first)
            self._taken = offset + 1
            physical_offset, size, _ = queue.unit(offset)
            record = records.decode(log.read(physical_offset, size))
            self._rounds(record.store_timestamp)
            keys = record.property_map().get(props.KEYS, "")
            # A record that holds several messages counts as one message.
            if keys.strip() and record.queue_offset == offset:
                self._append(self._files, CompactedMessage(offset, size, keys, bool(record.body)))
            if self._next_round_ms is None:
                self._next_round_ms = record.store_timestamp + self._period_ms
        self._rounds(now_ms)
        while len(self._files) > 1 and _last_offset(self._files[0]) < queue.first:
            del self._files[0]

    def _rounds(self, now_ms: int) -> None:
        """Run one round if any is due; further rounds at the same point would find nothing new."""
        if self._next_round_ms is not None and now_ms >= self._next_round_ms:
            self._next_round_ms += ((now_ms - self._next_round_ms) // self._period_ms + 1) * self._period_ms
            self._compact()

    def _compact(self) -> None:
        full = self._files[:-1]
        fresh = [entry for file in full for entry in file.entries if entry.offset > self._compared_until]
        if not fresh:
            return
        latest = {entry.keys: entry.offset for entry in fresh}
        kept: list[_File] = []
        for entry in chain.from_iterable(file.entries for file in full):
            if entry.offset >= latest.get(entry.keys, -1) and entry.has_body:
                self._append(kept, entry)
        # Upstream's round fails if no message would remain.
        if kept:
            self._files = [*kept, self._files[-1]]
            self._compared_until = fresh[-1].offset

    def _append(self, files: list[_File], entry: CompactedMessage) -> None:
        if not files or not self._has_room(files[-1], entry):
            made = _File(files[-1].base + self._file_bytes if files else 0)
            if not self._has_room(made, entry):
                return
            files.append(made)
        file = files[-1]
        file.entries.append(entry._replace(position=file.end))
        file.end += entry.size

    def _has_room(self, file: _File, entry: CompactedMessage) -> bool:
        used = file.end - file.base + entry.size + _END_BYTES
        return len(file.entries) + 1 < self._units and used <= self._file_bytes


class Compaction:
    """The compacted logs of all queues of compacted topics, each created at its first read."""

    def __init__(self, config: BrokerConfig, store: MessageStore, random_streams: RandomStreams, name: str) -> None:
        self._config = config
        self._store = store
        self._random_streams = random_streams
        self._name = name
        self._logs: dict[tuple[str, int], CompactedQueue] = {}

    def of(self, queue: ConsumeQueue) -> CompactedQueue:
        """Return the compacted log of a queue, brought up to date."""
        key = queue.topic, queue.queue_id
        log = self._logs.get(key)
        if log is None or log.queue is not queue:
            log = self._logs[key] = self._new_log(queue)
        log.catch_up(self._store.now_ms)
        return log

    def snapshot_of(self, queue: ConsumeQueue) -> CompactedQueue:
        """Build the compacted log of a queue from the stored messages, and change nothing."""
        log = self._new_log(queue)
        log.catch_up(self._store.now_ms)
        return log

    def _new_log(self, queue: ConsumeQueue) -> CompactedQueue:
        interval = self._config.compaction_schedule_internal
        # The pause is the same after a restart, so that removed messages do not reappear.
        key = queue.topic, queue.queue_id
        pause = 1000 + self._random_streams.fixed(f"{self._name} compaction of {key}", max(interval, 1))
        return CompactedQueue(self._config, self._store, queue, interval + pause)


def with_position(record: bytes, position: int) -> bytes:
    """Return a record as the queue's own log stores it: with its position in that log."""
    return record[:_POSITION_AT] + _POSITION.pack(position) + record[_POSITION_AT + _POSITION.size :]


def _file_bytes(index_bytes: int, wanted: int) -> int:
    """Return the size of a log file: `wanted`, rounded to a multiple of the index size, at least five times that.

    If `wanted` is a multiple, the size is the next one.
    """
    times, rest = divmod(wanted, index_bytes)
    if times < _FILES_OF_INDEX_MIN:
        return index_bytes * _FILES_OF_INDEX_MIN
    return times * index_bytes if 0 < rest < index_bytes >> 1 else (times + 1) * index_bytes
