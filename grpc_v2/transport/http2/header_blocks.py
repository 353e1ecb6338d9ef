"""Header blocks of responses in HPACK without an encoder's state (RFC 7541).

They consist of references to the static table and literals without indexing. A block therefore has the same bytes on
every connection. `header_encoder` refers to the peer's dynamic table, for blocks that recur.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hpack.table import HeaderTable

from .frames import END_HEADERS, END_STREAM, HEADERS, frame_head

STATIC_FIELDS: Final[tuple[tuple[str, str], ...]] = tuple(
    (name.decode("ascii"), value.decode("ascii")) for name, value in HeaderTable.STATIC_TABLE
)
_STATIC_INDEX: Final = {field: index for index, field in reversed(list(enumerate(STATIC_FIELDS, 1)))}
_STATIC_NAME: Final = {name: index for index, (name, _) in reversed(list(enumerate(STATIC_FIELDS, 1)))}


def encode_integer(value: int, prefix_bits: int, first: int = 0) -> bytes:
    """Encode `value` as an HPACK integer, with the bits of `first` above the prefix."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes((first | value,))
    out = bytearray((first | limit,))
    value -= limit
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_index(index: int) -> bytes:
    """Encode a field by its index in the static and dynamic tables."""
    return encode_integer(index, 7, 0x80)


def static_index(name: str, value: str) -> int | None:
    """Return the index of a field in the static table, None if it is not there."""
    return _STATIC_INDEX.get((name, value))


def encode_field(name: str, value: str, *, insert: bool = False) -> bytes:
    """Encode one header field. Names are lower-case; text is Latin-1.

    With `insert` the peer adds a field that is not in the static table to its dynamic table.
    """
    index = static_index(name, value)
    if index is not None:
        return encode_index(index)
    prefix_bits, first = (6, 0x40) if insert else (4, 0)
    data = value.encode("latin-1")
    index = _STATIC_NAME.get(name)
    if index is not None:
        head = encode_integer(index, prefix_bits, first)
    else:
        raw = name.encode("latin-1")
        head = bytes((first,)) + encode_integer(len(raw), 7) + raw
    return head + encode_integer(len(data), 7) + data


def encode_block(fields: Iterable[tuple[str, str]]) -> bytes:
    """Encode a header block."""
    return b"".join([encode_field(name, value) for name, value in fields])


class HeaderBlock:
    """A header block, with the constant part of its HEADERS frame prepared.

    `recurring` is the header list of a block that many responses share, whose fields the peer's dynamic table may hold.
    """

    __slots__ = ("block", "ending_prefix", "prefix", "recurring")

    def __init__(self, block: bytes, recurring: tuple[tuple[str, str], ...] = ()) -> None:
        self.block = block
        self.recurring = recurring
        # Length, type and flags: the frame's head without the stream id.
        self.prefix = frame_head(HEADERS, END_HEADERS, 0, len(block))[:5]
        self.ending_prefix = frame_head(HEADERS, END_HEADERS | END_STREAM, 0, len(block))[:5]

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]]) -> HeaderBlock:
        """Encode a header list."""
        return cls(encode_block(fields))

    @classmethod
    def of_recurring(cls, *fields: tuple[str, str]) -> HeaderBlock:
        """Encode the header list of many responses."""
        return cls(encode_block(fields), fields)
