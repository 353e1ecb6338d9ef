"""The HTTP/2 connection in memory: split and invalid input, settings, header blocks, floods, graceful close."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport import Limits, ServerCall
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.settings import (
    ENABLE_PUSH,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    decode_settings,
    encode_settings,
)
from rocketmq_testkit.grpc_v2.transport.http2.stream import Closing

from tests.grpc_v2.transport.wire import ECHO, Peer, message, request_fields, unary

_LIMITS = Limits()


def _session_bytes(peer: Peer) -> bytes:
    """Return a conversation with all kinds of harmless frames."""
    return b"".join(
        [
            f.PREFACE,
            f.settings(encode_settings({INITIAL_WINDOW_SIZE: 70_000, 0x99: 1})),
            f.settings(ack=True),
            peer.request(1, b"first"),
            f.ping(b"12345678", ack=False),
            peer.headers(3, request_fields()),
            f.frame(f.PRIORITY, 0, 7, bytes(5)),
            peer.data(3, message(b"second")[:4]),
            f.window_update(0, 1_000),
            peer.data(3, message(b"second")[4:]),
            f.frame(0xEE, 0xFF, 9, b"unknown"),
            f.window_update(3, 1_000),
            peer.data(3, b"", end=True),
            peer.request(5, bytes(40_000)),
            f.go_away(0, ErrorCode.NO_ERROR),
        ]
    )


def _check_session(peer: Peer) -> None:
    assert peer.go_away() is None
    for stream_id, body in ((1, b"first"), (3, b"second"), (5, bytes(40_000))):
        response = peer.response(stream_id)
        assert response.messages == [body]
        assert response.status == (0, "")
        assert response.ended
        assert response.reset is None
    assert [frame.payload for frame in peer.frames if frame.kind == f.PING] == [b"12345678"]
    assert not peer.connection.output.streams
    assert not peer.log


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 10, 64, 1_000, 16_384, 1 << 20])
def test_input_in_pieces_of_any_size_gets_the_same_responses(size: int) -> None:
    peer = Peer([unary()])
    peer.feed_in_pieces(_session_bytes(peer), size)
    _check_session(peer)


def test_input_split_once_at_any_byte_gets_the_same_responses() -> None:
    whole = _session_bytes(Peer([unary()]))
    # The bytes after the first 600 are the body of the last request; its split positions are all alike.
    for at in [*range(1, 600), *range(600, len(whole), 997)]:
        peer = Peer([unary()])
        peer.feed(whole[:at])
        peer.feed(whole[at:])
        _check_session(peer)


def test_a_connection_lost_at_any_byte_leaves_no_stream() -> None:
    """A connection that is lost at any byte leaves no stream, and parked calls are cancelled."""
    cancelled: list[str] = []
    began: list[str] = []

    def park(call: ServerCall, request: bytes) -> None:
        began.append(call.path)
        call.on_cancel(lambda: cancelled.append(call.path))

    whole = _session_bytes(Peer([unary(park)]))
    for at in range(0, 600, 7):
        began.clear()
        cancelled.clear()
        peer = Peer([unary(park)])
        peer.feed(whole[:at])
        peer.connection.connection_lost("gone")
        assert not peer.connection.output.streams
        assert cancelled == began


@given(st.binary(max_size=200))
def test_input_that_is_not_the_preface_gets_go_away(data: bytes) -> None:
    """Input that does not begin with the preface of HTTP/2 gets GOAWAY at the first byte that differs."""
    peer = Peer([unary()])
    peer.feed(data)
    if f.PREFACE.startswith(data):
        assert peer.go_away() is None
    elif not data.startswith(f.PREFACE):
        gone = peer.go_away()
        assert gone is not None
        assert gone.code == ErrorCode.PROTOCOL_ERROR
        assert peer.connection.output.closing is Closing.AFTER_OUTPUT


_FRAMES = st.builds(
    f.frame,
    st.integers(0, 11),
    st.integers(0, 255),
    st.one_of(st.integers(0, 9), st.integers(0, 0xFFFF_FFFF)),
    st.one_of(st.binary(max_size=40), st.integers(0, 0xFFFF_FFFF).map(lambda n: n.to_bytes(4, "big"))),
)


@settings(max_examples=400)
@given(st.lists(_FRAMES, max_size=12), st.integers(1, 50))
def test_random_frames_end_in_responses_resets_or_one_go_away(frames: list[bytes], size: int) -> None:
    """Random frames end in responses, resets or one GOAWAY with a reason, and in no exception."""
    peer = Peer([unary()]).greet()
    peer.feed(peer.request(1, b"before"))
    peer.feed_in_pieces(b"".join(frames), size)
    assert peer.response(1).messages == [b"before"]
    gone = [frame for frame in peer.frames if frame.kind == f.GOAWAY]
    assert len(gone) <= 1
    assert bool(gone) == bool(peer.connection.output.closing) == bool(peer.connection.output.failure)


@settings(max_examples=300)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6))
def test_a_damaged_conversation_ends_in_responses_resets_or_go_away(at: int, damage: bytes) -> None:
    peer = Peer([unary()])
    whole = bytearray(_session_bytes(peer))
    whole[at : at + len(damage)] = damage
    peer.feed_in_pieces(bytes(whole), 100)
    peer.connection.connection_lost("gone")
    assert not peer.connection.output.streams
    assert not peer.log


@pytest.mark.parametrize("length", [16_385, 1 << 20, (1 << 24) - 1])
@pytest.mark.parametrize("kind", [f.DATA, f.HEADERS, f.SETTINGS, f.PING, 0xEE])
def test_a_frame_above_the_announced_size_is_rejected_by_its_head(kind: int, length: int) -> None:
    peer = Peer().greet()
    peer.feed(f.frame_head(kind, 0, 1, length))
    gone = peer.go_away()
    assert gone is not None
    assert gone.code == ErrorCode.FRAME_SIZE_ERROR


def test_the_server_sends_its_settings_and_credit_first() -> None:
    """The server sends SETTINGS with its limits and credit for the connection before the client sends anything."""
    limits = Limits(max_concurrent_streams=7, stream_window_bytes=100_000, connection_window_bytes=200_000)
    settings_frame, credit = Peer(limits=limits).read()
    assert dict(decode_settings(settings_frame.payload)) == {3: 7, 4: 100_000, 6: limits.max_header_list_bytes}
    assert (credit.kind, credit.stream_id) == (f.WINDOW_UPDATE, 0)
    assert int.from_bytes(credit.payload, "big") == 200_000 - 65_535


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (encode_settings({ENABLE_PUSH: 2}), ErrorCode.PROTOCOL_ERROR),
        (encode_settings({INITIAL_WINDOW_SIZE: 1 << 31}), ErrorCode.FLOW_CONTROL_ERROR),
        (encode_settings({MAX_FRAME_SIZE: 16_383}), ErrorCode.PROTOCOL_ERROR),
        (encode_settings({MAX_FRAME_SIZE: 1 << 24}), ErrorCode.PROTOCOL_ERROR),
        (b"12345", ErrorCode.FRAME_SIZE_ERROR),
    ],
)
def test_each_forbidden_setting_ends_the_connection(payload: bytes, code: ErrorCode) -> None:
    """Each forbidden setting ends the connection with the code of the standard."""
    peer = Peer().greet()
    peer.feed(f.settings(payload))
    gone = peer.go_away()
    assert gone is not None
    assert gone.code == code


def test_a_client_that_does_not_begin_with_settings_is_rejected() -> None:
    peer = Peer()
    peer.feed(f.PREFACE + f.ping(bytes(8), ack=False))
    assert peer.connection.output.failure == "PROTOCOL_ERROR: the first frame is not SETTINGS"


def test_a_smaller_header_table_is_acknowledged_in_the_next_block() -> None:
    """After a client shrinks its header table, the next header block begins with one table size update."""
    peer = Peer([unary()]).greet({HEADER_TABLE_SIZE: 0})
    # The decoder of the library `hpack` requires the update, as nghttp2 does.
    peer._decoder.max_allowed_table_size = 0
    peer.feed(peer.request(1, b"a") + peer.request(3, b"b"))
    blocks = [frame.payload for frame in peer.frames if frame.kind == f.HEADERS]
    assert [block[:1] == b"\x20" for block in blocks] == [True, False, False, False]
    assert peer.response(3).messages == [b"b"]


def test_padding_and_priority_do_not_change_the_request() -> None:
    peer = Peer([unary()]).greet()
    block = peer.encoder.encode(request_fields())
    flags = f.END_HEADERS | f.PADDED | f.PRIORITIZED
    peer.feed(f.frame(f.HEADERS, flags, 1, b"\x04" + (9).to_bytes(4, "big") + b"\x10" + block + bytes(4)))
    body = message(b"padded")
    peer.feed(f.frame(f.DATA, f.PADDED | f.END_STREAM, 1, b"\x07" + body + bytes(7)))
    assert peer.response(1).messages == [b"padded"]


@pytest.mark.parametrize("kind", [f.DATA, f.HEADERS])
def test_a_pad_length_beyond_its_frame_is_a_connection_error(kind: int) -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields()))
    peer.feed(f.frame(kind, f.PADDED | f.END_HEADERS, 1, b"\x06abcde"))
    assert peer.connection.output.failure == "PROTOCOL_ERROR: more padding than frame"


def test_a_header_frame_too_short_for_its_priority_is_a_connection_error() -> None:
    """A priority has five bytes (RFC 9113, 6.2). A lenient server would take the frame for an empty header block."""
    peer = Peer([unary()]).greet()
    peer.feed(f.frame(f.HEADERS, f.END_HEADERS | f.PRIORITIZED, 1, bytes(4)))
    assert peer.connection.output.failure == "FRAME_SIZE_ERROR: HEADERS too short for its priority"


def test_padding_costs_credit() -> None:
    """The whole payload of a padded frame counts against the windows."""
    limits = Limits(stream_window_bytes=65_535, connection_window_bytes=65_535)
    peer = Peer([unary()], limits).greet()
    peer.feed(peer.headers(1, request_fields()))
    peer.feed(peer.data(1, message(bytes(1_000))[:5]))
    padded = f.frame(f.DATA, f.PADDED, 1, b"\xff" + b"x" + bytes(255))
    for _ in range(200):
        peer.feed(padded)
    credit = [frame for frame in peer.frames if frame.kind == f.WINDOW_UPDATE]
    assert {frame.stream_id for frame in credit} == {0, 1}


def test_a_header_block_may_span_several_continuation_frames() -> None:
    peer = Peer([unary()]).greet()
    block = peer.encoder.encode(request_fields(x_long="v" * 100))
    pieces = [block[at : at + 10] for at in range(0, len(block), 10)]
    data = f.frame(f.HEADERS, 0, 1, pieces[0])
    data += b"".join(f.frame(f.CONTINUATION, 0, 1, piece) for piece in pieces[1:])
    peer.feed(data + f.frame(f.CONTINUATION, f.END_HEADERS, 1, b"") + peer.data(1, message(b"x"), end=True))
    assert peer.response(1).messages == [b"x"]


@pytest.mark.parametrize("intruder", [f.ping(bytes(8), ack=False), f.frame(f.CONTINUATION, 4, 3, b""), f.settings()])
def test_a_frame_inside_a_header_block_is_a_connection_error(intruder: bytes) -> None:
    """A frame of any other kind or stream inside a header block is a connection error."""
    peer = Peer([unary()]).greet()
    peer.feed(f.frame(f.HEADERS, 0, 1, b"\x83") + intruder)
    assert peer.connection.output.failure == "PROTOCOL_ERROR: a header block was interrupted"


_FULL_PIECE = b"\x00\x01a\x01b" * 800


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b"", f"header block with more than {_LIMITS.max_continuations} CONTINUATION frames"),
        (_FULL_PIECE, f"header block of {1 + 17 * len(_FULL_PIECE)} bytes"),
    ],
    ids=["empty", "full"],
)
def test_a_flood_of_continuation_frames_ends_with_enhance_your_calm(piece: bytes, reason: str) -> None:
    """A flood of CONTINUATION frames, empty or full, ends with ENHANCE_YOUR_CALM, and the reason names the limit."""
    peer = Peer([unary()]).greet()
    peer.feed(f.frame(f.HEADERS, 0, 1, b"\x83"))
    for _ in range(_LIMITS.max_continuations + 1):
        peer.feed(f.frame(f.CONTINUATION, 0, 1, piece))
    assert peer.connection.output.failure == f"ENHANCE_YOUR_CALM: {reason}"


def _block_in_frames(peer: Peer, continuations: int) -> bytes:
    """Return the header block of a request in a HEADERS frame and this number of CONTINUATION frames."""
    block = peer.encoder.encode(request_fields())
    *middle, last = [block[at : at + 1] for at in range(1, continuations)] + [block[continuations:]]
    return b"".join(
        [
            f.frame(f.HEADERS, 0, 1, block[:1]),
            *(f.frame(f.CONTINUATION, 0, 1, piece) for piece in middle),
            f.frame(f.CONTINUATION, f.END_HEADERS, 1, last),
        ]
    )


@pytest.mark.parametrize("continuations", [31, 32])
def test_a_header_block_may_have_32_continuation_frames(continuations: int) -> None:
    peer = Peer([unary()]).greet()
    peer.feed(_block_in_frames(peer, continuations) + peer.data(1, message(b"x"), end=True))
    assert peer.connection.output.failure is None
    assert peer.response(1).messages == [b"x"]


def test_the_33rd_continuation_frame_of_a_header_block_is_a_connection_error() -> None:
    """The 33rd CONTINUATION frame is a connection error, also if the header block ends with it."""
    peer = Peer([unary()]).greet()
    peer.feed(_block_in_frames(peer, 33))
    assert peer.connection.output.failure == ("ENHANCE_YOUR_CALM: header block with more than 32 CONTINUATION frames")


def test_a_small_block_with_a_huge_header_list_gets_resource_exhausted() -> None:
    """A small block that repeats a long table entry is rejected before the server builds the header list."""
    peer = Peer([unary()]).greet()
    block = peer.encoder.encode(request_fields()) + b"\x40\x01x" + b"\x7f\x81\x1e" + b"v" * 3_968
    peer.feed(f.frame(f.HEADERS, f.END_HEADERS | f.END_STREAM, 1, block + b"\xbe" * 9_000))
    status, text = peer.response(1).status
    assert status == 8
    assert "exceeds the limit of 65536" in text
    # The server's table still equals the client's, so it decodes the next request.
    peer.encoder.header_table.add(b"x", b"v" * 3_968)
    peer.feed(peer.request(3, b"next"))
    assert peer.response(3).messages == [b"next"]


def test_a_stream_above_the_limit_is_refused() -> None:
    """A stream above the announced limit gets REFUSED_STREAM, so that the client may retry it."""
    peer = Peer([unary(lambda call, request: None)], Limits(max_concurrent_streams=2)).greet()
    for stream_id in (1, 3, 5):
        peer.feed(peer.request(stream_id, b""))
    assert [peer.response(stream_id).reset for stream_id in (1, 3, 5)] == [None, None, ErrorCode.REFUSED_STREAM]


_CALM = replace(_LIMITS, reset_burst=50, resets_per_second=10, control_burst=50, controls_per_second=10)


def test_rapid_resets_end_with_enhance_your_calm() -> None:
    """A client that opens and resets streams continuously gets ENHANCE_YOUR_CALM after its burst."""
    cancelled: list[int] = []

    def park(call: ServerCall, request: bytes) -> None:
        call.on_cancel(lambda: cancelled.append(1))

    peer = Peer([unary(park)], _CALM).greet()
    for stream_id in range(1, 201, 2):
        peer.feed(peer.request(stream_id, b"") + f.rst_stream(stream_id, ErrorCode.CANCEL))
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many reset streams"
    assert len(cancelled) == 50


@pytest.mark.parametrize(
    "frame",
    [
        f.ping(bytes(8), ack=False),
        f.ping(bytes(8), ack=True),
        f.settings(),
        f.settings(ack=True),
        f.frame(f.PRIORITY, 0, 9, bytes(5)),
        f.frame(0xEE, 0, 0, b""),
        f.frame(f.DATA, 0, 1, b""),
    ],
)
def test_a_flood_of_frames_without_work_ends_with_enhance_your_calm(frame: bytes) -> None:
    peer = Peer([unary()], _CALM).greet()
    peer.feed(peer.headers(1, request_fields()))
    peer.feed(frame * 60)
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many control frames"


def test_a_client_that_pings_at_the_allowed_rate_is_served_without_limit() -> None:
    peer = Peer([unary()], _CALM).greet()
    for _ in range(500):
        peer.now += 0.1
        peer.feed(f.ping(bytes(8), ack=False))
    assert peer.connection.output.failure is None
    assert len([frame for frame in peer.frames if frame.kind == f.PING]) == 500


def test_keep_alive_pings_are_no_flood() -> None:
    """The server acknowledges ten pings a second during three hours without a call."""
    peer = Peer([unary()]).greet()
    for _ in range(3 * 3_600 // 100):
        peer.now += 100
        assert len(peer.feed(f.ping(bytes(8), ack=False) * 1_000)) == 1_000
    assert peer.connection.output.failure is None


def test_after_a_graceful_go_away_calls_in_flight_are_served() -> None:
    """After GOAWAY, requests in flight are served. After the client has received it, new ones are refused.

    The connection closes with its last stream.
    """
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call))]).greet()
    peer.feed(peer.request(1, b""))
    peer.connection.output.drain()
    away, ping = peer.read()
    assert (away.kind, away.code, away.payload[:4]) == (f.GOAWAY, 0, b"\x7f\xff\xff\xff")
    peer.feed(peer.request(3, b""))
    assert len(parked) == 2
    final = peer.feed(f.ping(ping.payload, ack=True))
    assert [int.from_bytes(frame.payload[:4], "big") for frame in final] == [3]
    peer.feed(peer.request(5, b""))
    assert peer.response(5).reset == ErrorCode.REFUSED_STREAM
    for call in parked:
        assert peer.connection.output.closing is Closing.NO
        call.reply(b"late")
        peer.read()
    assert peer.connection.output.closing is Closing.AFTER_OUTPUT
    assert peer.response(3).messages == [b"late"]


@pytest.mark.parametrize("last_act", ["client resets", "server resets"])
def test_a_draining_connection_closes_when_its_last_stream_is_reset(last_act: str) -> None:
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call))]).greet()
    peer.feed(peer.request(1, b""))
    peer.connection.output.go_away(ErrorCode.NO_ERROR)
    if last_act == "client resets":
        peer.feed(f.rst_stream(1, ErrorCode.CANCEL))
    else:
        peer.connection.output.reset_stream(peer.connection.output.streams[1], ErrorCode.CANCEL)
    assert peer.connection.output.closing is Closing.AFTER_OUTPUT


def test_a_later_response_wakes_the_owner_of_the_connection() -> None:
    """A response after `receive` has returned wakes the owner of the connection to write; one during it does not."""
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call)), unary(path="/test.Echo/Now")]).greet()
    peer.feed(peer.request(1, b"") + peer.request(3, b"", "/test.Echo/Now"))
    assert peer.wakes == []
    parked[0].send(b"more to come")
    parked[0].finish()
    assert peer.wakes == [False, False, True]


def test_trailers_end_a_request() -> None:
    """A request may end with trailers. Pseudo-header fields in them reset the stream."""
    peer = Peer([unary()]).greet()
    body = peer.headers(1, request_fields()) + peer.data(1, message(b"x"))
    peer.feed(body + peer.headers(1, [("x-sum", "1")], end=True))
    assert peer.response(1).messages == [b"x"]
    peer.feed(peer.headers(3, request_fields()) + peer.headers(3, request_fields(), end=True))
    assert peer.response(3).reset == ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize(("promised", "sent"), [("5", 6), ("7", 6), ("0", 6), ("6", 0)])
def test_a_body_that_differs_from_its_content_length_resets_the_stream(promised: str, sent: int) -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields(content_length=promised)))
    peer.feed(peer.data(1, message(b"x")[:sent], end=True))
    assert peer.response(1).reset == ErrorCode.PROTOCOL_ERROR


def test_a_stream_that_depends_on_itself_is_reset() -> None:
    """A stream that depends on itself is reset, and the header table stays equal to the client's."""
    peer = Peer([unary()]).greet()
    block = peer.encoder.encode(request_fields(x_new="1"))
    peer.feed(f.frame(f.HEADERS, f.END_HEADERS | f.PRIORITIZED, 1, (1).to_bytes(4, "big") + b"\0" + block))
    assert peer.response(1).reset == ErrorCode.PROTOCOL_ERROR
    peer.feed(peer.headers(3, request_fields(x_new="1")) + peer.data(3, message(b"ok"), end=True))
    assert peer.response(3).messages == [b"ok"]


