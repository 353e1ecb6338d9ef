"""Records that lie in the log one behind the other, read at once."""

from array import array
from collections.abc import Iterator, Sequence
from typing import overload


class RecordRun(Sequence[bytes]):
    """The records of `joined`, cut apart when somebody wants them: who answers a pull wants all their bytes.

    `sizes`: how long each is.
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

    __hash__ = None  # type: ignore[assignment]  # as of lists, to which it may be equal

    def __iter__(self) -> Iterator[bytes]:
        joined, at = self.joined, 0
        for size in self._sizes:
            yield joined[at : at + size]
            at += size


def joined(records: Sequence[bytes]) -> bytes:
    """Records one behind the other."""
    return records.joined if isinstance(records, RecordRun) else b"".join(records)
