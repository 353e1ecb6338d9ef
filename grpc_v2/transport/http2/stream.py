"""One HTTP/2 stream on the server side, and its state machine (RFC 9113 section 5.1).

A stream is IDLE until the client's HEADERS open it. The client's END_STREAM makes it HALF_CLOSED_REMOTE: the request is
complete. The server's END_STREAM ends the stream. After a complete request it is CLOSED. Before that, the server does
not need the rest of the request: it sends RST_STREAM(NO_ERROR), and the stream is ABANDONED. It is also ABANDONED after
any other reset by the server. Frames that the client sent before it received the reset are ignored. The server promises
no pushes, so there are no half-closed (local) and no reserved states.

An id below the highest opened one that is in none of these states is SKIPPED: the client can never use it again.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .connection import Http2Connection
    from .errors import ErrorCode
    from .request_head import RequestHead


class State(IntEnum):
    """The state of a stream."""

    IDLE = 0
    OPEN = 1
    HALF_CLOSED_REMOTE = 2
    CLOSED = 3
    ABANDONED = 4
    SKIPPED = 5
    RESET = 6  # by the client


class Event(IntEnum):
    """An event of a stream: a frame of the client, or one of the two ways in which the server ends it."""

    HEADERS = 0
    HEADERS_END = 1
    DATA = 2
    DATA_END = 3
    CLIENT_RESET = 4
    CREDIT = 5
    SERVER_END = 6
    SERVER_RESET = 7


class Action(IntEnum):
    """The connection's reaction to an event."""

    BEGIN = 0  # start a request
    TRAILERS = 1  # end the request with a header block
    DELIVER = 2  # pass a piece of the body to the receiver
    CANCEL = 3  # notify the receiver that the client cancelled
    ADD_CREDIT = 4  # allow more output
    FINISH = 5  # remove the stream
    GIVE_UP = 6  # remove the stream and send RST_STREAM to the client
    PASS_OVER = 7  # ignore the event
    STREAM_PROTOCOL = 8  # RST_STREAM(PROTOCOL_ERROR)
    STREAM_CLOSED = 9  # RST_STREAM(STREAM_CLOSED)
    CONNECTION_PROTOCOL = 10  # GOAWAY(PROTOCOL_ERROR)
    CONNECTION_CLOSED = 11  # GOAWAY(STREAM_CLOSED)


