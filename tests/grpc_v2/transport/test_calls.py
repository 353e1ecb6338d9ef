"""gRPC calls on a connection in memory, as their handlers and their clients see them, and their ends."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest
from rocketmq_testkit.grpc_v2.transport import GrpcMethod, Limits, MethodKind, ServerCall
from rocketmq_testkit.grpc_v2.transport.grpc.session import DEADLINE_GRACE_SECONDS
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode

from tests.grpc_v2.transport.wire import ECHO, FACTS, Peer, bidi, message, request_fields, streaming, unary


def test_a_unary_response_has_upstreams_headers_message_and_trailers() -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.request(1, b"hello"))
    response = peer.response(1)
    assert response.headers == [
        (":status", "200"),
        ("content-type", "application/grpc"),
        ("grpc-encoding", "identity"),
        ("grpc-accept-encoding", "gzip"),
    ]
    assert response.messages == [b"hello"]
    assert response.trailers == [("grpc-status", "0")]


def test_a_handler_gets_path_metadata_deadline_and_addresses_of_its_call() -> None:
    """A handler gets the call's path, metadata, deadline, both ends of its connection, and the dialed authority."""
    seen: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: seen.append(call))]).greet()
    peer.feed(peer.request(1, b"", ECHO, x_mq_client_id="me", x_data_bin="AAEC,/w", grpc_timeout="1500m"))
    call = seen[0]
    assert (call.path, call.authority, call.deadline_ms) == (ECHO, "emulator:8081", 1_500)
    assert (call.peer, call.local, call.secure) == (FACTS.peer, FACTS.local, False)
    assert call.metadata["x-mq-client-id"] == "me"
    assert call.binary_metadata("x-data-bin") == [b"\0\1\2", b"\xff"]
    assert call.binary_metadata("x-none-bin") == []
    assert not call.cancelled


def test_metadata_belongs_to_one_call() -> None:
    """A handler that changes its metadata changes no other call's, although equal header blocks are decoded once."""

    def spoil(call: ServerCall, request: bytes) -> None:
        call.reply(call.metadata["x-a"].encode())
        call.metadata["x-a"] = "spoiled"

    peer = Peer([unary(spoil)]).greet()
    for stream_id in (1, 3, 5, 7):
        peer.feed(peer.request(stream_id, b"", ECHO, x_a="fresh"))
        assert peer.response(stream_id).messages == [b"fresh"]


def test_a_handler_may_respond_long_after_it_has_returned() -> None:
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call))]).greet()
    assert not peer.feed(peer.request(1, b""))
    parked[0].reply(b"late")
    peer.read()
    assert peer.response(1).messages == [b"late"]


def test_initial_and_trailing_metadata_reach_the_client() -> None:
    """Initial and trailing metadata reach the client, text and binary."""

    def handler(call: ServerCall, request: bytes) -> None:
        call.send_metadata({"x-first": "1", "x-first-bin": b"\xff\x00"})
        call.send(b"m")
        call.finish(0, "", {"x-last": "2", "x-last-bin": b"\x01"})

    peer = Peer([unary(handler)]).greet()
    peer.feed(peer.request(1, b""))
    assert {("x-first", "1"), ("x-first-bin", "/wA")} <= set(peer.response(1).headers)
    assert {("x-last", "2"), ("x-last-bin", "AQ"), ("grpc-status", "0")} == set(peer.response(1).trailers)


def test_an_error_without_a_message_is_one_header_block() -> None:
    """An error without a message is one header block that ends the stream, with its text percent-encoded."""
    peer = Peer([unary(lambda call, request: call.finish(5, "nö\n%", {"x-why": "because"}))]).greet()
    frames = peer.feed(peer.request(1, b""))
    assert [(frame.kind, frame.flags) for frame in frames] == [(f.HEADERS, f.END_HEADERS | f.END_STREAM)]
    assert peer.response(1).status == (5, "n%C3%B6%0A%25")
    assert ("x-why", "because") in peer.response(1).headers


def test_a_server_streaming_call_returns_its_messages_then_the_status() -> None:
    def handler(call: ServerCall, request: bytes) -> None:
        for n in range(3):
            call.send(b"%d" % n)
        call.finish()

    peer = Peer([streaming(handler)]).greet()
    peer.feed(peer.request(1, b""))
    assert peer.response(1).messages == [b"0", b"1", b"2"]
    assert peer.response(1).status == (0, "")


