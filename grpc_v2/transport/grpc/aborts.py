"""Ways to break a response on purpose, as a network, a proxy or a crashing broker does.

Each affects only the output of the connection. The engine behind the call is not involved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..http2.connection import Closing, Http2Connection
from ..http2.errors import ErrorCode
from ..http2.frames import DATA, frame_head
from ..http2.header_blocks import encode_block
from ..http2.stream import Stream
from .answers import OPENING


class Abort(Enum):
    """The fault that replaces a response."""

    RESET_STREAM = "reset stream"  # RST_STREAM; the default code is INTERNAL_ERROR
    GO_AWAY = "go away"  # GOAWAY; open calls continue, new ones are refused; the default code is NO_ERROR
    RESET_CONNECTION = "reset connection"  # TCP RST; unwritten output is discarded
    HALF_FRAME = "half frame"  # headers, the first half of a DATA frame, then a graceful close of the connection
    STALL = "stall"  # nothing more is sent on the stream, and the client gets no more credit for it
    WRONG_TRAILERS = "wrong trailers"  # the response is complete for HTTP/2, but has no grpc-status


_PROMISED_BYTES: Final = 64
_WITHOUT_STATUS: Final = encode_block([("x-broken", "trailers without a status")])


@dataclass(frozen=True, slots=True)
class Victim:
    """The stream to break, and its connection. `opened` is True if the response has started."""

    connection: Http2Connection
    stream: Stream
    opened: bool
    # The requested HTTP/2 error code.
    code: int | None


def reset_stream(victim: Victim) -> None:
    """Reset the stream."""
    victim.connection.reset_stream(victim.stream, ErrorCode.INTERNAL_ERROR if victim.code is None else victim.code)


def go_away(victim: Victim) -> None:
    """Announce the end of the connection with GOAWAY."""
    victim.connection.go_away(ErrorCode.NO_ERROR if victim.code is None else victim.code)


def reset_connection(victim: Victim) -> None:
    """Reset the TCP connection."""
    victim.connection.close(Closing.ABORT)


def half_frame(victim: Victim) -> None:
    """Send half of a DATA frame and close the connection."""
    _open(victim)
    promised = frame_head(DATA, 0, victim.stream.stream_id, _PROMISED_BYTES)
    victim.connection.inject(promised + bytes(_PROMISED_BYTES // 2))
    victim.connection.close(Closing.AFTER_OUTPUT)


def stall(victim: Victim) -> None:
    """Send nothing more on the stream."""
    victim.connection.stall(victim.stream)


def wrong_trailers(victim: Victim) -> None:
    """End the stream without a grpc-status."""
    _open(victim)
    victim.connection.send_end(victim.stream, _WITHOUT_STATUS)


def _open(victim: Victim) -> None:
    if not victim.opened:
        victim.connection.send_headers(victim.stream, OPENING.block)


ABORTS: Final[dict[Abort, Callable[[Victim], None]]] = {
    Abort.RESET_STREAM: reset_stream,
    Abort.GO_AWAY: go_away,
    Abort.RESET_CONNECTION: reset_connection,
    Abort.HALF_FRAME: half_frame,
    Abort.STALL: stall,
    Abort.WRONG_TRAILERS: wrong_trailers,
}
ENDING: Final = frozenset({Abort.RESET_STREAM, Abort.RESET_CONNECTION, Abort.HALF_FRAME, Abort.WRONG_TRAILERS})
"""Faults after which nothing can be sent on the call."""
