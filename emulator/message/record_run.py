"""Consecutive records of the commit log, read at once."""

from array import array
from collections.abc import Iterator, Sequence
from typing import overload


class RecordRun(Sequence[bytes]):
    """A sequence of records that are split only on access, because a pull response needs all their bytes joined.

    `joined` holds the bytes, `sizes` the length of each record.
    """

    __slots__ = ("_sizes", "joined")

    def __init__(self, joined: bytes, sizes: "array[int]") -> None:
        self.joined = joined
        self._sizes = sizes

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | tuple | RecordRun) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it may equal a list, and lists have no hash

    def __iter__(self) -> Iterator[bytes]:
        joined, at = self.joined, 0
        for size in self._sizes:
            yield joined[at : at + size]
            at += size


def concatenate(records: Sequence[bytes]) -> bytes:
    """Return the bytes of several records, concatenated."""
    return records.joined if isinstance(records, RecordRun) else b"".join(records)
