"""Reads one queue from an offset: the messages, those that match a filter, and the next offset.

Used by pull, pop and peek. Source: DefaultMessageStore.getMessage (5.3.3).
"""

from collections.abc import Collection, Sequence
from dataclasses import field
from itertools import accumulate

from ..config import BrokerConfig
from ..filter.message_filter import MessageFilter
from ..kernel.value_class import value
from ..message import stored_record as records
from ..operations.consume import PullStatus
from ..store.compaction import CompactedQueue, Compaction, with_position
from ..store.consume_queue import BatchConsumeQueue, ConsumeQueue
from ..store.message_store import MessageStore
from ..topic.topic_table import TopicTable
from .slow_group_guard import SlowGroupGuard

_UNIT_BYTES = 20
_TRANSFER_BYTES_MAX = 128 * 1024 * 1024


@value
class Read:
    """Outcome of a read; records, offsets and physical offsets correspond by index."""

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    records: Sequence[bytes] = field(default_factory=list)
    offsets: Sequence[int] = ()
    physical_offsets: Sequence[int] = ()
    size: int = 0
    """Total size of all records in bytes."""


class _Found:
    """The records collected so far by a read that goes record by record."""

    __slots__ = ("_offsets", "_physical_offsets", "records", "size")

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self._offsets: list[int] = []
        self._physical_offsets: list[int] = []
        self.size = 0

    def add(self, record: bytes, offset: int, physical_offset: int) -> None:
        self.records.append(record)
        self._offsets.append(offset)
        self._physical_offsets.append(physical_offset)
        self.size += len(record)

    def move_to(self, read: Read) -> None:
        read.records, read.size = self.records, self.size
        read.offsets, read.physical_offsets = self._offsets, self._physical_offsets


