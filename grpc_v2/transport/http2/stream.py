"""One HTTP/2 stream as the server sees it, and the table of its life (RFC 9113 section 5.1).

A stream is IDLE until the client's HEADERS open it.  The client's END_STREAM makes it HALF_CLOSED_REMOTE: the request
is complete.  The server's END_STREAM ends the stream: after a complete request it is CLOSED; before that the server
has no use for the rest of the request, says so with RST_STREAM(NO_ERROR), and the stream is ABANDONED, as it is after
any reset by the server: what the client sent before it learned of the reset is passed over in silence.  A server that
promises no pushes and gives up requests in this way has no half-closed (local) and no reserved states.

An id below the highest one opened that is in none of these is SKIPPED: the client can never use it any more.
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
    """Where a stream is in its life."""

    IDLE = 0
    OPEN = 1
    HALF_CLOSED_REMOTE = 2
    CLOSED = 3
    ABANDONED = 4
    SKIPPED = 5
    RESET = 6  # by the client


class Event(IntEnum):
    """What can happen to a stream: frames of the client, and the two ways in which the server ends it."""

    HEADERS = 0
    HEADERS_END = 1
    DATA = 2
    DATA_END = 3
    CLIENT_RESET = 4
    CREDIT = 5
    SERVER_END = 6
    SERVER_RESET = 7


class Action(IntEnum):
    """What the connection does about an event."""

    BEGIN = 0  # a request starts
    TRAILERS = 1  # the request ends with a header block
    DELIVER = 2  # a piece of the body goes to the receiver
    CANCEL = 3  # the receiver hears that the client gave up
    ADD_CREDIT = 4  # the client lets more be sent
    FINISH = 5  # the stream is forgotten
    GIVE_UP = 6  # the stream is forgotten, and the client is told by RST_STREAM
    PASS_OVER = 7  # nothing at all
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
    # A request refused at its first frame is reset before it was ever open.
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
    # What crosses with a reset, or was on its way to the wire when a client cancelled, costs that stream alone.
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
"""Every pair that can occur.

Two pairs are the server's own mistakes and are absent, so that they fail as such: ending a stream that was never
opened, and ending or resetting one that was skipped.
"""


class Receiver(Protocol):
    """Who takes the request of one stream."""

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Take a piece of the body; `ended` says that it is the last."""

    def lost(self, reason: str) -> None:
        """Learn that nobody waits for the answer any more."""


class Application(Protocol):
    """Who takes the requests of a connection."""

    def begin(self, stream: Stream, head: RequestHead) -> Receiver | None:
        """Take a new request and return who receives its body, or None when nobody does."""

    def broken(self, receiver: Receiver | None, code: ErrorCode, reason: str) -> None:
        """Learn that the connection resets a stream, whose receiver is given, or fails as a whole (None)."""


class Stream:
    """One request and its answer."""

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
        # Bytes that the client's content-length still promises; None when it promised nothing.
        self.body_left: int | None = None
        self.receive_window = receive_window
        # Bytes of credit from WINDOW_UPDATE minus bytes sent. The stream's window is this plus the peer's initial
        # window, so that a change of the initial window needs no visit to the open streams.
        self.credit = 0
        # DATA that waits for credit, and the frames that come after it.
        self.queue: deque[bytes | memoryview] | None = None
        self.ending: bytes | None = None
        # A stalled stream sends nothing and gives no credit (a fault that tests ask for).
        self.stalled = False
