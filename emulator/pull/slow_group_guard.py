"""Groups that read so far behind the end of the log that a broker protects itself from them: it lets them read no more.

Every read of a queue notes how many bytes the log goes on behind the message at which it looked last. Every three
minutes upstream looks whether any of these is above `consumerFallbehindThreshold`, and switches `consumeEnable` of its
group off, which only an administrator switches on again: for good when the group has read what is newer by then, else
until the next look. Here a look is scheduled only where it finds something, and what was read before
`disableConsumeIfConsumerReadSlowly` was switched on is not known.
Source: DefaultMessageStore.getMessage, BrokerStatsManager, BrokerController.protectBroker (5.3.3).
"""

from ..config import BrokerConfig
from ..group.group_table import Groups
from ..kernel.scheduler import Scheduler, Timer
from ..message.names import LMQ_PREFIX, is_lmq

LOOK_MS = 3 * 60_000


class SlowReaders:
    """How far behind the readers of one run of a broker are, and what is done about it."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, groups: Groups) -> None:
        self._config = config
        self._scheduler = scheduler
        self._groups = groups
        self._start_ms = scheduler.now_ms
        self._behind: dict[tuple[str, int, str], int] = {}
        """Bytes by topic, queue id and group."""
        self._timer: Timer | None = None

    @property
    def watched(self) -> bool:
        """Whether reads are to be noted."""
        return self._config.disable_consume_if_consumer_read_slowly and self._config.disk_fall_recorded

    def note(self, group: str, topic: str, queue_id: int, behind: int) -> None:
        """A group has read a queue, and the log goes on for so many bytes behind what it looked at last."""
        if self._groups.light:
            # Figures of light queues go by one name, and there is no group of that name.
            if is_lmq(group):
                return
            topic = LMQ_PREFIX if is_lmq(topic) else topic
        self._behind[topic, queue_id, group] = behind
        if behind > self._config.consumer_fallbehind_threshold:
            self._look_later()

    def configured(self) -> None:
        """A key has changed: what was not too far behind may be so now."""
        if self._slow():
            self._look_later()

    def forget_topic(self, topic: str) -> None:
        """A topic is deleted."""
        self._behind = {place: behind for place, behind in self._behind.items() if place[0] != topic}

    def forget_group(self, group: str) -> None:
        """A group is deleted."""
        self._behind = {place: behind for place, behind in self._behind.items() if place[2] != group}

    def _slow(self) -> list[str]:
        """Groups that are too far behind, as far as they are looked for."""
        if not self._config.disable_consume_if_consumer_read_slowly:
            return []
        threshold = self._config.consumer_fallbehind_threshold
        return list(dict.fromkeys(place[2] for place, behind in self._behind.items() if behind > threshold))

    def _look_later(self) -> None:
        """At the next look, counted from the start of the broker."""
        if self._timer is None:
            looks = (self._scheduler.now_ms - self._start_ms) // LOOK_MS + 1
            due_ms = self._start_ms + looks * LOOK_MS
            self._timer = self._scheduler.call_at(due_ms, self._look, "protection from slow readers")

    def _look(self) -> None:
        self._timer = None
        found = [self._groups.disable(group) for group in self._slow()]
        if any(found):
            # A group that is switched on again has to have read what is newer by then.
            self._look_later()
