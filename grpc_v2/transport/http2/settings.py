"""SETTINGS: the values that this server announces, and the values that the peer sends (RFC 9113 section 6.5)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from .errors import ConnectionProtocolError, ErrorCode
from .frames import DEFAULT_MAX_FRAME_BYTES, LARGEST_MAX_FRAME_BYTES, LARGEST_WINDOW
from .limits import Limits

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

DEFAULT_WINDOW: Final = 65_535
DEFAULT_HEADER_TABLE_BYTES: Final = 4_096

_ENTRY: Final = Struct(">HI")


def encode_settings(values: dict[int, int]) -> bytes:
    """Encode the payload of a SETTINGS frame."""
    return b"".join(_ENTRY.pack(identifier, value) for identifier, value in values.items())


def decode_settings(payload: bytes) -> list[tuple[int, int]]:
    """Return identifiers and values in wire order. Raises FRAME_SIZE_ERROR unless entries are six bytes each."""
    if len(payload) % _ENTRY.size:
        raise ConnectionProtocolError(ErrorCode.FRAME_SIZE_ERROR, f"SETTINGS payload of {len(payload)} bytes")
    return list(_ENTRY.iter_unpack(payload))


def announced(limits: Limits) -> bytes:
    """Return the payload of this server's first SETTINGS frame."""
    return encode_settings(
        {
            MAX_CONCURRENT_STREAMS: limits.max_concurrent_streams,
            INITIAL_WINDOW_SIZE: limits.stream_window_bytes,
            MAX_HEADER_LIST_SIZE: limits.max_header_list_bytes,
        }
    )


class PeerSettings:
    """The peer's limits for frames of this server, initially the protocol's defaults."""

    __slots__ = ("header_table_bytes", "initial_window", "max_frame_bytes")

    def __init__(self) -> None:
        self.header_table_bytes = DEFAULT_HEADER_TABLE_BYTES
        self.initial_window = DEFAULT_WINDOW
        self.max_frame_bytes = DEFAULT_MAX_FRAME_BYTES

    def apply(self, payload: bytes) -> None:
        """Apply the values of one SETTINGS frame. Identifiers that a server does not use are ignored.

        Raises FRAME_SIZE_ERROR, PROTOCOL_ERROR or FLOW_CONTROL_ERROR for values outside the ranges of RFC 9113.
        """
        for identifier, value in decode_settings(payload):
            if identifier == HEADER_TABLE_SIZE:
                self.header_table_bytes = value
            elif identifier == ENABLE_PUSH:
                if value > 1:
                    raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"ENABLE_PUSH {value}")
            elif identifier == INITIAL_WINDOW_SIZE:
                if value > LARGEST_WINDOW:
                    raise ConnectionProtocolError(ErrorCode.FLOW_CONTROL_ERROR, f"INITIAL_WINDOW_SIZE {value}")
                self.initial_window = value
            elif identifier == MAX_FRAME_SIZE:
                if not DEFAULT_MAX_FRAME_BYTES <= value <= LARGEST_MAX_FRAME_BYTES:
                    raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"MAX_FRAME_SIZE {value}")
                self.max_frame_bytes = value
