"""Ordered pops: one batch of a queue is in flight at a time; redelivery starts at its first unacknowledged message.

The batches are written to a file every 10 s. Source: ConsumerOrderInfoManager (5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from ..config import BrokerConfig
from ..kernel.file_image import LastWrite
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.value_class import value
from ..topic.topic_group_index import NameIndex

Place = tuple[str, str, int]
"""(topic, group, queue id)"""
FILE_INTERVAL_MS = 10_000
FORGOTTEN_MS = 24 * 3_600_000
"""Age after which a batch is deleted (24 h); upstream does that when it writes the file.

Observed on 5.3.3 with a file whose batch was changed to be 25 hours old: after the next write it was not in flight.
"""


@value
class OrderInfo:
    """One batch in flight; `next_visible` and `counts` are by queue offset, bit i of `acked` is message i."""

    pop_time: int
    invisible_ms: int
    offsets: list[int]
    attempt_id: str | None
    counts: dict[int, int] = field(default_factory=dict)
    next_visible: dict[int, int] = field(default_factory=dict)
    acked: int = 0

    def blocked_until(self) -> int:
        """Return the time at which the last unacknowledged message becomes visible; 0 if all are acknowledged."""
        default = self.pop_time + self.invisible_ms
        return max(
            (
                self.next_visible.get(offset, default)
                for index, offset in enumerate(self.offsets)
                if not self.acked >> index & 1
            ),
            default=0,
        )

    def is_blocked(self, now_ms: int) -> bool:
        """Return True if any unacknowledged message is still invisible."""
        return self.blocked_until() > now_ms

    def copy(self) -> "OrderInfo":
        """Return an independent copy."""
        return replace(self, counts=dict(self.counts), next_visible=dict(self.next_visible))

    def first_open(self) -> int:
        """Return the first unacknowledged offset, or the offset after the batch."""
        for index, offset in enumerate(self.offsets):
            if not self.acked >> index & 1:
                return offset
        return self.offsets[-1] + 1


class Orders:
    """The ordered batches in flight, by topic, group and queue."""

    STALE = -2
    UNKNOWN_OFFSET = -1

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        freed: Callable[[str, str, int], None],
        written: Mapping[Place, OrderInfo] | None = None,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._freed = freed
        self._file: LastWrite[Place, OrderInfo] = LastWrite(scheduler, lambda: FILE_INTERVAL_MS)
        self._infos: dict[Place, OrderInfo] = dict(written or {})
        self._timers: dict[Place, Timer] = {}
        self._names: NameIndex[Place] = NameIndex()
        for place, info in self._infos.items():
            self._names.add(place[0], place[1], place)
            self._watch(place, info)

    def left(self) -> dict[Place, OrderInfo]:
        """Return the batches at a graceful shutdown; the OrderInfo objects are not copied."""
        return dict(self._infos)

    def written(self) -> dict[Place, OrderInfo]:
        """Return the batches as of the last write of the file."""
        infos: dict[Place, OrderInfo | None] = {**self._infos, **self._file.lost()}
        return {place: info for place, info in infos.items() if info is not None}

    def _changes(self, place: Place) -> None:
        if self._file.is_first_change(place):
            info = self._infos.get(place)
            self._file.keep(place, None if info is None else info.copy())

    def _current(self, place: Place) -> OrderInfo | None:
        info = self._infos.get(place)
        if info is not None and self._scheduler.now_ms - info.pop_time > FORGOTTEN_MS:
            self.clear(place)
            return None
        return info

    def has_batch(self, place: Place) -> bool:
        """True if the last pop of a queue was an ordered one: its messages stay behind the committed offset."""
        return place in self._infos

    def blocks(self, place: Place, attempt_id: str | None, invisible_ms: int) -> bool:
        """Return True if this pop may not read the queue. The attempt that took the batch may read it again."""
        info = self._current(place)
        if info is None or (info.attempt_id and info.attempt_id == attempt_id):
            return False
        if info.invisible_ms <= 0:
            self._changes(place)
            info.invisible_ms = invisible_ms
        return info.is_blocked(self._scheduler.now_ms)

    def take(
        self, place: Place, pop_time: int, invisible_ms: int, offsets: list[int], attempt_id: str | None
    ) -> list[str]:
        """Record a new batch and return the entries of orderCountInfo, without the topic digit.

        The count of a message that was in the previous batch rises by one, unless the same attempt repeats its request.
        """
        previous = self._current(place)
        info = OrderInfo(pop_time, invisible_ms, list(offsets), attempt_id)
        if previous is not None:
            repeated = bool(attempt_id) and previous.attempt_id == attempt_id
            for offset in offsets:
                if repeated:
                    if offset in previous.counts:
                        info.counts[offset] = previous.counts[offset]
                elif offset in previous.offsets:
                    info.counts[offset] = previous.counts.get(offset, 0) + 1
        self._changes(place)
        if place not in self._infos:
            self._names.add(place[0], place[1], place)
        self._infos[place] = info
        self._watch(place, info)
        queue_id = place[2]
        entries = [f"qo{queue_id}%{offset} {count}" for offset, count in info.counts.items()]
        least = min(info.counts.values()) if len(info.counts) == len(offsets) else 0
        return [*entries, f"{queue_id} {least}"]

    def acknowledge(self, place: Place, pop_time: int, offset: int) -> int:
        """Acknowledge one message and return the offset to commit.

        Returns STALE for a handle of an older batch and UNKNOWN_OFFSET for an offset that is not in the batch.
        """
        info = self._current(place)
        if info is None:
            return offset + 1
        if info.pop_time != pop_time:
            return self.STALE
        if offset not in info.offsets:
            return self.UNKNOWN_OFFSET
        self._changes(place)
        info.acked |= 1 << info.offsets.index(offset)
        self._watch(place, info)
        return info.first_open()

    def change(self, place: Place, pop_time: int, offset: int, next_visible_ms: int) -> None:
        """Change the time at which one message of the batch becomes visible; a stale handle changes nothing."""
        info = self._current(place)
        if info is not None and info.pop_time == pop_time and offset in info.offsets:
            self._changes(place)
            info.next_visible[offset] = next_visible_ms
            self._watch(place, info)

    def clear(self, place: Place) -> None:
        """Delete the batch, as an offset reset does."""
        self._changes(place)
        if self._infos.pop(place, None) is not None:
            self._names.discard(place[0], place[1], place)
        timer = self._timers.pop(place, None)
        if timer is not None:
            timer.cancel()

    def forget_topic(self, topic: str, from_queue: int = 0) -> None:
        """Delete the batches of a deleted topic, or of the queues that a topic no longer has."""
        for place in self._names.of_topic(topic):
            if place[2] >= from_queue:
                self.clear(place)

    def forget_group(self, group: str) -> None:
        """Delete the batches of a deleted group."""
        for place in self._names.of_group(group):
            self.clear(place)

    def _watch(self, place: Place, info: OrderInfo) -> None:
        """Schedule the wake-up of waiting pops for when the queue becomes free (ConsumerOrderInfoLockManager)."""
        if not self._config.enable_notify_after_pop_order_lock_release:
            return
        timer = self._timers.pop(place, None)
        if timer is not None:
            timer.cancel()
        until = info.blocked_until()
        if until > self._scheduler.now_ms:
            topic, group, queue_id = place
            self._timers[place] = self._scheduler.call_at(
                until, lambda: self._free(place), "order lock", f"{group}@{topic}@{queue_id}"
            )

    def _free(self, place: Place) -> None:
        if self._config.enable_notify_after_pop_order_lock_release:
            self._freed(*place)
