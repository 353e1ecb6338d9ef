"""The HPACK encoder of one connection: recurring header blocks as references to the peer's dynamic table (RFC 7541).

The first block with a field inserts it, the next ones send its index: four bytes instead of 71 for the headers of a
gRPC response. Source of the behavior: HpackEncoder of Netty, which indexes the headers of each response (proxy 5.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from .header_blocks import STATIC_FIELDS, HeaderBlock, encode_field, encode_index, encode_integer, static_index
from .settings import DEFAULT_HEADER_TABLE_BYTES

ENTRY_BYTES: Final = 32
"""Size of an entry of the dynamic table in addition to its name and value (RFC 7541 section 4.1)."""
FIRST_DYNAMIC_INDEX: Final = len(STATIC_FIELDS) + 1
Fields = tuple[tuple[str, str], ...]


class HeaderEncoder:
    """The state of one connection's encoder.

    `prepared` has the blocks that need no insertion any more, in their present form. The next block must begin with
    `notice`, a table size update, which is empty unless the peer has shrunk its table.
    """

    __slots__ = ("_inserts", "_table", "_table_bytes", "notice", "prepared")

    def __init__(self) -> None:
        self.prepared: dict[HeaderBlock, HeaderBlock] = {}
        self.notice = b""
        # The fields in the peer's table, the newest first. Nothing is evicted: an entry that does not fit is literal.
        self._table: Fields = ()
        self._table_bytes = DEFAULT_HEADER_TABLE_BYTES
        self._inserts = True

    def encode(self, block: HeaderBlock) -> HeaderBlock:
        """Return a block as it must be sent next. The peer must receive the blocks in the order of these calls."""
        found = self.prepared.get(block)
        if found is not None:
            return found
        if not block.recurring or not self._inserts:
            return block
        encoded, table = _encoded(block.recurring, self._table, self._table_bytes)
        if table is self._table:
            self.prepared[block] = encoded
        else:
            self._table = table
            self.prepared.clear()  # each insertion moves the older entries
        return encoded

    def peer_table_bytes(self, size: int) -> None:
        """Use at most this size of the peer's table, in bytes. A table that was shrunk does not grow again."""
        if size < self._table_bytes:
            self._table_bytes = size
            self._table = _kept(self._table, size)
            self.prepared.clear()
            self.notice = encode_integer(size, 5, 0x20)

    @contextmanager
    def literally(self) -> Iterator[None]:
        """Encode blocks without the table in this context, because the peer may receive them late or never.

        If a table size update is due, the first of them has it, and so has the next block after the context: the first
        block that the peer receives must begin with it (RFC 7541, section 4.2). The update is then to 0, and the table
        is used no more, because the peer may have shrunk it again when a late block arrives.
        """
        if self.notice:
            self.peer_table_bytes(0)
        prepared, notice = self.prepared, self.notice
        self.prepared, self._inserts = {}, False
        try:
            yield
        finally:
            self.prepared, self._inserts = prepared, True
            self.notice = notice


@lru_cache(maxsize=256)
def _encoded(fields: Fields, table: Fields, most_bytes: int) -> tuple[HeaderBlock, Fields]:
    """Return a block and the peer's table after it: the same object if nothing was inserted."""
    pieces = []
    for name, value in fields:
        if static_index(name, value) is not None:
            pieces.append(encode_field(name, value))
        elif (name, value) in table:
            pieces.append(encode_index(FIRST_DYNAMIC_INDEX + table.index((name, value))))
        else:
            wider = ((name, value), *table)
            fits = _size(wider) <= most_bytes
            pieces.append(encode_field(name, value, insert=fits))
            table = wider if fits else table
    return HeaderBlock(b"".join(pieces)), table


def _kept(table: Fields, most_bytes: int) -> Fields:
    """Return the entries that the peer keeps when its table shrinks: it evicts the oldest."""
    while _size(table) > most_bytes:
        table = table[:-1]
    return table


def _size(table: Fields) -> int:
    return sum(len(name) + len(value) + ENTRY_BYTES for name, value in table)