TRANSITIONS: dict[tuple[State, Event], tuple[Action, State]] = {
    (State.IDLE, Event.HEADERS): (Action.BEGIN, State.OPEN),
    (State.IDLE, Event.HEADERS_END): (Action.BEGIN, State.HALF_CLOSED_REMOTE),
    (State.IDLE, Event.DATA): (Action.CONNECTION_PROTOCOL, State.IDLE),
    (State.IDLE, Event.DATA_END): (Action.CONNECTION_PROTOCOL, State.IDLE),
    (State.IDLE, Event.CLIENT_RESET): (Action.CONNECTION_PROTOCOL, State.IDLE),
    (State.IDLE, Event.CREDIT): (Action.CONNECTION_PROTOCOL, State.IDLE),
    # A request refused at its first frame is reset before it was opened.
    (State.IDLE, Event.SERVER_RESET): (Action.GIVE_UP, State.ABANDONED),
    (State.OPEN, Event.HEADERS): (Action.STREAM_PROTOCOL, State.ABANDONED),
    (State.OPEN, Event.HEADERS_END): (Action.TRAILERS, State.HALF_CLOSED_REMOTE),
    (State.OPEN, Event.DATA): (Action.DELIVER, State.OPEN),
    (State.OPEN, Event.DATA_END): (Action.DELIVER, State.HALF_CLOSED_REMOTE),
    (State.OPEN, Event.CLIENT_RESET): (Action.CANCEL, State.RESET),
    (State.OPEN, Event.CREDIT): (Action.ADD_CREDIT, State.OPEN),
    (State.OPEN, Event.SERVER_END): (Action.GIVE_UP, State.ABANDONED),
    (State.OPEN, Event.SERVER_RESET): (Action.GIVE_UP, State.ABANDONED),
    (State.HALF_CLOSED_REMOTE, Event.HEADERS): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.HALF_CLOSED_REMOTE, Event.HEADERS_END): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.HALF_CLOSED_REMOTE, Event.DATA): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.HALF_CLOSED_REMOTE, Event.DATA_END): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.HALF_CLOSED_REMOTE, Event.CLIENT_RESET): (Action.CANCEL, State.RESET),
    (State.HALF_CLOSED_REMOTE, Event.CREDIT): (Action.ADD_CREDIT, State.HALF_CLOSED_REMOTE),
    (State.HALF_CLOSED_REMOTE, Event.SERVER_END): (Action.FINISH, State.CLOSED),
    (State.HALF_CLOSED_REMOTE, Event.SERVER_RESET): (Action.GIVE_UP, State.ABANDONED),
    (State.CLOSED, Event.HEADERS): (Action.CONNECTION_CLOSED, State.CLOSED),
    (State.CLOSED, Event.HEADERS_END): (Action.CONNECTION_CLOSED, State.CLOSED),
    (State.CLOSED, Event.DATA): (Action.CONNECTION_CLOSED, State.CLOSED),
    (State.CLOSED, Event.DATA_END): (Action.CONNECTION_CLOSED, State.CLOSED),
    (State.CLOSED, Event.CLIENT_RESET): (Action.PASS_OVER, State.CLOSED),
    (State.CLOSED, Event.CREDIT): (Action.PASS_OVER, State.CLOSED),
    (State.CLOSED, Event.SERVER_END): (Action.PASS_OVER, State.CLOSED),
    (State.CLOSED, Event.SERVER_RESET): (Action.PASS_OVER, State.CLOSED),
    # Frames that cross with the client's reset, or that were queued when the client cancelled, affect only that stream.
    (State.RESET, Event.HEADERS): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.RESET, Event.HEADERS_END): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.RESET, Event.DATA): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.RESET, Event.DATA_END): (Action.STREAM_CLOSED, State.ABANDONED),
    (State.RESET, Event.CLIENT_RESET): (Action.PASS_OVER, State.RESET),
    (State.RESET, Event.CREDIT): (Action.PASS_OVER, State.RESET),
    (State.RESET, Event.SERVER_END): (Action.PASS_OVER, State.RESET),
    (State.RESET, Event.SERVER_RESET): (Action.PASS_OVER, State.RESET),
    (State.ABANDONED, Event.HEADERS): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.HEADERS_END): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.DATA): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.DATA_END): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.CLIENT_RESET): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.CREDIT): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.SERVER_END): (Action.PASS_OVER, State.ABANDONED),
    (State.ABANDONED, Event.SERVER_RESET): (Action.PASS_OVER, State.ABANDONED),
    (State.SKIPPED, Event.HEADERS): (Action.CONNECTION_PROTOCOL, State.SKIPPED),
    (State.SKIPPED, Event.HEADERS_END): (Action.CONNECTION_PROTOCOL, State.SKIPPED),
    (State.SKIPPED, Event.DATA): (Action.CONNECTION_CLOSED, State.SKIPPED),
    (State.SKIPPED, Event.DATA_END): (Action.CONNECTION_CLOSED, State.SKIPPED),
    (State.SKIPPED, Event.CLIENT_RESET): (Action.PASS_OVER, State.SKIPPED),
    (State.SKIPPED, Event.CREDIT): (Action.PASS_OVER, State.SKIPPED),
}
"""The action and the next state for every pair of state and event that can occur.

Two pairs would be errors of the server itself and are absent, so that they fail: ending a stream that was never opened,
and ending or resetting a skipped stream.
"""


class Receiver(Protocol):
    """Receives the request of one stream."""

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Receive a piece of the body. `ended` is True for the last one."""

    def lost(self, reason: str) -> None:
        """Handle the loss of the client: no response is needed."""


class Application(Protocol):
    """Receives the requests of a connection."""

    def begin(self, stream: Stream, head: RequestHead) -> Receiver | None:
        """Start a new request. Returns the receiver of its body, None if there is none."""

    def broken(self, receiver: Receiver | None, code: ErrorCode, reason: str) -> None:
        """Handle a stream that the connection resets (its receiver), or the failure of the whole connection (None)."""


class Stream:
    """One request and its response."""

    __slots__ = (
        "body_left",
        "connection",
        "credit",
        "ending",
        "queue",
        "receive_window",
        "receiver",
        "stalled",
        "state",
        "stream_id",
    )

    def __init__(self, connection: Http2Connection, stream_id: int, receive_window: int) -> None:
        self.connection = connection
        self.stream_id = stream_id
        self.state = State.IDLE
        self.receiver: Receiver | None = None
        # Remaining bytes according to the client's content-length; None without content-length.
        self.body_left: int | None = None
        self.receive_window = receive_window
        # Bytes of credit from WINDOW_UPDATE minus bytes sent. The stream's window is this plus the peer's initial
        # window. A change of the initial window therefore needs no update of open streams.
        self.credit = 0
        # DATA that waits for credit, and the header block that ends the stream after it.
        self.queue: deque[bytes | memoryview] | None = None
        self.ending: bytes | None = None
        # A stalled stream sends nothing and gives no credit (an injected fault).
        self.stalled = False
