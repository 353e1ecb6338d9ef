"""The official grpcio client, synchronous and asyncio, with methods on this transport."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from rocketmq_testkit.grpc_v2.transport import Abort, Limits, ServerCall

from tests.transport.conftest import Served
from tests.transport.wire import bidi, streaming, unary

_PATIENCE_S = 20
_BIG = bytes(range(256)) * 16 * 1024
_NO_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Parked:
    """A handler that never responds, with events for the start and the cancel of its call."""

    def __init__(self) -> None:
        self.calls: list[ServerCall] = []
        self.began = threading.Event()
        self.cancelled = threading.Event()

    def handle(self, call: ServerCall, request: Any) -> None:
        """Park a call."""
        self.calls.append(call)
        call.on_cancel(self.cancelled.set)
        self.began.set()


@pytest.fixture
def parked() -> Parked:
    """A handler that never responds."""
    return Parked()


def _count(call: ServerCall, request: bytes) -> None:
    for n in range(int(request)):
        call.send(b"%d" % n)
    call.finish(0, "", {"x-count": request.decode()})


def _upper(call: ServerCall, _: None) -> None:
    call.on_message = lambda found: call.send(found.upper())
    call.on_half_close = call.finish


def _metadata(call: ServerCall, request: bytes) -> None:
    call.send_metadata({"x-echo": call.metadata["x-plain"]})
    call.send(request)
    call.finish(0, "", {"x-echo-bin": call.binary_metadata("x-data-bin")[0]})


@pytest.fixture
def served(serve: Callable[..., Served], parked: Parked) -> Served:
    """A server with one method of each kind."""
    return serve(
        [
            unary(),
            streaming(_count, "/test.Echo/Count"),
            bidi(_upper, "/test.Echo/Upper"),
            unary(_metadata, "/test.Echo/Metadata"),
            unary(lambda call, request: call.finish(7, "nö: 100%\n"), "/test.Echo/Fail"),
            unary(lambda call, request: call.abort(Abort[request.decode()]), "/test.Echo/Abort"),
            streaming(parked.handle, "/test.Echo/Park"),
        ]
    )


@pytest.fixture
def channel(served: Served) -> Iterator[grpc.Channel]:
    """A channel to the server."""
    with grpc.insecure_channel(served.address, options=_NO_LIMIT) as found:
        yield found


def test_unary(channel: grpc.Channel) -> None:
    """Bodies of all usual sizes are returned."""
    call = channel.unary_unary("/test.Echo/Unary")
    for size in (0, 1, 1_024, 16_379, 16_384, 65_535, 1_000_000):
        assert call(b"x" * size, timeout=_PATIENCE_S) == b"x" * size


def test_four_mebibytes_both_ways(channel: grpc.Channel) -> None:
    """A body of 4 MiB is sent and returned."""
    assert channel.unary_unary("/test.Echo/Unary")(_BIG, timeout=_PATIENCE_S) == _BIG


def test_many_calls_at_once(channel: grpc.Channel) -> None:
    """Hundreds of calls on one connection each get their own response."""
    call = channel.unary_unary("/test.Echo/Unary")
    futures = [call.future(b"%d" % n * 100, timeout=_PATIENCE_S) for n in range(500)]
    assert [future.result() for future in futures] == [b"%d" % n * 100 for n in range(500)]


def test_server_streaming(channel: grpc.Channel) -> None:
    """Messages arrive in order, and the trailing metadata after them."""
    call = channel.unary_stream("/test.Echo/Count")(b"1000", timeout=_PATIENCE_S)
    assert list(call) == [b"%d" % n for n in range(1_000)]
    assert ("x-count", "1000") in [(key, value) for key, value in call.trailing_metadata()]


def test_bidirectional_streaming(channel: grpc.Channel) -> None:
    """Messages of a bidirectional call are returned one by one."""
    call = channel.stream_stream("/test.Echo/Upper")
    assert list(call(iter([b"a", b"", b"c" * 100_000]), timeout=_PATIENCE_S)) == [b"A", b"", b"C" * 100_000]


def test_metadata(channel: grpc.Channel) -> None:
    """Text and binary metadata are sent and returned."""
    sent = (("x-plain", "some text"), ("x-data-bin", bytes(range(256))))
    call = channel.unary_unary("/test.Echo/Metadata")
    response, details = call.with_call(b"m", metadata=sent, timeout=_PATIENCE_S)
    assert response == b"m"
    assert ("x-echo", "some text") in [tuple(pair) for pair in details.initial_metadata()]
    assert ("x-echo-bin", bytes(range(256))) in [tuple(pair) for pair in details.trailing_metadata()]


def test_gzip(channel: grpc.Channel) -> None:
    """Compressed requests and compressed streams are accepted."""
    for compression in (grpc.Compression.Gzip, grpc.Compression.NoCompression):
        call = channel.unary_unary("/test.Echo/Unary")
        assert call(_BIG, compression=compression, timeout=_PATIENCE_S) == _BIG
        stream = channel.stream_stream("/test.Echo/Upper")
        assert list(stream(iter([b"a" * 9_999] * 3), compression=compression)) == [b"A" * 9_999] * 3


def test_an_encoding_that_is_not_understood(channel: grpc.Channel) -> None:
    """Deflate is UNIMPLEMENTED, as with upstream's server."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/test.Echo/Unary")(_BIG, compression=grpc.Compression.Deflate, timeout=_PATIENCE_S)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert caught.value.details() == "Can't find decompressor for deflate"


