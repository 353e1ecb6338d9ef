"""The state machine of a stream."""

from __future__ import annotations

import itertools

import pytest
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.stream import Closing
from rocketmq_testkit.grpc_v2.transport.http2.stream_table import TRANSITIONS, StreamAction, StreamEvent, StreamState

from tests.grpc_v2.transport.wire import ECHO, Peer, request_fields, unary

_ABSENT = {
    (StreamState.IDLE, StreamEvent.SERVER_END),
    (StreamState.SKIPPED, StreamEvent.SERVER_END),
    (StreamState.SKIPPED, StreamEvent.SERVER_RESET),
}
_LIVE = (StreamState.OPEN, StreamState.HALF_CLOSED_REMOTE)
_CLIENT_EVENTS = [event for event in StreamEvent if event not in (StreamEvent.SERVER_END, StreamEvent.SERVER_RESET)]


def test_the_table_has_each_pair_of_state_and_event() -> None:
    """The table has each pair of state and event, except three that only a bug of the server could cause."""
    assert set(TRANSITIONS) == set(itertools.product(StreamState, StreamEvent)) - _ABSENT


@pytest.mark.parametrize("pair", [pair for pair in TRANSITIONS if pair[0] not in (*_LIVE, StreamState.IDLE)])
def test_an_ended_stream_never_reopens(pair: tuple[StreamState, StreamEvent]) -> None:
    """No event leads out of CLOSED, ABANDONED or SKIPPED. A stream that the client reset can only become ABANDONED."""
    assert TRANSITIONS[pair][1] is pair[0] or TRANSITIONS[pair] == (StreamAction.STREAM_CLOSED, StreamState.ABANDONED)


@pytest.mark.parametrize(("pair", "outcome"), TRANSITIONS.items())
def test_actions_agree_with_the_next_state(
    pair: tuple[StreamState, StreamEvent], outcome: tuple[StreamAction, StreamState]
) -> None:
    """Actions that end a stream lead to an ended state, and other actions to a live one."""
    action, after = outcome
    if action in (StreamAction.BEGIN, StreamAction.TRAILERS, StreamAction.DELIVER, StreamAction.ADD_CREDIT):
        assert after in _LIVE
    elif action in (StreamAction.RESET, StreamAction.STREAM_PROTOCOL, StreamAction.STREAM_CLOSED):
        assert after is StreamState.ABANDONED
    elif action is StreamAction.FINISH:
        assert after is StreamState.CLOSED
    elif action is StreamAction.CANCEL:
        assert after is StreamState.RESET
    else:
        assert after is pair[0]


def _peer_with_stream_in(state: StreamState) -> Peer:
    """Return a peer whose stream 3 is in `state`."""
    peer = Peer([unary(lambda call, request: None)]).greet()
    if state is StreamState.IDLE:
        return peer
    if state is StreamState.SKIPPED:
        peer.feed(peer.headers(5, request_fields()))
        return peer
    if state is StreamState.CLOSED:
        peer.feed(peer.headers(3, request_fields("/test.Echo/Missing"), end=True))
    elif state is StreamState.ABANDONED:
        peer.feed(peer.headers(3, request_fields("/test.Echo/Missing")))
    elif state is StreamState.OPEN:
        peer.feed(peer.headers(3, request_fields()))
    elif state is StreamState.RESET:
        peer.feed(peer.headers(3, request_fields()) + f.rst_stream(3, ErrorCode.CANCEL))
    else:
        peer.feed(peer.request(3, b"parked"))
    return peer


def _frame_for(event: StreamEvent, peer: Peer) -> bytes:
    if event is StreamEvent.HEADERS:
        return peer.headers(3, request_fields(ECHO))
    if event is StreamEvent.HEADERS_END:
        return peer.headers(
            3, [("x-last", "words")] if 3 in peer.connection.output.streams else request_fields(), end=True
        )
    if event is StreamEvent.DATA:
        return peer.data(3, b"\0")
    if event is StreamEvent.DATA_END:
        return peer.data(3, b"\0", end=True)
    if event is StreamEvent.CLIENT_RESET:
        return f.rst_stream(3, ErrorCode.CANCEL)
    return f.window_update(3, 7)


@pytest.mark.parametrize("event", _CLIENT_EVENTS)
@pytest.mark.parametrize("state", StreamState)
def test_the_server_sends_the_frames_of_the_tables_action(state: StreamState, event: StreamEvent) -> None:
    """For each state of a stream and each frame of a client, the server does the action in the table."""
    peer = _peer_with_stream_in(state)
    before = peer.connection.output.streams.get(3)
    assert (before.state if before else state) is state
    action, after = TRANSITIONS[state, event]
    answered = [frame.kind for frame in peer.feed(_frame_for(event, peer))]
    stream = peer.connection.output.streams.get(3)
    reset = peer.response(3).reset
    gone = peer.go_away()
    if action in (StreamAction.CONNECTION_PROTOCOL, StreamAction.CONNECTION_CLOSED):
        assert gone is not None
        wanted = ErrorCode.PROTOCOL_ERROR if action is StreamAction.CONNECTION_PROTOCOL else ErrorCode.STREAM_CLOSED
        assert gone.code == wanted
        assert peer.connection.output.closing is Closing.AFTER_OUTPUT
        return
    assert gone is None
    if action in (StreamAction.STREAM_PROTOCOL, StreamAction.STREAM_CLOSED):
        wanted = ErrorCode.PROTOCOL_ERROR if action is StreamAction.STREAM_PROTOCOL else ErrorCode.STREAM_CLOSED
        assert reset == wanted
        assert stream is None
    elif action in (StreamAction.IGNORE, StreamAction.CANCEL):
        assert not answered
        assert stream is None
    elif action in (StreamAction.TRAILERS, StreamAction.DELIVER) and after is StreamState.HALF_CLOSED_REMOTE:
        # The request ends without a complete message, so the response is an error.
        assert peer.response(3).status[0] == 13
        assert stream is None
    elif action is StreamAction.BEGIN and after is StreamState.HALF_CLOSED_REMOTE:
        assert peer.response(3).status == (13, "Half-closed without a request")
    else:
        assert stream is not None
        assert stream.state is after
