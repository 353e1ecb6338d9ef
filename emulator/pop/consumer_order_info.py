"""Ordered pops: one batch of a queue is in flight at a time; redelivery starts at its first unacknowledged message.

The batches are written to a file every 10 s. Source: ConsumerOrderInfoManager (5.3.3).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from ..config import BrokerConfig
from ..faults.defects import Defects
from ..kernel.file_image import FileImage
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..kernel.value_class import value
from ..topic.topic_group_index import TopicGroupIndex

GroupQueue = tuple[str, str, int]
"""(topic, group, queue id)"""
FILE_INTERVAL_MS = 10_000
EXPIRY_MS = 24 * 3_600_000
"""Age after which a batch is deleted (24 h); upstream does that when it writes the file.

Observed on 5.3.3 with a file whose batch was changed to be 25 hours old: after the next write it was not in flight.
"""


@value
class OrderInfo:
    """One batch in flight. Bit i of `acked` is set if message i is acknowledged.

    `counts` has the number of earlier deliveries by queue offset. `next_visible` has, also by queue offset, the instant
    (ms since the epoch) at which a message becomes visible again, if a client has changed it.
    """

    pop_time: int
    invisible_ms: int
    offsets: list[int]
    attempt_id: str | None
    counts: dict[int, int] = field(default_factory=dict)
    next_visible: dict[int, int] = field(default_factory=dict)
    acked: int = 0

    def blocked_until(self) -> int:
        """Return the time at which all unacknowledged messages are visible again; 0 if all are acknowledged."""
        default = self.pop_time + self.invisible_ms
        return max(
            (
                self.next_visible.get(offset, default)
                for index, offset in enumerate(self.offsets)
                if not self.acked >> index & 1
            ),
            default=0,
        )

    def first_visible(self, now_ms: int) -> int:
        """Return when the first invisible unacknowledged message becomes visible, now if there is none.

        Upstream wakes waiting pops at this instant, although later messages of the batch may still be invisible then
        (OrderInfo.getLockFreeTimestamp).
        """
        default = self.pop_time + self.invisible_ms
        for index, offset in enumerate(self.offsets):
            visible_ms = self.next_visible.get(offset, default)
            if not self.acked >> index & 1 and visible_ms > now_ms:
                return visible_ms
        return now_ms

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


class OrderInfoTable:
    """The ordered batches in flight, by topic, group and queue."""

    STALE = -2
    UNKNOWN_OFFSET = -1

    def __init__(
        self,
        config: BrokerConfig,
        defects: Defects,
        scheduler: Scheduler,
        on_unblocked: Callable[[str, str, int], None],
    ) -> None:
        self._config = config
        self._defects = defects
        self._scheduler = scheduler
        self._on_unblocked = on_unblocked
        self._file: FileImage[GroupQueue, OrderInfo] = FileImage(scheduler, lambda: FILE_INTERVAL_MS)
        self._infos: dict[GroupQueue, OrderInfo] = {}
        self._timers: dict[GroupQueue, Timer] = {}
        self._names: TopicGroupIndex[GroupQueue] = TopicGroupIndex()

    def restore(self, state: Mapping[GroupQueue, OrderInfo]) -> None:
        """Start with the batches of the previous run."""
        self._infos |= state
        for group_queue, info in self._infos.items():
            self._names.add(group_queue[0], group_queue[1], group_queue)
            self._watch(group_queue, info)

    def dump_on_stop(self) -> Mapping[GroupQueue, OrderInfo]:
        """Return the batches at a graceful shutdown; the OrderInfo objects are not copied."""
        return dict(self._infos)

    def dump_on_crash(self) -> Mapping[GroupQueue, OrderInfo]:
        """Return the batches as of the last write of the file."""
        infos: dict[GroupQueue, OrderInfo | None] = {**self._infos, **self._file.values_at_last_write()}
        return {group_queue: info for group_queue, info in infos.items() if info is not None}

    def _save_before_change(self, group_queue: GroupQueue) -> None:
        if self._file.unchanged_since_write(group_queue):
            info = self._infos.get(group_queue)
            self._file.save(group_queue, None if info is None else info.copy())

    def _current(self, group_queue: GroupQueue) -> OrderInfo | None:
        info = self._infos.get(group_queue)
        if info is not None and self._scheduler.now_ms - info.pop_time > EXPIRY_MS:
            self.clear(group_queue)
            return None
        return info

    def has_batch(self, group_queue: GroupQueue) -> bool:
        """True if a queue has an ordered batch: the committed offset passes none of its unacknowledged messages."""
        return group_queue in self._infos

    def batches(self) -> Iterator[tuple[GroupQueue, OrderInfo]]:
        """Yield the batches, which the caller must not change, except expired ones."""
        now = self._scheduler.now_ms
        return ((key, info) for key, info in self._infos.items() if now - info.pop_time <= EXPIRY_MS)

    def blocks(self, group_queue: GroupQueue, attempt_id: str | None, invisible_ms: int) -> bool:
        """Return True if this pop may not read the queue.

        A client repeats a pop with the same attempt id. The attempt that took the batch may read it again. For a batch
        without an invisible duration (0 or less), `invisible_ms` applies from now on.
        """
        info = self._current(group_queue)
        if info is None or (info.attempt_id and info.attempt_id == attempt_id):
            return False
        if info.invisible_ms <= 0:
            self._save_before_change(group_queue)
            info.invisible_ms = invisible_ms
        return info.is_blocked(self._scheduler.now_ms)

    def record_batch(
        self, group_queue: GroupQueue, pop_time: int, invisible_ms: int, offsets: list[int], *, attempt_id: str | None
    ) -> list[str]:
        """Record a new batch and return the entries of orderCountInfo, to which the caller prepends the topic digit.

        An entry is `qo<queue id>%<offset> <earlier deliveries>`, for each message that was delivered before. The count
        rises by one for a message of the previous batch, unless the same attempt repeats its request. The last entry,
        `<queue id> <count>`, has the least count in the batch.
        """
        previous = self._current(group_queue)
        info = OrderInfo(pop_time, invisible_ms, list(offsets), attempt_id)
        if previous is not None:
            repeated = bool(attempt_id) and previous.attempt_id == attempt_id
            for offset in offsets:
                if repeated:
                    if offset in previous.counts:
                        info.counts[offset] = previous.counts[offset]
                elif offset in previous.offsets:
                    info.counts[offset] = previous.counts.get(offset, 0) + 1
        self._save_before_change(group_queue)
        if group_queue not in self._infos:
            self._names.add(group_queue[0], group_queue[1], group_queue)
        self._infos[group_queue] = info
        self._watch(group_queue, info)
        queue_id = group_queue[2]
        entries = [f"qo{queue_id}%{offset} {count}" for offset, count in info.counts.items()]
        least = min(info.counts.values()) if len(info.counts) == len(offsets) else 0
        return [*entries, f"{queue_id} {least}"]

    def acknowledge(self, group_queue: GroupQueue, pop_time: int, offset: int) -> int:
        """Acknowledge one message and return the offset to commit.

        Returns STALE for a handle of an older batch and UNKNOWN_OFFSET for an offset that is not in the batch.
        """
        info = self._current(group_queue)
        if info is None:
            return offset + 1
        if info.pop_time != pop_time:
            return self.STALE
        if offset not in info.offsets:
            return self.UNKNOWN_OFFSET
        self._save_before_change(group_queue)
        info.acked |= 1 << info.offsets.index(offset)
        self._watch(group_queue, info)
        return info.first_open()

    def change(self, group_queue: GroupQueue, pop_time: int, offset: int, next_visible_ms: int) -> None:
        """Change the time at which one message of the batch becomes visible; a stale handle changes nothing."""
        info = self._current(group_queue)
        if info is not None and info.pop_time == pop_time and offset in info.offsets:
            self._save_before_change(group_queue)
            info.next_visible[offset] = next_visible_ms
            self._watch(group_queue, info)

    def clear(self, group_queue: GroupQueue) -> None:
        """Delete the batch, as an offset reset does."""
        self._save_before_change(group_queue)
        if self._infos.pop(group_queue, None) is not None:
            self._names.discard(group_queue[0], group_queue[1], group_queue)
        timer = self._timers.pop(group_queue, None)
        if timer is not None:
            timer.cancel()

    def delete_topic(self, topic: str, from_queue: int = 0) -> None:
        """Delete the batches of a deleted topic, or of the queues that a topic no longer has."""
        for group_queue in self._names.of_topic(topic):
            if group_queue[2] >= from_queue:
                self.clear(group_queue)

    def delete_group(self, group: str) -> None:
        """Delete the batches of a deleted group."""
        for group_queue in self._names.of_group(group):
            self.clear(group_queue)

    def _watch(self, group_queue: GroupQueue, info: OrderInfo) -> None:
        """Schedule the wake-up of waiting pops for when the queue becomes free (ConsumerOrderInfoLockManager)."""
        if not self._config.enable_notify_after_pop_order_lock_release:
            return
        timer = self._timers.pop(group_queue, None)
        if timer is not None:
            timer.cancel()
        now = self._scheduler.now_ms
        until = info.first_visible(now) if self._defects.lost_order_wake_up else info.blocked_until()
        if until > now:
            topic, group, queue_id = group_queue
            self._timers[group_queue] = self._scheduler.call_at(
                until, lambda: self._unblock(group_queue), TimerKind.ORDER_LOCK, f"{group}@{topic}@{queue_id}"
            )

    def _unblock(self, group_queue: GroupQueue) -> None:
        if self._config.enable_notify_after_pop_order_lock_release:
            self._on_unblocked(*group_queue)
