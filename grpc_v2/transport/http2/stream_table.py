"""The state machine of one HTTP/2 stream on the server side (RFC 9113 section 5.1).

A stream is IDLE until the client's HEADERS open it. The client's END_STREAM makes it HALF_CLOSED_REMOTE: the request is
complete. The server's END_STREAM ends the stream. After a complete request it is CLOSED. Before that, the server does
not need the rest of the request: it sends RST_STREAM(NO_ERROR), and the stream is ABANDONED. It is also ABANDONED after
any other reset by the server. Frames that the client sent before it received the reset are ignored. A stream that the
client resets is RESET. The server promises no pushes, so there are no half-closed (local) and no reserved states.

An id below the highest one that the client used is SKIPPED if the client never opened it, or if `StreamRegistry` no
longer stores how it ended. The client can never use it again.
"""

from __future__ import annotations

from enum import IntEnum

from .errors import ConnectionProtocolError, ErrorCode, StreamProtocolError


class StreamState(IntEnum):
    """The state of a stream."""

    IDLE = 0
    OPEN = 1
    HALF_CLOSED_REMOTE = 2
    CLOSED = 3
    ABANDONED = 4
    SKIPPED = 5
    RESET = 6  # by the client


class StreamEvent(IntEnum):
    """An event of a stream: a frame of the client, or one of the two ways in which the server ends it.

    `_END` stands for the flag END_STREAM, and CREDIT for WINDOW_UPDATE.
    """

    HEADERS = 0
    HEADERS_END = 1
    DATA = 2
    DATA_END = 3
    CLIENT_RESET = 4
    CREDIT = 5
    SERVER_END = 6
    SERVER_RESET = 7


class StreamAction(IntEnum):
    """The connection's reaction to an event."""

    BEGIN = 0  # start a request
    TRAILERS = 1  # end the request with a header block
    DELIVER = 2  # pass a piece of the body to the receiver
    CANCEL = 3  # notify the receiver that the client cancelled
    ADD_CREDIT = 4  # allow more output
    FINISH = 5  # remove the stream
    RESET = 6  # remove the stream and send RST_STREAM to the client
    IGNORE = 7  # ignore the event
    STREAM_PROTOCOL = 8  # RST_STREAM(PROTOCOL_ERROR)
    STREAM_CLOSED = 9  # RST_STREAM(STREAM_CLOSED)
    CONNECTION_PROTOCOL = 10  # GOAWAY(PROTOCOL_ERROR)
    CONNECTION_CLOSED = 11  # GOAWAY(STREAM_CLOSED)


