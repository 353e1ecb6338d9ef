"""A slave's copy of its master's timer: how far it was read and filled, checked every three seconds.

The slave fills its own wheel up to there but does not read it. A check is scheduled only if the timer topic has grown.
Source: SlaveSynchronize.syncTimerCheckPoint, TimerMessageStore (5.3.3).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..message.names import TIMER_TOPIC
from ..schedule.timer_service import FollowedTimer
from ..store.arrival_listener import Arrival

if TYPE_CHECKING:
    from .broker import Broker


class TimerCopy:
    """The copy of one run of a slave; it checks its master at `first_look_ms`, then every `look_ms`.

    `before` is the knowledge of the previous run.
    """

    def __init__(
        self, master: "Broker", slave: "Broker", first_look_ms: int, look_ms: int, before: FollowedTimer
    ) -> None:
        self._master = master
        self._slave = slave
        self._first_look_ms = first_look_ms
        self._look_ms = look_ms
        self._planned = False
        self._timers = master.timers
        self._until_ms: int | None = None
        """Time at which the master's run that owns `_timers` ended; None while it continues."""
        self._before = before
        self._taken = before.taken
        self._left: FollowedTimer | None = None
        slave.timers.followed = self.known
        slave.store.arrivals.append(Arrival(self._arrived))
        self._look_later()

    def master_began(self) -> None:
        """Handle the start of a run of the master."""
        self._before = self.known()
        self._timers = self._master.timers
        self._until_ms = None
        self._look_later()

    def master_ended(self) -> None:
        """Handle the end of the master's run."""
        if self._until_ms is None:
            self._until_ms = self._slave.lifetime.now_ms

    def slave_ended(self) -> None:
        """Handle the end of the slave's run."""
        self._left = self.known()

    def known(self) -> FollowedTimer:
        """Return the slave's knowledge as of its last check."""
        if self._left is not None:
            return self._left
        now = self._slave.lifetime.now_ms
        if now < self._first_look_ms:
            return self._before
        looked_ms = now - (now - self._first_look_ms) % self._look_ms
        if self._until_ms is not None and looked_ms > self._until_ms:
            looked_ms -= -(-(looked_ms - self._until_ms) // self._look_ms) * self._look_ms
        if looked_ms < max(self._first_look_ms, self._timers.began_ms):
            return self._before
        return self._timers.known_at(looked_ms, self._taken)

    def _arrived(self, topic: str, _queue_id: int, _offset: int, _tags: int, _properties: Mapping[str, str]) -> None:
        if topic == TIMER_TOPIC:
            self._look_later()

    def _look_later(self) -> None:
        """Schedule the next check, unless one is scheduled or there is no new message."""
        slave = self._slave
        if self._planned or slave.timers.taken >= slave.store.max_offset(TIMER_TOPIC, 0):
            return
        since_ms = slave.lifetime.now_ms - self._first_look_ms
        due_ms = self._first_look_ms + max(since_ms // self._look_ms + 1, 0) * self._look_ms
        self._planned = True
        slave.lifetime.call_at(due_ms, self._look, "timer synchronization", slave.name)

    def _look(self) -> None:
        self._planned = False
        if self._master.running:
            self._taken = self._master.timers.written_taken
            self._slave.timers.fill(self._taken)
            self._look_later()
