"""Notifications about changed members of consumer groups.

Source: DefaultConsumerIdsChangeListener (5.3.3). Upstream notifies all members of each single change. Members query the
list of client ids once for all notifications that they have received, so here changes that arrive in one turn of the
event loop share a notification. It leaves after the last of them, so that no member misses the final list.
"""

from collections.abc import Callable

from ..assembly.broker_context import PushToAll
from ..config import BrokerConfig
from ..gate.call import Channel
from ..gate.effects import NotifyConsumerIdsChanged
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind

FIRST_LATE_NOTICE_MS, LATE_NOTICE_PERIOD_MS = 30_000, 15_000
"""The first time and the period of upstream's delayed notifications (DefaultConsumerIdsChangeListener)."""

Channels = Callable[[], list[Channel]]
"""Returns the channels of a group's members."""
RunAfterTurn = Callable[[Callable[[], object]], None]


class GroupNotices:
    """The notifications of one run of a broker. `run_after_turn`: see `Gate`."""

    def __init__(
        self, *, config: BrokerConfig, scheduler: Scheduler, push_to_all: PushToAll, run_after_turn: RunAfterTurn
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._push_to_all = push_to_all
        self._run_after_turn = run_after_turn
        self._start = scheduler.instant_after(0)
        self._changed: dict[str, Channels] = {}
        """The groups that changed in this turn of the event loop."""
        self._late: dict[str, list[Channel]] = {}
        """The members, after its last change, of each group whose notification is delayed."""

    def note_change(self, group: str, channels: Channels) -> None:
        """Notify every member of a group, at the end of the turn or at the next delayed notification."""
        if not self._config.notify_consumer_ids_changed_enable:
            return
        if not self._config.real_time_notify_consumer_change:
            if not self._late:
                self._scheduler.call_at(self._next_late_ms(), self._notify_late, TimerKind.LATE_NOTICES)
            self._late[group] = channels()
            return
        is_first = not self._changed
        self._changed[group] = channels
        if is_first:
            self._run_after_turn(self._notify)

    def _notify(self) -> None:
        changed, self._changed = self._changed, {}
        for group, channels in changed.items():
            self._push_to_all(channels(), NotifyConsumerIdsChanged(group))

    def _next_late_ms(self) -> int:
        rounds = max(self._scheduler.now_ms - self._start.ms - FIRST_LATE_NOTICE_MS, -1) // LATE_NOTICE_PERIOD_MS + 1
        return self._start.ms + FIRST_LATE_NOTICE_MS + rounds * LATE_NOTICE_PERIOD_MS

    def _notify_late(self) -> None:
        """Send one notification per changed group, to the clients that were members after its last change."""
        late, self._late = self._late, {}
        if self._config.notify_consumer_ids_changed_enable:
            for group, channels in late.items():
                self._push_to_all(channels, NotifyConsumerIdsChanged(group))
