"""What the timer tells of itself: how many messages wait for each topic, and a check point of its files.

A message is counted when it comes into the wheel and counted off when it leaves it; one that pauses does both. A mark
counts one off when it comes in, and nothing is counted when it or what it takes back disappears: so a mark that finds
nothing leaves the count of its topic one too low, and each pause of a mark two.
Source: TimerMetrics, TimerMessageStore.addMetric, TimerCheckpoint (5.3.3).

Not emulated: the count that upstream makes anew at five in the morning.
"""

from dataclasses import field

from ..kernel.file_image import LastWrite
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from ..operations import TimerMetric

LOG_UNIT_BYTES = 52
"""What one message takes in the log of the wheel (TimerLog.UNIT_SIZE)."""
METRICS_WRITE_MS = 10_000
"""How often the counts are written (MessageStoreConfig.timerProgressLogIntervalMs)."""


@value
class WrittenMetrics:
    """The counts as a crash leaves them."""

    topics: dict[str, TimerMetric] = field(default_factory=dict)
    version: int = 0


class TimerMetrics:
    """The counts of one broker's timer. `version` is the number of changes."""

    def __init__(self, scheduler: Scheduler, written: WrittenMetrics) -> None:
        self.topics: dict[str, TimerMetric] = dict(written.topics)
        self.version = written.version
        self._start_ms = scheduler.now_ms
        self._scheduler = scheduler
        self._file: LastWrite[str, TimerMetric] = LastWrite(scheduler, lambda: METRICS_WRITE_MS)
        self._version_file: LastWrite[None, int] = LastWrite(scheduler, lambda: METRICS_WRITE_MS)

    def add(self, topic: str | None, number: int) -> None:
        """Count for a topic; without one nothing is counted."""
        if topic is None:
            return
        known = self.topics.get(topic)
        if self._file.is_first_change(topic):
            self._file.keep(topic, known)
        if self._version_file.is_first_change(None):
            self._version_file.keep(None, self.version)
        self.version += 1
        self.topics[topic] = TimerMetric(number + (0 if known is None else known.count), self._scheduler.now_ms)

    def forget(self, topic: str) -> None:
        """The topic was deleted: no number is told of it until one of its messages comes or goes."""
        known = self.topics.get(topic)
        if known is None:
            return
        if self._file.is_first_change(topic):
            self._file.keep(topic, known)
        del self.topics[topic]

    def copy_from(self, other: "TimerMetrics") -> None:
        """Become what another timer counts. The file is written."""
        self.topics, self.version = dict(other.topics), other.version
        self.write()

    @property
    def changed_ms(self) -> int:
        """When a count changed last; the start before any has."""
        return max((each.changed_ms for each in self.topics.values()), default=self._start_ms)

    def write(self) -> None:
        """Write the file now."""
        self._file.write()
        self._version_file.write()

    def left(self) -> WrittenMetrics:
        """The counts as an orderly stop leaves them."""
        return WrittenMetrics(dict(self.topics), self.version)

    def written(self) -> WrittenMetrics:
        """The counts as the file has them."""
        topics: dict[str, TimerMetric | None] = {**self.topics, **self._file.lost()}
        version = self._version_file.lost().get(None)
        kept = {topic: count for topic, count in topics.items() if count is not None}
        return WrittenMetrics(kept, self.version if version is None else version)


@value
class WheelProgress:
    """How much has come into the wheel: messages read from its topic, and units written to its log."""

    taken: int = 0
    units: int = 0


class TimerFile:
    """What was true of a wheel when its file was written last: at the start, and once an interval from then on."""

    def __init__(self, scheduler: Scheduler, progress: WheelProgress) -> None:
        self._scheduler = scheduler
        self._start_ms = scheduler.now_ms
        self._progress = self._written = progress
        self._changed_ms = self._start_ms - 1

    @property
    def progress(self) -> WheelProgress:
        """What is so now."""
        return self._progress

    def written_ms(self, interval_ms: int, at_ms: int | None = None) -> int:
        """When the file was written last, as seen now or at another time."""
        now = self._scheduler.now_ms if at_ms is None else at_ms
        return now - (now - self._start_ms) % interval_ms

    def writes(self, interval_ms: int, at_ms: int | None = None) -> int:
        """How often it was written by then."""
        now = self._scheduler.now_ms if at_ms is None else at_ms
        return (now - self._start_ms) // interval_ms + 1

    def came(self, interval_ms: int, offset: int, units: int = 1) -> None:
        """The message at this offset of the timer's topic was put into the wheel; `units` is 0 for one that is gone."""
        if self._changed_ms < self.written_ms(interval_ms):
            self._written = self._progress
        self._changed_ms = self._scheduler.now_ms
        self._progress = WheelProgress(offset + 1, self._progress.units + units)

    def written(self, interval_ms: int) -> WheelProgress:
        """What the file says."""
        return self._progress if self._changed_ms < self.written_ms(interval_ms) else self._written
