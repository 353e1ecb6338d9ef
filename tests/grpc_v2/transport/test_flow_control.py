"""Flow control in both directions: output waits for credit, and received bytes are credited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport import Abort, Limits, ServerCall
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.settings import INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, encode_settings

from tests.grpc_v2.transport.wire import ECHO, Peer, bidi, message, request_fields, streaming, unary


def _sizes(peer: Peer) -> list[int]:
    return [len(frame.payload) for frame in peer.frames if frame.kind == f.DATA]


def test_a_response_waits_for_its_streams_credit() -> None:
    """DATA is sent as the stream's window allows, and the trailers after the last DATA."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 10})
    peer.feed(peer.request(1, b"a" * 20))
    assert _sizes(peer) == [10]
    peer.feed(f.window_update(1, 14))
    assert _sizes(peer) == [10, 14]
    assert not peer.response(1).ended
    peer.feed(f.window_update(1, 1))
    assert peer.response(1).messages == [b"a" * 20]
    assert peer.response(1).status == (0, "")


def test_the_connections_window_blocks_the_responses_of_all_streams() -> None:
    """The connection's window blocks all streams, and waiting streams are served in rotation."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 1 << 20})
    for stream_id in (1, 3, 5):
        peer.feed(peer.request(stream_id, bytes(60_000)))
    assert sum(_sizes(peer)) == 65_535
    for _ in range(30):
        peer.feed(f.window_update(0, 5_000))
    assert [peer.response(stream_id).messages for stream_id in (1, 3, 5)] == [[bytes(60_000)]] * 3
    assert not peer.connection.output.streams


def test_waiting_streams_share_the_connections_credit() -> None:
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 1 << 20})
    for stream_id in (1, 3, 5):
        peer.feed(peer.request(stream_id, bytes(100_000)))
    peer.feed(f.window_update(0, 4 * 16_384))
    late = [frame.stream_id for frame in peer.frames if frame.kind == f.DATA][-4:]
    assert sorted(set(late)) == [1, 3, 5]


def test_many_messages_share_the_credit_of_their_stream() -> None:
    """Each message uses the window of its stream, even if all of them fit at once."""

    def handler(call: ServerCall, request: bytes) -> None:
        for _ in range(4):
            call.send(bytes(5))

    peer = Peer([streaming(handler)]).greet({INITIAL_WINDOW_SIZE: 25})
    peer.feed(peer.request(1, b""))
    assert _sizes(peer) == [10, 10, 5]


def test_a_small_message_waits_until_a_large_one_before_it_is_sent() -> None:
    """Messages of one stream keep their order, regardless of their sizes."""

    def handler(call: ServerCall, request: bytes) -> None:
        for size in (100, 3, 50, 0):
            call.send(bytes(size))
        call.finish(5, "done", {"x-end": "yes"})

    peer = Peer([streaming(handler)]).greet({INITIAL_WINDOW_SIZE: 20})
    peer.feed(peer.request(1, b""))
    while not peer.response(1).ended:
        assert peer.feed(f.window_update(1, 7))
    assert [len(found) for found in peer.response(1).messages] == [100, 3, 50, 0]
    assert peer.response(1).status == (5, "done")
    assert ("x-end", "yes") in peer.response(1).trailers


@given(st.lists(st.tuples(st.sampled_from([0, 1, 3, 5]), st.integers(1, 40_000)), max_size=60), st.integers(0, 30_000))
def test_credit_is_never_overdrawn(updates: list[tuple[int, int]], initial: int) -> None:
    """For any sequence of credit, output never exceeds the credit, and uses all of it while output waits."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: initial})
    bodies = {stream_id: bytes(30_000 + stream_id) for stream_id in (1, 3, 5)}
    for stream_id, body in bodies.items():
        peer.feed(peer.request(stream_id, body))
    stream_credit = dict.fromkeys(bodies, initial)
    total = 65_535
    for stream_id, increment in updates:
        peer.feed(f.window_update(stream_id, increment))
        if stream_id:
            stream_credit[stream_id] += increment
        else:
            total += increment
        sent = {key: len(peer.response(key).body) for key in bodies}
        assert sum(sent.values()) <= total
        assert all(sent[key] <= stream_credit[key] for key in bodies)
        waiting = [key for key in bodies if sent[key] < len(bodies[key]) + 5]
        assert sum(sent.values()) == total or all(sent[key] == stream_credit[key] for key in waiting)


def test_a_changed_initial_window_applies_to_open_streams() -> None:
    """SETTINGS change the window of open streams, even to a negative one that must be paid back first."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 100})
    peer.feed(peer.request(1, bytes(300)))
    assert sum(_sizes(peer)) == 100
    peer.feed(f.settings(encode_settings({INITIAL_WINDOW_SIZE: 40})))
    peer.feed(f.window_update(1, 60))
    assert sum(_sizes(peer)) == 100
    peer.feed(f.window_update(1, 1))
    assert sum(_sizes(peer)) == 101
    peer.feed(f.settings(encode_settings({INITIAL_WINDOW_SIZE: 1_000})))
    assert peer.response(1).messages == [bytes(300)]


def test_data_frames_have_at_most_the_size_that_the_client_allows() -> None:
    """DATA frames have at most 16 KiB, or the size that the client allows."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 1 << 20})
    peer.feed(peer.request(1, bytes(40_000)))
    assert max(_sizes(peer)) == 16_384
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 1 << 20, MAX_FRAME_SIZE: 50_000})
    peer.feed(peer.request(1, bytes(40_000)))
    assert _sizes(peer) == [40_005]


