"""Ways to break an answer on purpose: what a network, a proxy or a dying broker does to a client.

Each touches only the output of the connection; the engine behind the call has no part in it.
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
    """What happens instead of an answer."""

    RESET_STREAM = "reset stream"  # RST_STREAM; the code is INTERNAL_ERROR unless given
    GO_AWAY = "go away"  # GOAWAY; open calls go on, new ones are refused; the code is NO_ERROR unless given
    RESET_CONNECTION = "reset connection"  # TCP RST, what was not yet written is thrown away
    HALF_FRAME = "half frame"  # headers, the first half of a DATA frame, then the orderly end of the connection
    STALL = "stall"  # nothing more is sent on the stream, and the client gets no more credit for it
    WRONG_TRAILERS = "wrong trailers"  # the answer ends well for HTTP/2, but without a grpc-status


_PROMISED_BYTES: Final = 64
_WITHOUT_STATUS: Final = encode_block([("x-broken", "trailers without a status")])


@dataclass(frozen=True, slots=True)
class Victim:
    """What is broken: a stream and its connection; `opened` says whether the answer has begun."""

    connection: Http2Connection
    stream: Stream
    opened: bool
    # The HTTP/2 error code that was asked for.
    code: int | None


def reset_stream(victim: Victim) -> None:
    """Reset the stream."""
    victim.connection.reset_stream(victim.stream, ErrorCode.INTERNAL_ERROR if victim.code is None else victim.code)


def go_away(victim: Victim) -> None:
    """Announce the end of the connection."""
    victim.connection.go_away(ErrorCode.NO_ERROR if victim.code is None else victim.code)


def reset_connection(victim: Victim) -> None:
    """Cut the connection."""
    victim.connection.close(Closing.ABORT)


def half_frame(victim: Victim) -> None:
    """Begin a DATA frame and end the connection in its middle."""
    _open(victim)
    promised = frame_head(DATA, 0, victim.stream.stream_id, _PROMISED_BYTES)
    victim.connection.inject(promised + bytes(_PROMISED_BYTES // 2))
    victim.connection.close(Closing.AFTER_OUTPUT)


def stall(victim: Victim) -> None:
    """Fall silent on the stream."""
    victim.connection.stall(victim.stream)


def wrong_trailers(victim: Victim) -> None:
    """End the stream without a status."""
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
"""After these nothing can be sent on the call."""
