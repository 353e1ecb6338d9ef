"""A column of a consume queue that engines share: the units of the parent, and the units added in the fork.

The parent only appends to an array. It removes units by a new array, so a shared array keeps its first units.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import overload

_FROM_FIRST = (0,)


class SharedColumn:
    """Numbers of arrays of other engines, of which only the first `count` are read, and then numbers of its own."""

    __slots__ = ("_count", "_own", "_shared", "_starts", "typecode")

    def __init__(
        self, shared: "tuple[array[int], ...]", starts: tuple[int, ...], count: int, own: "array[int]"
    ) -> None:
        """`starts`: the index of the first number of each array; `count`: the number of all shared numbers.

        `own`: an empty array for further numbers.
        """
        self.typecode = own.typecode
        self._shared = shared
        self._starts = starts
        self._count = count
        self._own = own

    def fork(self) -> "SharedColumn":
        """Return a column that begins with the present numbers and shares them."""
        own = array(self.typecode)
        if not self._own:
            return SharedColumn(self._shared, self._starts, self._count, own)
        return SharedColumn((*self._shared, self._own), (*self._starts, self._count), len(self), own)

    def __len__(self) -> int:
        return self._count + len(self._own)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> "array[int]": ...

    def __getitem__(self, index: int | slice) -> "int | array[int]":
        count = self._count
        if isinstance(index, slice):
            first, stop, step = index.indices(count + len(self._own))
            return self._run(first, stop) if step == 1 else array(self.typecode, list(self)[index])
        at = index
        if at < 0:
            at += count + len(self._own)
            if at < 0:
                raise IndexError(index)
        if at >= count:
            return self._own[at - count]
        starts = self._starts
        if at >= starts[-1]:
            return self._shared[-1][at - starts[-1]]
        number = bisect_right(starts, at) - 1
        return self._shared[number][at - starts[number]]

    def _run(self, first: int, stop: int) -> "array[int]":
        """Return a copy of the numbers from an index to before another."""
        if first >= self._count:
            return self._own[first - self._count : max(stop - self._count, 0)]
        found = array(self.typecode)
        for shared, start, end in zip(self._shared, self._starts, (*self._starts[1:], self._count), strict=True):
            if first < end and start < stop:
                found += shared[max(first - start, 0) : min(stop, end) - start]
        if stop > self._count:
            found += self._own[: stop - self._count]
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self[:])

    def __reversed__(self) -> Iterator[int]:
        return reversed(self[:])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedColumn):
            return self[:] == other[:]
        return self[:] == other if isinstance(other, array) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it can change, as an array

    def append(self, number: int) -> None:
        """Append a number."""
        self._own.append(number)

    def extend(self, numbers: Iterable[int]) -> None:
        """Append several numbers."""
        self._own.extend(numbers)


def fork_column(column: "array[int] | SharedColumn") -> "array[int] | SharedColumn":
    """Return a column that begins with the present numbers of another and shares them; an array if there are none."""
    if isinstance(column, SharedColumn):
        return column.fork()
    own: array[int] = array(column.typecode)
    return SharedColumn((column,), _FROM_FIRST, len(column), own) if column else own
