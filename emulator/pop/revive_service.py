"""Revive: copies popped messages that were not acknowledged in time to the pop retry topic.

Each revive queue has its own clock: the latest deliver time of the records read from that queue, or now if that is more
than 3 s ago. The clock is 0 while no record has a deliver time. A check point is decided, which means that its
unacknowledged messages are redelivered, when the clock is more than 2 s past the end of its invisible duration. That is
2 s after this end in a quiet revive queue, and up to 5 s after it if the queue has other records.

Upstream scans the queues and, while it waits, polls every 100 ms. Here the time of the deciding poll is computed from
the first undecided check point, so that nothing runs while nothing is due. Check points and acknowledgements are read
once, when they become readable. Source: PopReviveService (5.3.3).
"""

from collections.abc import Iterator
from itertools import takewhile

from ..config import BrokerConfig
from ..faults.defects import Defects
from ..group.broker_tables import BrokerTables
from ..kernel.java_numbers import long_sum, parse_long
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.switch import Switch
from ..kernel.timer_kind import TimerKind
from ..message import properties as props
from ..message import stored_record as records
from ..message.names import REVIVE_GROUP, is_retry
from ..schedule.timer_service import TimerService
from ..stats.metric_counters import ACK, CHECK_POINT
from ..store.consume_queue import ConsumeQueue
from .check_point import ACK_TAG, BATCH_ACK_TAG, CK_TAG, Ack, CheckPoint, MergeKey
from .pop_inflight_counter import PopInflightCounter
from .pop_retry_writer import PopRetryWriter
from .revive_log import ReviveLog

SLACK_MS = 2000
"""A check point is decided when the clock of its queue is more than this past the end of its invisible duration."""
STALE_MS = 3000
"""The clock of a queue is now if the deliver time of its newest record is more than this ago."""
POLL_INTERVAL_MS = 100
FIRST_SCAN_MS = 1000
"""The first scan after the start of the broker (BrokerConfig.reviveInterval)."""


class ReviveQueue:
    """One revive queue: its undecided check points in the order in which they became readable.

    Upstream restarts its clock after the decided check points. Here the clock continues while any undecided check point
    has a deliver time. The result is the same, because decided ones are always older than undecided ones.
    """

    def __init__(self, queue_id: int, defects: Defects, timers: TimerService) -> None:
        self.queue_id = queue_id
        self._defects = defects
        self._timers = timers
        self.points: dict[MergeKey, CheckPoint] = {}
        self.timer: Timer | None = None
        self._deliver_ms: dict[MergeKey, int] = {}
        """The latest deliver time of each undecided check point and its acknowledgements, if they have any."""
        self._newest_ms = 0

    def advance_clock(self, key: MergeKey, deliver_ms: int) -> None:
        """Advance the clock to the deliver time of the check point with a key, or of an acknowledgement of it.

        A record that a client has sent may have none, 0. Such a record does not advance the clock.
        """
        if deliver_ms > 0:
            self._deliver_ms[key] = max(deliver_ms, self._deliver_ms.get(key, 0))
            self._newest_ms = max(self._newest_ms, deliver_ms)

    def take_decided(self, now: int) -> list[CheckPoint]:
        """Remove and return the decided check points; as upstream, an undecided one blocks those behind it."""
        clock = self._clock(now)
        decided = list(takewhile(lambda point: self._is_decided(point, clock), self.points.values()))
        for point in decided:
            key = point.merge_key()
            del self.points[key]
            self._deliver_ms.pop(key, None)
        if not self._deliver_ms:
            self._newest_ms = 0
        return decided

    def _is_decided(self, point: CheckPoint, clock: int) -> bool:
        return clock - point.revive_ms > SLACK_MS and not self._is_blocked_by(point)

    def _is_blocked_by(self, point: CheckPoint) -> bool:
        """True if the defect keeps a check point undecided forever.

        The end of its invisible duration is so far below 0 that the difference overflows when
        PopReviveService.mergeAndRevive subtracts it from the clock.
        The clock is 0 while no record has set it, and then the difference does not overflow.
        """
        if not self._defects.blocked_revive_queue or not self._newest_ms:
            return False
        return long_sum(self._newest_ms, -point.revive_ms) <= SLACK_MS < self._newest_ms - point.revive_ms

    def _clock(self, now: int) -> int:
        return now if now - self._newest_ms > STALE_MS and not self._moves_only_with_records else self._newest_ms

    @property
    def _moves_only_with_records(self) -> bool:
        # Upstream moves its clock to now only if a record has set it, and if the timer is not behind. A timer that a
        # defect has stopped is always behind (PopReviveService.consumeReviveMessage, getEnqueueBehind).
        return not self._newest_ms or self._timers.is_stopped

    def decided_ms(self, now: int) -> int | None:
        """Return when the first check point is decided if no other record is read.

        None without check points, or if the first is never decided without another record.
        """
        if not self.points:
            return None
        first = next(iter(self.points.values()))
        if self._is_blocked_by(first) or (
            self._moves_only_with_records and not self._is_decided(first, self._clock(now))
        ):
            return None
        end_ms = first.revive_ms + SLACK_MS
        return 1 + (now if self._clock(now) > end_ms else max(self._newest_ms + STALE_MS, end_ms, now))