def test_a_stream_without_a_message_ends_in_one_header_block() -> None:
    peer = Peer([streaming(lambda call, request: call.finish())]).greet()
    peer.feed(peer.request(1, b""))
    assert peer.response(1).status == (0, "")
    assert peer.response(1).trailers == []


def test_messages_of_a_bidirectional_call_reach_the_handler_as_they_arrive() -> None:
    """Messages of a bidirectional call reach the handler as they arrive, and so does the end of the request.

    They may be split anywhere.
    """

    def handler(call: ServerCall, request: None) -> None:
        assert request is None
        call.on_message = lambda found: call.send(found.upper())
        call.on_half_close = lambda: call.finish(0, "bye")

    peer = Peer([bidi(handler)]).greet()
    peer.feed(peer.headers(1, request_fields()))
    body = message(b"one") + message(b"") + message(b"three")
    for at in range(len(body)):
        peer.feed(peer.data(1, body[at : at + 1]))
    assert peer.response(1).messages == [b"ONE", b"", b"THREE"]
    peer.feed(peer.data(1, b"", end=True))
    assert peer.response(1).status == (0, "bye")


def test_a_bidirectional_call_that_the_server_ends_is_reset_with_no_error() -> None:
    """A bidirectional call that the server ends is reset with NO_ERROR, and later frames are ignored."""
    calls: list[ServerCall] = []
    peer = Peer([bidi(lambda call, _: calls.append(call))]).greet()
    peer.feed(peer.headers(1, request_fields()))
    calls[0].finish(9, "enough")
    peer.read()
    assert peer.response(1).status == (9, "enough")
    assert peer.response(1).reset == ErrorCode.NO_ERROR
    assert not peer.feed(peer.data(1, message(b"more"), end=True))
    assert not calls[0].cancelled


def test_a_bidirectional_method_serves_client_streaming_calls() -> None:
    """A bidirectional method with one response at the end serves client-streaming calls."""

    def handler(call: ServerCall, _: None) -> None:
        total: list[int] = []
        call.on_message = lambda found: total.append(len(found))
        call.on_half_close = lambda: call.reply(b"%d" % sum(total))

    peer = Peer([bidi(handler)]).greet()
    peer.feed(peer.headers(1, request_fields()) + peer.data(1, message(b"ab") + message(b"cde"), end=True))
    assert peer.response(1).messages == [b"5"]


def test_gzip_messages_are_decompressed_among_uncompressed_ones() -> None:
    calls: list[bytes] = []

    def handler(call: ServerCall, _: None) -> None:
        call.on_message = calls.append

    peer = Peer([bidi(handler), unary(path="/test.Echo/One")]).greet()
    peer.feed(peer.headers(1, request_fields(grpc_encoding="gzip")))
    peer.feed(peer.data(1, message(gzip.compress(b"packed"), 1) + message(b"plain")))
    assert calls == [b"packed", b"plain"]
    peer.feed(peer.headers(3, request_fields("/test.Echo/One", grpc_encoding="gzip")))
    peer.feed(peer.data(3, message(gzip.compress(b"whole"), 1), end=True))
    assert peer.response(3).messages == [b"whole"]


def test_an_unknown_encoding_is_unimplemented() -> None:
    """An unknown encoding is UNIMPLEMENTED, and the response lists the supported encodings."""
    peer = Peer([unary()]).greet()
    peer.feed(peer.request(1, b"", ECHO, grpc_encoding="snappy"))
    assert peer.response(1).status == (12, "Can't find decompressor for snappy")
    assert ("grpc-accept-encoding", "gzip") in peer.response(1).headers


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/test.Echo/Missing", "Method not found: test.Echo/Missing"),
        ("/x", "Method not found: x"),
        ("no-slash", "Method not found: no-slash"),
    ],
)
def test_an_unknown_method_is_unimplemented(path: str, text: str) -> None:
    """An unknown method is UNIMPLEMENTED with the text of upstream's server."""
    peer = Peer([unary()]).greet()
    peer.feed(peer.request(1, b"", path))
    assert peer.response(1).status == (12, text)


