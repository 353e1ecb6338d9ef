"""Replication to a slave that lags: each record reaches it after a delay."""

from collections import deque
from collections.abc import Callable

from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..store.message_store import MessageStore


class LateReplication:
    """The records on their way from a master to one slave. Implements RecordReceiver of the master's store.

    `caught_up` is called whenever the slave has all records.
    """

    def __init__(
        self, scheduler: Scheduler, slave: MessageStore, delay_ms: int, *, caught_up: Callable[[], None]
    ) -> None:
        self._scheduler = scheduler
        self._slave = slave
        self._delay_ms = delay_ms
        self._caught_up = caught_up
        self._on_the_way: deque[tuple[int, bytes, int]] = deque()
        """(time of arrival in ms, record, tags code), the next first."""
        self._timer: Timer | None = None

    @property
    def has_all_records(self) -> bool:
        """True if no record is on its way."""
        return not self._on_the_way

    def replicate(self, record: bytes, tags_code: int) -> None:
        """Send a record to the slave."""
        self._on_the_way.append((self._scheduler.now_ms + self._delay_ms, record, tags_code))
        self._wait()

    def stop(self) -> None:
        """Drop the records on their way: the connection is lost."""
        self._on_the_way.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        if self._timer is None and self._on_the_way:
            self._timer = self._scheduler.call_at(self._on_the_way[0][0], self._arrive, TimerKind.SLAVE_LAG)

    def _arrive(self) -> None:
        self._timer = None
        while self._on_the_way and self._on_the_way[0][0] <= self._scheduler.now_ms:
            _, record, tags_code = self._on_the_way.popleft()
            self._slave.replicate(record, tags_code)
        self._wait()
        if not self._on_the_way:
            self._caught_up()
