"""What a slave has of its master's timer: how far that was read and filled, looked up every three seconds.

The slave fills a wheel of its own up to there, which it does not read. Only what changes is looked at here: a look is
due when the topic of the timer has grown. Source: SlaveSynchronize.syncTimerCheckPoint, TimerMessageStore (5.3.3).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..message.names import TIMER_TOPIC
from ..schedule.timer_service import FollowedTimer
from ..store.arrival_listener import Arrival

if TYPE_CHECKING:
    from .broker import Broker


class TimerCopy:
    """Of one run of a slave. `first_look_ms`, `look_ms`: when it looks at its master, and how often from then on.

    `before` is what the run before this one knew.
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
        """When the run of the master ended that these timers are of."""
        self._before = before
        self._taken = before.taken
        self._left: FollowedTimer | None = None
        slave.timers.followed = self.known
        slave.store.arrivals.append(Arrival(self._arrived))
        self._look_later()

    def master_began(self) -> None:
        """A run of the master begins."""
        self._before = self.known()
        self._timers = self._master.timers
        self._until_ms = None
        self._look_later()

    def master_ended(self) -> None:
        """It is over."""
        if self._until_ms is None:
            self._until_ms = self._slave.lifetime.now_ms

    def slave_ended(self) -> None:
        """The run of the slave is over."""
        self._left = self.known()

    def known(self) -> FollowedTimer:
        """What the slave knew when it looked last."""
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
        """At the first look after now, unless that is planned or there is nothing to look for."""
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
