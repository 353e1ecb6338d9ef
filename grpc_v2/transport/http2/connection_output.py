"""The sending side of one HTTP/2 connection: responses, resets, and how the connection ends.

It writes to no socket and closes none: the owner of the socket takes the output, and closes the socket as `closing`
says. It must not know requests or gRPC.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from . import frames
from .errors import ErrorCode
from .frames import STREAM_ID_MASK
from .header_blocks import HeaderBlock
from .sender import FrameSender
from .settings import INITIAL_WINDOW_SIZE, PeerSettings, encode_settings
from .stream import Closing, Http2Stream
from .stream_registry import StreamRegistry
from .stream_table import TRANSITIONS, StreamAction, StreamEvent, StreamState

DRAIN_PING: Final = b"draining"
"""Payload of the PING that follows the first GOAWAY of a graceful close."""
DRAIN_REASON: Final = "app_requested"
"""Debug text of the GOAWAY frames of a graceful close."""


class Draining(IntEnum):
    """The progress of a graceful close."""

    NO = 0
    ANNOUNCED = 1  # GOAWAY was sent; requests already sent by the client are still accepted
    REFUSING = 2  # new requests are refused; the connection closes with its last stream


class ConnectionOutput:
    """The output of one connection.

    `on_output` is called after each change while no input is being processed: there may be output, or `closing` may be
    set. Its argument is False if more output of the same response is expected.
    """

    __slots__ = (
        "_on_output",
        "closing",
        "draining",
        "failure",
        "ignores_pings",
        "receiving",
        "registry",
        "sender",
        "streams",
        "withholds_credit",
    )

    def __init__(self, peer: PeerSettings, on_output: Callable[[bool], None]) -> None:
        self._on_output = on_output
        self.sender = FrameSender(peer, self._ended)
        self.registry = StreamRegistry()
        # Open streams by id.
        self.streams = self.registry.open
        # True while input is processed: the output is then taken after it.
        self.receiving = False
        self.draining = Draining.NO
        self.closing = Closing.NO
        # The reason why the connection failed, for the log.
        self.failure: str | None = None
        # Injected faults: PINGs get no response, and the client gets no more credit for request bodies.
        self.ignores_pings = False
        self.withholds_credit = False

    # Called by the owner of the socket.

    def take(self) -> bytes:
        """Return and clear the output."""
        output = self.sender.output
        if not output:
            return b""
        data = b"".join(output)
        output.clear()
        return data

    def captured(self, deliver: Callable[[], None]) -> bytes:
        """Return the output of `deliver`, which the caller may send later or never. Output before it stays."""
        before, receiving = self.take(), self.receiving
        self.receiving = True
        try:
            with self.sender.encoder.literally():
                deliver()
        finally:
            self.receiving = receiving
        data = self.take()
        if before:
            self.sender.output.append(before)
        return data

    def drain(self) -> None:
        """Close gracefully: send GOAWAY, accept requests in flight, close after the last one (RFC 9113 section 6.8).

        Source: NettyServerHandler.GracefulShutdown of grpc-java, which 5.3.3 uses.
        """
        if self.closing or self.draining:
            return
        self.draining = Draining.ANNOUNCED
        away = frames.go_away(STREAM_ID_MASK, ErrorCode.NO_ERROR, DRAIN_REASON)
        self.inject(away + frames.ping(DRAIN_PING, ack=False))

    # Called by the application.

    def respond(  # noqa: PLR0917  # called for each response: keywords would cost it time
        self, stream: Http2Stream, head: HeaderBlock, prefix: bytes, message: bytes, trailers: HeaderBlock
    ) -> None:
        """Send a complete response: headers, body (`prefix` and `message`), trailers."""
        if self.closing:
            return
        self.sender.respond(stream, head, prefix, message, trailers)
        self._changed()

    def send_headers(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that opens a response."""
        if self.closing:
            return
        self.sender.headers(stream, block)
        self._changed(final=False)

    def send_data(self, stream: Http2Stream, payload: bytes) -> None:
        """Send a piece of a response's body. It is queued until the peer gives credit."""
        if self.closing:
            return
        self.sender.data(stream, payload)
        self._changed(final=False)

    def send_end(self, stream: Http2Stream, block: HeaderBlock) -> None:
        """Send the header block that ends a response."""
        if self.closing:
            return
        self.sender.end(stream, block)
        self._changed()

    def reset_stream(self, stream: Http2Stream, code: int) -> None:
        """Reset a stream with an error code."""
        action, state = TRANSITIONS[stream.state, StreamEvent.SERVER_RESET]
        if action is StreamAction.RESET and not self.closing:
            self.sender.output.append(frames.rst_stream(stream.stream_id, code))
            self.remove_stream(stream, state)
            self._changed()

    def go_away(self, code: int, debug: str = "") -> None:
        """Refuse new streams from now on, and close after the last open one."""
        if self.closing:
            return
        self.draining = Draining.REFUSING
        self.sender.output.append(frames.go_away(self.registry.last_id, code, debug))
        self._close_when_drained()
        self._changed()

    def stall(self, stream: Http2Stream) -> None:
        """Send nothing more on a stream, and give the client no more credit for it."""
        self.sender.stall(stream)

    def inject(self, data: bytes) -> None:
        """Write bytes to the output as they are: whole frames, or a fault's bytes that break the protocol."""
        if not self.closing:
            self.sender.output.append(data)
            self._changed()

    def withhold_credit(self) -> None:
        """Give the client no more credit for request bodies: close the windows of all streams, also of new ones."""
        if not self.withholds_credit:
            self.withholds_credit = True
            self.inject(frames.settings(encode_settings({INITIAL_WINDOW_SIZE: 0})))

    def close(self, closing: Closing) -> None:
        """Have the owner close the socket: after the output, or at once with the output discarded."""
        if closing is Closing.ABORT:
            self.sender.output.clear()
        self.closing = max(self.closing, closing)
        self._changed()

    # Called by the receiving side.

    def remove_stream(self, stream: Http2Stream, state: StreamState) -> None:
        """Remove a stream, and store its final state."""
        if stream.queue is not None:
            self.sender.discard_unsent(stream)
        self.registry.remove(stream, state)
        if self.draining:
            self._close_when_drained()

    def fail(self, code: ErrorCode, reason: str) -> None:
        """End the connection with GOAWAY, because the client broke the protocol."""
        self.failure = f"{code.name}: {reason}"
        self.sender.output.append(frames.go_away(self.registry.last_id, code, reason))
        self.closing = Closing.AFTER_OUTPUT

    def _ended(self, stream: Http2Stream) -> None:
        action, state = TRANSITIONS[stream.state, StreamEvent.SERVER_END]
        if action is StreamAction.IGNORE:
            return
        self.remove_stream(stream, state)
        if action is StreamAction.RESET:
            self.sender.output.append(frames.rst_stream(stream.stream_id, ErrorCode.NO_ERROR))

    def _close_when_drained(self) -> None:
        if self.draining is Draining.REFUSING and not self.streams and not self.closing:
            self.closing = Closing.AFTER_OUTPUT

    def _changed(self, *, final: bool = True) -> None:
        if not self.receiving:
            self._on_output(final)
