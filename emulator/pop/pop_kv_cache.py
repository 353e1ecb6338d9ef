"""Pop records that the KV variant keeps in memory for a while, with `enablePopBufferMerge`.

Upstream scans them once a second. Due records are redelivered, and those that stayed `popCkStayBufferTime` are stored.
The group's offset becomes the first offset still in memory. A message acknowledged before is never stored. A crash
loses the records in memory, and the group continues at its offset. Acknowledgements match by offset alone, whichever
pop they belong to. Source: PopConsumerCache (5.3.3).

Not emulated: upstream stores records early if their group has not popped for two minutes.
"""

from collections.abc import Callable
from heapq import heappop, heappush

from ..config import BrokerConfig
from ..group.offset_table import Offsets
from ..kernel.scheduler import Scheduler
from ..kernel.timer_per_instant import Agenda
from .consumer_order_info import Place
from .pop_kv_records import PopRecord

LOOK_MS = 1000


class _Queue:
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


class PopCache:
    """Records in memory; `revive` is called with due records, `store` with those that stayed long enough."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        offsets: Offsets,
        revive: Callable[[PopRecord], object],
        store: Callable[[list[PopRecord]], None],
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._offsets = offsets
        self._revive = revive
        self._store = store
        self._start_ms = scheduler.now_ms
        self._queues: dict[Place, _Queue] = {}
        self._count = 0
        self._leaving: Agenda[tuple[Place, int]] = Agenda(scheduler, "pop cache", self._leave)
        self._moving: Agenda[Place] = Agenda(scheduler, "pop cache", self._move)

    def __len__(self) -> int:
        """Return the number of records in memory."""
        return self._count

    def write(self, records: list[PopRecord]) -> bool:
        """Keep records in memory. Returns False if there is no room."""
        config = self._config
        if self._count > config.pop_ck_max_buffer_size:
            return False
        for record in records:
            queue = self._queues.setdefault(record.place, _Queue())
            self._count += record.offset not in queue.records
            queue.put(record)
            leaves_ms = min(record.visible_ms, record.pop_time + config.pop_ck_stay_buffer_time)
            self._leaving.add((record.place, record.offset), self._look_at(leaves_ms))
            self._moving.add(record.place, self._look_at(self._scheduler.now_ms + 1))
        return True

    def delete(self, place: Place, offset: int) -> bool:
        """Acknowledge a message. Returns False if there is no record of this offset."""
        if self._take(place, offset) is None:
            return False
        self._leaving.discard((place, offset))
        self._moving.add(place, self._look_at(self._scheduler.now_ms + 1))
        return True

    def first_offset(self, place: Place) -> int:
        """Return the first offset of a queue in memory, or -1 if there is none."""
        queue = self._queues.get(place)
        return -1 if queue is None else queue.first()

    def clear(self, place: Place) -> None:
        """Delete the records of a queue, as an offset reset does."""
        queue = self._queues.pop(place, None)
        if queue is not None:
            self._count -= len(queue.records)
            for offset in queue.records:
                self._leaving.discard((place, offset))
            self._moving.discard(place)

    def _take(self, place: Place, offset: int) -> PopRecord | None:
        queue = self._queues.get(place)
        record = queue.records.pop(offset, None) if queue is not None else None
        if queue is None or record is None:
            return None
        self._count -= 1
        if not queue.records:
            del self._queues[place]
        return record

    def _look_at(self, instant_ms: int) -> int:
        """Return the time of the first scan at or after a time, always later than now (ms since the epoch)."""
        instant_ms = max(instant_ms, self._scheduler.now_ms + 1)
        return instant_ms + (self._start_ms - instant_ms) % LOOK_MS

    def _leave(self, items: list[tuple[Place, int]]) -> None:
        stay = []
        for place, offset in sorted(items):
            record = self._take(place, offset)
            if record is None:
                continue
            if record.visible_ms <= self._scheduler.now_ms:
                self._revive(record)
            else:
                stay.append(record)
        self._store(stay)
        self._move(list(dict.fromkeys(place for place, _ in items)))

    def _move(self, places: list[Place]) -> None:
        for place in places:
            first = self.first_offset(place)
            if first >= 0:
                topic, group, queue_id = place
                self._offsets.commit(group, topic, queue_id, first)
