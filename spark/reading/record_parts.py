"""Parts of many stored records as Arrow arrays, extracted without a Python loop.

Records, bodies and properties are arrays of bytes over the original responses. The head of a record has all fields
before the body. A number in the head is extracted from all records at once, and its bytes are swapped, because the
protocol is big-endian.
"""

import sys
from array import array
from functools import cached_property, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from .stored import FIELDS, HEAD_BYTES, Records

_NUMBERS = {4: ("i", pa.int32()), 8: ("q", pa.int64())}
_PIECES = 5
_BODY, _TEXT, _LAST = 2, 4, 5
"""Positions among the pieces of each record; piece 0 is `RECORD_SEPARATOR`."""


class RecordParts:
    """Columns of `records`."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._data = pa.py_buffer(records.data)
        self._whole = _bytes_between(records.starts, self._data)

    def __len__(self) -> int:
        return len(self._records.body_ends)

    def numbers(self, name: str) -> pa.Array:
        """Return a number of each head."""
        at, size = FIELDS[name]
        code, kind = _NUMBERS[size]
        found = array(code)
        found.frombytes(self._field_bytes(at, size))
        if sys.byteorder == "little":
            found.byteswap()
        return pa.Array.from_buffers(kind, len(self), [None, pa.py_buffer(found)])

    def hosts(self, name: str) -> list[bytes]:
        """Return packed addresses: `bornHost` or `storeHost`."""
        at, size = FIELDS[name]
        found: list[bytes] = pc.binary_slice(self._whole, at, at + size).to_pylist()
        for number, (born_host, store_host) in self._records.odd_hosts.items():
            found[number] = born_host if name == "bornHost" else store_host
        return found

    @property
    def bodies(self) -> pa.Array:
        """The bodies of the records."""
        return self._pieces.take(_indexes(_BODY, 0, len(self)))

    @cached_property
    def properties(self) -> list[bytes]:
        """The property strings of the records."""
        after, starts = self._records.properties_after, self._records.starts
        data = self._records.data
        return [data[end + after : stop] for end, stop in zip(self._records.body_ends, starts[1:], strict=True)]

    def joined_properties(self, start: int, count: int) -> bytes | None:
        """Return the property strings of some records, each with `RECORD_SEPARATOR` as its last byte.

        It replaces the separator after the last pair. Returns None if a string does not end with that separator.
        """
        lasts = self._pieces.take(_indexes(_LAST, start, count))
        if _content(lasts) != b"\x02" * count:
            return None
        return _content(self._pieces.take(_each_with_separator(start, count)))

    def _field_bytes(self, at: int, size: int) -> memoryview:
        """Return the same bytes of each record, concatenated."""
        found = pc.binary_slice(self._whole, at, at + size)
        return memoryview(found.buffers()[2])[: size * len(self)]

    @cached_property
    def _pieces(self) -> pa.Array:
        """`RECORD_SEPARATOR`, then for each record: head, body, topic, properties except the last byte, last byte."""
        starts, body_ends = self._records.starts, self._records.body_ends
        cuts = array("i", bytes(4 * (_PIECES * len(self) + 2)))
        cuts[1::_PIECES] = starts
        cuts[2::_PIECES] = _copied(pc.add(_arrow_of(starts[:-1]), pa.scalar(HEAD_BYTES, pa.int32())))
        cuts[3::_PIECES] = body_ends
        texts = pc.add(_arrow_of(body_ends), pa.scalar(self._records.properties_after, pa.int32()))
        cuts[4::_PIECES] = _copied(texts)
        cuts[5::_PIECES] = _copied(
            pc.max_element_wise(texts, pc.subtract(_arrow_of(starts[1:]), pa.scalar(1, pa.int32())))
        )
        return _bytes_between(cuts, self._data)


def _bytes_between(cuts: "array[int]", data: pa.Buffer) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), len(cuts) - 1, [None, pa.py_buffer(cuts), data])


def _indexes(piece: int, start: int, count: int) -> pa.Array:
    """Return the indexes of one piece of `count` records."""
    return _all_numbers(piece, _power_of_two(start + count)).slice(start, count)


def _each_with_separator(start: int, count: int) -> pa.Array:
    """Return the indexes of property strings, each followed by that of `RECORD_SEPARATOR`."""
    return _all_with_separator(_power_of_two(start + count)).slice(2 * start, 2 * count)


@lru_cache(maxsize=32)
def _all_numbers(piece: int, count: int) -> pa.Array:
    return pa.array(range(piece, piece + _PIECES * count, _PIECES), pa.int32())


@lru_cache(maxsize=8)
def _all_with_separator(count: int) -> pa.Array:
    numbers = array("i", bytes(8 * count))
    numbers[::2] = array("i", range(_TEXT, _TEXT + _PIECES * count, _PIECES))
    return _arrow_of(numbers)


def _power_of_two(least: int) -> int:
    """Round up to a power of two: batches have any size, but few index arrays are cached."""
    return 1 << (least - 1).bit_length()


def _content(found: pa.Array) -> bytes:
    """Return the bytes of all values of a newly built array."""
    ends = memoryview(found.buffers()[1]).cast("B").cast("i")
    return bytes(memoryview(found.buffers()[2])[: ends[len(found)]])


def _arrow_of(numbers: "array[int]") -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])


def _copied(numbers: pa.Array) -> "array[int]":
    found = array("i")
    found.frombytes(memoryview(numbers.buffers()[1])[: 4 * len(numbers)])
    return found