@pytest.mark.parametrize(
    ("change", "http_status", "text"),
    [
        ((":method", "GET"), "405", "gRPC requests are POST, not GET"),
        (("content-type", "application/json"), "415", "gRPC requests have content-type application/grpc"),
        (("content-type", "application/grpc-web"), "415", "gRPC requests have content-type application/grpc"),
    ],
)
def test_a_request_that_is_not_grpc_gets_a_plain_http_response(
    change: tuple[str, str], http_status: str, text: str
) -> None:
    """A request that is not gRPC gets a plain HTTP response with the reason."""
    peer = Peer([unary()]).greet()
    fields = [change if name == change[0] else (name, value) for name, value in request_fields()]
    peer.feed(peer.headers(1, fields))
    assert not peer.response(1).headers
    peer.feed(peer.data(1, b"anything", end=True))
    assert peer.response(1).headers[0] == (":status", http_status)
    assert peer.response(1).body.decode().startswith(text)
    assert peer.response(1).ended


@pytest.mark.parametrize("content_type", ["application/grpc", "application/grpc+proto", "application/grpc;x=y"])
def test_the_grpc_content_type_is_accepted_with_and_without_a_format(content_type: str) -> None:
    peer = Peer([unary()]).greet()
    fields = [field for field in request_fields() if field[0] != "content-type"]
    peer.feed(peer.headers(1, [*fields, ("content-type", content_type)]) + peer.data(1, message(b"x"), end=True))
    assert peer.response(1).messages == [b"x"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", (13, "Half-closed without a request")),
        (message(b"x")[:3], (13, "the request ends inside a message")),
        (message(b"xyz")[:6], (13, "the request ends inside a message")),
        (message(b"x") + message(b"y"), (13, "Too many requests")),
        (message(b"x") + b"\0", (13, "Too many requests")),
        (message(b"x", 1), (13, "compressed message in a request without grpc-encoding")),
    ],
)
@pytest.mark.parametrize("pieces", [1, 100])
def test_a_unary_request_without_exactly_one_message_is_internal(
    body: bytes, status: tuple[int, str], pieces: int
) -> None:
    """A unary request without exactly one complete message is INTERNAL, as a whole and in pieces."""
    called: list[bytes] = []
    peer = Peer([unary(lambda call, request: called.append(request))]).greet()
    peer.feed(peer.headers(1, request_fields()))
    for at in range(0, len(body), -(-len(body) // pieces) or 1):
        peer.feed(peer.data(1, body[at : at + (-(-len(body) // pieces) or 1)]))
    peer.feed(peer.data(1, b"", end=True))
    assert peer.response(1).status == status
    assert not called
    assert not peer.log


def test_the_handler_is_called_only_after_the_request_has_ended() -> None:
    called: list[bytes] = []
    peer = Peer([unary(lambda call, request: called.append(request))]).greet()
    peer.feed(peer.headers(1, request_fields()) + peer.data(1, message(b"x")))
    assert not called
    peer.feed(peer.data(1, b"", end=True))
    assert called == [b"x"]


def _undecodable(data: bytes) -> Any:
    raise ValueError(data)


@pytest.mark.parametrize("kind", MethodKind)
def test_an_undecodable_message_ends_the_call_with_unknown(kind: MethodKind) -> None:
    """A message that cannot be decoded ends the call with UNKNOWN and no text, as in upstream, and is not logged."""
    peer = Peer([GrpcMethod(ECHO, kind, _undecodable, lambda call, request: None)]).greet()
    peer.feed(peer.request(1, b"junk"))
    assert peer.response(1).status == (2, "")
    assert not peer.log


def _broken_unary(call: ServerCall, request: Any) -> None:
    raise LookupError("broken")


def _broken_message(call: ServerCall, request: Any) -> None:
    call.on_message = lambda found: [][0]


def _broken_half_close(call: ServerCall, request: Any) -> None:
    call.on_half_close = lambda: [][0]


@pytest.mark.parametrize(
    "method", [unary(_broken_unary), bidi(_broken_unary), bidi(_broken_message), bidi(_broken_half_close)]
)
@pytest.mark.provokes_bugs
def test_a_handler_that_raises_ends_only_its_call_with_internal(method: GrpcMethod) -> None:
    """A handler that raises ends its call with INTERNAL and one log entry with the traceback.

    The connection stays open.
    """
    peer = Peer([method, unary(path="/test.Echo/Fine")]).greet()
    peer.feed(peer.request(1, b"x") + peer.request(3, b"fine", "/test.Echo/Fine"))
    assert peer.response(1).status == (13, "test.Echo/Unary failed in the server, whose log says why")
    assert peer.response(3).messages == [b"fine"]
    assert len(peer.log) == 1
    assert peer.log[0].startswith("gRPC /test.Echo/Unary failed in its handler\nTraceback")
    assert peer.connection.output.failure is None


@pytest.mark.provokes_bugs
def test_the_response_of_a_handler_that_raises_afterwards_stays() -> None:
    """After a handler responded and then raised, the response stays and the error is logged."""

    def handler(call: ServerCall, request: bytes) -> None:
        call.reply(b"done")
        raise LookupError("too late")

    peer = Peer([unary(handler)]).greet()
    peer.feed(peer.request(1, b""))
    assert peer.response(1).status == (0, "")
    assert "too late" in peer.log[0]


_ANSWERS: list[Callable[[ServerCall], None]] = [
    lambda call: call.reply(b""),
    lambda call: call.finish(),
    lambda call: call.send(b""),
]


@pytest.mark.parametrize("again", _ANSWERS)
def test_a_second_response_raises_runtime_error_in_the_handler(again: Callable[[ServerCall], None]) -> None:
    seen: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: seen.append(call))]).greet()
    peer.feed(peer.request(1, b""))
    seen[0].reply(b"one")
    with pytest.raises(RuntimeError, match="already has its response"):
        again(seen[0])


def test_initial_metadata_after_the_first_message_raises_runtime_error() -> None:
    seen: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: seen.append(call))]).greet()
    peer.feed(peer.request(1, b""))
    seen[0].send(b"m")
    with pytest.raises(RuntimeError, match="after the response was opened"):
        seen[0].send_metadata({"x": "y"})


@pytest.mark.parametrize("how", ["reset", "lost connection", "protocol error"])
def test_a_parked_call_is_cancelled_when_its_client_disconnects(how: str) -> None:
    """A parked call is cancelled as soon as its client disconnects, and later output is discarded."""
    heard: list[str] = []
    parked: list[ServerCall] = []

    def handler(call: ServerCall, request: bytes) -> None:
        parked.append(call)
        call.on_cancel(lambda: heard.append("first"))
        call.on_cancel(lambda: heard.append("second"))

    peer = Peer([streaming(handler)]).greet()
    peer.feed(peer.request(1, b""))
    if how == "reset":
        peer.feed(f.rst_stream(1, ErrorCode.CANCEL))
    elif how == "lost connection":
        peer.connection.connection_lost("gone")
    else:
        peer.feed(peer.data(1, b"after the end"))
    assert heard == ["first", "second"]
    call = parked[0]
    assert call.cancelled
    call.send(b"x")
    call.reply(b"x")
    call.finish(1)
    call.send_metadata({"x": "y"})
    assert not [frame for frame in peer.read() if frame.kind in (f.HEADERS, f.DATA)]
    call.on_cancel(lambda: heard.append("late"))
    assert heard[-1] == "late"


def test_a_finished_call_is_not_cancelled_by_later_events() -> None:
    heard: list[str] = []

    def handler(call: ServerCall, request: bytes) -> None:
        call.on_cancel(lambda: heard.append("cancelled"))
        call.reply(b"")
        call.on_cancel(lambda: heard.append("cancelled"))

    peer = Peer([unary(handler)]).greet()
    peer.feed(peer.request(1, b"") + f.rst_stream(1, ErrorCode.CANCEL))
    peer.connection.connection_lost("gone")
    assert not heard


@pytest.mark.provokes_bugs
def test_a_cancel_callback_that_raises_does_not_stop_the_others() -> None:
    """After a cancel callback raises, the other callbacks are called, and the error is logged."""
    heard: list[str] = []

    def handler(call: ServerCall, request: bytes) -> None:
        call.on_cancel(lambda: [][0])
        call.on_cancel(lambda: heard.append("second"))

    peer = Peer([unary(handler)]).greet()
    peer.feed(peer.request(1, b"") + f.rst_stream(1, ErrorCode.CANCEL))
    assert heard == ["second"]
    assert "IndexError" in peer.log[0]


def _expire(peer: Peer, seconds: float) -> None:
    peer.now += seconds
    peer.deadlines.expire(peer.now)
    peer.read()


def test_a_parked_call_is_cancelled_after_its_deadline_and_the_grace_period() -> None:
    """A parked call is cancelled with DEADLINE_EXCEEDED after its deadline and the grace period for the client."""
    heard: list[str] = []
    peer = Peer([unary(lambda call, request: call.on_cancel(lambda: heard.append("up")))]).greet()
    peer.feed(peer.request(1, b"", ECHO, grpc_timeout="3S"))
    _expire(peer, 3 + DEADLINE_GRACE_SECONDS - 0.001)
    assert not heard
    _expire(peer, 0.001)
    assert heard == ["up"]
    assert peer.response(1).status == (4, "deadline exceeded")


def test_a_started_response_is_reset_at_its_deadline() -> None:
    """A response that has started is ended with RST_STREAM at its deadline, even if output waits for credit."""
    parked: list[ServerCall] = []
    peer = Peer([streaming(lambda call, request: parked.append(call))]).greet()
    peer.feed(peer.request(1, b"", ECHO, grpc_timeout="1S"))
    parked[0].send(bytes(100_000))
    _expire(peer, 1 + DEADLINE_GRACE_SECONDS)
    assert parked[0].cancelled
    assert peer.response(1).reset == ErrorCode.CANCEL
    assert not peer.feed(f.window_update(0, 100_000))


def test_an_incomplete_request_gets_deadline_exceeded() -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields(grpc_timeout="100m")) + peer.data(1, b"\0\0"))
    _expire(peer, 0.1 + DEADLINE_GRACE_SECONDS)
    assert peer.response(1).status == (4, "deadline exceeded")


