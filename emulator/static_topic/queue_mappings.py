"""The queue mappings of a broker's static topics, and the checks of a new mapping against the old one.

Source: TopicQueueMappingManager, TopicQueueMappingUtils, LogicQueueMappingItem (5.3.3), with upstream's assertions
disabled.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..operations.topics import QueueMapping, QueuePart


class QueueMappings:
    """Queue mappings by topic, written to a file at each change. `on_change` is called at each change."""

    def __init__(self, scheduler: Scheduler, on_change: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self.table: dict[str, QueueMapping] = {}
        self.version_counter = 0
        self.version_timestamp = scheduler.now_ms
        self._on_change = on_change

    def put(self, new: QueueMapping, *, force: bool) -> None:
        """Store a mapping; with `force` without comparing it with the old one. Errors: SYSTEM_ERROR."""
        for parts in new.queues.values():
            _check(parts)
        old = self.table.get(new.topic)
        if old is not None:
            if not force:
                _check_order(old, new)
            for number, parts in old.queues.items():
                new.queues.setdefault(number, parts)
        new.queues = dict(sorted(new.queues.items()))
        self.table[new.topic] = new
        self._touch()

    def restore(self, table: Mapping[str, QueueMapping], version: tuple[int, int]) -> None:
        """Restore the mappings of a previous run."""
        self.table |= table
        self.version_counter, self.version_timestamp = version

    def delete(self, topic: str) -> None:
        """Delete the mapping of a topic; an unknown one is not an error."""
        if self.table.pop(topic, None) is not None:
            self._touch()

    def _touch(self) -> None:
        self.version_counter += 1
        self.version_timestamp = self._scheduler.now_ms
        self._on_change()


def _refused(reason: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, reason)


def _check(parts: Sequence[QueuePart]) -> None:
    """Check the parts of one queue. Errors: SYSTEM_ERROR for inconsistent parts."""
    last_generation = last_offset = -1
    for part in reversed(parts):
        if part.start_offset < 0 or part.generation < 0 or part.queue_id < 0:
            raise _refused("The field is illegal, should not be negative")
        if part is not parts[-1] and part.logic_offset < 0:
            raise _refused("The non-latest item has negative logic offset")
        if last_generation != -1 and part.generation >= last_generation:
            raise _refused("The gen does not increase monotonically")
        if part.end_offset != -1 and part.end_offset < part.start_offset:
            raise _refused("The endOffset is smaller than the start offset")
        if last_offset != -1 and part.logic_offset != -1:
            if part.logic_offset >= last_offset:
                raise _refused("The base logic offset does not increase monotonically")
            if logical_end(part) >= last_offset:
                raise _refused("The max logic offset does not increase monotonically")
        last_generation, last_offset = part.generation, part.logic_offset


def _check_order(old: QueueMapping, new: QueueMapping) -> None:
    """Check a new mapping. Errors: SYSTEM_ERROR if it is older, or differs where it must not."""
    if new.epoch < old.epoch:
        raise _refused(f"Can't accept data with small epoch {new.epoch} < {old.epoch}")
    if new.scope != old.scope:
        raise _refused(f"Can't accept data with unmatched scope {new.scope} != {old.scope}")
    same_epoch = new.epoch == old.epoch
    for number, parts in old.queues.items():
        changed = new.queues.get(number)
        if changed is None:
            if same_epoch:
                raise _refused("Cannot accept equal epoch with null data")
        elif parts and not changed:
            raise _refused("The new item list is null or empty")
        elif parts and same_epoch and _identity(parts[-1]) != _identity(changed[-1]):
            raise _refused("The new leader is different but epoch equal")


def _identity(part: QueuePart) -> tuple[int, str, int, int]:
    return part.generation, part.broker_name, part.queue_id, part.start_offset


# offsets


def end_is_decided(part: QueuePart) -> bool:
    """True if a part has an end and is not empty. Source: LogicQueueMappingItem.checkIfEndOffsetDecided (5.3.3)."""
    return part.end_offset > part.start_offset


def logical_end(part: QueuePart) -> int:
    """Return the logical offset after a part, or its first logical offset while its end is not decided."""
    return part.logic_offset + max(part.end_offset - part.start_offset, 0)


def to_logical_offset(part: QueuePart, offset: int) -> int:
    """Convert an offset of the part's physical queue to the logical offset."""
    return part.logic_offset + max(offset - part.start_offset, 0)


def to_logical_offset_within(part: QueuePart, offset: int) -> int:
    """Convert as `to_logical_offset` does, to at most the end of the part; -1 while the part's start is not decided."""
    if part.logic_offset < 0:
        return -1
    if part.end_offset >= part.start_offset:
        offset = min(offset, part.end_offset)
    return to_logical_offset(part, offset)


def to_physical_offset(part: QueuePart, offset: int) -> int:
    """Convert a logical offset to the offset of the part's physical queue."""
    return offset - part.logic_offset + part.start_offset


def part_at(parts: Iterable[QueuePart], offset: int) -> QueuePart | None:
    """Return the part that contains a logical offset; for an offset before all parts, the first part.

    Parts whose start is not decided are ignored; None if there are no others.
    """
    decided = [part for part in parts if part.logic_offset >= 0]
    holding = [part for part in decided if part.logic_offset <= offset]
    return holding[-1] if holding else decided[0] if decided else None


def part_after(parts: Sequence[QueuePart], part: QueuePart) -> QueuePart | None:
    """Return the next part if its start is decided, else None."""
    for before, after in pairwise(parts):
        if before.generation == part.generation:
            return after if after.logic_offset >= 0 else None
    return None
