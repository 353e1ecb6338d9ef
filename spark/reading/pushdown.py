"""Query filters that exclude queues or cut ranges before messages are read.

Spark applies all filters again, so each may be used partially.
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from ..cluster.cluster import Cluster
from ..options.offsets import MessageQueue, Range

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OF_QUEUES = {"topic": "topic", "brokerName": "broker", "queueId": "queue_id"}


@dataclass
class Pushed:
    """Restrictions by filters: queues, offsets (`low <= offset < high`) and store times in ms (likewise)."""

    queues: dict[str, set[Any]] = field(default_factory=dict)
    low: int = 0
    high: int = 1 << 62
    since_ms: int | None = None
    _: KW_ONLY
    until_ms: int | None = None
    tags: frozenset[str] | None = None

    def note(self, filters: Iterable[Filter]) -> None:
        """Add the supported filters; all of them apply."""
        for each in filters:
            column = ".".join(getattr(each, "attribute", ()))
            values = _values(each)
            if column in _OF_QUEUES and values is not None:
                known = self.queues.get(column)
                self.queues[column] = values if known is None else known & values
            elif column == "tags" and values is not None and all(isinstance(value, str) for value in values):
                self.tags = frozenset(values if self.tags is None else self.tags & values)
            elif column == "queueOffset":
                self._offsets(each)
            elif column == "storeTimestamp":
                self._times(each)

    def wants(self, queue: MessageQueue) -> bool:
        """True if a queue can contain messages that pass the filters."""
        return all(getattr(queue, _OF_QUEUES[column]) in values for column, values in self.queues.items())

    def cut(self, cluster: Cluster, whole: Range) -> Range:
        """Return the part of a range that can contain messages that pass the filters."""
        start, end = max(whole.start, self.low), min(whole.end, self.high)
        if start < end and self.since_ms is not None:
            start = max(start, cluster.offsets_at({whole.queue: self.since_ms})[whole.queue])
        if start < end and self.until_ms is not None:
            end = min(end, cluster.offsets_at({whole.queue: self.until_ms})[whole.queue])
        return Range(whole.queue, start, max(start, end))

    def expression(self) -> str | None:
        """Return the tags as a broker's filter expression; None without tag filters, or if it cannot be expressed."""
        if not self.tags or any("|" in tag or not tag.strip() or tag != tag.strip() for tag in self.tags):
            return None
        return " || ".join(sorted(self.tags))

    def _offsets(self, each: Filter) -> None:
        value = getattr(each, "value", None)
        if not isinstance(value, int):
            return
        if isinstance(each, EqualTo):
            self.low, self.high = max(self.low, value), min(self.high, value + 1)
        elif isinstance(each, GreaterThan | GreaterThanOrEqual):
            self.low = max(self.low, value + isinstance(each, GreaterThan))
        elif isinstance(each, LessThan | LessThanOrEqual):
            self.high = min(self.high, value + isinstance(each, LessThanOrEqual))

    def _times(self, each: Filter) -> None:
        value = getattr(each, "value", None)
        if not isinstance(value, datetime):
            return
        # Spark has microseconds, brokers milliseconds: rounded so that no message is excluded wrongly.
        at_ms = (value - EPOCH) // timedelta(milliseconds=1)
        if isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual):
            self.since_ms = max(self.since_ms or 0, at_ms)
        if isinstance(each, EqualTo | LessThan | LessThanOrEqual):
            until = at_ms + 1
            self.until_ms = until if self.until_ms is None else min(self.until_ms, until)


def _values(each: Filter) -> set[Any] | None:
    if isinstance(each, EqualTo):
        return {each.value}
    return set(each.value) if isinstance(each, In) else None