def test_long_trailers_continue_in_continuation_frames() -> None:
    """A header block above the client's frame size continues in CONTINUATION frames."""
    peer = Peer([unary(lambda call, request: call.finish(3, "x" * 40_000))]).greet()
    peer.feed(peer.request(1, b""))
    kinds = [frame.kind for frame in peer.frames if frame.stream_id == 1]
    assert kinds == [f.HEADERS, f.CONTINUATION, f.CONTINUATION]
    assert peer.response(1).status == (3, "x" * 40_000)


@pytest.mark.parametrize("stream_id", [0, 1])
def test_credit_that_overflows_a_window_is_a_flow_control_error(stream_id: int) -> None:
    """Credit above 2**31 - 1 is a FLOW_CONTROL_ERROR of the stream or of the connection."""
    peer = Peer([unary(lambda call, request: None)]).greet()
    peer.feed(peer.request(1, b""))
    peer.feed(f.window_update(stream_id, 0x7FFF_FFFF))
    if stream_id:
        assert peer.response(1).reset == ErrorCode.FLOW_CONTROL_ERROR
    else:
        assert peer.connection.output.failure == "FLOW_CONTROL_ERROR: the connection's window overflows"


def test_received_bytes_are_credited_to_the_client() -> None:
    """A client that keeps to its windows can send a body of many times their size."""
    limits = Limits(stream_window_bytes=65_535, connection_window_bytes=100_000)
    peer = Peer([unary()], limits).greet({INITIAL_WINDOW_SIZE: 1 << 24})
    peer.feed(f.window_update(0, 1 << 24))
    peer.feed(peer.headers(1, request_fields()))
    body = message(bytes(1_000_000))
    windows = {0: 100_000, 1: 65_535}
    at = 0
    while at < len(body):
        room = min(*windows.values(), 16_384, len(body) - at)
        assert room > 0
        end = at + room == len(body)
        for frame in peer.feed(peer.data(1, body[at : at + room], end=end)):
            if frame.kind == f.WINDOW_UPDATE:
                windows[frame.stream_id] += int.from_bytes(frame.payload, "big")
        windows = {key: window - room for key, window in windows.items()}
        at += room
    assert peer.response(1).messages == [bytes(1_000_000)]


def test_a_message_of_4_mib_needs_no_further_credit() -> None:
    limits = Limits()
    assert min(limits.stream_window_bytes, limits.connection_window_bytes) > 4 * 1024 * 1024 + 65_536


def test_a_client_that_exceeds_a_streams_credit_is_reset() -> None:
    """A client that exceeds the credit of a stream is reset, for example after the stream was stalled."""
    held: list[ServerCall] = []
    limits = Limits(stream_window_bytes=20_000)
    peer = Peer([bidi(lambda call, _: held.append(call))], limits).greet()
    peer.feed(peer.headers(1, request_fields()))
    held[0].abort(Abort.STALL)
    flood = peer.data(1, message(bytes(16_379)))
    assert not peer.feed(flood)
    peer.feed(flood)
    assert peer.response(1).reset == ErrorCode.FLOW_CONTROL_ERROR
    assert peer.connection.output.failure is None
    assert held[0].cancelled


def test_a_client_that_exceeds_the_connections_credit_is_disconnected() -> None:
    peer = Peer([bidi(lambda call, _: None)], Limits(connection_window_bytes=10_000)).greet()
    peer.feed(peer.headers(1, request_fields()))
    peer.feed(peer.data(1, message(bytes(3 * 16_384))[: 3 * 16_384]))
    assert peer.connection.output.failure is None
    peer.feed(peer.data(1, bytes(16_384)))
    assert peer.connection.output.failure == "FLOW_CONTROL_ERROR: more DATA than the connection's window"


def test_a_message_above_the_limit_is_rejected_by_its_prefix() -> None:
    """A message above the limit is rejected by its prefix. Its remaining bytes are ignored and credited."""
    peer = Peer([unary()], Limits(max_message_bytes=1_000)).greet()
    peer.feed(peer.headers(1, request_fields()) + peer.data(1, message(bytes(1_001))[:20]))
    assert peer.response(1).status == (8, "gRPC message exceeds maximum size 1000: 1001")
    assert peer.response(1).reset == ErrorCode.NO_ERROR
    assert not peer.feed(peer.data(1, bytes(16_000), end=True))
    peer.feed(peer.request(3, b"next", ECHO))
    assert peer.response(3).messages == [b"next"]


def test_a_message_above_the_limit_in_one_piece_is_rejected_as_well() -> None:
    """The code for a request that arrives in one piece, which parses it directly, enforces the limit as well."""
    peer = Peer([unary()], Limits(max_message_bytes=1_000)).greet()
    peer.feed(peer.request(1, bytes(1_001)) + peer.request(3, bytes(1_000)))
    assert peer.response(1).status[0] == 8
    assert peer.response(3).messages == [bytes(1_000)]
