"""Small inputs that could cause much work: the work is bounded by input and output, and floods end the connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from operation_counts import executed_lines
from rocketmq_testkit.grpc_v2.transport import Limits, ServerCall
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.settings import HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, encode_settings
from rocketmq_testkit.grpc_v2.transport.http2.stream_table import StreamState

from tests.grpc_v2.transport.wire import Peer, bidi, request_fields, unary

_WIDE = 1 << 20
_ROUNDS = 50
_CONNECTION_WINDOW = 65_535


def _initial_window(size: int) -> bytes:
    return f.settings(encode_settings({INITIAL_WINDOW_SIZE: size}))


def _waiting_for_the_connection(streams: int) -> Peer:
    """Return a peer whose connection window is used up, with responses of 105 bytes on `streams` more streams."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: _WIDE})
    peer.feed(peer.request(1, bytes(_CONNECTION_WINDOW)))
    for at in range(streams):
        peer.feed(peer.request(3 + 2 * at, bytes(100)))
    return peer


def _waiting_for_their_windows(streams: int) -> Peer:
    """Return a peer that gives no stream any credit, with responses of 105 bytes on `streams` streams."""
    peer = Peer([unary()]).greet({INITIAL_WINDOW_SIZE: 0})
    for at in range(streams):
        peer.feed(peer.request(3 + 2 * at, bytes(100)))
    return peer


def _all_opened_once(streams: int) -> Peer:
    """Return a peer with `streams` streams that have sent one byte of their responses and are open."""
    peer = _waiting_for_the_connection(streams)
    peer.feed(f.window_update(0, streams) + _initial_window(_WIDE + 1))
    return peer


def _ended(streams: int) -> Peer:
    """Return a peer with `streams` ended streams of each kind, or fewer, as the server keeps only so many."""
    peer = Peer([unary()]).greet()
    for at in range(streams):
        first = 1 + 8 * at
        peer.feed(peer.request(first, b""))
        peer.feed(peer.headers(first + 2, request_fields()) + f.rst_stream(first + 2, ErrorCode.CANCEL))
        peer.feed(peer.headers(first + 4, request_fields("/test.Echo/Missing")))
    return peer


_FLOODS: dict[str, tuple[Callable[[int], Peer], bytes]] = {
    "credit of one byte for the connection": (_waiting_for_the_connection, f.window_update(0, 1)),
    "the initial window to and fro": (_waiting_for_the_connection, _initial_window(1) + _initial_window(_WIDE)),
    "the initial window to and fro, and a byte": (
        _all_opened_once,
        _initial_window(0) + f.window_update(0, 1) + _initial_window(_WIDE),
    ),
    "the initial window below and above what was sent": (
        _all_opened_once,
        _initial_window(1) + f.window_update(0, 1) + _initial_window(2),
    ),
    "credit of one byte for one stream": (_waiting_for_their_windows, f.window_update(3, 1)),
    "credit without a byte to send": (_waiting_for_their_windows, f.window_update(0, 1)),
    "settings that change nothing": (_waiting_for_their_windows, f.settings()),
    "the header table to and fro": (
        _waiting_for_their_windows,
        f.settings(encode_settings({HEADER_TABLE_SIZE: 0})) + f.settings(encode_settings({HEADER_TABLE_SIZE: 4_096})),
    ),
    "pings": (_waiting_for_their_windows, f.ping(bytes(8), ack=False)),
    "priorities": (_waiting_for_their_windows, f.frame(f.PRIORITY, 0, 3, bytes(5))),
    "credit for a stream that was never used": (_ended, f.window_update(7, 1)),
    "resets of a stream that was never used": (_ended, f.rst_stream(7, ErrorCode.CANCEL)),
    "credit for a stream that has ended": (_ended, f.window_update(1, 1)),
    "data for a stream that was given up": (_ended, f.frame(f.DATA, 0, 5, b"")),
}


