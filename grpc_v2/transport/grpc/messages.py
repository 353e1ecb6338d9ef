"""Length-prefixed messages in the body of a request: one flag byte, four bytes of length, the message."""

from __future__ import annotations

import zlib
from typing import Final

from .status import StatusCode, StatusError

PREFIX_BYTES: Final = 5
_GZIP_WINDOW: Final = 31


class MessageReader:
    """Splits the body of one request into messages.

    It buffers at most one message of the maximum size, plus the bytes received together with its end. A longer message
    is rejected as soon as its length is known.
    """

    __slots__ = ("_buffer", "_gzip", "_max_bytes", "_size")

    def __init__(self, max_bytes: int, *, gzip: bool) -> None:
        self._buffer = bytearray()
        self._max_bytes = max_bytes
        self._gzip = gzip
        # Size of prefix and message together; None until the prefix has arrived.
        self._size: int | None = None

    def feed(self, payload: bytes | memoryview) -> None:
        """Append a piece of the body."""
        self._buffer += payload

    def take(self) -> bytes | None:
        """Return the next complete message, None if more bytes are needed.

        Raises StatusError for an invalid message.
        """
        buffer = self._buffer
        size = self._size
        if size is None:
            if len(buffer) < PREFIX_BYTES:
                return None
            length = int.from_bytes(buffer[1:PREFIX_BYTES], "big")
            if length > self._max_bytes:
                raise too_long(length, self._max_bytes)
            size = self._size = length + PREFIX_BYTES
        if len(buffer) < size:
            return None
        flag = buffer[0]
        with memoryview(buffer) as view:
            message = bytes(view[PREFIX_BYTES:size])
        del buffer[:size]
        self._size = None
        return message if flag == 0 else self._decompress(flag, message)

    @property
    def empty(self) -> bool:
        """True if no bytes of a further message have arrived."""
        return not self._buffer

    def _decompress(self, flag: int, message: bytes) -> bytes:
        if flag != 1:
            raise StatusError(StatusCode.INTERNAL, f"message with unknown flags {flag:#04x}")
        if not self._gzip:
            raise StatusError(StatusCode.INTERNAL, "compressed message in a request without grpc-encoding")
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        try:
            plain = unpacker.decompress(message, self._max_bytes + 1)
        except zlib.error as error:
            raise StatusError(StatusCode.INTERNAL, f"message is not gzip: {error}") from None
        if len(plain) > self._max_bytes:
            raise StatusError(
                StatusCode.RESOURCE_EXHAUSTED, f"decompressed gRPC message exceeds maximum size {self._max_bytes}"
            )
        if not unpacker.eof or unpacker.unused_data:
            raise StatusError(StatusCode.INTERNAL, "message is not one whole gzip stream")
        return plain


def too_long(length: int, max_bytes: int) -> StatusError:
    """Return the error for a message of `length` bytes."""
    return StatusError(StatusCode.RESOURCE_EXHAUSTED, f"gRPC message exceeds maximum size {max_bytes}: {length}")
