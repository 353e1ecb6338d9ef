"""HTTP/2 frames (RFC 9113 section 6): type numbers, flags, encoders of a server's frames, and edits of encoded frames.

A frame is nine bytes of head (24-bit length, type, flags, 31-bit stream id) and the payload. The type numbers are plain
integers because the receive loop compares them for every frame.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from .errors import ErrorCode

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20

HEAD_BYTES: Final = 9
DEFAULT_MAX_FRAME_BYTES: Final = 16_384
LARGEST_MAX_FRAME_BYTES: Final = (1 << 24) - 1
STREAM_ID_MASK: Final = 0x7FFF_FFFF
LARGEST_WINDOW: Final = 0x7FFF_FFFF

# length (high byte, low half), type, flags, stream id with its reserved bit
HEAD: Final = Struct(">BHBBI")
_WORD: Final = Struct(">I")
_TWO_WORDS: Final = Struct(">II")


def frame_head(kind: int, flags: int, stream_id: int, length: int) -> bytes:
    """Return the nine-byte head of a frame with a payload of `length` bytes."""
    return HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, stream_id)


def frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """Return one whole frame."""
    return frame_head(kind, flags, stream_id, len(payload)) + payload


def rst_stream(stream_id: int, code: int) -> bytes:
    """Return a RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream_id, _WORD.pack(code))


def window_update(stream_id: int, increment: int) -> bytes:
    """Return a WINDOW_UPDATE frame. Stream 0 is the connection; `increment` is 1 to 2**31 - 1 bytes."""
    return frame(WINDOW_UPDATE, 0, stream_id, _WORD.pack(increment))


def go_away(last_stream_id: int, code: int, debug: str = "") -> bytes:
    """Return a GOAWAY frame. `debug` is text for the peer's log."""
    return frame(GOAWAY, 0, 0, _TWO_WORDS.pack(last_stream_id, code) + debug.encode("utf-8"))


def ping(opaque: bytes, *, ack: bool) -> bytes:
    """Return a PING frame with eight bytes of `opaque` data."""
    return frame(PING, ACK if ack else 0, 0, opaque)


def settings(payload: bytes = b"", *, ack: bool = False) -> bytes:
    """Return a SETTINGS frame, or with `ack` the empty acknowledgement."""
    return frame(SETTINGS, ACK if ack else 0, 0, payload)


def header_frames(stream_id: int, block: bytes, max_frame_bytes: int, *, end_stream: bool) -> bytes:
    """Return a HEADERS frame, with CONTINUATION frames if the block exceeds the peer's frame size."""
    flags = END_STREAM if end_stream else 0
    if len(block) <= max_frame_bytes:
        return frame(HEADERS, flags | END_HEADERS, stream_id, block)
    pieces = [block[at : at + max_frame_bytes] for at in range(0, len(block), max_frame_bytes)]
    parts = [frame(HEADERS, flags, stream_id, pieces[0])]
    parts += [frame(CONTINUATION, 0, stream_id, piece) for piece in pieces[1:-1]]
    parts.append(frame(CONTINUATION, END_HEADERS, stream_id, pieces[-1]))
    return b"".join(parts)


def error_code(number: int) -> ErrorCode:
    """Return the error code with a number. An unknown number counts as INTERNAL_ERROR (RFC 9113 section 7)."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.INTERNAL_ERROR


def split_frames(data: bytes) -> list[bytes]:
    """Split bytes into frames. If the bytes end within a frame, the last item is a part of it."""
    found = []
    at = 0
    while at < len(data):
        end = at + HEAD_BYTES + int.from_bytes(data[at : at + 3], "big")
        found.append(data[at:end])
        at = end
    return found


def stream_id_of(frame: bytes) -> int:
    """Return the stream id of a frame."""
    return int.from_bytes(frame[5:9], "big") & STREAM_ID_MASK


def with_stream_id(frame: bytes, stream_id: int) -> bytes:
    """Return a frame with another stream id."""
    return frame[:5] + stream_id.to_bytes(4, "big") + frame[9:]
