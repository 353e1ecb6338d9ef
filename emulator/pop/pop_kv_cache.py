"""Keeps KV records of pops in memory for a while, with `enablePopBufferMerge`.

Upstream scans them once a second. Due records are redelivered, and those that stayed `popCkStayBufferTime` are stored.
The group's offset becomes the first offset still in memory. A record whose message is acknowledged before that is
never stored. A crash loses the records in memory, and the group continues at its offset. Acknowledgements match by
offset alone, whichever pop they belong to. Source: PopConsumerCache (5.3.3).

Not emulated: upstream stores records early if their group has not popped for two minutes.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from ..config import BrokerConfig
from ..group.offset_table import OffsetTable
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..kernel.timer_per_instant import TimerPerInstant
from .consumer_order_info import GroupQueue
from .pop_kv_records import PopRecord

SCAN_INTERVAL_MS = 1000


class CachedQueue:
    """The records of one queue by offset."""

    def __init__(self) -> None:
        self.records: dict[int, PopRecord] = {}
        self._offsets: list[int] = []

    def put(self, record: PopRecord) -> None:
        if record.offset not in self.records:
            heappush(self._offsets, record.offset)
        self.records[record.offset] = record

    def first(self) -> int:
        """Return the first offset in memory, or -1 if there is none."""
        while self._offsets and self._offsets[0] not in self.records:
            heappop(self._offsets)
        return self._offsets[0] if self._offsets else -1


class PopKvCache:
    """Records in memory; `revive` is called with due records, `store` with those that stayed long enough."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        offsets: OffsetTable,
        revive: Callable[[PopRecord], object],
        store: Callable[[list[PopRecord]], None],
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._offsets = offsets
        self._revive = revive
        self._store = store
        self._start_ms = scheduler.now_ms
        self._queues: dict[GroupQueue, CachedQueue] = {}
        self._count = 0
        self._leaving: TimerPerInstant[tuple[GroupQueue, int]] = TimerPerInstant(
            scheduler, TimerKind.POP_CACHE, self._leave
        )
        """The scans in which records leave the memory, by queue and offset."""
        self._advancing: TimerPerInstant[GroupQueue] = TimerPerInstant(
            scheduler, TimerKind.POP_CACHE, self._advance_offsets
        )
        """The scans that advance the group's offset of a queue."""

    def __len__(self) -> int:
        """Return the number of records in memory."""
        return self._count

    def records(self) -> Iterator[PopRecord]:
        """Yield the records in memory, queue by queue."""
        return (record for queue in self._queues.values() for record in queue.records.values())

    def write(self, records: list[PopRecord]) -> bool:
        """Keep records in memory. Returns False if there is no room."""
        config = self._config
        if self._count > config.pop_ck_max_buffer_size:
            return False
        self.restore(records)
        return True

    def restore(self, records: list[PopRecord]) -> None:
        """Keep records in memory, even beyond `popCkMaxBufferSize`."""
        config = self._config
        for record in records:
            queue = self._queues.setdefault(record.group_queue, CachedQueue())
            self._count += record.offset not in queue.records
            queue.put(record)
            leaves_ms = min(record.visible_ms, record.pop_time + config.pop_ck_stay_buffer_time)
            self._leaving.add((record.group_queue, record.offset), self._next_scan_ms(leaves_ms))
            self._advancing.add(record.group_queue, self._next_scan_ms(self._scheduler.now_ms + 1))

    def delete(self, group_queue: GroupQueue, offset: int) -> bool:
        """Acknowledge a message. Returns False if there is no record of this offset."""
        if self._take(group_queue, offset) is None:
            return False
        self._leaving.discard((group_queue, offset))
        self._advancing.add(group_queue, self._next_scan_ms(self._scheduler.now_ms + 1))
        return True

    def first_offset(self, group_queue: GroupQueue) -> int:
        """Return the first offset of a queue in memory, or -1 if there is none."""
        queue = self._queues.get(group_queue)
        return -1 if queue is None else queue.first()

    def clear(self, group_queue: GroupQueue) -> None:
        """Delete the records of a queue, as an offset reset does."""
        queue = self._queues.pop(group_queue, None)
        if queue is not None:
            self._count -= len(queue.records)
            for offset in queue.records:
                self._leaving.discard((group_queue, offset))
            self._advancing.discard(group_queue)

    def _take(self, group_queue: GroupQueue, offset: int) -> PopRecord | None:
        queue = self._queues.get(group_queue)
        record = queue.records.pop(offset, None) if queue is not None else None
        if queue is None or record is None:
            return None
        self._count -= 1
        if not queue.records:
            del self._queues[group_queue]
        return record

    def _next_scan_ms(self, instant_ms: int) -> int:
        """Return the time of the first scan at or after a time, always later than now (ms since the epoch)."""
        instant_ms = max(instant_ms, self._scheduler.now_ms + 1)
        return instant_ms + (self._start_ms - instant_ms) % SCAN_INTERVAL_MS

    def _leave(self, items: list[tuple[GroupQueue, int]]) -> None:
        unexpired = []
        for group_queue, offset in sorted(items):
            record = self._take(group_queue, offset)
            if record is None:
                continue
            if record.visible_ms <= self._scheduler.now_ms:
                self._revive(record)
            else:
                unexpired.append(record)
        self._store(unexpired)
        self._advance_offsets(list(dict.fromkeys(group_queue for group_queue, _ in items)))

    def _advance_offsets(self, group_queues: list[GroupQueue]) -> None:
        for group_queue in group_queues:
            first = self.first_offset(group_queue)
            if first >= 0:
                topic, group, queue_id = group_queue
                self._offsets.commit(group, topic, queue_id, first)
