"""KV records of pops: one for each message in flight, keyed by the time at which it becomes visible.

Upstream keeps them in RocksDB and writes them to disk at once, so that a crash loses none. It scans for due records
every 500 ms, up to now minus 50 ms, beginning 3 s before the previous scan. A record written for an earlier time is not
found before the next start.
Source: PopConsumerRecord, PopConsumerRocksdbStore, PopConsumerService.run (5.3.3).
"""

from collections.abc import Callable, Iterable

from ..kernel.java_numbers import long_sum
from ..kernel.scheduler import Scheduler
from ..kernel.switch import Switch
from ..kernel.timer_kind import TimerKind
from ..kernel.timer_per_instant import TimerPerInstant
from ..kernel.value_class import frozen_value
from .consumer_order_info import GroupQueue

SCAN_INTERVAL_MS = 500
SCAN_DELAY_MS = 50
SCAN_OVERLAP_MS = 3000

RecordKey = tuple[int, bytes, int, int]
"""Visible time, `group@topic@`, queue id and offset: the order in which records become due."""


@frozen_value
class PopRecord:
    """One message in flight. `attempts` counts failed redeliveries."""

    pop_time: int
    group: str
    topic: str
    queue_id: int
    invisible_ms: int
    offset: int
    attempts: int = 0

    @property
    def visible_ms(self) -> int:
        """Time at which the message may be redelivered (ms since the epoch); negative if the sum overflows a long."""
        return long_sum(self.pop_time, self.invisible_ms)

    @property
    def group_queue(self) -> GroupQueue:
        """Topic, group and queue id of the record."""
        return (self.topic, self.group, self.queue_id)

    def key(self) -> RecordKey:
        """Return the key by which an acknowledgement finds the record."""
        return (self.visible_ms, f"{self.group}@{self.topic}@".encode(), self.queue_id, self.offset)


class PopRecords:
    """The record table, which survives restarts of its broker; the `DueRecordScan` of each run finds due records."""

    def __init__(self) -> None:
        self.table: dict[RecordKey, PopRecord] = {}

    def restore(self, records: Iterable[PopRecord]) -> None:
        """Start with the records of a previous broker."""
        self.table = {record.key(): record for record in records}

    def __len__(self) -> int:
        """Return the number of messages in flight."""
        return len(self.table)


class DueRecordScan:
    """Scans for due records in one run of a broker.

    Passes each to `revive`, which returns the record to write instead, or None. While `switch` is stopped, they wait.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        records: PopRecords,
        revive: Callable[[PopRecord], PopRecord | None],
        switch: Switch,
    ) -> None:
        self._scheduler = scheduler
        self._start_ms = scheduler.now_ms
        self._records = records
        self._revive = revive
        self._switch = switch
        self._overdue: list[RecordKey] = []
        """Records that became due while redelivery was stopped."""
        switch.on_resumed(self._resume)
        self._due: TimerPerInstant[RecordKey] = TimerPerInstant(scheduler, TimerKind.POP_RECORDS, self._scan_due)
        for key in records.table:
            if key[0] >= 0:  # upstream scans from 0
                self._schedule(key)

    def write(self, records: Iterable[PopRecord]) -> None:
        """Store records, replacing any with the same key."""
        now = self._scheduler.now_ms
        last_scan_ms = now - (now - self._start_ms) % SCAN_INTERVAL_MS
        for record in records:
            key = record.key()
            self._records.table[key] = record
            if record.visible_ms >= last_scan_ms - SCAN_DELAY_MS - SCAN_OVERLAP_MS:
                self._schedule(key)

    def delete(self, key: RecordKey) -> None:
        """Delete a record, if it exists."""
        if self._records.table.pop(key, None) is not None:
            self._due.discard(key)

    def revive_now(self, group_queue: GroupQueue, offset: int) -> bool:
        """Revive the newest record of a message before the next scan.

        Returns False if redelivery is stopped or there is no record of the message.
        """
        found = [
            each for each in self._records.table.values() if (each.group_queue, each.offset) == (group_queue, offset)
        ]
        if self._switch.stopped or not found:
            return False
        newest = max(found, key=lambda each: each.pop_time)
        self.delete(newest.key())
        retried = self._revive(newest)
        if retried is not None:
            self.write([retried])
        return True

    def take_all(self) -> list[PopRecord]:
        """Remove and return all records, in the order of their keys."""
        table = self._records.table
        taken = [table[key] for key in sorted(table)]
        for record in taken:
            self.delete(record.key())
        return taken

    def _schedule(self, key: RecordKey) -> None:
        earliest_ms = max(key[0] + SCAN_DELAY_MS + 1, self._scheduler.now_ms)
        self._due.add(key, earliest_ms + (self._start_ms - earliest_ms) % SCAN_INTERVAL_MS)

    def _resume(self) -> None:
        overdue, self._overdue = self._overdue, []
        for key in overdue:
            if key in self._records.table:
                self._schedule(key)

    def _scan_due(self, keys: list[RecordKey]) -> None:
        if self._switch.stopped:
            self._overdue += keys
            return
        again = []
        for key in sorted(keys):
            retried = self._revive(self._records.table.pop(key))
            if retried is not None:
                again.append(retried)
        self.write(again)