@pytest.mark.pure  # counts executed lines, of which compiled modules have none
@pytest.mark.parametrize(("prepare", "flood"), _FLOODS.values(), ids=_FLOODS)
def test_work_does_not_grow_with_the_number_of_streams(prepare: Callable[[int], Peer], flood: bytes) -> None:
    """A frame causes the same work with eight times as many streams, except for the depth of a heap."""

    def work(streams: int) -> int:
        peer = prepare(streams)
        peer.connection.receive(flood, peer.now)  # the first round may also sort the prepared streams
        lines = executed_lines(lambda: peer.connection.receive(flood * _ROUNDS, peer.now))
        assert peer.connection.output.failure is None
        return lines

    assert work(400) <= 1.2 * work(50)


@pytest.mark.pure  # counts executed lines as well
def test_credit_for_one_stream_costs_the_same_with_any_number_of_waiting_streams() -> None:
    """Credit for one stream after another costs the same per stream with any number of waiting streams."""

    def work_for_each(streams: int) -> float:
        peer = _waiting_for_their_windows(streams)
        credit = b"".join(f.window_update(3 + 2 * at, 1) for at in range(streams))
        return executed_lines(lambda: peer.connection.receive(credit, peer.now)) / streams

    assert work_for_each(800) <= 1.2 * work_for_each(100)


def test_an_opened_initial_window_costs_the_same_per_stream() -> None:
    """An initial window that opens all streams costs the same per stream."""

    def work_for_each(streams: int) -> float:
        peer = _waiting_for_their_windows(streams)
        lines = executed_lines(lambda: peer.connection.receive(_initial_window(105), peer.now))
        peer.read()
        assert all(peer.response(3 + 2 * at).ended for at in range(streams))
        return lines / streams

    assert work_for_each(400) <= 1.2 * work_for_each(50)


def test_streams_with_the_most_credit_are_served_when_the_initial_window_grows() -> None:
    """When a new initial window opens some blocked streams, those with the most credit are served."""
    peer = _waiting_for_their_windows(4)
    peer.feed(f.window_update(3, 20) + f.window_update(5, 10) + f.window_update(7, 30))
    peer.feed(_initial_window(1))
    assert [len(peer.response(stream_id).body) for stream_id in (3, 5, 7, 9)] == [21, 11, 31, 1]
    # This credit leaves the stream's window closed; it counts at the next change of the initial window.
    peer.feed(_initial_window(0) + f.window_update(9, 1) + _initial_window(1))
    assert [len(peer.response(stream_id).body) for stream_id in (3, 5, 7, 9)] == [21, 11, 31, 2]


def test_a_stream_that_is_reset_while_it_waits_uses_no_credit() -> None:
    """Streams that the client resets while they wait use no credit and keep no bytes."""
    for prepare in (_waiting_for_the_connection, _waiting_for_their_windows):
        peer = prepare(3)
        peer.feed(f.rst_stream(3, ErrorCode.CANCEL) + f.rst_stream(5, ErrorCode.CANCEL))
        peer.feed(_initial_window(_WIDE) + f.window_update(0, _WIDE))
        assert peer.response(7).ended
        assert [peer.response(3).body, peer.response(5).body] == [b"", b""]
        assert peer.connection.output.sender.unsent_bytes == 0


_CALM = replace(Limits(), control_burst=50, controls_per_second=10, reset_burst=50, resets_per_second=10)


@pytest.mark.parametrize(
    "frame",
    [
        f.window_update(0, 1),
        f.window_update(1, 1),
        f.window_update(3, 1),
        f.frame(f.DATA, 0, 5, b"x"),
        f.rst_stream(3, ErrorCode.CANCEL),
    ],
    ids=["for the connection", "for an open stream", "for no stream", "DATA that nobody takes", "a stream twice"],
)
def test_frames_without_a_request_count_as_control_frames(frame: bytes) -> None:
    """Credit and frames for ended streams count as control frames, and too many of these end the connection."""
    peer = Peer([bidi(lambda call, _: None), unary(path="/test.Echo/Unary2")], _CALM).greet()
    peer.feed(peer.headers(1, request_fields()) + peer.request(3, b"", "/test.Echo/Unary2"))
    peer.feed(peer.headers(5, request_fields("/test.Echo/Missing")))
    peer.feed(frame * 40)
    assert peer.connection.output.failure is None
    peer.feed(frame * 20)
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many control frames"


