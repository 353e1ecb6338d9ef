"""The state machine of a stream."""

from __future__ import annotations

import itertools

import pytest
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.connection import Closing
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.stream import TRANSITIONS, Action, Event, State

from tests.transport.wire import ECHO, Peer, request_fields, unary

_ABSENT = {(State.IDLE, Event.SERVER_END), (State.SKIPPED, Event.SERVER_END), (State.SKIPPED, Event.SERVER_RESET)}
_LIVE = (State.OPEN, State.HALF_CLOSED_REMOTE)
_CLIENT_EVENTS = [event for event in Event if event not in (Event.SERVER_END, Event.SERVER_RESET)]


def test_every_pair_is_decided() -> None:
    """The table has each pair of state and event, except three that would be errors of the server itself."""
    assert set(TRANSITIONS) == set(itertools.product(State, Event)) - _ABSENT


@pytest.mark.parametrize("pair", [pair for pair in TRANSITIONS if pair[0] not in (*_LIVE, State.IDLE)])
def test_an_ended_stream_never_comes_back(pair: tuple[State, Event]) -> None:
    """No event leads out of CLOSED, ABANDONED or SKIPPED. A stream that the client reset can only become ABANDONED."""
    assert TRANSITIONS[pair][1] is pair[0] or TRANSITIONS[pair] == (Action.STREAM_CLOSED, State.ABANDONED)


@pytest.mark.parametrize(("pair", "outcome"), TRANSITIONS.items())
def test_actions_agree_with_the_next_state(pair: tuple[State, Event], outcome: tuple[Action, State]) -> None:
    """Actions that end a stream lead to an ended state, and other actions to a live one."""
    action, after = outcome
    if action in (Action.BEGIN, Action.TRAILERS, Action.DELIVER, Action.ADD_CREDIT):
        assert after in _LIVE
    elif action in (Action.GIVE_UP, Action.STREAM_PROTOCOL, Action.STREAM_CLOSED):
        assert after is State.ABANDONED
    elif action is Action.FINISH:
        assert after is State.CLOSED
    elif action is Action.CANCEL:
        assert after is State.RESET
    else:
        assert after is pair[0]


def _peer_with_stream_in(state: State) -> Peer:
    """Return a peer whose stream 3 is in `state`."""
    peer = Peer([unary(lambda call, request: None)]).greet()
    if state is State.IDLE:
        return peer
    if state is State.SKIPPED:
        peer.feed(peer.headers(5, request_fields()))
        return peer
    if state is State.CLOSED:
        peer.feed(peer.headers(3, request_fields("/test.Echo/Missing"), end=True))
    elif state is State.ABANDONED:
        peer.feed(peer.headers(3, request_fields("/test.Echo/Missing")))
    elif state is State.OPEN:
        peer.feed(peer.headers(3, request_fields()))
    elif state is State.RESET:
        peer.feed(peer.headers(3, request_fields()) + f.rst_stream(3, ErrorCode.CANCEL))
    else:
        peer.feed(peer.request(3, b"parked"))
    return peer


def _frame_for(event: Event, peer: Peer) -> bytes:
    if event is Event.HEADERS:
        return peer.headers(3, request_fields(ECHO))
    if event is Event.HEADERS_END:
        return peer.headers(3, [("x-last", "words")] if 3 in peer.connection.streams else request_fields(), end=True)
    if event is Event.DATA:
        return peer.data(3, b"\0")
    if event is Event.DATA_END:
        return peer.data(3, b"\0", end=True)
    if event is Event.CLIENT_RESET:
        return f.rst_stream(3, ErrorCode.CANCEL)
    return f.window_update(3, 7)


@pytest.mark.parametrize("event", _CLIENT_EVENTS)
@pytest.mark.parametrize("state", State)
def test_the_connection_does_what_the_table_says(state: State, event: Event) -> None:
    """For each state and each frame of a client, the server sends the frames of the table's action."""
    peer = _peer_with_stream_in(state)
    before = peer.connection.streams.get(3)
    assert (before.state if before else state) is state
    action, after = TRANSITIONS[state, event]
    answered = [frame.kind for frame in peer.feed(_frame_for(event, peer))]
    stream = peer.connection.streams.get(3)
    reset = peer.answer(3).reset
    gone = peer.go_away()
    if action in (Action.CONNECTION_PROTOCOL, Action.CONNECTION_CLOSED):
        assert gone is not None
        wanted = ErrorCode.PROTOCOL_ERROR if action is Action.CONNECTION_PROTOCOL else ErrorCode.STREAM_CLOSED
        assert gone.code == wanted
        assert peer.connection.closing is Closing.AFTER_OUTPUT
        return
    assert gone is None
    if action in (Action.STREAM_PROTOCOL, Action.STREAM_CLOSED):
        wanted = ErrorCode.PROTOCOL_ERROR if action is Action.STREAM_PROTOCOL else ErrorCode.STREAM_CLOSED
        assert reset == wanted
        assert stream is None
    elif action in (Action.PASS_OVER, Action.CANCEL):
        assert not answered
        assert stream is None
    elif action in (Action.TRAILERS, Action.DELIVER) and after is State.HALF_CLOSED_REMOTE:
        # The request has ended without a complete message, so it gets an error.
        assert peer.answer(3).status[0] == 13
        assert stream is None
    elif action is Action.BEGIN and after is State.HALF_CLOSED_REMOTE:
        assert peer.answer(3).status == (13, "Half-closed without a request")
    else:
        assert stream is not None
        assert stream.state is after
