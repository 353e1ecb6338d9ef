"""The consume queue: the logical order of one queue of a topic.

A unit is (physical offset, size, tags code); its index is the logical offset, dense and growing by one.
Source: ConsumeQueue (5.3.3).
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from ..message import properties as props
from .shared_column import SharedColumn, fork_column

if TYPE_CHECKING:
    Column = array[int] | SharedColumn

_SHORT_MAX = 0x7FFF
_DIGITS_OF_SHORT = len(str(_SHORT_MAX))


class ConsumeQueue:
    """Units of one (topic, queue id). `trim` removes the first units after their records were dropped."""

    __slots__ = ("first", "physical", "queue_id", "sizes", "tags_codes", "topic")

    def __init__(self, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.first = 0
        self.physical: Column = array("q")
        self.sizes: Column = array("i")
        self.tags_codes: Column = array("q")

    def fork(self) -> Self:
        """Return an equal queue for a fork. It shares the present units, and neither queue sees changes of the other.

        Only appends change a column; removals replace it.
        """
        made = self.__class__(self.topic, self.queue_id)
        made.first = self.first
        made.physical, made.sizes, made.tags_codes = (
            fork_column(self.physical),
            fork_column(self.sizes),
            fork_column(self.tags_codes),
        )
        return made

    @property
    def min_offset(self) -> int:
        """The logical offset of the first unit."""
        return self.first

    @property
    def max_offset(self) -> int:
        """The logical offset that the next unit will get."""
        return self.first + len(self.physical)

    @property
    def is_drained(self) -> bool:
        """True if the queue held messages, all of which were dropped."""
        return self.first > 0 and not self.physical

    def append(self, physical_offset: int, size: int, tags_code: int) -> int:
        """Add a unit and return its logical offset."""
        self.physical.append(physical_offset)
        self.sizes.append(size)
        self.tags_codes.append(tags_code)
        return self.first + len(self.physical) - 1

    def extend(self, physical_offsets: Sequence[int], sizes: Sequence[int], tags_codes: Sequence[int]) -> None:
        """Add a unit for each of several records that hold one message each."""
        self.physical.extend(physical_offsets)
        self.sizes.extend(sizes)
        self.tags_codes.extend(tags_codes)

    def append_replica(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Add a unit replicated from the master at its offset; a unit that is not the next one is ignored."""
        if offset == self.max_offset:
            self.append(physical_offset, size, tags_code)

    def unit(self, offset: int) -> tuple[int, int, int]:
        """Return (physical offset, size, tags code) of a logical offset. Raises IndexError if there is no such unit."""
        index = offset - self.first
        if index < 0:
            raise IndexError(offset)
        return self.physical[index], self.sizes[index], self.tags_codes[index]

    def offset_at(self, physical_offset: int) -> int:
        """Return the offset of the first unit whose record is at or after a physical offset, or the maximum offset."""
        return self.first + bisect_left(self.physical, physical_offset)

    def truncate(self, end: int) -> None:
        """Remove the units whose record is at or after a physical offset."""
        count = bisect_left(self.physical, end)
        if count < len(self.physical):
            self._keep(slice(count))

    def trim(self, min_physical_offset: int) -> None:
        """Remove the units whose record is before `min_physical_offset`."""
        count = bisect_left(self.physical, min_physical_offset)
        if count:
            self._keep(slice(count, None))
            self.first += count

    def _keep(self, kept: slice) -> None:
        """Replace the columns, because a fork may read the present ones."""
        self.physical, self.sizes, self.tags_codes = self.physical[kept], self.sizes[kept], self.tags_codes[kept]


class BatchConsumeQueue(ConsumeQueue):
    """A consume queue in which a record may hold several messages; it has one unit per message, all equal.

    Source: BatchConsumeQueue (5.3.3), whose units contain their number of messages.
    """

    __slots__ = ("messages",)

    def __init__(self, topic: str, queue_id: int) -> None:
        super().__init__(topic, queue_id)
        self.messages = 1
        """The number of messages that each appended record holds."""

    def append(self, physical_offset: int, size: int, tags_code: int) -> int:
        """Add the units of a record and return the offset of the first."""
        first = super().append(physical_offset, size, tags_code)
        for _ in range(self.messages - 1):
            super().append(physical_offset, size, tags_code)
        return first

    def first_unit_of_record(self, offset: int) -> int:
        """Return the offset of the first unit of the record at an offset."""
        return self.first + bisect_left(self.physical, self.physical[offset - self.first])

    def end_of_record(self, offset: int) -> int:
        """Return the offset after the last unit of the record at an offset."""
        return self.first + bisect_right(self.physical, self.physical[offset - self.first])


@contextmanager
def appending_batches_of(messages: int, queue: ConsumeQueue) -> Iterator[None]:
    """Make appends in this context count as `messages` messages each, if `queue` is a BatchConsumeQueue."""
    if not isinstance(queue, BatchConsumeQueue):
        yield
        return
    queue.messages = messages
    try:
        yield
    finally:
        queue.messages = 1


def messages_in_record(properties: Mapping[str, str]) -> int:
    """Return the number of messages that a record holds: its property INNER_NUM, from 1 to 32767.

    Returns 1 if the property is missing or malformed, because clients can send any text.
    Source: DefaultMessageStore.getMessageNum (5.3.3).
    """
    text = properties.get(props.INNER_NUM, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_OF_SHORT else 0
    return number if 1 <= number <= _SHORT_MAX else 1