def test_headers_for_an_abandoned_stream_count_as_control_frames() -> None:
    """Header blocks for an abandoned stream are decoded, so they count as control frames."""
    peer = Peer([unary()], _CALM).greet()
    peer.feed(peer.headers(1, request_fields("/test.Echo/Missing")))
    for _ in range(60):
        peer.feed(peer.headers(1, [("x", "y")]))
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many control frames"


_BREAKS = {
    "credit of zero": f.window_update(1, 0),
    "credit beyond the largest window": f.window_update(1, 0x7FFF_FFFF),
    "a priority of four bytes": f.frame(f.PRIORITY, 0, 1, bytes(4)),
    "a stream that depends on itself": f.frame(f.PRIORITY, 0, 1, (1).to_bytes(4, "big") + b"\0"),
    "more data than its window": f.frame(f.DATA, 0, 1, bytes(16_384)),
    "headers in the middle": f.frame(f.HEADERS, f.END_HEADERS, 1, b"\x83"),
}


@pytest.mark.parametrize("breach", _BREAKS.values(), ids=_BREAKS)
def test_resets_that_a_client_provokes_count_as_its_own(breach: bytes) -> None:
    """A stream that the server resets because of a client's protocol error counts as reset by the client."""
    cancelled: list[int] = []
    limits = Limits(reset_burst=50, resets_per_second=10, stream_window_bytes=10_000)
    peer = Peer([bidi(lambda call, _: call.on_cancel(lambda: cancelled.append(1)))], limits).greet()
    for stream_id in range(1, 201, 2):
        peer.feed(peer.headers(stream_id, request_fields()))
        peer.feed(breach[:5] + stream_id.to_bytes(4, "big") + breach[9:].replace(b"\0\0\0\1\0", _word(stream_id)))
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many reset streams"
    assert len(cancelled) == 50


def _word(stream_id: int) -> bytes:
    return stream_id.to_bytes(4, "big") + b"\0"


def test_responses_that_get_no_credit_are_bounded() -> None:
    """A client that sends requests but no credit gets no further streams until it sends credit."""
    peer = Peer([unary()], Limits(max_unsent_bytes=1_000)).greet({INITIAL_WINDOW_SIZE: 0})
    for stream_id in (1, 3, 5):
        peer.feed(peer.request(stream_id, bytes(600)))
    assert [peer.response(stream_id).reset for stream_id in (1, 3, 5)] == [None, None, ErrorCode.REFUSED_STREAM]
    peer.feed(f.window_update(1, 605))
    peer.feed(peer.request(7, bytes(600)))
    assert peer.response(7).reset is None
    assert peer.response(1).messages == [bytes(600)]


def test_a_response_that_is_sent_reset_or_stalled_no_longer_counts_as_unsent() -> None:
    held: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: held.append(call))]).greet({INITIAL_WINDOW_SIZE: 10})
    for stream_id in (1, 3, 5):
        peer.feed(peer.request(stream_id, b""))
    for call in held:
        call.send(bytes(95))
        call.send(bytes(15))
    sender = peer.connection.output.sender
    assert sender.unsent_bytes == 3 * (100 + 20 - 10)
    peer.feed(f.window_update(1, 110))
    assert sender.unsent_bytes == 2 * 110
    peer.feed(f.rst_stream(3, ErrorCode.CANCEL))
    assert sender.unsent_bytes == 110
    peer.connection.output.stall(peer.connection.output.streams[5])
    assert sender.unsent_bytes == 0


def test_an_initial_window_that_overflows_a_stream_is_a_flow_control_error() -> None:
    """SETTINGS that make the window of an open stream overflow are a FLOW_CONTROL_ERROR of the connection."""
    peer = Peer([unary(lambda call, request: None)]).greet({INITIAL_WINDOW_SIZE: 10})
    peer.feed(peer.request(1, b"") + f.window_update(1, f.LARGEST_WINDOW - 10))
    peer.feed(_initial_window(10))
    assert peer.connection.output.failure is None
    peer.feed(_initial_window(11))
    assert peer.connection.output.failure == "FLOW_CONTROL_ERROR: a stream's window overflows"