def test_an_error(channel: grpc.Channel) -> None:
    """Status and text arrive with any characters."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/test.Echo/Fail")(b"", timeout=_PATIENCE_S)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert caught.value.details() == "nö: 100%\n"


def test_an_unknown_method(channel: grpc.Channel) -> None:
    """An unknown method is UNIMPLEMENTED with upstream's text, and the connection stays open."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/test.Echo/Missing")(b"", timeout=_PATIENCE_S)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert caught.value.details() == "Method not found: test.Echo/Missing"
    assert channel.unary_unary("/test.Echo/Unary")(b"on", timeout=_PATIENCE_S) == b"on"


def test_a_message_beyond_the_limit(serve: Callable[..., Served]) -> None:
    """A message above the limit is RESOURCE_EXHAUSTED with both sizes, while the client is still sending."""
    served = serve([unary()], Limits(max_message_bytes=1_000_000))
    with grpc.insecure_channel(served.address, options=_NO_LIMIT) as channel:
        call = channel.unary_unary("/test.Echo/Unary")
        with pytest.raises(grpc.RpcError) as caught:
            call(_BIG, timeout=_PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert caught.value.details() == f"gRPC message exceeds maximum size 1000000: {len(_BIG)}"
        assert call(b"on", timeout=_PATIENCE_S) == b"on"


def test_a_deadline(channel: grpc.Channel, parked: Parked) -> None:
    """The client cancels at its deadline, and the parked call is cancelled."""
    # On a busy machine a short deadline may pass before the request has left the client.
    for timeout_s in (0.2, 2, 10):
        with pytest.raises(grpc.RpcError) as caught:
            list(channel.unary_stream("/test.Echo/Park")(b"", timeout=timeout_s))
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        if parked.began.is_set():
            break
    assert parked.cancelled.wait(_PATIENCE_S)
    deadline_ms = parked.calls[0].deadline_ms
    assert deadline_ms is not None
    # The client rounds a timeout up by a few per cent.
    assert 0 < deadline_ms <= timeout_s * 1_100


def test_a_cancelled_call(channel: grpc.Channel, parked: Parked) -> None:
    """A call that the client cancels is cancelled for its handler."""
    call = channel.unary_stream("/test.Echo/Park")(b"")
    assert parked.began.wait(_PATIENCE_S)
    call.cancel()
    assert parked.cancelled.wait(_PATIENCE_S)


def test_a_lost_connection(served: Served, parked: Parked) -> None:
    """A call whose connection is closed is cancelled for its handler."""
    with grpc.insecure_channel(served.address) as channel:
        call = channel.unary_stream("/test.Echo/Park")(b"")
        assert parked.began.wait(_PATIENCE_S)
    assert not call.is_active()
    assert parked.cancelled.wait(_PATIENCE_S)


def _served_again(channel: grpc.Channel) -> bytes:
    """Make calls until one succeeds: the client may send some before it notices the loss of its connection."""
    call = channel.unary_unary("/test.Echo/Unary")
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            answer: bytes = call(b"on", timeout=_PATIENCE_S, wait_for_ready=True)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                raise
        else:
            return answer


_OUTCOMES = {
    Abort.RESET_STREAM: grpc.StatusCode.INTERNAL,
    Abort.GO_AWAY: grpc.StatusCode.DEADLINE_EXCEEDED,
    Abort.RESET_CONNECTION: grpc.StatusCode.UNAVAILABLE,
    Abort.HALF_FRAME: grpc.StatusCode.UNAVAILABLE,
    Abort.STALL: grpc.StatusCode.DEADLINE_EXCEEDED,
    Abort.WRONG_TRAILERS: grpc.StatusCode.UNKNOWN,
}


def _broken(kind: Abort, channel: grpc.Channel, timeout_s: float) -> grpc.StatusCode:
    """Return the client's status for a broken response."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/test.Echo/Abort")(kind.name.encode(), timeout=timeout_s)
    code: grpc.StatusCode = caught.value.code()
    return code


@pytest.mark.parametrize("kind", [kind for kind in Abort if kind is not Abort.RESET_CONNECTION])
def test_aborts(kind: Abort, channel: grpc.Channel, served: Served) -> None:
    """Each broken response gives the client the expected status, and then the client is served again."""
    silent = kind in (Abort.STALL, Abort.GO_AWAY)
    assert _broken(kind, channel, 0.3 if silent else _PATIENCE_S) is _OUTCOMES[kind]
    assert _served_again(channel) == b"on"
    assert not served.log


def test_a_connection_that_is_reset(served: Served) -> None:
    """A TCP reset is UNAVAILABLE, and then the client is served again.

    grpcio 1.60 missed some resets on a busy machine (8 of 260), 1.85 none of 700: hence several attempts. A test with a
    plain socket checks that each reset is sent.
    """
    codes = []
    for _ in range(4):
        with grpc.insecure_channel(served.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            codes.append(_broken(Abort.RESET_CONNECTION, channel, 5))
            if codes[-1] is _OUTCOMES[Abort.RESET_CONNECTION]:
                assert _served_again(channel) == b"on"
                break
    assert codes[-1] is _OUTCOMES[Abort.RESET_CONNECTION]
    assert set(codes[:-1]) <= {grpc.StatusCode.DEADLINE_EXCEEDED}
    assert not served.log


def test_a_graceful_shutdown(serve: Callable[..., Served], parked: Parked) -> None:
    """Calls that are open when the server stops get their response, and new ones fail."""
    served = serve([unary(), unary(parked.handle, "/test.Echo/Park")])
    with grpc.insecure_channel(served.address) as channel:
        late = channel.unary_unary("/test.Echo/Park").future(b"", timeout=_PATIENCE_S)
        assert parked.began.wait(_PATIENCE_S)
        stopped = threading.Event()
        thread = served.thread
        thread.call(lambda: served.factory.shutdown(_PATIENCE_S).addCallback(lambda _: stopped.set()))
        thread.call(lambda: parked.calls[0].reply(b"late"))
        assert late.result() == b"late"
        assert stopped.wait(_PATIENCE_S)


def _run(scenario: Callable[[grpc.aio.Channel], Any], address: str) -> None:
    async def run() -> None:
        async with grpc.aio.insecure_channel(address, options=_NO_LIMIT) as channel:
            await asyncio.wait_for(scenario(channel), 3 * _PATIENCE_S)

    asyncio.run(run())


def test_asyncio_client(served: Served) -> None:
    """The asyncio client makes calls of all kinds, many at once, with large bodies and compression."""

    async def scenario(channel: grpc.aio.Channel) -> None:
        call = channel.unary_unary("/test.Echo/Unary")
        bodies = [b"%d" % n * 1_000 for n in range(200)]
        assert await asyncio.gather(*[call(body) for body in bodies]) == bodies
        assert await call(_BIG, compression=grpc.Compression.Gzip) == _BIG
        assert [found async for found in channel.unary_stream("/test.Echo/Count")(b"50")] == [
            b"%d" % n for n in range(50)
        ]
        talk = channel.stream_stream("/test.Echo/Upper")()
        for word in (b"one", b"two"):
            await talk.write(word)
            assert await talk.read() == word.upper()
        await talk.done_writing()
        assert await talk.read() is grpc.aio.EOF
        assert await talk.code() is grpc.StatusCode.OK

    _run(scenario, served.address)


def test_asyncio_deadline_and_cancel(served: Served, parked: Parked) -> None:
    """Deadlines and cancels of the asyncio client reach the handler."""

    async def scenario(channel: grpc.aio.Channel) -> None:
        for timeout_s in (0.2, 2, 10):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_stream("/test.Echo/Park")(b"", timeout=timeout_s).read()
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            if parked.began.is_set():
                break
        assert await asyncio.to_thread(parked.cancelled.wait, _PATIENCE_S)
        parked.began.clear()
        parked.cancelled.clear()
        call = channel.unary_stream("/test.Echo/Park")(b"")
        assert await asyncio.to_thread(parked.began.wait, _PATIENCE_S)
        call.cancel()
        assert await asyncio.to_thread(parked.cancelled.wait, _PATIENCE_S)

    _run(scenario, served.address)