TRANSITIONS: dict[tuple[StreamState, StreamEvent], tuple[StreamAction, StreamState]] = {
    (StreamState.IDLE, StreamEvent.HEADERS): (StreamAction.BEGIN, StreamState.OPEN),
    (StreamState.IDLE, StreamEvent.HEADERS_END): (StreamAction.BEGIN, StreamState.HALF_CLOSED_REMOTE),
    (StreamState.IDLE, StreamEvent.DATA): (StreamAction.CONNECTION_PROTOCOL, StreamState.IDLE),
    (StreamState.IDLE, StreamEvent.DATA_END): (StreamAction.CONNECTION_PROTOCOL, StreamState.IDLE),
    (StreamState.IDLE, StreamEvent.CLIENT_RESET): (StreamAction.CONNECTION_PROTOCOL, StreamState.IDLE),
    (StreamState.IDLE, StreamEvent.CREDIT): (StreamAction.CONNECTION_PROTOCOL, StreamState.IDLE),
    # A request refused at its first frame is reset before it was opened.
    (StreamState.IDLE, StreamEvent.SERVER_RESET): (StreamAction.RESET, StreamState.ABANDONED),
    (StreamState.OPEN, StreamEvent.HEADERS): (StreamAction.STREAM_PROTOCOL, StreamState.ABANDONED),
    (StreamState.OPEN, StreamEvent.HEADERS_END): (StreamAction.TRAILERS, StreamState.HALF_CLOSED_REMOTE),
    (StreamState.OPEN, StreamEvent.DATA): (StreamAction.DELIVER, StreamState.OPEN),
    (StreamState.OPEN, StreamEvent.DATA_END): (StreamAction.DELIVER, StreamState.HALF_CLOSED_REMOTE),
    (StreamState.OPEN, StreamEvent.CLIENT_RESET): (StreamAction.CANCEL, StreamState.RESET),
    (StreamState.OPEN, StreamEvent.CREDIT): (StreamAction.ADD_CREDIT, StreamState.OPEN),
    (StreamState.OPEN, StreamEvent.SERVER_END): (StreamAction.RESET, StreamState.ABANDONED),
    (StreamState.OPEN, StreamEvent.SERVER_RESET): (StreamAction.RESET, StreamState.ABANDONED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.HEADERS): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.HEADERS_END): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.DATA): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.DATA_END): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.CLIENT_RESET): (StreamAction.CANCEL, StreamState.RESET),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.CREDIT): (StreamAction.ADD_CREDIT, StreamState.HALF_CLOSED_REMOTE),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.SERVER_END): (StreamAction.FINISH, StreamState.CLOSED),
    (StreamState.HALF_CLOSED_REMOTE, StreamEvent.SERVER_RESET): (StreamAction.RESET, StreamState.ABANDONED),
    (StreamState.CLOSED, StreamEvent.HEADERS): (StreamAction.CONNECTION_CLOSED, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.HEADERS_END): (StreamAction.CONNECTION_CLOSED, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.DATA): (StreamAction.CONNECTION_CLOSED, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.DATA_END): (StreamAction.CONNECTION_CLOSED, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.CLIENT_RESET): (StreamAction.IGNORE, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.CREDIT): (StreamAction.IGNORE, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.SERVER_END): (StreamAction.IGNORE, StreamState.CLOSED),
    (StreamState.CLOSED, StreamEvent.SERVER_RESET): (StreamAction.IGNORE, StreamState.CLOSED),
    # Frames that the client had queued when it cancelled may follow its reset. They affect only that stream (RFC 9113
    # section 5.1).
    (StreamState.RESET, StreamEvent.HEADERS): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.RESET, StreamEvent.HEADERS_END): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.RESET, StreamEvent.DATA): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.RESET, StreamEvent.DATA_END): (StreamAction.STREAM_CLOSED, StreamState.ABANDONED),
    (StreamState.RESET, StreamEvent.CLIENT_RESET): (StreamAction.IGNORE, StreamState.RESET),
    (StreamState.RESET, StreamEvent.CREDIT): (StreamAction.IGNORE, StreamState.RESET),
    (StreamState.RESET, StreamEvent.SERVER_END): (StreamAction.IGNORE, StreamState.RESET),
    (StreamState.RESET, StreamEvent.SERVER_RESET): (StreamAction.IGNORE, StreamState.RESET),
    (StreamState.ABANDONED, StreamEvent.HEADERS): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.HEADERS_END): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.DATA): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.DATA_END): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.CLIENT_RESET): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.CREDIT): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.SERVER_END): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.ABANDONED, StreamEvent.SERVER_RESET): (StreamAction.IGNORE, StreamState.ABANDONED),
    (StreamState.SKIPPED, StreamEvent.HEADERS): (StreamAction.CONNECTION_PROTOCOL, StreamState.SKIPPED),
    (StreamState.SKIPPED, StreamEvent.HEADERS_END): (StreamAction.CONNECTION_PROTOCOL, StreamState.SKIPPED),
    (StreamState.SKIPPED, StreamEvent.DATA): (StreamAction.CONNECTION_CLOSED, StreamState.SKIPPED),
    (StreamState.SKIPPED, StreamEvent.DATA_END): (StreamAction.CONNECTION_CLOSED, StreamState.SKIPPED),
    (StreamState.SKIPPED, StreamEvent.CLIENT_RESET): (StreamAction.IGNORE, StreamState.SKIPPED),
    (StreamState.SKIPPED, StreamEvent.CREDIT): (StreamAction.IGNORE, StreamState.SKIPPED),
}
"""The action and the next state for every pair of state and event that can occur.

Three pairs would be errors of the server itself and are absent, so that they fail: ending a stream that was never
opened, and ending or resetting a skipped stream.
"""


def refuse(action: StreamAction, stream_id: int) -> None:
    """Raise the error of an action that is one. Does nothing for other actions."""
    if action is StreamAction.STREAM_CLOSED:
        raise StreamProtocolError(stream_id, ErrorCode.STREAM_CLOSED, "frame on a stream that the client ended")
    if action is StreamAction.STREAM_PROTOCOL:
        raise StreamProtocolError(stream_id, ErrorCode.PROTOCOL_ERROR, "frame that does not fit the stream's state")
    if action is StreamAction.CONNECTION_CLOSED:
        raise ConnectionProtocolError(ErrorCode.STREAM_CLOSED, f"frame on stream {stream_id}, which has ended")
    if action is StreamAction.CONNECTION_PROTOCOL:
        raise ConnectionProtocolError(ErrorCode.PROTOCOL_ERROR, f"frame on stream {stream_id}, which is not open")