class ReviveService:
    """Decides the check points of all revive queues of a broker."""

    def __init__(  # noqa: PLR0913 - a redelivery reads and writes most tables of a broker
        self,
        *,
        config: BrokerConfig,
        defects: Defects,
        timers: TimerService,
        scheduler: Scheduler,
        tables: BrokerTables,
        log: ReviveLog,
        retry_writer: PopRetryWriter,
        in_flight: PopInflightCounter,
        switch: Switch,
    ) -> None:
        self._config = config
        self._defects = defects
        self._timers = timers
        self._scheduler = scheduler
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._offsets = tables.offsets
        self._log = log
        self._retry_writer = retry_writer
        self._in_flight = in_flight
        self._switch = switch
        switch.on_resumed(self.resume)
        self._start_ms = scheduler.now_ms
        self._queues: dict[int, ReviveQueue] = {}
        for stored in list(tables.store.queues_of(log.topic)):
            self._read_after_restart(stored)

    def _read_after_restart(self, stored: ConsumeQueue) -> None:
        """Read a revive queue after a restart, from the last check point that is known to be decided."""
        decided = self._offsets.query(REVIVE_GROUP, self._log.topic, stored.queue_id)
        for offset in range(max(decided + 1, stored.min_offset), stored.max_offset):
            record = self._store.record(self._log.topic, stored.queue_id, offset)
            if record is not None:
                found = records.decode(record)
                self.arrived(stored.queue_id, offset, found.property_map(), found.born_timestamp)

    def arrived(self, queue_id: int, offset: int, properties: dict[str, str], _born_ms: int) -> None:
        """Process a message of the revive topic that is a check point or an acknowledgement.

        Any client can send to the revive topic; malformed messages are ignored.
        """
        record = self._store.record(self._log.topic, queue_id, offset)
        if record is None:
            return
        queue = self._queues.get(queue_id)
        if queue is None:
            queue = self._queues[queue_id] = ReviveQueue(queue_id, self._defects, self._timers)
        tag = properties.get(props.TAGS)
        body = records.decode(record).body
        try:
            deliver_ms = parse_long(properties.get(props.TIMER_DELIVER_MS, "0"))
            if tag == CK_TAG:
                point = CheckPoint.from_json(body, offset)
                self._count_read(queue_id, point.group, point.topic, CHECK_POINT, len(record))
                key = point.merge_key()
                # If two have the same key, the later one and its position count. With the first position committed, a
                # broker would read the second again after a crash, and redeliver again.
                queue.points.pop(key, None)
                queue.points[key] = point
            elif tag not in (ACK_TAG, BATCH_ACK_TAG):
                return
            else:
                ack = Ack.from_json(body)
                self._count_read(queue_id, ack.group, ack.topic, ACK, len(record))
                key = ack.merge_key(self._config.broker_name)
                if not self._acknowledge(queue, ack):
                    return
        except ValueError:
            return
        queue.advance_clock(key, deliver_ms)
        self._schedule_poll(queue)

    def _count_read(self, queue_id: int, group: str, topic: str, kind: str, size: int) -> None:  # noqa: PLR0917 - once per record; keywords would cost time
        counters = self._store.stats.by_name.counters
        counters.revive_read[group, topic, queue_id, kind] += 1
        counters.count_out(self._log.topic, REVIVE_GROUP, 1, size)

    def progress(self, queue_id: int) -> tuple[int, int]:
        """Return the lag of a revive queue, in messages and in milliseconds, as upstream's metrics report it.

        The lag is at least 1 after the first scan: upstream's position is that of the last decided check point, or -1.
        """
        now_ms = self._scheduler.now_ms
        if now_ms - self._start_ms < FIRST_SCAN_MS:
            return 0, 0
        end = self._store.max_offset(self._log.topic, queue_id)
        lag = max(end - self._offsets.query(REVIVE_GROUP, self._log.topic, queue_id), 0)
        queue = self._queues.get(queue_id)
        if lag <= 1 or queue is None or not queue.points:
            return lag, 0
        return lag, max(now_ms - next(iter(queue.points.values())).revive_ms, 0)

    def points(self) -> Iterator[CheckPoint]:
        """Yield all undecided check points that have been read, queue by queue."""
        return (point for queue in self._queues.values() for point in queue.points.values())

    def undecided(self) -> Iterator[tuple[int, CheckPoint]]:
        """Yield (time of its decision in ms since the epoch, check point) for undecided check points, queue by queue.

        The time is exact for the first check point of a queue, and the earliest possible one for those behind it.
        """
        for queue in self._queues.values():
            if queue.timer is not None:
                for point in queue.points.values():
                    yield max(queue.timer.due_ms, point.revive_ms + SLACK_MS), point

    def _acknowledge(self, queue: ReviveQueue, ack: Ack) -> bool:
        """Set the bits of the check point that matches. Returns False if there is none."""
        point = queue.points.get(ack.merge_key(self._config.broker_name))
        if point is None:
            return False
        for offset in ack.offsets:
            point.acknowledge(offset)
        return True

    def _schedule_poll(self, queue: ReviveQueue) -> None:
        """Set the timer of a queue to the time at which its first check point is decided if no other record arrives."""
        decided_ms = queue.decided_ms(self._scheduler.now_ms)
        if decided_ms is None:
            return
        due_ms = self._start_ms - (self._start_ms - decided_ms) // POLL_INTERVAL_MS * POLL_INTERVAL_MS
        if queue.timer is not None:
            if self._scheduler.due_ms(queue.timer) == due_ms:
                return
            queue.timer.cancel()
        queue.timer = self._scheduler.call_at(
            due_ms, lambda: self._poll(queue), TimerKind.REVIVE, f"queue {queue.queue_id}"
        )

    def _poll(self, queue: ReviveQueue) -> None:
        queue.timer = None
        if self._switch.stopped:
            return
        for point in queue.take_decided(self._scheduler.now_ms):
            self._offsets.commit(REVIVE_GROUP, self._log.topic, queue.queue_id, point.revive_offset)
            if self._topics.find(point.topic) is None and not is_retry(point.topic):
                continue
            if self._groups.find_or_create(point.group) is None:
                continue
            self._redeliver(queue, point)
        self._schedule_poll(queue)

    def redeliver_now(self, topic: str, group: str, queue_id: int, offset: int) -> bool:
        """Redeliver a message before its check point is decided, as a fault rule demands.

        Returns False if the service is stopped, or if the message has no check point of its own.
        """
        found = [
            (point.pop_time, queue, point)
            for queue in self._queues.values()
            for point in queue.points.values()
            if (point.topic, point.group, point.queue_id) == (topic, group, queue_id)
            and point.unacknowledged() == [offset]
            and point.diffs == [0]
        ]
        if self._switch.stopped or not found:
            return False
        # A change of the invisible duration stores a newer check point. The older one of the pop is acknowledged, but
        # that acknowledgement may not be readable yet.
        _pop_time, queue, point = max(found, key=lambda each: each[0])
        self._redeliver(queue, point)
        point.acknowledge(offset)
        return True

    def resume(self) -> None:
        """Decide the check points whose time has come while the service was stopped."""
        for queue in self._queues.values():
            self._schedule_poll(queue)

    def _redeliver(self, queue: ReviveQueue, point: CheckPoint) -> None:
        """Store copies of the unacknowledged messages; one that cannot be stored gets its own check point."""
        for offset in point.unacknowledged():
            # A forged handle may name another broker, whose messages cannot be read here.
            is_ours = point.broker_name == self._config.broker_name
            if is_ours and self._retry_writer.put(
                point.topic, point.group, point.queue_id, offset, pop_time=point.pop_time
            ):
                self._in_flight.subtract((point.topic, point.group, point.queue_id), point.pop_time)
                self._store.stats.by_name.counters.revive_retried[point.group, point.topic] += 1
            elif not (self._config.skip_when_ck_re_put_reach_max_times and point.is_last_attempt):
                self._log.write_check_point(point.retry_of(offset), queue.queue_id)
