"""Counters of one run of a broker that upstream's metrics have and mqadmin does not show.

Durations follow the emulator's time. Source: BrokerMetricsManager, PopMetricsManager, DefaultStoreMetricsManager
(5.3.3).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import partial

from .histogram import DELAY_BOUNDS, FINISH_BOUNDS, Histogram
from .sent_messages import SentMessages
from .tally import Tally

CHECK_POINT, ACK = "CK", "ACK"


class MetricCounters:
    """Counters that only grow until the run ends."""

    def __init__(self) -> None:
        self.sent = SentMessages()
        self._out: dict[tuple[str, str, bool | None], list[int]] = {}
        self._out_tally = Tally[tuple[str, str, bool | None, int, int]](self._settle_out)
        """Reads that are not in `_out` yet; the last two parts of a key are the messages and the bytes of a read."""
        self.dead_letters: Counter[tuple[str, str]] = Counter()
        """Messages that went to a dead letter queue, by group and topic."""
        self.half: Counter[str] = Counter()
        """Half messages stored, minus those committed, rolled back or discarded, by their topic."""
        self.half_before: Mapping[str, int] | None = None
        """Undecided half messages when the run began, by their topic; None before they are counted."""
        self.committed: Counter[str] = Counter()
        self.rolled_back: Counter[str] = Counter()
        self.finish_seconds: defaultdict[str, Histogram] = defaultdict(partial(Histogram, FINISH_BOUNDS))
        """Ages of committed half messages by topic."""
        self.revive_written: Counter[tuple[str, str, str]] = Counter()
        """Records written to the revive topic, by group, topic and kind."""
        self.revive_read: Counter[tuple[str, str, int, str]] = Counter()
        """Records read from the revive topic, by group, topic, revive queue and kind."""
        self.revive_retried: Counter[tuple[str, str]] = Counter()
        """Redelivered messages by group and topic."""
        self.timer_entered: Counter[str] = Counter()
        self.timer_left: Counter[str] = Counter()
        """Messages that entered and left the timer wheel, by topic."""
        self.delay_seconds: defaultdict[str, Histogram] = defaultdict(partial(Histogram, DELAY_BOUNDS))
        """Seconds from the send of a timed message until it is due, by topic."""
        self.topic_creations: Counter[tuple[bool, bool]] = Counter()
        """Requests that create or change a topic, by success and if it is a system topic."""
        self.group_creations: Counter[bool] = Counter()
        """Requests that create or change a group, by success."""

    def count_out(self, topic: str, group: str, messages: int, size: int, *, is_retry: bool | None = None) -> None:
        """Count messages that left for a group. `is_retry`: as in `out`."""
        self._out_tally[topic, group, is_retry, messages, size] += 1

    def _settle_out(self) -> None:
        for (topic, group, is_retry, messages, size), times in self._out_tally.take():
            found = self._out.setdefault((topic, group, is_retry), [0, 0])
            found[0] += messages * times
            found[1] += size * times

    @property
    def out(self) -> Mapping[tuple[str, str, bool | None], list[int]]:
        """Messages and bytes that left, by topic, group, and if they came from a retry topic (None: not popped)."""
        self._settle_out()
        return self._out
