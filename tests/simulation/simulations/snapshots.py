"""Committed offsets and queue lengths, compared after every step.

The broker's tables are read directly: requests would return the same and take most of the time of a simulation.
"""

from collections.abc import Iterable, Iterator

from observations import Observation, OffsetsSeen, Place, RangesSeen
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.group.offset_table import OffsetTable


class Snapshots:
    """Reports changes of the offsets of some groups, and of the minimum and maximum offsets of some queues."""

    def __init__(self, offsets: Iterable[tuple[str, Place]], queues: Iterable[Place]) -> None:
        self._offsets: dict[tuple[str, Place], int | None] = dict.fromkeys(offsets)
        self._ranges: dict[Place, tuple[int, int] | None] = dict.fromkeys(queues)
        self._committed: dict[tuple[str, str], dict[int, int]] | None = None
        self._log: tuple[int, int] | None = None

    def changes(self, broker: Broker, now: int) -> Iterator[Observation]:
        """Yield the changes since the last call; everything in the first one."""
        if broker.offsets.committed != self._committed and (offsets := tuple(self._changed_offsets(broker.offsets))):
            yield OffsetsSeen(now, offsets)
        log = broker.store.log
        if (log.min_offset, log.max_offset) != self._log:
            self._log = (log.min_offset, log.max_offset)
            if ranges := tuple(self._changed_ranges(broker)):
                yield RangesSeen(now, ranges)

    def _changed_offsets(self, offsets: OffsetTable) -> Iterator[tuple[str, Place, int]]:
        same = True
        for key, before in self._offsets.items():
            group, (topic, queue_id) = key
            offset = offsets.query(group, topic, queue_id)
            same &= offset == offsets.committed.get((group, topic), {}).get(queue_id, -1)
            if offset != before:
                self._offsets[key] = offset
                yield (*key, offset)
        # While a reset hides the committed offset, the end of the reset would change no table.
        self._committed = {key: dict(table) for key, table in offsets.committed.items()} if same else None

    def _changed_ranges(self, broker: Broker) -> Iterator[tuple[Place, int, int]]:
        for place, before in self._ranges.items():
            extent = broker.store.min_offset(*place), broker.store.max_offset(*place)
            if extent != before:
                self._ranges[place] = extent
                yield (place, *extent)
