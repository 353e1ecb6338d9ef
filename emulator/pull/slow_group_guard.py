"""Protection from slow consumers: disables groups that read too far behind the end of the commit log.

Every read of a queue records the number of log bytes after the last message examined. Every three minutes upstream
checks whether any of these exceeds `consumerFallbehindThreshold`, and sets the group's `consumeEnable` to false. Only
an administrator can set it to true again. The group then stays enabled if it has read newer messages by the next check;
otherwise it is disabled again.

Here a check is scheduled only if it will find a slow group. Reads before `disableConsumeIfConsumerReadSlowly` was
enabled are not recorded.
Source: DefaultMessageStore.getMessage, BrokerStatsManager, BrokerController.protectBroker (5.3.3).
"""

from ..config import BrokerConfig
from ..group.group_table import GroupTable
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler, Timer
from ..kernel.timer_kind import TimerKind
from ..message.names import LMQ_PREFIX, is_lmq

CHECK_INTERVAL_MS = 3 * 60_000


@mypyc_attr(allow_interpreted_subclasses=True)
class SlowGroupGuard:
    """The lag in bytes of the readers in one run of a broker; disables slow groups."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, groups: GroupTable) -> None:
        self._config = config
        self._scheduler = scheduler
        self._groups = groups
        self._start_ms = scheduler.now_ms
        self._behind: dict[tuple[str, int, str], int] = {}
        """Bytes behind by topic, queue id and group."""
        self._timer: Timer | None = None

    @property
    def enabled(self) -> bool:
        """True if reads must be recorded."""
        return self._config.disable_consume_if_consumer_read_slowly and self._config.disk_fall_recorded

    def record(self, group: str, topic: str, queue_id: int, behind: int) -> None:
        """Record that a group has read a queue and that `behind` log bytes follow the last message examined."""
        if self._groups.lmq_enabled:
            # Upstream records all LMQs, and all groups that read LMQs, under the name %LMQ%. No group has
            # this name, so none of them is ever disabled.
            if is_lmq(group):
                return
            topic = LMQ_PREFIX if is_lmq(topic) else topic
        self._behind[topic, queue_id, group] = behind
        if behind > self._config.consumer_fallbehind_threshold:
            self._schedule_check()

    def apply_config(self) -> None:
        """Apply a changed configuration: the new threshold may make more groups slow."""
        if self.slow_groups():
            self._schedule_check()

    def delete_topic(self, topic: str) -> None:
        """Delete the records of a deleted topic."""
        self._behind = {key: behind for key, behind in self._behind.items() if key[0] != topic}

    def delete_group(self, group: str) -> None:
        """Delete the records of a deleted group."""
        self._behind = {key: behind for key, behind in self._behind.items() if key[2] != group}

    def slow_groups(self) -> list[str]:
        """Return the groups over the threshold; none if the protection is off."""
        if not self._config.disable_consume_if_consumer_read_slowly:
            return []
        threshold = self._config.consumer_fallbehind_threshold
        return list(dict.fromkeys(key[2] for key, behind in self._behind.items() if behind > threshold))

    def _schedule_check(self) -> None:
        """Schedule the next check; checks are counted from the start of the broker."""
        if self._timer is None:
            checks = (self._scheduler.now_ms - self._start_ms) // CHECK_INTERVAL_MS + 1
            due_ms = self._start_ms + checks * CHECK_INTERVAL_MS
            self._timer = self._scheduler.call_at(due_ms, self._check, TimerKind.SLOW_GROUPS)

    def _check(self) -> None:
        self._timer = None
        found = [self._groups.disable_consume(group) for group in self.slow_groups()]
        if any(found):
            # A group that is enabled again must have read newer messages by the next check.
            self._schedule_check()
