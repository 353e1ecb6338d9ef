"""Responses that the server breaks on purpose (`Abort`), received by a client in memory."""

from __future__ import annotations

import pytest
from rocketmq_testkit.grpc_v2.transport import Abort, ServerCall
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.stream import Closing

from tests.grpc_v2.transport.wire import Peer, parse, unary


def _parked() -> tuple[Peer, ServerCall]:
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call))]).greet()
    peer.feed(peer.request(1, b""))
    return peer, parked[0]


@pytest.mark.parametrize(("code", "sent"), [(None, ErrorCode.INTERNAL_ERROR), (7, ErrorCode.REFUSED_STREAM)])
@pytest.mark.parametrize("opened", [False, True])
def test_reset_stream_resets_the_stream_with_the_requested_code(
    code: int | None, sent: ErrorCode, opened: bool
) -> None:
    """RESET_STREAM resets the stream with the requested code, before or within the response, and ends the call."""
    peer, call = _parked()
    if opened:
        call.send(b"part")
    call.abort(Abort.RESET_STREAM, code)
    peer.read()
    assert peer.response(1).reset == sent
    assert not peer.response(1).ended
    assert call.finished
    peer.feed(f.ping(bytes(8), ack=False))
    assert peer.connection.output.closing is Closing.NO


def test_after_go_away_open_calls_are_served_and_new_ones_refused() -> None:
    """After GO_AWAY the open call gets its response and new calls are refused. Then the connection closes."""
    peer, call = _parked()
    call.abort(Abort.GO_AWAY, ErrorCode.ENHANCE_YOUR_CALM)
    peer.feed(peer.request(3, b""))
    assert peer.response(3).reset == ErrorCode.REFUSED_STREAM
    call.reply(b"still")
    peer.read()
    gone = peer.go_away()
    assert gone is not None
    assert (gone.code, gone.payload[:4]) == (ErrorCode.ENHANCE_YOUR_CALM, b"\0\0\0\x01")
    assert peer.response(1).messages == [b"still"]
    assert peer.connection.output.closing is Closing.AFTER_OUTPUT


def test_after_reset_connection_nothing_more_is_written() -> None:
    """After RESET_CONNECTION nothing more is written, and the connection requests a TCP reset."""
    peer, call = _parked()
    call.send(b"never seen")
    call.abort(Abort.RESET_CONNECTION)
    assert peer.connection.output.closing is Closing.ABORT
    assert not peer.read()


@pytest.mark.parametrize("opened", [False, True])
def test_after_half_frame_the_output_ends_inside_a_data_frame(opened: bool) -> None:
    peer, call = _parked()
    if opened:
        call.send_metadata({"x": "y"})
    call.abort(Abort.HALF_FRAME)
    frames, rest = parse(peer.connection.output.take())
    assert [frame.kind for frame in frames] == [f.HEADERS]
    high, low, kind, _, stream_id = f.HEAD.unpack_from(rest)
    assert (kind, stream_id) == (f.DATA, 1)
    assert 0 < len(rest) - f.HEAD_BYTES < (high << 16 | low)
    assert peer.connection.output.closing is Closing.AFTER_OUTPUT


@pytest.mark.parametrize("waiting", [False, True])
def test_after_stall_the_stream_gets_no_more_output(waiting: bool) -> None:
    """After STALL the stream gets neither new output nor output that waited for credit. Other streams continue."""
    peer, call = _parked()
    if waiting:
        call.send(bytes(100_000))
        peer.read()
    before = peer.response(1).body
    call.abort(Abort.STALL)
    call.send(b"x")
    call.reply(b"y")
    peer.feed(f.window_update(1, 1_000_000) + f.window_update(0, 1_000_000))
    assert peer.response(1).body == before
    assert not peer.response(1).ended
    peer.feed(peer.request(3, b""))
    assert 3 in peer.connection.output.streams


def test_a_handler_that_stalls_its_call_and_replies_sends_nothing() -> None:
    def handler(call: ServerCall, request: bytes) -> None:
        call.abort(Abort.STALL)
        call.reply(b"never")

    peer = Peer([unary(handler)]).greet()
    assert not peer.feed(peer.request(1, b""))
    peer.feed(f.rst_stream(1, ErrorCode.CANCEL))
    assert not peer.connection.output.streams


@pytest.mark.parametrize("opened", [False, True])
def test_after_wrong_trailers_the_stream_ends_without_a_grpc_status(opened: bool) -> None:
    """After WRONG_TRAILERS the stream ends correctly for HTTP/2, but without a grpc-status."""
    peer, call = _parked()
    if opened:
        call.send(b"part")
    call.abort(Abort.WRONG_TRAILERS)
    peer.read()
    assert peer.response(1).ended
    assert "grpc-status" not in dict(peer.response(1).trailers)
    assert peer.connection.output.closing is Closing.NO


@pytest.mark.parametrize("kind", Abort)
def test_after_the_response_only_connection_aborts_have_an_effect(kind: Abort) -> None:
    """After the response only aborts of the connection have an effect, and after a client's reset no abort."""
    peer, call = _parked()
    call.reply(b"done")
    peer.read()
    call.abort(kind)
    touched = bool(peer.read()) or bool(peer.connection.output.closing)
    assert touched == (kind in (Abort.GO_AWAY, Abort.RESET_CONNECTION))
    peer, call = _parked()
    peer.feed(f.rst_stream(1, ErrorCode.CANCEL))
    call.abort(kind)
    assert not peer.read()
    assert peer.connection.output.closing is Closing.NO
