"""Encode header blocks of responses in HPACK without an encoder's state (RFC 7541).

A gRPC server's responses use a handful of constant header lists. They are encoded as static-table references and
literals without indexing. A block therefore has the same bytes on every connection and is encoded once.
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

# A peer that shrinks the dynamic table expects a table size update in the next block (RFC 7541 section 4.2).
EMPTY_TABLE_NOTICE: Final = b"\x20"


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


def encode_field(name: str, value: str) -> bytes:
    """Encode one header field. Names are lower-case; text is Latin-1."""
    index = _STATIC_INDEX.get((name, value))
    if index is not None:
        return encode_integer(index, 7, 0x80)
    data = value.encode("latin-1")
    index = _STATIC_NAME.get(name)
    if index is not None:
        head = encode_integer(index, 4)
    else:
        raw = name.encode("latin-1")
        head = b"\x00" + encode_integer(len(raw), 7) + raw
    return head + encode_integer(len(data), 7) + data


def encode_block(fields: Iterable[tuple[str, str]]) -> bytes:
    """Encode a header block."""
    return b"".join([encode_field(name, value) for name, value in fields])


class HeaderBlock:
    """A frequently sent header block, with the constant part of its HEADERS frame prepared."""

    __slots__ = ("block", "ending_prefix", "prefix")

    def __init__(self, block: bytes) -> None:
        self.block = block
        # Length, type and flags: the frame's head without the stream id.
        self.prefix = frame_head(HEADERS, END_HEADERS, 0, len(block))[:5]
        self.ending_prefix = frame_head(HEADERS, END_HEADERS | END_STREAM, 0, len(block))[:5]

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]]) -> HeaderBlock:
        """Encode a header list."""
        return cls(encode_block(fields))
