"""Split a byte stream into frames, and encode frames.

It knows lengths and header types. It must not know the content of a header. `frame_layout` declares the layout.
Source: NettyDecoder, NettyEncoder, RemotingCommand (5.3.3).
"""

from collections.abc import Iterable, Iterator
from struct import Struct

from . import header_binary, header_json
from .command import RemotingCommand
from .errors import ProtocolError

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Maximum length of a frame, in bytes (com.rocketmq.remoting.frameMaxLength)."""

JSON = 0
ROCKETMQ = 1

HEADER_BYTES_MAX = 4 * 1024 * 1024
"""Maximum length of a header, in bytes. Upstream limits only the frame. Real headers are below a hundredth of this."""

_HEAD = Struct(">II")


_SMALL_BYTES = 4096
"""Shorter pieces of a frame are appended to one buffer: each object of its own has an overhead of forty bytes."""
_JOINED_BYTES = 64 * 1024
"""A longer buffer is not appended to, because it may be copied then."""


class FrameSplitter:
    """Splits a stream into (serialize type, header, body).

    Bytes of an unfinished frame are kept until it is complete, and joined then.
    """

    def __init__(self) -> None:
        self._chunks: list[bytes | bytearray] = []
        self._have = 0
        self._need = 0

    def feed(self, data: bytes) -> Iterable[tuple[int, bytes, bytes]]:
        """Append received bytes and yield the complete frames. Raises ProtocolError for invalid bytes."""
        if not self._have and len(data) >= _HEAD.size:
            length, word = _HEAD.unpack_from(data)
            header_length = word & 0xFFFFFF
            if length + 4 == len(data) and 4 + header_length <= length <= _SMALL_BYTES:  # one frame, the usual case
                body_at = 8 + header_length
                return ((word >> 24, data[8:body_at], data[body_at:]),)
        return self._split(data)

    def _split(self, data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        if self._have:
            self._keep(data)
            if self._have < self._need:
                return
            data = b"".join(self._chunks)
            self._chunks.clear()
            self._have = 0
        at, end = 0, len(data)
        unpack = _HEAD.unpack_from
        while end - at >= 8:
            length, word = unpack(data, at)
            header_length = word & 0xFFFFFF
            if length > MAX_FRAME_BYTES:
                raise ProtocolError(f"frame of {length} bytes, the limit is {MAX_FRAME_BYTES}")
            if length < 4 + header_length:
                raise ProtocolError(f"header of {header_length} bytes in a frame of {length}")
            if header_length > HEADER_BYTES_MAX:
                raise ProtocolError(f"header of {header_length} bytes, the limit is {HEADER_BYTES_MAX}")
            body_at = at + 8 + header_length
            frame_end = at + 4 + length
            if frame_end > end:
                self._need = frame_end - at
                break
            header, body = data[at + 8 : body_at], data[body_at:frame_end]
            if frame_end == end:  # do not keep two copies of a large frame while it is handled
                data = b""
                yield word >> 24, header, body
                return
            at = frame_end
            yield word >> 24, header, body
            del header, body
        else:
            self._need = 8 if end - at >= 4 else 4
            if end - at >= 4 and (length := int.from_bytes(data[at : at + 4], "big")) < 4:
                raise ProtocolError(f"frame of {length} bytes, which has no room for the length of its header")
        if at < end:
            self._chunks.append(data[at:] if at else data)
            self._have = end - at

    def _keep(self, data: bytes) -> None:
        """Keep a further piece of the unfinished frame."""
        self._have += len(data)
        last = self._chunks[-1]
        if len(data) >= _SMALL_BYTES:
            self._chunks.append(data)
        elif isinstance(last, bytearray) and len(last) < _JOINED_BYTES:
            last += data
        else:
            self._chunks.append(bytearray(data))


def decode(serialize_type: int, header: bytes, body: bytes) -> RemotingCommand:
    """Decode a frame. Raises ProtocolError."""
    if serialize_type == JSON:
        return header_json.decode(header, body)
    if serialize_type == ROCKETMQ:
        return header_binary.decode(header, body)
    raise ProtocolError(f"unknown serialize type {serialize_type}")


def encode(command: RemotingCommand) -> bytes:
    """Encode a command as a frame, with the serialize type of the command."""
    binary = command.serialize_type == ROCKETMQ
    header = header_binary.encode(command) if binary else header_json.encode(command)
    return join(header, command.body, command.serialize_type)


def join(header: bytes, body: bytes = b"", serialize_type: int = JSON) -> bytes:
    """Encode a frame from a header and a body."""
    size = len(header)
    return _HEAD.pack(4 + size + len(body), serialize_type << 24 | size) + header + body
