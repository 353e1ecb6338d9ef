"""Timer metrics: the number of waiting messages per topic, and the timer check point.

A message is added when it enters the wheel and subtracted when it leaves. A rolled message leaves and enters again,
because its time is too far ahead for the wheel. A delete mark (see `recall_service`) subtracts one when it enters. When
a mark or its target disappears, nothing is counted. So a mark without a target leaves the count of its topic one too
low, and each roll of a mark lowers the count by two more.
Source: TimerMetrics, TimerMessageStore.addMetric, TimerCheckpoint (5.3.3).

Not emulated: upstream's recount at five in the morning.
"""

from ..kernel.scheduler import Scheduler
from ..operations.timers import TimerMetric
from .timer_flushes import TimerFlushes
from .timer_state import WheelProgress, WrittenMetrics

LOG_UNIT_BYTES = 52
"""Size of one message in the timer log in bytes (TimerLog.UNIT_SIZE)."""


class TimerMetrics:
    """The counts of one broker's timer. `version` is the number of changes."""

    def __init__(self, scheduler: Scheduler, flushes: TimerFlushes) -> None:
        self.topics: dict[str, TimerMetric] = {}
        self.version = 0
        self._start_ms = scheduler.now_ms
        self._scheduler = scheduler
        self._flushes = flushes
        self._written_ms = self._start_ms - 1
        """Time of the last write before the last change."""
        self._written: dict[str, TimerMetric | None] = {}
        """The counts that have changed since that write, as it wrote them; None for a topic that was new."""
        self._written_version = 0

    def add(self, topic: str | None, number: int) -> None:
        """Add to the count of a topic; no-op if the topic is None."""
        if topic is None:
            return
        known = self.topics.get(topic)
        self._save(topic, known)
        self.version += 1
        self.topics[topic] = TimerMetric(number + (0 if known is None else known.count), self._scheduler.now_ms)

    def _save(self, topic: str, known: TimerMetric | None) -> None:
        """Save the count of a topic before its first change since the last write, and the version of that time."""
        written_ms = self._flushes.last_ms()
        if written_ms > self._written_ms:
            self.write()
            self._written_ms = written_ms
        self._written.setdefault(topic, known)

    def delete(self, topic: str) -> None:
        """Delete the count of a deleted topic; it reappears with the next of its messages that enters or leaves."""
        known = self.topics.get(topic)
        if known is None:
            return
        self._save(topic, known)
        del self.topics[topic]

    def copy_from(self, other: "TimerMetrics") -> None:
        """Copy the counts of another timer and write the file."""
        self.topics, self.version = dict(other.topics), other.version
        self.write()

    @property
    def changed_ms(self) -> int:
        """Time of the last change of a count; the start time before any change."""
        return max((each.changed_ms for each in self.topics.values()), default=self._start_ms)

    def write(self) -> None:
        """Write the file now."""
        self._written.clear()
        self._written_version = self.version

    def restore(self, state: WrittenMetrics) -> None:
        """Start with the counts of the previous run."""
        self.topics |= state.topics
        self.version = state.version

    def dump_on_stop(self) -> WrittenMetrics:
        """Return the counts as a graceful shutdown writes them."""
        return WrittenMetrics(dict(self.topics), self.version)

    def dump_on_crash(self) -> WrittenMetrics:
        """Return the counts as of the last write of the file."""
        if self._flushes.last_ms() > self._written_ms:
            return self.dump_on_stop()
        topics = {**self.topics, **self._written}
        return WrittenMetrics(
            {topic: count for topic, count in topics.items() if count is not None}, self._written_version
        )


class TimerFile:
    """The progress of a wheel as of the last write of its file."""

    def __init__(self, scheduler: Scheduler, flushes: TimerFlushes, progress: WheelProgress) -> None:
        self._scheduler = scheduler
        self._flushes = flushes
        self._progress = self._written = progress
        self._changed_ms = scheduler.now_ms - 1

    @property
    def progress(self) -> WheelProgress:
        """The current progress."""
        return self._progress

    def record_enqueued(self, offset: int, units: int = 1) -> None:
        """Record that the message at an offset of the timer topic entered the wheel; `units` is 0 if it was deleted."""
        now = self._scheduler.now_ms
        if now != self._changed_ms:
            self._written = self.written()
            self._changed_ms = now
        self._progress = WheelProgress(offset + 1, self._progress.units + units)

    def written(self) -> WheelProgress:
        """Return the progress as of the last write of the file."""
        return self._progress if self._changed_ms < self._flushes.last_ms() else self._written
