"""Ways to break a response on purpose, as a network, a proxy or a crashing broker does.

Each affects only the output of the connection. The engine behind the call is not involved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..http2.errors import ErrorCode
from ..http2.frames import DATA, frame_head
from ..http2.header_blocks import HeaderBlock
from ..http2.stream import Closing, Http2Stream, Output
from .response_headers import RESPONSE_HEADERS


class Abort(Enum):
    """The fault that replaces a response."""

    RESET_STREAM = "reset stream"  # RST_STREAM; the default code is INTERNAL_ERROR
    GO_AWAY = "go away"  # GOAWAY; open calls continue, new ones are refused; the default code is NO_ERROR
    RESET_CONNECTION = "reset connection"  # TCP RST; unwritten output is discarded
    HALF_FRAME = "half frame"  # headers, the first half of a DATA frame, then a graceful close of the connection
    STALL = "stall"  # nothing more is sent on the stream, and the client gets no more credit for it
    WRONG_TRAILERS = "wrong trailers"  # the response is complete for HTTP/2, but has no grpc-status


_PROMISED_BYTES: Final = 64
"""The payload length in the head of the DATA frame whose first half `half_frame` sends."""
_WITHOUT_STATUS: Final = HeaderBlock.of([("x-broken", "trailers without a status")])


@dataclass(frozen=True, slots=True)
class AbortTarget:
    """The stream to break, and its connection's output. `opened` is True if the response has started."""

    output: Output
    stream: Http2Stream
    opened: bool
    # The requested HTTP/2 error code.
    code: int | None


def reset_stream(target: AbortTarget) -> None:
    """Reset the stream."""
    target.output.reset_stream(target.stream, ErrorCode.INTERNAL_ERROR if target.code is None else target.code)


def go_away(target: AbortTarget) -> None:
    """Announce the end of the connection with GOAWAY."""
    target.output.go_away(ErrorCode.NO_ERROR if target.code is None else target.code)


def reset_connection(target: AbortTarget) -> None:
    """Reset the TCP connection."""
    target.output.close(Closing.ABORT)


def half_frame(target: AbortTarget) -> None:
    """Send half of a DATA frame and close the connection."""
    _open(target)
    promised = frame_head(DATA, 0, target.stream.stream_id, _PROMISED_BYTES)
    target.output.inject(promised + bytes(_PROMISED_BYTES // 2))
    target.output.close(Closing.AFTER_OUTPUT)


def stall(target: AbortTarget) -> None:
    """Send nothing more on the stream."""
    target.output.stall(target.stream)


def wrong_trailers(target: AbortTarget) -> None:
    """End the stream without a grpc-status."""
    _open(target)
    target.output.send_end(target.stream, _WITHOUT_STATUS)


def _open(target: AbortTarget) -> None:
    if not target.opened:
        target.output.send_headers(target.stream, RESPONSE_HEADERS)


ABORTS: Final[dict[Abort, Callable[[AbortTarget], None]]] = {
    Abort.RESET_STREAM: reset_stream,
    Abort.GO_AWAY: go_away,
    Abort.RESET_CONNECTION: reset_connection,
    Abort.HALF_FRAME: half_frame,
    Abort.STALL: stall,
    Abort.WRONG_TRAILERS: wrong_trailers,
}
ENDS_CALL: Final = frozenset({Abort.RESET_STREAM, Abort.RESET_CONNECTION, Abort.HALF_FRAME, Abort.WRONG_TRAILERS})
"""Faults after which nothing can be sent on the call."""
