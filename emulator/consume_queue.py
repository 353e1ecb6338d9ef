"""The consume queue: the logical order of one queue of a topic.

A unit is (physical offset, size, tags code); its index is the logical offset, dense and growing by one.
Source: ConsumeQueue (5.3.3).
"""

from array import array
from bisect import bisect_left


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

    def unit(self, offset: int) -> tuple[int, int, int]:
        """(physical offset, size, tags code) of a held logical offset. Raises IndexError otherwise."""
        index = offset - self.first
        if index < 0:
            raise IndexError(offset)
        return self.physical[index], self.sizes[index], self.tags_codes[index]

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
