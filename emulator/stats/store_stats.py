"""What a broker counts of its store since it has started: messages put and given, and how many of them in a second.

Upstream samples its counters every second, and tells rates between the last sample and those of 10, 60 and 600 s before
it. Here nothing runs at those seconds: what is counted first after one of them makes up for it. Counted is what clients
do and what comes of it; reads of upstream's own services, which find nothing most of the time, are not.
Source: StoreStatsService, BrokerStats, BrokerStatsManager (5.3.3).
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from ..message.names import DLQ_PREFIX, REVIVE_TOPIC_PREFIX, SYSTEM_TOPIC_PREFIX, SYSTEM_TOPICS
from .broker_stats import BrokerStats

SAMPLE_MS = 1000
SPANS = (10, 60, 600)
"""Rates are told over so many samples."""
DAY_MS = 24 * 3600 * 1000
_NO_PUTS = (DLQ_PREFIX, REVIVE_TOPIC_PREFIX)
"""What goes to a dead letter queue at once is no put, nor is what the broker keeps about pops."""


class Totals(NamedTuple):
    """What was counted until some time."""

    puts: int
    """Messages stored, those of system topics as well."""
    reads_found: int
    reads_missed: int
    """Reads that gave messages, and those that gave none."""
    transferred: int
    """Messages given."""


class Mornings(NamedTuple):
    """What was counted, without system topics, when a day began (UTC)."""

    put: int = 0
    got: int = 0


class StoreStats:
    """Counters of one run of a broker. `system`: topics that do not count as those of applications."""

    def __init__(self, now_ms: int, by_name: BrokerStats, system: Collection[str] = SYSTEM_TOPICS) -> None:
        self.by_name = by_name
        self._system = system
        self._start_ms = now_ms
        self._next_sample_ms = now_ms + SAMPLE_MS
        self._next_morning_ms = now_ms - now_ms % DAY_MS + DAY_MS
        self._samples: deque[tuple[int, Totals]] = deque()
        """Numbers of samples, and what they and those after the one before have found."""
        self.puts = self.put_bytes = self.reads_found = self.reads_missed = self.transferred = 0
        self.put = self.got = 0
        """Messages of applications' topics, stored and given."""
        self.today = self.yesterday = Mornings()

    def stored(self, topic: str, messages: int, size: int, now_ms: int, times: int = 1) -> None:
        """Messages were stored, which took `size` bytes; `times` is 0 if they came with others before."""
        if now_ms >= self._next_sample_ms:
            self.catch_up(now_ms)
        self.puts += messages
        self.put_bytes += size
        if topic.startswith(_NO_PUTS):
            return
        self.by_name.was_put(topic, messages, size, now_ms, times)
        if topic not in self._system and not topic.startswith(SYSTEM_TOPIC_PREFIX):
            self.put += messages

    def copied(self, size: int, now_ms: int) -> None:
        """A record came from the master: it is stored, but who puts messages has put it there."""
        if now_ms >= self._next_sample_ms:
            self.catch_up(now_ms)
        self.puts += 1
        self.put_bytes += size

    def read(self, topic: str, group: str, messages: int, size: int, now_ms: int) -> None:
        """A group has read so many messages, which take `size` bytes."""
        if now_ms >= self._next_sample_ms:
            self.catch_up(now_ms)
        if not messages:
            self.reads_missed += 1
            return
        self.reads_found += 1
        self.transferred += messages
        self.by_name.was_got(topic, group, messages, size, now_ms)
        if topic not in self._system and not topic.startswith(SYSTEM_TOPIC_PREFIX):
            self.got += messages

    def catch_up(self, now_ms: int) -> None:
        """Account for the samples and mornings until now."""
        if now_ms < self._next_sample_ms:
            return
        self._note_whole(now_ms)
        last = (now_ms - self._start_ms) // SAMPLE_MS
        self._samples.append((last, Totals(self.puts, self.reads_found, self.reads_missed, self.transferred)))
        # One before the longest span says what the oldest sample of it has found.
        while len(self._samples) > 1 and self._samples[1][0] < last - SPANS[-1]:
            self._samples.popleft()
        self._next_sample_ms = self._start_ms + (last + 1) * SAMPLE_MS
        if now_ms >= self._next_morning_ms:
            days = (now_ms - self._next_morning_ms) // DAY_MS + 1
            before, self.today = self.today, Mornings(self.put, self.got)
            self.yesterday = before if days == 1 else self.today
            self._next_morning_ms += days * DAY_MS

    def _note_whole(self, now_ms: int) -> None:
        """What the whole broker has counted is put under its names when it is sampled: nobody asks in between."""
        names = self.by_name
        for item, counted in (
            (names.all_put, self.puts),
            (names.all_got, self.transferred),
            (names.own_put, self.put),
            (names.own_got, self.got),
        ):
            item.messages = counted
            item.catch_up(now_ms)

    def rates(self, now_ms: int) -> dict[str, str]:
        """Each rate (1/s) as three numbers; where there are not yet as many samples there is nothing between blanks."""
        self.catch_up(now_ms)
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
        """What was counted in a second, over the last `span` samples."""
        last = self._samples[-1][0] if self._samples else 0
        if last <= span:
            return None
        numbers = [number for number, _ in self._samples]
        before = self._samples[bisect_left(numbers, last - span)][1]
        return [(now - then) / span for now, then in zip(self._samples[-1][1], before, strict=True)]


def _text(rates: list[float | None]) -> str:
    return " ".join("" if rate is None else str(rate) for rate in rates)
