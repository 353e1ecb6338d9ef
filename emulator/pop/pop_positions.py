"""Positions in the commit log of the check points and acknowledgements that one run of a broker has stored.

Only the inspection reads them: they let it find the check points and acknowledgements of one message without decoding
all others. Each takes 16 bytes here until the log deletes its record.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator

from ..kernel.mypyc_attr import mypyc_attr
from ..message.names import TIMER_TOPIC
from ..store.message_store import MessageStore
from .check_point import CheckPoint
from .consumer_order_info import GroupQueue

FIRST_CLEANING = 4_096
"""At this number of positions, those of deleted records are removed for the first time."""
_SCANNED_MAX = 1 << 20
"""`starting_within` looks for each offset on its own if their number times the number of records is at most this."""
_BYTES, _ORDER = 8, sys.byteorder


@mypyc_attr(allow_interpreted_subclasses=True)
class Positions:
    """Start offset and physical offset of each check point, or of each acknowledgement, in the log's order."""

    __slots__ = ("positions", "starts")

    def __init__(self) -> None:
        self.starts = array("q")
        """The offset of the first message of each check point, or of the check point of an acknowledgement."""
        self.positions = array("q")
        """The physical offset of its record, at the same index."""

    def starting_at(self, offset: int) -> Iterator[int]:
        """Yield the positions of the records whose start offset is `offset`."""
        packed, wanted = self.starts.tobytes(), offset.to_bytes(_BYTES, _ORDER, signed=True)
        at = packed.find(wanted)
        while at >= 0:
            index, inside = divmod(at, _BYTES)
            if not inside:
                yield self.positions[index]
            at = packed.find(wanted, at + 1)

    def starting_within(self, first: int, last: int) -> Iterator[int]:
        """Yield the positions of the records whose start offset is from `first` to `last`, inclusive."""
        if (last - first) * len(self.starts) <= _SCANNED_MAX:
            for offset in range(first, last + 1):
                yield from self.starting_at(offset)
            return
        for index, start in enumerate(self.starts):
            if first <= start <= last:
                yield self.positions[index]

    def drop_before(self, position: int) -> int:
        """Remove the records before a physical offset. Returns their number."""
        count = bisect_left(self.positions, position)
        del self.starts[:count], self.positions[:count]
        return count


@mypyc_attr(allow_interpreted_subclasses=True)
class QueuePositions:
    """The positions of the check points and acknowledgements of one group in one queue."""

    __slots__ = ("acks", "points", "span")

    def __init__(self) -> None:
        self.points = Positions()
        self.acks = Positions()
        self.span = 0
        """The largest distance between the first and the last offset of a check point."""

    def points_of(self, offset: int) -> Iterator[int]:
        """Yield the positions of the check points that may contain an offset."""
        return self.points.starting_within(offset - self.span, offset)


@mypyc_attr(allow_interpreted_subclasses=True)
class PopPositions:
    """The positions of all groups and queues of a broker."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self.timer_offset_at_start = store.max_offset(TIMER_TOPIC, 0)
        """The end of the timer topic at the start; check points and acknowledgements of this run wait beyond it."""
        self.queues: dict[GroupQueue, QueuePositions] = {}
        self.count = 0
        """The number of positions."""
        self._clean_at = FIRST_CLEANING

    def note_point(self, point: CheckPoint, position: int) -> None:
        """Add a stored check point, whose offsets must ascend."""
        queue = self._queue((point.topic, point.group, point.queue_id))
        queue.span = max(queue.span, point.diffs[-1])
        self._add(queue.points, point.start_offset, position)

    def note_ack(self, group_queue: GroupQueue, start_offset: int, position: int) -> None:
        """Add a stored acknowledgement; `start_offset` is that of the check point to which it belongs."""
        self._add(self._queue(group_queue).acks, start_offset, position)

    def count_from(self, position: int) -> int:
        """Return the number of positions at or after a physical offset."""
        return self.count - sum(
            bisect_left(kind.positions, position)
            for queue in self.queues.values()
            for kind in (queue.points, queue.acks)
        )

    def _queue(self, key: GroupQueue) -> QueuePositions:
        queue = self.queues.get(key)
        if queue is None:
            queue = self.queues[key] = QueuePositions()
        return queue

    def _add(self, noted: Positions, start_offset: int, position: int) -> None:
        noted.starts.append(start_offset)
        noted.positions.append(position)
        self.count += 1
        if self.count > self._clean_at:
            self._clean()

    def _clean(self) -> None:
        log_begin = self._store.log.min_offset
        for key, queue in list(self.queues.items()):
            self.count -= queue.points.drop_before(log_begin) + queue.acks.drop_before(log_begin)
            if not queue.points.positions and not queue.acks.positions:
                del self.queues[key]
        self._clean_at = max(FIRST_CLEANING, 2 * self.count)