def test_a_stream_that_depends_on_itself_is_reset_after_its_last_continuation_frame() -> None:
    """A header block in several frames whose priority names its own stream is read to its end, then reset."""
    peer = Peer([unary()]).greet()
    block = peer.encoder.encode(request_fields(x_new="1"))
    peer.feed(f.frame(f.HEADERS, f.PRIORITIZED, 1, (1).to_bytes(4, "big") + b"\0" + block[:5]))
    assert peer.response(1).reset is None
    peer.feed(f.frame(f.CONTINUATION, f.END_HEADERS, 1, block[5:]))
    assert peer.response(1).reset == ErrorCode.PROTOCOL_ERROR
    peer.feed(peer.headers(3, request_fields(x_new="1")) + peer.data(3, message(b"ok"), end=True))
    assert peer.response(3).messages == [b"ok"]


@pytest.mark.parametrize("exclusive", [0, 1 << 31])
def test_a_priority_frame_that_makes_a_stream_depend_on_itself_resets_the_stream(exclusive: int) -> None:
    """The exclusive flag is not part of the stream identifier. Streams of other frames stay open."""
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields()) + peer.headers(3, request_fields()))
    peer.feed(f.frame(f.PRIORITY, 0, 1, (exclusive | 1).to_bytes(4, "big") + b"\0"))
    assert peer.response(1).reset == ErrorCode.PROTOCOL_ERROR
    peer.feed(peer.data(3, message(b"ok"), end=True))
    assert peer.response(3).messages == [b"ok"]


def test_requests_reach_the_method_of_their_path() -> None:
    peer = Peer(
        [unary(lambda call, request: call.reply(call.path.encode()), path) for path in (ECHO, "/a.B/C")]
    ).greet()
    peer.feed(peer.request(1, b"") + peer.request(3, b"", "/a.B/C"))
    assert [peer.response(stream_id).messages for stream_id in (1, 3)] == [[ECHO.encode()], [b"/a.B/C"]]
