"""One HTTP/2 stream on the server side, and the protocols of its two neighbors: the application and the output."""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from .errors import ErrorCode
from .header_blocks import HeaderBlock
from .stream_table import StreamState

if TYPE_CHECKING:
    from .request_head import RequestHead


class Closing(IntEnum):
    """The time at which the owner of the socket closes it."""

    NO = 0
    """Not yet: the connection stays open."""
    AFTER_OUTPUT = 1
    ABORT = 2
    """At once, with the output discarded."""


class Output(Protocol):
    """The sending side of the stream's connection."""

    def respond(  # noqa: PLR0917  # called for each response: keywords would cost it time
        self, stream: Http2Stream, head: HeaderBlock, prefix: bytes, message: bytes, trailers: HeaderBlock
    ) -> None:
        """Send a complete response: headers, body (`prefix` and `message`), trailers."""

    def send_headers(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that opens a response."""

    def send_data(self, stream: Http2Stream, payload: bytes) -> None:
        """Send a piece of a response's body. It is queued until the peer gives credit."""

    def send_end(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that ends a response."""

    def reset_stream(self, stream: Http2Stream, code: int) -> None:
        """Reset a stream with an error code."""

    def go_away(self, code: int, debug: str = "") -> None:
        """Refuse new streams from now on, and close after the last open one."""

    def stall(self, stream: Http2Stream) -> None:
        """Send nothing more on a stream, and give the client no more credit for it."""

    def inject(self, data: bytes) -> None:
        """Write raw bytes to the output, to break the protocol on purpose."""

    def close(self, closing: Closing) -> None:
        """Close the socket."""


class Receiver(Protocol):
    """Receives the request of one stream."""

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Receive a piece of the body. `ended` is True for the last one."""

    def client_lost(self, reason: str) -> None:
        """Cancel the request: no response to it can be sent any more."""


class Application(Protocol):
    """Receives the requests of a connection."""

    def begin(self, stream: Http2Stream, head: RequestHead) -> Receiver | None:
        """Start a new request. Returns the receiver of its body, None if the response is complete already."""

    def failed(self, receiver: Receiver | None, code: ErrorCode, reason: str) -> None:
        """Report a stream that the connection resets, or the failure of the whole connection.

        `receiver` is None for the connection and for a stream whose request has none.
        """


class Http2Stream:
    """One request and its response."""

    __slots__ = (
        "body_left",
        "credit",
        "ending",
        "output",
        "queue",
        "receive_window",
        "receiver",
        "stalled",
        "state",
        "stream_id",
    )

    def __init__(self, output: Output, stream_id: int, receive_window: int) -> None:
        self.output = output
        self.stream_id = stream_id
        self.state = StreamState.IDLE
        self.receiver: Receiver | None = None
        # Remaining bytes according to the client's content-length; None without content-length.
        self.body_left: int | None = None
        # Bytes of DATA that the client may still send on this stream.
        self.receive_window = receive_window
        # Bytes of credit from WINDOW_UPDATE minus bytes sent. The stream's window is this plus the peer's initial
        # window. A change of the initial window therefore needs no update of open streams.
        self.credit = 0
        # DATA that waits for credit, and the header block that ends the stream after it.
        self.queue: deque[bytes | memoryview] | None = None
        self.ending: HeaderBlock | None = None
        # A stalled stream sends nothing and gives no credit (an injected fault).
        self.stalled = False
