"""The master's timer as a slave knows it: the positions up to which the wheel was read and filled, checked every 3 s.

The slave fills its own wheel up to the same message but delivers nothing from it. A check is scheduled only if the
timer topic has grown.
Source: SlaveSynchronize.syncTimerCheckPoint, TimerMessageStore (5.3.3).
"""

from collections.abc import Mapping

from ..assembly.listeners import ArrivalListener, Listeners
from ..kernel.timer_kind import TimerKind
from ..message.names import TIMER_TOPIC
from ..schedule.timer_state import FollowedTimer
from .broker import Broker


class TimerReplica:
    """The master's timer as one run of a slave knows it, by checks at `first_check_ms` and each `check_interval_ms` on.

    `before` is the result of the slave's previous run.
    """

    def __init__(
        self, *, master: Broker, slave: Broker, first_check_ms: int, check_interval_ms: int, before: FollowedTimer
    ) -> None:
        self._master = master
        self._slave = slave
        self._first_check_ms = first_check_ms
        self._check_interval_ms = check_interval_ms
        self._scheduled = False
        self._timers = master.timers
        self._until_ms: int | None = None
        """Time at which the master's run that owns `_timers` ended; None while it continues."""
        self._before = before
        self._taken = before.taken
        """The offset of the timer topic up to which the master had filled its wheel at the last check."""
        self._final: FollowedTimer | None = None
        """The result at the end of the slave's run; None before."""
        slave.timers.follow(self.known)
        slave.store.listen(Listeners(arrivals=[ArrivalListener(self._arrived)]))
        self._schedule_check()

    def master_began(self) -> None:
        """Handle the start of a run of the master."""
        self._before = self.known()
        self._timers = self._master.timers
        self._until_ms = None
        self._schedule_check()

    def master_ended(self) -> None:
        """Handle the end of the master's run."""
        if self._until_ms is None:
            self._until_ms = self._slave.lifetime.now_ms

    def slave_ended(self) -> None:
        """Handle the end of the slave's run."""
        self._final = self.known()

    def known(self) -> FollowedTimer:
        """Return the master's timer as of the slave's last check."""
        if self._final is not None:
            return self._final
        now = self._slave.lifetime.now_ms
        if now < self._first_check_ms:
            return self._before
        checked_ms = now - (now - self._first_check_ms) % self._check_interval_ms
        if self._until_ms is not None and checked_ms > self._until_ms:
            checked_ms -= -(-(checked_ms - self._until_ms) // self._check_interval_ms) * self._check_interval_ms
        if checked_ms < max(self._first_check_ms, self._timers.began_ms):
            return self._before
        return self._timers.known_at(checked_ms, self._taken)

    def _arrived(self, topic: str, _queue_id: int, _offset: int, _tags: int, _properties: Mapping[str, str]) -> None:
        if topic == TIMER_TOPIC:
            self._schedule_check()

    def _schedule_check(self) -> None:
        """Schedule the next check, unless one is scheduled or there is no new message."""
        slave = self._slave
        if self._scheduled or slave.timers.taken >= slave.store.max_offset(TIMER_TOPIC, 0):
            return
        since_ms = slave.lifetime.now_ms - self._first_check_ms
        due_ms = self._first_check_ms + max(since_ms // self._check_interval_ms + 1, 0) * self._check_interval_ms
        self._scheduled = True
        slave.lifetime.call_at(due_ms, self._check, TimerKind.TIMER_SYNCHRONIZATION, slave.name)

    def _check(self) -> None:
        self._scheduled = False
        if self._master.running:
            self._taken = self._master.timers.written_taken
            self._slave.timers.fill(self._taken)
            self._schedule_check()
