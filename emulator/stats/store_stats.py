"""Store statistics since the broker's start: messages put and got, and their rates per second.

Upstream samples its counters every second, and computes rates between the last sample and those 10, 60 and 600 s
earlier. The emulator runs nothing at those seconds: the next count after one adds the missing samples. It counts the
requests of clients and their effects, but not the reads of upstream's own services, which mostly find nothing.
An append and a read only add to tallies, which become totals at the next sample, and when a total is read or a tally is
full.
Source: StoreStatsService, BrokerStats, BrokerStatsManager (5.3.3).
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..kernel.scheduler import Scheduler
from ..message.names import DLQ_PREFIX, REVIVE_TOPIC_PREFIX, SYSTEM_TOPIC_PREFIX, SYSTEM_TOPICS
from .broker_stats import BrokerStats
from .tally import Tally

SAMPLE_MS = 1000
SPANS = (10, 60, 600)
"""The numbers of samples over which rates are computed."""
DAY_MS = 24 * 3600 * 1000
_NO_PUTS = (DLQ_PREFIX, REVIVE_TOPIC_PREFIX)
"""Topics whose messages upstream does not count as put: dead letter queues and revive topics."""


class StoreTotals(NamedTuple):
    """Totals at an instant."""

    puts: int
    """Messages stored, including those of system topics."""
    reads_found: int
    reads_missed: int
    """Reads that returned messages, and reads that returned none."""
    transferred: int
    """Messages returned by reads."""


class DayTotals(NamedTuple):
    """Totals at the start of a day (UTC), without system topics."""

    put: int = 0
    got: int = 0


class StoreStats:
    """Counters of one run of a broker. `system`: topics that are not counted as application topics.

    Samples measure durations, so they are by the engine's clock, which no fault sets wrong. `by_name` makes the named
    counters from a function that turns all tallies into totals. `settle` is called when samples are added; it turns
    tallies of other counters into totals.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        by_name: Callable[[Callable[[], None]], BrokerStats],
        system: Collection[str] = SYSTEM_TOPICS,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._scheduler = scheduler
        now_ms = scheduler.now_ms
        self.by_name = by_name(self._settle_tallies)
        self._settle = settle
        self._system = system
        self._start_ms = now_ms
        self.next_sample_ms = now_ms + SAMPLE_MS
        """The time of the next sample: `catch_up` must run before something is counted then or later."""
        self._next_day_ms = now_ms - now_ms % DAY_MS + DAY_MS
        self._samples: deque[tuple[int, StoreTotals]] = deque()
        """(number of a sample, totals in it). The samples skipped since the previous entry have the same totals."""
        self.tally = Tally[tuple[str, int]](self._settle_tallies)
        """Messages stored one at a time since the last sample, by topic and size of the record."""
        self._reads = Tally[tuple[str, str, int, int]](self._settle_tallies)
        """Reads with messages since the last sample, by topic, group, number of messages and their size."""
        self._puts = self._put_bytes = self._reads_found = self._reads_missed = self._transferred = 0
        self._put = self._got = 0
        self.today = self.yesterday = DayTotals()

    @property
    def puts(self) -> int:
        """Messages stored, including those of system topics."""
        self._settle_tallies()
        return self._puts

    @property
    def put_bytes(self) -> int:
        """The bytes of their records."""
        self._settle_tallies()
        return self._put_bytes

    @property
    def put(self) -> int:
        """Messages stored in application topics."""
        self._settle_tallies()
        return self._put

    @property
    def got(self) -> int:
        """Messages of application topics delivered."""
        self._settle_tallies()
        return self._got

    def count_stored(self, topic: str, messages: int, size: int, times: int = 1) -> None:
        """Count stored messages of `size` bytes in all; `times` is 0 if they belong to an event already counted."""
        if self._scheduler.now_ms >= self.next_sample_ms:
            self.catch_up()
        self._count_stored(topic, messages, size, times)

    def _count_stored(self, topic: str, messages: int, size: int, times: int) -> None:
        self._puts += messages
        self._put_bytes += size
        if topic.startswith(_NO_PUTS):
            return
        # Samples are due at whole seconds of the run, so that all times before the next one are equivalent.
        self.by_name.count_put(topic, messages, size, self.next_sample_ms - 1, times)
        if topic not in self._system and not topic.startswith(SYSTEM_TOPIC_PREFIX):
            self._put += messages

    def _settle_tallies(self) -> None:
        """Turn the tallies into totals."""
        self.by_name.settle_tallies(self.next_sample_ms - 1)
        for (topic, size), messages in self.tally.take():
            self._count_stored(topic, messages, size * messages, messages)
        for (topic, group, messages, size), times in self._reads.take():
            self._reads_found += times
            self._transferred += messages * times
            self.by_name.count_got(topic, group, messages * times, size * times, self.next_sample_ms - 1, times)
            if topic not in self._system and not topic.startswith(SYSTEM_TOPIC_PREFIX):
                self._got += messages * times

    def count_acknowledgement(self, topic: str, group: str) -> None:
        """Count a group's acknowledgement of one message."""
        if self._scheduler.now_ms >= self.next_sample_ms:
            self.catch_up()
        self.by_name.acked_tally[topic, group] += 1

    def count_check_point(self, topic: str, group: str) -> None:
        """Count a check point of a group."""
        if self._scheduler.now_ms >= self.next_sample_ms:
            self.catch_up()
        self.by_name.checked_tally[topic, group] += 1

    def count_replicated(self, size: int) -> None:
        """Count a record replicated from the master for the store, but not for its topic: the master counts that."""
        if self._scheduler.now_ms >= self.next_sample_ms:
            self.catch_up()
        self._puts += 1
        self._put_bytes += size

    def count_read(self, topic: str, group: str, messages: int, size: int) -> None:
        """Count a read by a group of `messages` messages with a total of `size` bytes."""
        if self._scheduler.now_ms >= self.next_sample_ms:
            self.catch_up()
        if messages:
            self._reads[topic, group, messages, size] += 1
        else:
            self._reads_missed += 1

    def catch_up(self) -> None:
        """Add the samples and day starts missing up to now."""
        now_ms = self._scheduler.now_ms
        if now_ms < self.next_sample_ms:
            return
        self._settle_tallies()
        self._count_whole_broker(now_ms)
        self.by_name.sent.settle()
        self._settle()
        last = (now_ms - self._start_ms) // SAMPLE_MS
        self._samples.append((last, StoreTotals(self._puts, self._reads_found, self._reads_missed, self._transferred)))
        while self._samples[0][0] < last - SPANS[-1]:
            self._samples.popleft()
        self.next_sample_ms = self._start_ms + (last + 1) * SAMPLE_MS
        if now_ms >= self._next_day_ms:
            days = (now_ms - self._next_day_ms) // DAY_MS + 1
            before, self.today = self.today, DayTotals(self._put, self._got)
            self.yesterday = before if days == 1 else self.today
            self._next_day_ms += days * DAY_MS

    def _count_whole_broker(self, now_ms: int) -> None:
        """Copy the totals of the whole broker to its named counters, once per sample: no one reads them earlier."""
        names = self.by_name
        for item, counted in (
            (names.all_put, self._puts),
            (names.all_got, self._transferred),
            (names.own_put, self._put),
            (names.own_got, self._got),
        ):
            item.messages = counted
            item.catch_up(now_ms)

    def rates(self) -> dict[str, str]:
        """Return each rate (1/s) as three numbers separated by blanks; a number is empty if samples are missing."""
        self.catch_up()
        spans = [self._in_a_second(span) for span in SPANS]
        found = [None if each is None else each[1] for each in spans]
        missed = [None if each is None else each[2] for each in spans]
        return {
            "putTps": _text([None if each is None else each[0] for each in spans]),
            "getFoundTps": _text(found),
            "getMissTps": _text(missed),
            "getTotalTps": _text([(one or 0.0) + (other or 0.0) for one, other in zip(found, missed, strict=True)]),
            "getTransferredTps": _text([None if each is None else each[3] for each in spans]),
        }

    def _in_a_second(self, span: int) -> list[float] | None:
        """Return the rates per second over the last `span` samples, or None if there are too few."""
        last = self._samples[-1][0] if self._samples else 0
        if last <= span:
            return None
        numbers = [number for number, _ in self._samples]
        before = self._samples[bisect_left(numbers, last - span)][1]
        return [(now - then) / span for now, then in zip(self._samples[-1][1], before, strict=True)]


def _text(rates: list[float | None]) -> str:
    return " ".join("" if rate is None else str(rate) for rate in rates)
