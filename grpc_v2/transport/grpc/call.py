"""One gRPC call as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..http2.request_head import RequestHead
from ..http2.stream import Stream
from .aborts import ABORTS, ENDING, Abort, Victim
from .answers import OK_TRAILERS, OPENING, opening, trailers, trailers_only
from .metadata import Metadata, decode_binary

__all__ = ["Abort", "ConnectionFacts", "ServerCall"]


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """What is known of a connection from the outside: both ends as host and port, and whether TLS protects it."""

    peer: tuple[str, int]
    local: tuple[str, int]
    secure: bool


class ServerCall:
    """The server's end of one call.

    A handler answers with `reply` (one message), or with any number of `send` and one `finish`.  Once the client has
    gone away the call is `cancelled` and whatever is sent is dropped without an error.
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

    def __init__(self, stream: Stream, head: RequestHead, facts: ConnectionFacts, deadline_ms: int | None) -> None:
        self._stream = stream
        self._head = head
        self._facts = facts
        self._metadata: dict[str, str] | None = None
        self._callbacks: list[Callable[[], None]] | None = None
        # The time-out that the client asked for, in ms from the arrival of the request; None means that it waits.
        self.deadline_ms = deadline_ms
        # The client has reset the call, lost its connection, or its deadline has passed.
        self.cancelled = False
        # The answer has begun.
        self.opened = False
        # The answer is complete.
        self.finished = False
        # BIDI: called with each decoded message, and once when the client has sent its last.
        self.on_message: Callable[[Any], None] | None = None
        self.on_half_close: Callable[[], None] | None = None

    @property
    def path(self) -> str:
        """The method's path, `/package.Service/Method`."""
        return self._head.path

    @property
    def authority(self) -> str:
        """What the client dialled, `host:port`."""
        return self._head.authority

    @property
    def metadata(self) -> dict[str, str]:
        """The client's headers by lower-case name; repeated ones are joined by commas, `-bin` ones are Base64."""
        if self._metadata is None:
            # Calls with equal header blocks share one head.
            self._metadata = self._head.metadata.copy()
        return self._metadata

    def binary_metadata(self, name: str) -> list[bytes]:
        """Return the values of a `-bin` header, an empty list when there is none; raises ValueError if not Base64."""
        text = self._head.metadata.get(name)
        return [] if text is None else decode_binary(text)

    @property
    def peer(self) -> tuple[str, int]:
        """The client's address."""
        return self._facts.peer

    @property
    def local(self) -> tuple[str, int]:
        """The address at which the client reached the server."""
        return self._facts.local

    @property
    def secure(self) -> bool:
        """Whether the call came through TLS."""
        return self._facts.secure

    def send_metadata(self, metadata: Metadata) -> None:
        """Open the answer with initial metadata; before the first message."""
        if self._is_over():
            return
        if self.opened:
            raise RuntimeError(f"{self.path}: initial metadata after the answer was opened")
        block = opening(metadata)
        self.opened = True
        self._stream.connection.send_headers(self._stream, block)

    def send(self, message: bytes) -> None:
        """Send one message; waits in the call's own queue when the client's window is full."""
        if self._is_over():
            return
        connection = self._stream.connection
        if not self.opened:
            self.opened = True
            connection.send_headers(self._stream, OPENING.block)
        connection.send_data(self._stream, b"\0" + len(message).to_bytes(4, "big") + message)

    def reply(self, message: bytes) -> None:
        """Send the one message of an answer and end the call with status OK."""
        if self._is_over():
            return
        if self.opened:
            self.send(message)
            self.finish()
            return
        stream = self._stream
        self._close()
        stream.connection.respond(stream, OPENING, b"\0" + len(message).to_bytes(4, "big"), message, OK_TRAILERS)

    def finish(self, status: int = 0, message: str = "", metadata: Metadata | None = None) -> None:
        """End the call with a gRPC status, a text for people, and trailing metadata."""
        if self._is_over():
            return
        block = (trailers if self.opened else trailers_only)(status, message, metadata)
        self._close()
        self._stream.connection.send_end(self._stream, block)

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once if the call is cancelled before it is finished; at once if it already is."""
        if self.cancelled:
            callback()
        elif not self.finished:
            if self._callbacks is None:
                self._callbacks = []
            self._callbacks.append(callback)

    def abort(self, kind: Abort, code: int | None = None) -> None:
        """Break the call or its connection in the given way; `code` is the HTTP/2 error code where one is sent."""
        if self.cancelled or (self.finished and kind not in (Abort.GO_AWAY, Abort.RESET_CONNECTION)):
            return
        stream = self._stream
        opened = self.opened
        if kind in ENDING:
            self._close()
        ABORTS[kind](Victim(stream.connection, stream, opened, code))

    def cancel(self) -> list[Callable[[], None]]:
        """Mark the call as cancelled and return who wants to know; for the transport."""
        if self.finished or self.cancelled:
            return []
        callbacks = self._callbacks or []
        self.cancelled = True
        self._close()
        return callbacks

    def _close(self) -> None:
        self.finished = True
        # Closures of the handler refer to the call: let go of them, so that nothing waits for the cycle collector.
        self._callbacks = None
        self.on_message = None
        self.on_half_close = None

    def _is_over(self) -> bool:
        if self.finished and not self.cancelled:
            raise RuntimeError(f"{self.path}: the call was already answered")
        return self.finished