class QueueReader:
    """Reads consume queues within upstream's limits."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        store: MessageStore,
        topics: TopicTable,
        compaction: Compaction,
        slow_group_guard: SlowGroupGuard,
    ) -> None:
        self._config = config
        self._slow_group_guard = slow_group_guard
        self._store = store
        self._compaction = compaction
        self._compacted: Collection[str] = topics.compacted
        """Compacted topics, whose messages upstream reads from separate logs."""
        self._special: Collection[str] = topics.special
        """See `TopicTable.special`."""

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Return the first stored and the next offset of a queue, without reading it."""
        queue = self._store.queues.get((topic, queue_id))
        if queue is None:
            self._store.note_empty_read(topic, queue_id)
            return 0, 0
        if self._is_compacted(topic):
            log = self._compaction.of(queue)
            return log.min_offset, log.max_offset
        return queue.first, queue.max_offset

    def read(  # noqa: PLR0917 - once per read; keywords would cost time
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        message_filter: MessageFilter | None,
        group: str,
    ) -> Read:
        """Read at most `max_count` messages for a group from `offset` on, within upstream's limits on count and bytes.

        The first message is returned regardless of its size. One read examines at most maxFilterMessageSize / 20
        entries of the consume queue, or `max_count` if that is more. Compacted topics are read without a filter, and
        one read never spans two files of their logs (CompactionLog.getMessage). The broker's counters count a record as
        one message, even if it holds several.
        """
        queue = self._store.queues.get((topic, queue_id))
        if queue is None:
            self._store.note_empty_read(topic, queue_id)
            read = Read(PullStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
        elif self._special and self._is_compacted(topic):
            read = self._read_compacted(queue, offset, max_count)
        else:
            read = self._read_queue(queue, offset, max_count, message_filter, group)
        self._store.stats.count_read(topic, group, len(read.records), read.size)
        return read

    def count_delivery(self, topic: str, group: str, queue_id: int) -> None:
        """Count a request for a queue (-1: any) that returned messages."""
        self._store.stats.by_name.note_read_queue(topic, group, queue_id)

    def count_out(self, topic: str, group: str, read: Read, *, is_retry: bool | None = None) -> None:
        """Count the messages of a read that leave for a group. `is_retry`: None if it is no pop."""
        counters = self._store.stats.by_name.counters
        counters.count_out(topic, group, len(read.records), read.size, is_retry=is_retry)

    def _is_compacted(self, topic: str) -> bool:
        return topic in self._compacted and self._config.enable_compaction

    def _read_queue(  # noqa: PLR0917 - once per read; keywords would cost time
        self, queue: ConsumeQueue, offset: int, max_count: int, message_filter: MessageFilter | None, group: str
    ) -> Read:
        topic, queue_id = queue.topic, queue.queue_id
        low, high = queue.first, queue.first + len(queue.physical)
        if high == 0:
            return Read(PullStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset < low:
            return Read(PullStatus.OFFSET_TOO_SMALL, low, low, high)
        noted = bool(group) and self._slow_group_guard.enabled
        if offset == high:
            if noted:
                self._slow_group_guard.record(group, topic, queue_id, 0)
            return Read(PullStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return Read(PullStatus.OFFSET_OVERFLOW_BADLY, high, low, high)

        config = self._config
        count_max = max(min(max_count, config.max_transfer_count_on_message_in_memory), 1)
        bytes_max = min(config.max_transfer_bytes_on_message_in_memory, _TRANSFER_BYTES_MAX)
        units_max = max(config.max_filter_message_size // _UNIT_BYTES, max_count)
        read = Read(PullStatus.NO_MATCHED_MESSAGE, offset, low, high)
        first, stop = offset - low, min(high - low, offset - low + units_max)
        if self._special and topic in self._special and isinstance(queue, BatchConsumeQueue):
            self._read_batches(queue, read, count_max, bytes_max, message_filter)
        elif message_filter is None:
            self._take(queue, read, first, min(stop, first + count_max), bytes_max)
        else:
            self._read_filtered(queue, read, range(first, stop), count_max, bytes_max, message_filter)
        if read.records:
            read.status = PullStatus.FOUND
        if noted:
            behind = self.lag_bytes(topic, queue_id, read.next_offset - 1)
            self._slow_group_guard.record(group, topic, queue_id, behind)
        return read

    def _read_compacted(self, queue: ConsumeQueue, offset: int, max_count: int) -> Read:
        log = self._compaction.of(queue)
        low, high = log.min_offset, log.max_offset
        if high == 0:
            return Read(PullStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset == high:
            return Read(PullStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:  # the next offset as in CompactionLog.getMessage: 0 if the queue begins there
            return Read(PullStatus.OFFSET_OVERFLOW_BADLY, high if low else 0, low, high)
        if low == high:
            return Read(PullStatus.OFFSET_TOO_SMALL, low, low, high)
        return self._take_remaining(queue, log, Read(PullStatus.FOUND, max(offset, low), low, high), max_count)

    def _take_remaining(self, queue: ConsumeQueue, log: CompactedQueue, read: Read, max_count: int) -> Read:
        config = self._config
        count_max = max(min(max_count, config.max_transfer_count_on_message_in_memory), 1)
        bytes_max = min(config.max_transfer_bytes_on_message_in_memory, _TRANSFER_BYTES_MAX)
        found = _Found()
        for entry in log.remaining(read.next_offset, count_max):
            physical_offset, size, _ = queue.unit(entry.offset)
            if found.records and found.size + size > bytes_max:
                break
            found.add(
                with_position(self._store.log.read(physical_offset, size), entry.position),
                entry.offset,
                physical_offset,
            )
            read.next_offset = entry.offset + 1
        found.move_to(read)
        return read

    def _take(self, queue: ConsumeQueue, read: Read, first: int, stop: int, bytes_max: int) -> None:  # noqa: PLR0917 - once per read; keywords would cost time
        """Read consecutive units, as many as the byte limit allows, but at least one."""
        sizes = queue.sizes[first:stop]
        total = sum(sizes)
        if total > bytes_max:
            within = next((number for number, total in enumerate(accumulate(sizes)) if total > bytes_max), len(sizes))
            stop = first + max(within, 1)
            sizes = queue.sizes[first:stop]
            total = sum(sizes)
        physical_offsets = queue.physical[first:stop]
        read.records, read.size = self._store.log.read_ascending(physical_offsets, sizes, total), total
        read.offsets, read.physical_offsets = range(queue.first + first, queue.first + stop), physical_offsets
        read.next_offset = queue.first + max(first, stop)

    def _read_filtered(  # noqa: PLR0917 - once per read; keywords would cost time
        self,
        queue: ConsumeQueue,
        read: Read,
        indices: range,
        count_max: int,
        bytes_max: int,
        message_filter: MessageFilter,
    ) -> None:
        low, found = queue.first, _Found()
        log, physical, sizes, codes = self._store.log, queue.physical, queue.sizes, queue.tags_codes
        for index in indices:
            if len(found.records) >= count_max:
                break
            size = sizes[index]
            if found.records and found.size + size > bytes_max:
                break
            if not message_filter.may_match_tag(codes[index]):
                read.next_offset = low + index + 1
                continue
            record = log.read(physical[index], size)
            if message_filter.needs_properties and not message_filter.matches_properties(records.property_map(record)):
                read.next_offset = low + index + 1
                continue
            found.add(record, low + index, physical[index])
            read.next_offset = low + index + 1
        found.move_to(read)

    def _read_batches(  # noqa: PLR0917 - once per read; keywords would cost time
        self,
        queue: BatchConsumeQueue,
        read: Read,
        count_max: int,
        bytes_max: int,
        message_filter: MessageFilter | None,
    ) -> None:
        """Read records that may hold several messages, starting with the record that contains the offset.

        A record counts as many messages as it holds, and its offset is that of its first message. A read that has no
        record yet takes the next one even if that exceeds the maximum count.
        """
        found, count = _Found(), 0
        at = queue.first_unit_of_record(read.next_offset)
        while at < queue.max_offset and count < count_max:
            physical_offset, size, code = queue.unit(at)
            end = queue.end_of_record(at)
            if found.records and (count + end - at > count_max or found.size + size > bytes_max):
                break
            record = self._store.log.read(physical_offset, size)
            if _matches(message_filter, code, record):
                found.add(record, at, physical_offset)
                count += end - at
            read.next_offset = at = end
        found.move_to(read)

    def is_stored(self, topic: str, queue_id: int, offset: int) -> bool:
        """Return True if a queue has a message at an offset."""
        queue = self._store.queues.get((topic, queue_id))
        return queue is not None and queue.first <= offset < queue.max_offset

    def size(self, topic: str, queue_id: int, offset: int) -> int:
        """Return the size of a stored message in bytes."""
        return self._store.queues[topic, queue_id].unit(offset)[1]

    def lag_bytes(self, topic: str, queue_id: int, offset: int) -> int:
        """Return the number of log bytes after the start of a message; the log's end offset if it is not stored."""
        queue = self._store.queues.get((topic, queue_id))
        end = self._store.log.max_offset
        if queue is None or not queue.first <= offset < queue.max_offset:
            return end
        return end - queue.physical[offset - queue.first]


def _matches(message_filter: MessageFilter | None, tags_code: int, record: bytes) -> bool:
    if message_filter is None:
        return True
    if not message_filter.may_match_tag(tags_code):
        return False
    return not message_filter.needs_properties or message_filter.matches_properties(records.property_map(record))
