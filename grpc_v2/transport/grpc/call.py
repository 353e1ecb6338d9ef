"""A gRPC call, as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..http2.request_head import RequestHead
from ..http2.stream import Http2Stream
from .aborts import ABORTS, ENDS_CALL, Abort, AbortTarget
from .metadata import Metadata, decode_binary
from .response_headers import OK_TRAILERS, RESPONSE_HEADERS, response_headers, trailers, trailers_only

__all__ = ["Abort", "ConnectionAttributes", "ServerCall"]


class ConnectionControl(Protocol):
    """The connection of a call, for faults that change or end it."""

    @property
    def is_open(self) -> bool:
        """False once the connection is closed."""

    def pace(self, pieces: Sequence[tuple[int, bytes]], later: Callable[[int, Callable[[], None]], object]) -> None:
        """Send (pause in ms, bytes) pieces. `later` schedules each after its pause; other output waits behind them."""

    def captured(self, deliver: Callable[[], None]) -> bytes:
        """Return the bytes that a delivery writes, without sending them."""

    def discard_unsent(self, stream_id: int) -> None:
        """Send nothing more on a stream, whose response waits for credit. A no-op if the stream has ended."""

    def close(self) -> None:
        """Close the connection after its output."""

    def reset(self) -> None:
        """Reset the connection (TCP RST). Unwritten output is discarded."""

    def half_close(self) -> None:
        """Close the sending direction of the connection after its output, and read on."""

    def go_away(self, *, finish: bool) -> None:
        """Send GOAWAY. `finish`: open streams are completed, else the connection is closed at once."""

    def withhold_window(self) -> None:
        """Give the client no more credit for requests."""

    def ignore_pings(self) -> None:
        """Respond to no PING from now on."""


@dataclass(frozen=True, slots=True)
class ConnectionAttributes:
    """Facts about a connection: the (host, port) of both ends, and True if it uses TLS.

    `control` changes the connection; it is None for a call in memory, which has no socket.
    """

    peer: tuple[str, int]
    local: tuple[str, int]
    secure: bool
    control: ConnectionControl | None = None


class ServerCall:
    """The server side of one call.

    A handler responds with `reply` (one message), or with any number of `send` and one `finish`. If the client
    resets the call or disconnects, or the deadline passes, the call is `cancelled`: everything sent after that is
    discarded without an error.
    """

    __slots__ = (
        "_callbacks",
        "_facts",
        "_head",
        "_metadata",
        "_stream",
        "cancelled",
        "deadline_ms",
        "finished",
        "on_half_close",
        "on_message",
        "opened",
    )

    def __init__(
        self, stream: Http2Stream, head: RequestHead, facts: ConnectionAttributes, deadline_ms: int | None
    ) -> None:
        self._stream = stream
        self._head = head
        self._facts = facts
        self._metadata: dict[str, str] | None = None
        self._callbacks: list[Callable[[], None]] | None = None
        # The client's timeout, in ms from the arrival of the request. None means no timeout.
        self.deadline_ms = deadline_ms
        # True after the client reset the call, its connection was lost, or its deadline has passed.
        self.cancelled = False
        # True after the response has started.
        self.opened = False
        # True after the response is complete.
        self.finished = False
        # As passed to `listen`.
        self.on_message: Callable[[Any], None] | None = None
        self.on_half_close: Callable[[], None] | None = None

    def listen(self, on_message: Callable[[Any], None], on_half_close: Callable[[], None] | None = None) -> None:
        """BIDI: call a function with each decoded message, and another one after the client's last message."""
        self.on_message, self.on_half_close = on_message, on_half_close

    @property
    def number(self) -> int:
        """The id of the call's stream."""
        return self._stream.stream_id

    @property
    def path(self) -> str:
        """The method's path, `/package.Service/Method`."""
        return self._head.path

    @property
    def authority(self) -> str:
        """The `host:port` that the client dialed."""
        return self._head.authority

    @property
    def metadata(self) -> dict[str, str]:
        """Request headers by lower-case name. Repeated ones are joined with commas; `-bin` ones are Base64."""
        if self._metadata is None:
            # Calls with equal header blocks share one head.
            self._metadata = self._head.metadata.copy()
        return self._metadata

    def binary_metadata(self, name: str) -> list[bytes]:
        """Return the values of a `-bin` header, an empty list if it is absent.

        Raises ValueError if they are not Base64.
        """
        text = self._head.metadata.get(name)
        return [] if text is None else decode_binary(text)

    @property
    def peer(self) -> tuple[str, int]:
        """The client's (host, port)."""
        return self._facts.peer

    @property
    def local(self) -> tuple[str, int]:
        """The (host, port) at which the client reached the server."""
        return self._facts.local

    @property
    def secure(self) -> bool:
        """True if the call uses TLS."""
        return self._facts.secure

    @property
    def control(self) -> ConnectionControl:
        """The connection. Raises RuntimeError for a call in memory."""
        control = self._facts.control
        if control is None:
            raise RuntimeError(f"{self.path}: a call in memory has no connection")
        return control

    def send_metadata(self, metadata: Metadata) -> None:
        """Open the response with initial metadata, before the first message."""
        if self._is_over():
            return
        if self.opened:
            raise RuntimeError(f"{self.path}: initial metadata after the response was opened")
        block = response_headers(metadata)
        self.opened = True
        self._stream.output.send_headers(self._stream, block)

    def send(self, message: bytes) -> None:
        """Send one message. It waits in the call's own queue while the client's window is full."""
        if self._is_over():
            return
        output = self._stream.output
        if not self.opened:
            self.opened = True
            output.send_headers(self._stream, RESPONSE_HEADERS)
        output.send_data(self._stream, b"\0" + len(message).to_bytes(4, "big") + message)

    def reply(self, message: bytes) -> None:
        """Send the only message of a response and end the call with status OK."""
        if self.finished and self._is_over():
            return
        if self.opened:
            self.send(message)
            self.finish()
            return
        stream = self._stream
        self._close()
        stream.output.respond(stream, RESPONSE_HEADERS, b"\0" + len(message).to_bytes(4, "big"), message, OK_TRAILERS)

    def finish(self, status: int = 0, message: str = "", metadata: Metadata | None = None) -> None:
        """End the call with a gRPC status, a text for people, and trailing metadata."""
        if self._is_over():
            return
        block = (trailers if self.opened else trailers_only)(status, message, metadata)
        self._close()
        self._stream.output.send_end(self._stream, block)

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` once if the call is cancelled before it is finished. At once if it is already cancelled."""
        if self.cancelled:
            callback()
        elif not self.finished:
            if self._callbacks is None:
                self._callbacks = []
            self._callbacks.append(callback)

    def abort(self, kind: Abort, code: int | None = None) -> None:
        """Break the call or its connection. `code` is the HTTP/2 error code, if the fault sends one."""
        if self.cancelled or (self.finished and kind not in (Abort.GO_AWAY, Abort.RESET_CONNECTION)):
            return
        stream = self._stream
        opened = self.opened
        if kind in ENDS_CALL:
            self._close()
        ABORTS[kind](AbortTarget(stream.output, stream, opened, code))

    def cancel(self) -> list[Callable[[], None]]:
        """Mark the call as cancelled. Returns the callbacks, which the transport must call."""
        if self.finished or self.cancelled:
            return []
        callbacks = self._callbacks or []
        self.cancelled = True
        self._close()
        return callbacks

    def _close(self) -> None:
        self.finished = True
        # The handler's closures refer to the call. Drop them, so that no garbage is left for the cycle collector.
        self._callbacks = None
        self.on_message = None
        self.on_half_close = None

    def _is_over(self) -> bool:
        if self.finished and not self.cancelled:
            raise RuntimeError(f"{self.path}: the call already has its response")
        return self.finished
