"""Header blocks of requests on their way to heads: blocks spread over frames, and blocks that were seen before."""

from __future__ import annotations

from typing import Final

from .errors import ConnectionProtocolError, ErrorCode
from .header_decoder import HeaderDecoder
from .limits import Limits
from .request_head import HeadReader, RequestHead

# Header blocks are remembered up to this length and number.
_REMEMBERED_BLOCK_BYTES: Final = 1_024
_REMEMBERED_BLOCKS: Final = 64


class PendingBlock:
    """A header block of which more frames are to come; nothing else may come between them."""

    __slots__ = ("_limits", "_pieces", "_size", "flags", "stream_id")

    def __init__(self, limits: Limits, stream_id: int, flags: int, piece: bytes) -> None:
        self.stream_id = stream_id
        # The flags of the HEADERS frame that began it.
        self.flags = flags
        self._limits = limits
        self._pieces = [piece]
        self._size = len(piece)

    def add(self, piece: bytes) -> None:
        """Append a CONTINUATION; raises ENHANCE_YOUR_CALM when the block grows beyond the limits."""
        self._pieces.append(piece)
        self._size += len(piece)
        if len(self._pieces) > self._limits.max_continuations or self._size > self._limits.max_header_list_bytes:
            raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, "a header block without an end")

    def whole(self) -> bytes:
        """Return the block."""
        return b"".join(self._pieces)


class RequestBlocks:
    """Decodes the blocks of one connection in their order.

    Equal bytes mean an equal head as long as the dynamic table stays the same, so a client that repeats its block
    (C-core and Go do when their metadata repeats) costs one look-up for each call.
    """

    __slots__ = ("_decoder", "_reader", "_remembered", "_version")

    def __init__(self, limits: Limits) -> None:
        self._decoder = HeaderDecoder()
        self._reader = HeadReader(limits.max_header_list_bytes)
        self._remembered: dict[bytes, RequestHead] = {}
        self._version = 0

    def decode(self, block: bytes) -> RequestHead | list[tuple[str, str]]:
        """Return the remembered head of a block, or else its header list; raises COMPRESSION_ERROR.

        Every block has to come through here, wanted or not: the table must stay equal to the client's.
        """
        decoder = self._decoder
        if self._version != decoder.version:
            self._remembered.clear()
            self._version = decoder.version
        return self._remembered.get(block) or decoder.decode(block)

    def head(self, block: bytes, fields: list[tuple[str, str]]) -> RequestHead:
        """Return the head that the last decoded block means; raises MalformedRequestError."""
        head = self._reader.read(fields)
        if self._version == self._decoder.version and len(block) <= _REMEMBERED_BLOCK_BYTES:
            if len(self._remembered) >= _REMEMBERED_BLOCKS:
                self._remembered.clear()
            self._remembered[block] = head
        return head
