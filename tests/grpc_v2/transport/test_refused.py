"""Every call that the transport itself ends with an error is reported, with its head if it could be decoded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rocketmq_testkit.grpc_v2.transport import GrpcMethod, Limits, MethodKind, ServerCall
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.request_head import RequestHead

from tests.grpc_v2.transport.wire import ECHO, Peer, bidi, message, request_fields, unary


def _fail(call: ServerCall, request: bytes) -> None:
    raise ValueError("a bug of the handler")


def _undecodable(data: bytes) -> bytes:
    raise ValueError(data)


_LIMITS = Limits(max_message_bytes=100, max_concurrent_streams=1, max_header_list_bytes=500)
_METHODS = [
    unary(),
    unary(lambda call, request: None, "/test.Echo/Never"),
    unary(_fail, "/test.Echo/Fail"),
    GrpcMethod("/test.Echo/Undecodable", MethodKind.UNARY, _undecodable, lambda call, request: None),
    bidi(lambda call, _: None, "/test.Echo/Stream"),
]
_REFUSED: dict[str, tuple[Callable[[Peer], bytes], str | None, str]] = {
    "unknown method": (lambda peer: peer.request(1, b"", "/no.Such/Method"), "/no.Such/Method", "UNIMPLEMENTED"),
    "unknown encoding": (lambda peer: peer.request(1, b"", grpc_encoding="br"), ECHO, "UNIMPLEMENTED"),
    "unreadable timeout": (lambda peer: peer.request(1, b"", grpc_timeout="soon"), ECHO, "INTERNAL"),
    "too much metadata": (lambda peer: peer.request(1, b"", x_long="x" * 480), ECHO, "RESOURCE_EXHAUSTED"),
    "too long a message": (lambda peer: peer.request(1, bytes(101)), ECHO, "RESOURCE_EXHAUSTED"),
    "undecodable message": (
        lambda peer: peer.request(1, b"", "/test.Echo/Undecodable"),
        "/test.Echo/Undecodable",
        "UNKNOWN",
    ),
    "half a message": (
        lambda peer: peer.headers(1, request_fields()) + peer.data(1, message(b"long")[:-1], end=True),
        ECHO,
        "INTERNAL",
    ),
    "half a message of a stream": (
        lambda peer: peer.headers(1, request_fields("/test.Echo/Stream")) + peer.data(1, b"\0\0", end=True),
        "/test.Echo/Stream",
        "INTERNAL",
    ),
    "bug of a handler": (lambda peer: peer.request(1, b"", "/test.Echo/Fail"), "/test.Echo/Fail", "INTERNAL"),
    "GET": (
        lambda peer: peer.headers(1, [(":method", "GET"), *request_fields()[1:]], end=True),
        ECHO,
        "METHOD_NOT_ALLOWED",
    ),
    "not gRPC": (
        lambda peer: peer.headers(1, [*request_fields()[:4], ("content-type", "application/json")], end=True),
        ECHO,
        "UNSUPPORTED_MEDIA_TYPE",
    ),
    "malformed head": (lambda peer: peer.headers(1, [(":method", "POST")]), None, "PROTOCOL_ERROR"),
    "one stream too many": (
        lambda peer: peer.request(1, b"", "/test.Echo/Never") + peer.request(3, b""),
        None,
        "REFUSED_STREAM",
    ),
    "broken rule of a stream": (
        lambda peer: peer.headers(1, request_fields("/test.Echo/Stream")) + f.window_update(1, 0),
        "/test.Echo/Stream",
        "PROTOCOL_ERROR",
    ),
    "broken rule of the connection": (lambda peer: f.ping(bytes(7), ack=False), None, "FRAME_SIZE_ERROR"),
    "flood": (lambda peer: f.ping(bytes(8), ack=False) * 30_000, None, "ENHANCE_YOUR_CALM"),
    "not HTTP/2": (lambda peer: b"", None, "PROTOCOL_ERROR"),
}


_CASES = [
    pytest.param(*values, id=name, marks=[pytest.mark.provokes_bugs] if name == "bug of a handler" else [])
    for name, values in _REFUSED.items()
]


@pytest.mark.parametrize(("send", "path", "name"), _CASES)
def test_refused_calls_are_reported(send: Callable[[Peer], bytes], path: str | None, name: str) -> None:
    """Each rejected call is reported once, with its path, the name of its status, and a text if it has one."""
    peer = Peer(_METHODS, _LIMITS)
    data = send(peer)
    if data:
        peer.greet()
    peer.feed(data or b"GET / HTTP/1.1\r\n\r\n")
    (refused,) = peer.refused
    assert (None if refused.head is None else refused.head.path, refused.name) == (path, name)
    assert refused.text or name == "UNKNOWN"


def test_a_deadline_that_passes_is_reported() -> None:
    """A call whose deadline passes is reported once with DEADLINE_EXCEEDED."""
    peer = Peer(_METHODS).greet()
    peer.feed(peer.request(1, b"", "/test.Echo/Never", grpc_timeout="50m"))
    assert peer.refused == []
    peer.deadlines.expire(peer.now + 10)
    (refused,) = peer.refused
    assert isinstance(refused.head, RequestHead)
    assert (refused.head.path, refused.name) == ("/test.Echo/Never", "DEADLINE_EXCEEDED")
    assert refused.text == "no response within 50.0 ms"


def test_calls_with_a_response_and_cancelled_calls_are_not_reported() -> None:
    """A call that got a response with any status, or that its client cancelled, is not reported."""
    peer = Peer([*_METHODS, unary(lambda call, request: call.finish(5, "no such thing"), "/test.Echo/No")]).greet()
    peer.feed(peer.request(1, b"") + peer.request(3, b"", "/test.Echo/No") + peer.request(5, b"", "/test.Echo/Never"))
    peer.feed(f.rst_stream(5, ErrorCode.CANCEL))
    assert peer.refused == []
