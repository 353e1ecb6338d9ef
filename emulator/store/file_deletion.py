"""Deletion of full commit log files: at a configured hour, on request, or because the disk is too full.

Upstream checks every `cleanResourceInterval`, for the first time a minute after the start. The emulator schedules a
check only if it can find something. Stored messages fill the disk only if `storeDiskBytes` is set. In any case the log
drops its oldest files when it exceeds `storeMaxBytes`.
Source: DefaultMessageStore.CleanCommitLogService, ConsumeQueueStore.cleanExpired (5.3.3).
"""

from itertools import takewhile

from ..assembly.handlers import handles
from ..assembly.listeners import ArrivalListener, Listeners
from ..config import BrokerConfig
from ..gate.call import Call
from ..history.events import TrimReason
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..operations.base import Done
from ..operations.cluster import CleanExpiredConsumeQueue, DeleteExpiredCommitLog
from ..topic.topic_table import TopicTable
from .disk import DiskLevel
from .message_store import MessageStore

FIRST_CHECK_MS = 60_000
FORCED_CHECKS = 20
HOUR_MS = 3_600_000
_DAYS_AHEAD = 400
"""If no check within this many days is in a configured hour, it is assumed that none ever will be."""


class FileDeletion:
    """File deletion of one run of a broker. Hours of the day are in UTC."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, store: MessageStore, topics: TopicTable) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._topics = topics
        self._first_check = scheduler.instant_after(FIRST_CHECK_MS)
        self._interval_ms = config.clean_resource_interval
        self._forced_checks = 0
        """The number of checks to come that ignore the hour of the day."""
        self._timer: Timer | None = None
        self._level = DiskLevel.NONE
        """The disk usage level when the next check was scheduled."""
        self._listens = False
        self.schedule_check()

    @handles(DeleteExpiredCommitLog)
    def delete_files(self, call: Call, operation: DeleteExpiredCommitLog) -> Done:
        """Make the next twenty checks delete expired files at any hour."""
        self._forced_checks = FORCED_CHECKS
        self.schedule_check()
        return Done()

    @handles(CleanExpiredConsumeQueue)
    def delete_drained_queues(self, call: Call, operation: CleanExpiredConsumeQueue) -> Done:
        """Delete consume queues without remaining messages, except those of system topics; they restart at offset 0."""
        self._store.delete_drained_queues(self._topics.is_system)
        return Done()

    def schedule_check(self) -> None:
        """Schedule the next check that can find something. Call it when a file is full or a key has changed."""
        if self._timer is not None:
            self._timer.cancel()
        if self._store.disk.bounded and not self._listens:
            self._listens = True
            self._store.listen(Listeners(arrivals=[ArrivalListener(self._on_stored)]))
        self._level = self._store.disk.level(self._store.log.stored_bytes)
        due = self._next_check_ms()
        self._timer = None if due is None else self._scheduler.call_at(due, self._check, TimerKind.CLEAN_UP)

    def _on_stored(self, *_message: object) -> None:
        if self._store.disk.level(self._store.log.stored_bytes) is not self._level:
            self.schedule_check()

    def _check(self) -> None:
        now, log = self._scheduler.now_ms, self._store.log
        level = self._store.disk.check(log.stored_bytes)
        if self._forced_checks or level or self._is_the_hour(now):
            reason = TrimReason.REQUEST if self._forced_checks else TrimReason.RETENTION
            self._forced_checks = max(self._forced_checks - 1, 0)
            reserved = self._config.file_reserved_time * HOUR_MS
            at_once = self._cleans_at_once(level)
            # A file that is not old enough protects those after it, which are older only if a clock was set back.
            old = takewhile(lambda full_ms: at_once or now >= full_ms + reserved, log.full_files())
            count = min(sum(1 for _ in old), self._config.delete_file_batch_max)
            self._store.delete_oldest_files(count, TrimReason.DISK if level else reason)
        self.schedule_check()

    def _cleans_at_once(self, level: DiskLevel) -> bool:
        return level >= DiskLevel.FORCIBLE and self._config.clean_file_forcibly_enable

    def _next_check_ms(self) -> int | None:
        soon = self._scheduler.now_ms + 1
        disk = self._store.disk
        if self._forced_checks or disk.full_after(self._level) is not disk.full:
            return self._first_check_from(soon)
        oldest = next(iter(self._store.log.full_files()), None)
        if oldest is None:
            return None
        if self._cleans_at_once(self._level):
            return self._first_check_from(soon)
        due = self._first_check_from(max(soon, oldest + self._config.file_reserved_time * HOUR_MS))
        if self._level:
            return due
        hours = self._hours()
        for _ in range(_DAYS_AHEAD * 24 if hours else 0):
            if due // HOUR_MS % 24 in hours:
                return due
            due = self._first_check_from(due // HOUR_MS * HOUR_MS + HOUR_MS)
        return None

    def _first_check_from(self, ms: int) -> int:
        """Return the time of the first check at or after a time."""
        late = max(ms - self._first_check.ms, 0)
        return self._first_check.ms + -(-late // self._interval_ms) * self._interval_ms

    def _is_the_hour(self, ms: int) -> bool:
        return ms // HOUR_MS % 24 in self._hours()

    def _hours(self) -> set[int]:
        """Return the configured hours of the day, without texts that are no hour."""
        texts = {hour.strip().lstrip("0") or "0" for hour in self._config.delete_when.split(";")}
        return {hour for hour in range(24) if str(hour) in texts}