def test_an_ended_streams_credit_cannot_overflow_its_window() -> None:
    """Only open streams can overflow; a check of all windows counts as one control frame per stream."""
    peer = Peer([unary(lambda call, request: None)], replace(_CALM, control_burst=60)).greet({INITIAL_WINDOW_SIZE: 10})
    for stream_id in range(1, 42, 2):
        peer.feed(peer.request(stream_id, b""))
    peer.feed(f.window_update(1, f.LARGEST_WINDOW - 10) + f.rst_stream(1, ErrorCode.CANCEL))
    assert peer.connection.output.failure is None
    peer.feed(_initial_window(11) + _initial_window(12))
    assert peer.connection.output.failure is None
    peer.feed(f.window_update(3, f.LARGEST_WINDOW - 12) + f.rst_stream(3, ErrorCode.CANCEL) + _initial_window(13))
    assert peer.connection.output.failure is None
    peer.feed(f.window_update(5, f.LARGEST_WINDOW - 13) + f.rst_stream(5, ErrorCode.CANCEL) + _initial_window(14))
    assert peer.connection.output.failure == "ENHANCE_YOUR_CALM: too many control frames"


def test_ended_streams_are_stored_separately_by_state() -> None:
    """Ended streams are stored separately by state, and a repeated end evicts no other stream."""
    peer = _ended(1_030)
    registry = peer.connection.output.registry
    assert registry.state_of(1) is StreamState.SKIPPED
    assert registry.state_of(8 * 1_029 + 1) is StreamState.CLOSED
    assert registry.state_of(8 * 1_029 + 3) is StreamState.RESET
    assert registry.state_of(8 * 1_029 + 5) is StreamState.ABANDONED
    for _ in range(2_000):
        registry.mark_abandoned(8 * 1_029 + 5)
        registry.mark_abandoned(8 * 1_029 + 3)
    assert registry.state_of(8 * 100 + 5) is StreamState.ABANDONED
    assert registry.state_of(8 * 1_029 + 3) is StreamState.ABANDONED


def test_a_stream_that_was_reset_and_then_abandoned_is_evicted_once() -> None:
    """DATA after a client's reset makes its stream ABANDONED; later evictions of both states still succeed."""
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields()) + f.rst_stream(1, ErrorCode.CANCEL) + f.frame(f.DATA, 0, 1, b"x"))
    assert peer.response(1).reset == ErrorCode.STREAM_CLOSED
    for stream_id in range(3, 2_063, 2):
        peer.feed(peer.headers(stream_id, request_fields("/test.Echo/Missing")))
    for stream_id in range(2_063, 4_123, 2):
        peer.feed(peer.headers(stream_id, request_fields()) + f.rst_stream(stream_id, ErrorCode.CANCEL))
    assert peer.connection.output.failure is None
    assert peer.connection.output.registry.state_of(1) is StreamState.SKIPPED


def test_joining_a_repeated_field_costs_the_same_per_field() -> None:
    """The cost per field does not grow with the number of fields of one name."""

    def work_for_each(fields: int) -> float:
        peer = Peer([unary()]).greet()
        block = peer.encoder.encode(request_fields()) + b"\x40\x01x\x01v" + b"\xbe" * fields
        frame = f.frame(f.HEADERS, f.END_HEADERS | f.END_STREAM, 1, block)
        return executed_lines(lambda: peer.connection.receive(frame, peer.now)) / fields

    assert work_for_each(1_600) <= 1.2 * work_for_each(200)


def test_a_window_overflow_is_found_in_the_stream_with_the_largest_window() -> None:
    """A window overflow is found in the stream with the largest window, regardless of the order of the streams."""
    for large in (1, 3):
        peer = Peer([unary(lambda call, request: None)]).greet({INITIAL_WINDOW_SIZE: 10})
        peer.feed(peer.request(1, b"") + peer.request(3, b"") + f.window_update(large, f.LARGEST_WINDOW - 10))
        peer.feed(_initial_window(11))
        assert peer.connection.output.failure == "FLOW_CONTROL_ERROR: a stream's window overflows"
