"""The consume queue: the logical order of one queue of a topic.

A unit is (physical offset, size, tags code); its index is the logical offset, dense and growing by one.
Source: ConsumeQueue (5.3.3).
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..message import properties as props


class ConsumeQueue:
    """Units of one (topic, queue id). Units whose record is gone are cut off at the front by `trim`."""

    __slots__ = ("first", "physical", "queue_id", "sizes", "tags_codes", "topic")

    def __init__(self, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.first = 0
        self.physical = array("q")
        self.sizes = array("i")
        self.tags_codes = array("q")

    @property
    def min_offset(self) -> int:
        """The first logical offset still held."""
        return self.first

    @property
    def max_offset(self) -> int:
        """The next logical offset to be given."""
        return self.first + len(self.physical)

    @property
    def is_spent(self) -> bool:
        """Whether it has held messages, all of which are gone."""
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

    def follow(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Add a unit that a master has at an offset; one that does not come next is dropped."""
        if offset == self.max_offset:
            self.append(physical_offset, size, tags_code)

    def holding(self, messages: int) -> AbstractContextManager[None]:
        """What is appended meanwhile holds so many messages, which counts in a queue of batches only."""
        return nullcontext()

    def unit(self, offset: int) -> tuple[int, int, int]:
        """(physical offset, size, tags code) of a held logical offset. Raises IndexError otherwise."""
        index = offset - self.first
        if index < 0:
            raise IndexError(offset)
        return self.physical[index], self.sizes[index], self.tags_codes[index]

    def offset_at(self, place: int) -> int:
        """The offset of the first unit whose record lies at or after a physical offset, the end if none does."""
        return self.first + bisect_left(self.physical, place)

    def truncate(self, end: int) -> None:
        """Cut off the units whose record lies at or after a physical offset."""
        count = bisect_left(self.physical, end)
        del self.physical[count:], self.sizes[count:], self.tags_codes[count:]

    def trim(self, min_physical_offset: int) -> None:
        """Cut off the units whose record lies before `min_physical_offset`."""
        count = bisect_left(self.physical, min_physical_offset)
        if count:
            del self.physical[:count], self.sizes[:count], self.tags_codes[:count]
            self.first += count


class BatchConsumeQueue(ConsumeQueue):
    """A queue whose records may hold several messages each: such a one has as many units, which are alike.

    Source: BatchConsumeQueue (5.3.3), whose units know how many messages they stand for.
    """

    __slots__ = ("_messages",)

    def __init__(self, topic: str, queue_id: int) -> None:
        super().__init__(topic, queue_id)
        self._messages = 1

    @contextmanager
    def holding(self, messages: int) -> Iterator[None]:
        """What is appended meanwhile holds so many messages."""
        self._messages = messages
        try:
            yield
        finally:
            self._messages = 1

    def append(self, physical_offset: int, size: int, tags_code: int) -> int:
        """Add the units of a record and return the offset of the first."""
        first = super().append(physical_offset, size, tags_code)
        for _ in range(self._messages - 1):
            super().append(physical_offset, size, tags_code)
        return first

    def begin_of(self, offset: int) -> int:
        """The offset of the first unit of the record that a held offset belongs to."""
        return self.first + bisect_left(self.physical, self.physical[offset - self.first])

    def end_of(self, offset: int) -> int:
        """The offset after the last unit of the record that a held offset belongs to."""
        return self.first + bisect_right(self.physical, self.physical[offset - self.first])


def number_within(properties: Mapping[str, str]) -> int:
    """How many messages a record holds that says that it holds others; 1 where it does not say how many."""
    text = properties.get(props.INNER_NUM, "")
    return max(int(text), 1) if text.isascii() and text.isdigit() else 1
