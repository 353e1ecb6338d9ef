"""Convert header blocks to request heads. Blocks may span several frames, and repeated blocks are cached."""

from __future__ import annotations

from typing import Final

from .errors import ConnectionProtocolError, ErrorCode
from .header_decoder import HeaderDecoder
from .limits import Limits
from .request_head import HeadReader, RequestHead

# Maximum length and number of cached header blocks.
_CACHED_BLOCK_BYTES: Final = 1_024
_CACHED_BLOCKS: Final = 64


class PendingBlock:
    """An incomplete header block. No other frames may arrive before its end."""

    __slots__ = ("_limits", "_pieces", "_size", "depends_on_itself", "flags", "stream_id")

    def __init__(self, limits: Limits, stream_id: int, flags: int, piece: bytes, *, depends_on_itself: bool) -> None:
        self.stream_id = stream_id
        # The flags of its HEADERS frame.
        self.flags = flags
        # True if the priority in its HEADERS frame names its own stream.
        self.depends_on_itself = depends_on_itself
        self._limits = limits
        self._pieces = [piece]
        self._size = len(piece)

    def add(self, piece: bytes) -> None:
        """Append a CONTINUATION frame. Raises ENHANCE_YOUR_CALM if the block exceeds the limits."""
        self._pieces.append(piece)
        self._size += len(piece)
        limits = self._limits
        if len(self._pieces) - 1 > limits.max_continuations:  # the first piece is of the HEADERS frame
            reason = f"header block with more than {limits.max_continuations} CONTINUATION frames"
            raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, reason)
        if self._size > limits.max_header_list_bytes:
            raise ConnectionProtocolError(ErrorCode.ENHANCE_YOUR_CALM, f"header block of {self._size} bytes")

    def whole(self) -> bytes:
        """Return the block."""
        return b"".join(self._pieces)


class RequestBlocks:
    """Decodes the header blocks of one connection, in order.

    Equal bytes mean an equal head while the dynamic table is unchanged. A client that repeats its block (C-core and Go
    do if their metadata repeats) costs one look-up per call.
    """

    __slots__ = ("_cache", "_decoder", "_reader", "_version")

    def __init__(self, limits: Limits) -> None:
        self._decoder = HeaderDecoder()
        self._reader = HeadReader(limits.max_header_list_bytes)
        self._cache: dict[bytes, RequestHead] = {}
        self._version = 0

    def decode(self, block: bytes) -> RequestHead | list[tuple[str, str]]:
        """Return the cached head of a block, else its header list. Raises COMPRESSION_ERROR.

        Every block must be decoded here, even that of an ignored request: the table must stay equal to the client's.
        """
        decoder = self._decoder
        if self._version != decoder.version:
            self._cache.clear()
            self._version = decoder.version
        return self._cache.get(block) or decoder.decode(block)

    def head(self, block: bytes, fields: list[tuple[str, str]]) -> RequestHead:
        """Return the head of the last decoded block and cache it. Raises MalformedRequestError."""
        head = self._reader.read(fields)
        if self._version == self._decoder.version and len(block) <= _CACHED_BLOCK_BYTES:
            if len(self._cache) >= _CACHED_BLOCKS:
                self._cache.clear()
            self._cache[block] = head
        return head