def test_a_silent_bidirectional_call_gets_deadline_exceeded() -> None:
    peer = Peer([bidi(lambda call, request: None)]).greet()
    peer.feed(peer.headers(1, request_fields(grpc_timeout="2S")))
    _expire(peer, 2 + DEADLINE_GRACE_SECONDS - 0.001)
    assert not peer.response(1).ended
    _expire(peer, 0.001)
    assert peer.response(1).status == (4, "deadline exceeded")


def test_a_call_with_a_response_needs_no_timer() -> None:
    """The deadline of a call that got its response neither needs a timer nor changes the response."""
    parked: list[ServerCall] = []
    peer = Peer([unary(lambda call, request: parked.append(call)), unary(path="/test.Echo/Now")]).greet()
    peer.feed(peer.request(1, b"", "/test.Echo/Now", grpc_timeout="1S"))
    assert peer.deadlines.next_due is None
    peer.feed(peer.request(3, b"", ECHO, grpc_timeout="1S"))
    assert peer.deadlines.next_due == peer.now + 1 + DEADLINE_GRACE_SECONDS
    parked[0].reply(b"in time")
    _expire(peer, 5)
    assert peer.response(3).status == (0, "")
    assert peer.deadlines.next_due is None


def test_a_complete_response_that_waits_for_credit_has_no_deadline() -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.headers(1, request_fields(grpc_timeout="1S")) + peer.data(1, message(bytes(100_000)), end=True))
    _expire(peer, 9)
    peer.feed(f.window_update(0, 100_000) + f.window_update(1, 100_000))
    assert peer.response(1).messages == [bytes(100_000)]


def test_a_malformed_deadline_is_rejected_with_internal() -> None:
    peer = Peer([unary()]).greet()
    peer.feed(peer.request(1, b"", ECHO, grpc_timeout="soon"))
    assert peer.response(1).status == (13, "malformed grpc-timeout: soon")


def test_metadata_above_the_limit_is_resource_exhausted() -> None:
    """A header list above the limit is RESOURCE_EXHAUSTED, and the connection stays open."""
    peer = Peer([unary()], Limits(max_header_list_bytes=2_000)).greet()
    peer.feed(peer.request(1, b"", ECHO, x_long="v" * 1_900) + peer.request(3, b"ok"))
    assert peer.response(1).status[0] == 8
    assert peer.response(3).messages == [b"ok"]


def test_a_method_path_without_a_service_or_method_raises_value_error() -> None:
    """A method path that no client could call raises ValueError when the method is declared."""
    for path in ("test.Echo/Unary", "/Unary", "/test.Echo/", "//Unary"):
        with pytest.raises(ValueError, match=r"is not /package\.Service/Method"):
            unary(path=path)
