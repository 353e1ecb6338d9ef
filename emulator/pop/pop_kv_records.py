"""The records of pops in the KV variant: one for each message that is out, under the time at which it becomes visible.

Upstream keeps them in a RocksDB, which it writes to disk at once: a crash loses none. It looks for due ones every
500 ms, 50 ms late, and from 3 s before the last look on: a record that is written for an earlier time is not found
before the next start. Source: PopConsumerRecord, PopConsumerRocksdbStore, PopConsumerService.run (5.3.3).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..kernel.java_numbers import long_sum
from ..kernel.scheduler import Scheduler
from ..kernel.timer_per_instant import Agenda
from .consumer_order_info import Place

LOOK_MS = 500
LATE_MS = 50
LOOK_BACK_MS = 3000

RecordKey = tuple[int, bytes, int, int]
"""Visible time, `group@topic@`, queue id and offset: the order in which records become due."""


@dataclass(slots=True, frozen=True)
class PopRecord:
    """One message that is out. `attempts` counts failed redeliveries."""

    pop_time: int
    group: str
    topic: str
    queue_id: int
    invisible_ms: int
    offset: int
    attempts: int = 0

    @property
    def visible_ms(self) -> int:
        """When it may be delivered again; negative where the sum is beyond a long."""
        return long_sum(self.pop_time, self.invisible_ms)

    @property
    def place(self) -> Place:
        """The queue it is of, for the group."""
        return (self.topic, self.group, self.queue_id)

    def key(self) -> RecordKey:
        """What an acknowledgement finds it by."""
        return (self.visible_ms, f"{self.group}@{self.topic}@".encode(), self.queue_id, self.offset)


class PopRecords:
    """The table, which outlives its broker's runs; a `Looks` of each run finds what is due."""

    def __init__(self) -> None:
        self.table: dict[RecordKey, PopRecord] = {}

    def __len__(self) -> int:
        """How many messages are out."""
        return len(self.table)


class Looks:
    """Finds due records in one run of a broker and gives them to `revive`, which says what to write instead."""

    def __init__(
        self, scheduler: Scheduler, records: PopRecords, revive: Callable[[PopRecord], PopRecord | None]
    ) -> None:
        self._scheduler = scheduler
        self._start_ms = scheduler.now_ms
        self._records = records
        self._revive = revive
        self._agenda: Agenda[RecordKey] = Agenda(scheduler, "pop records", self._look)
        for key in records.table:
            if key[0] >= 0:  # upstream looks from 0 on
                self._expect(key)

    def write(self, records: Iterable[PopRecord]) -> None:
        """Store records; one with the same key is replaced."""
        now = self._scheduler.now_ms
        last_look_ms = now - (now - self._start_ms) % LOOK_MS
        for record in records:
            key = record.key()
            self._records.table[key] = record
            if record.visible_ms >= last_look_ms - LATE_MS - LOOK_BACK_MS:
                self._expect(key)

    def delete(self, key: RecordKey) -> None:
        """Forget a record, if it is there."""
        if self._records.table.pop(key, None) is not None:
            self._agenda.discard(key)

    def take_all(self) -> list[PopRecord]:
        """Take out all records, in the order of their keys."""
        table = self._records.table
        taken = [table[key] for key in sorted(table)]
        for record in taken:
            self.delete(record.key())
        return taken

    def _expect(self, key: RecordKey) -> None:
        earliest_ms = max(key[0] + LATE_MS + 1, self._scheduler.now_ms)
        self._agenda.add(key, earliest_ms + (self._start_ms - earliest_ms) % LOOK_MS)

    def _look(self, keys: list[RecordKey]) -> None:
        again = []
        for key in sorted(keys):
            retried = self._revive(self._records.table.pop(key))
            if retried is not None:
                again.append(retried)
        self.write(again)
