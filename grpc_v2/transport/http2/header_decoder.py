"""Decode header blocks of requests from HPACK (RFC 7541).

It uses the tables of the `hpack` library with its own field loop and dynamic table. Java and Go clients put most fields
of every call into the dynamic table. The decoder therefore runs for every call and is its most expensive part. A
property test compares this decoder with `hpack.Decoder`.

Text is Latin-1: gRPC metadata is printable ASCII, and Latin-1 preserves all other bytes.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from .errors import ConnectionProtocolError, ErrorCode
from .header_blocks import STATIC_FIELDS
from .huffman import HuffmanError, decode_huffman

ENTRY_OVERHEAD_BYTES: Final = 32
_FIELDS: Final = (("", ""), *STATIC_FIELDS)
_FIRST_DYNAMIC: Final = len(_FIELDS)
# An integer with more continuation bytes than this cannot be a valid length or index.
_LONGEST_INTEGER: Final = 5
# Maximum length and number of cached Huffman strings.
_MEMO_BYTES: Final = 128
_MEMO_ENTRIES: Final = 512


def _broken(reason: str) -> ConnectionProtocolError:
    return ConnectionProtocolError(ErrorCode.COMPRESSION_ERROR, reason)


class HeaderDecoder:
    """The HPACK decoder of one connection. `max_table_bytes` is the table size that this side announced."""

    __slots__ = ("_memo", "_size", "_table", "_table_bytes", "max_table_bytes", "version")

    def __init__(self, max_table_bytes: int = 4_096) -> None:
        self.max_table_bytes = max_table_bytes
        # Changes with the dynamic table. While it is unchanged, equal blocks have equal headers.
        self.version = 0
        self._table: deque[tuple[str, str]] = deque()
        self._table_bytes = max_table_bytes
        self._size = 0
        self._memo: dict[bytes, str] = {}

    def decode(self, block: bytes) -> list[tuple[str, str]]:
        """Decode a whole block. Raises COMPRESSION_ERROR, after which the connection is unusable."""
        try:
            return self._decode(block)
        except IndexError:
            raise _broken("header block ends inside a field") from None

    def _decode(self, block: bytes) -> list[tuple[str, str]]:
        fields: list[tuple[str, str]] = []
        table = self._table
        at = 0
        end = len(block)
        while at < end:
            first = block[at]
            at += 1
            if first >= 0x80:
                index = first & 0x7F
                if index == 0x7F:
                    index, at = _integer(block, at, 0x7F)
                fields.append(_FIELDS[index] if 0 < index < _FIRST_DYNAMIC else self._dynamic(index))
                continue
            if first >= 0x40:
                index = first & 0x3F
                limit = 0x3F
            elif first >= 0x20:
                size = first & 0x1F
                if size == 0x1F:
                    size, at = _integer(block, at, 0x1F)
                if fields:
                    raise _broken("table size update after a header field")
                self._resize(size)
                continue
            else:
                index = first & 0x0F
                limit = 0x0F
            if index == limit:
                index, at = _integer(block, at, limit)
            if index:
                name = (_FIELDS[index] if index < _FIRST_DYNAMIC else self._dynamic(index))[0]
            else:
                length = block[at]
                at += 1
                coded = length >= 0x80
                length &= 0x7F
                if length == 0x7F:
                    length, at = _integer(block, at, 0x7F)
                raw = block[at : at + length]
                at += length
                name = self._huffman(raw) if coded else str(raw, "latin-1")
            length = block[at]
            at += 1
            coded = length >= 0x80
            length &= 0x7F
            if length == 0x7F:
                length, at = _integer(block, at, 0x7F)
            raw = block[at : at + length]
            at += length
            if at > end:
                raise _broken("header block ends inside a string")
            value = self._huffman(raw) if coded else str(raw, "latin-1")
            field = (name, value)
            fields.append(field)
            if limit == 0x3F:
                self.version += 1
                self._size += ENTRY_OVERHEAD_BYTES + len(name) + len(value)
                table.appendleft(field)
                if self._size > self._table_bytes:
                    self._evict()
        return fields

    def _dynamic(self, index: int) -> tuple[str, str]:
        position = index - _FIRST_DYNAMIC
        if not 0 <= position < len(self._table):
            raise _broken(f"no header field has index {index}")
        return self._table[position]

    def _resize(self, size: int) -> None:
        if size > self.max_table_bytes:
            raise _broken(f"table size update to {size}, allowed are {self.max_table_bytes}")
        self.version += 1
        self._table_bytes = size
        self._evict()

    def _evict(self) -> None:
        table = self._table
        while self._size > self._table_bytes:
            name, value = table.pop()
            self._size -= ENTRY_OVERHEAD_BYTES + len(name) + len(value)

    def _huffman(self, raw: bytes) -> str:
        text = self._memo.get(raw)
        if text is None:
            try:
                text = decode_huffman(raw)
            except HuffmanError as error:
                raise _broken(str(error)) from None
            if len(raw) <= _MEMO_BYTES:
                if len(self._memo) >= _MEMO_ENTRIES:
                    self._memo.clear()
                self._memo[raw] = text
        return text


def _integer(block: bytes, at: int, prefix: int) -> tuple[int, int]:
    """Decode the rest of an integer whose prefix bits are all ones. Returns it and the position after it."""
    value = prefix
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= 7 * _LONGEST_INTEGER:
            raise _broken("integer too long in a header block")
