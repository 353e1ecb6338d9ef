"""The Twisted protocol: writing, back-pressure, closing, shutdown and timers, in memory and on real sockets."""

from __future__ import annotations

import gc
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from rocketmq_testkit.grpc_v2.transport import Abort, GrpcMethod, Limits, ServerCall
from rocketmq_testkit.grpc_v2.transport.grpc.session import DEADLINE_GRACE_SECONDS
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.twisted_server import GrpcServerFactory, GrpcServerProtocol
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection
from twisted.python.failure import Failure

from tests.grpc_v2.transport.conftest import Served
from tests.grpc_v2.transport.wire import ECHO, Frame, Peer, bidi, parse, request_fields, streaming, unary

_PATIENCE_S = 20.0


class CountingTransport(StringTransportWithDisconnection):
    """A transport in memory that counts its writes."""

    writes = 0

    def write(self, data: bytes) -> None:
        """Write output."""
        self.writes += 1
        super().write(data)


class BrokenTable(dict[str, GrpcMethod]):
    """A table of methods that raises, as an example of any defect of the transport outside of handlers."""

    def get(self, key: str, default: Any = None) -> Any:
        """Raise ZeroDivisionError."""
        raise ZeroDivisionError("ours")


class Wired:
    """A server protocol on a transport in memory, with a test clock."""

    def __init__(self, methods: list[GrpcMethod], limits: Limits | None = None) -> None:
        self.clock = Clock()
        self.log: list[str] = []
        self.factory = GrpcServerFactory(methods, clock=self.clock, log=self.log.append, limits=limits)
        self.peer = Peer()
        self.connect()

    def connect(self) -> None:
        """Open a connection."""
        protocol = self.factory.buildProtocol(None)
        assert isinstance(protocol, GrpcServerProtocol)
        self.protocol = protocol
        self.transport = CountingTransport()
        # Type checkers do not know the type of a zope interface.
        cast(Any, self.transport).protocol = protocol
        protocol.makeConnection(self.transport)

    def feed(self, data: bytes) -> list[Frame]:
        """Pass bytes to the server, and return the frames that it wrote."""
        self.protocol.dataReceived(data)
        return self.frames()

    def greet(self) -> Wired:
        """Send the preface and SETTINGS."""
        self.feed(f.PREFACE + f.settings())
        return self

    def frames(self) -> list[Frame]:
        """Return the frames written since the last call."""
        data = self.transport.value()
        self.transport.clear()
        frames, rest = parse(data)
        assert not rest
        return frames


def test_all_responses_to_one_read_are_written_at_once() -> None:
    """The responses to requests that arrive together leave in one write."""
    wired = Wired([unary()]).greet()
    wired.transport.writes = 0
    frames = wired.feed(b"".join(wired.peer.request(n, b"x") for n in range(1, 41, 2)))
    assert wired.transport.writes == 1
    assert len(frames) == 60


def test_a_call_has_the_addresses_of_both_ends_of_its_connection() -> None:
    seen: list[ServerCall] = []
    wired = Wired([unary(lambda call, request: seen.append(call))]).greet()
    wired.feed(wired.peer.request(1, b""))
    assert seen[0].peer == (wired.transport.getPeer().host, wired.transport.getPeer().port)
    assert seen[0].local == (wired.transport.getHost().host, wired.transport.getHost().port)
    assert not seen[0].secure


def test_input_that_is_not_http_2_closes_the_connection_and_is_logged_once() -> None:
    """Input that is not HTTP/2 gets GOAWAY, a close, and one line in the log."""
    wired = Wired([unary()])
    wired.frames()
    frames = wired.feed(b"GET / HTTP/1.1\r\n\r\n")
    assert [frame.kind for frame in frames] == [f.GOAWAY]
    assert not wired.transport.connected
    assert len(wired.log) == 1
    assert wired.log[0].endswith("closed: PROTOCOL_ERROR: this is not the preface of HTTP/2")
    assert not wired.factory.connections


@pytest.mark.provokes_bugs
def test_an_exception_outside_of_handlers_closes_only_its_connection() -> None:
    """An exception of the transport itself is logged with its traceback, and closes that connection."""
    wired = Wired([unary()])
    wired.factory.methods = BrokenTable()
    wired.connect()
    wired.greet()
    frames = wired.feed(wired.peer.request(1, b""))
    assert [frame.code for frame in frames if frame.kind == f.GOAWAY] == [2]
    assert not wired.transport.connected
    assert "ZeroDivisionError: ours" in wired.log[0]


def test_deadlines_use_one_timer_of_the_clock() -> None:
    """Parked calls expire by the clock, in order, and finished ones leave no timer."""
    ended: list[str] = []

    def park(call: ServerCall, request: bytes) -> None:
        call.on_cancel(lambda: ended.append(request.decode()))

    wired = Wired([unary(park), unary(path="/test.Echo/Now")]).greet()
    for stream_id, name, timeout in ((1, "slow", "5S"), (3, "fast", "2S"), (5, "middle", "3S")):
        wired.feed(wired.peer.request(stream_id, name.encode(), ECHO, grpc_timeout=timeout))
    wired.feed(wired.peer.request(7, b"", "/test.Echo/Now", grpc_timeout="1S"))
    timers: list[Any] = list(wired.clock.getDelayedCalls())
    assert [timer.getTime() for timer in timers] == [2 + DEADLINE_GRACE_SECONDS]
    wired.clock.pump([2, 0.2])
    assert ended == ["fast"]
    wired.clock.pump([1, 1, 1])
    assert ended == ["fast", "middle", "slow"]
    assert not wired.clock.getDelayedCalls()
    assert [frame.stream_id for frame in wired.frames() if frame.kind == f.HEADERS][-3:] == [3, 5, 1]


def test_shutdown_without_grace_cancels_open_calls() -> None:
    """Shutdown without grace cancels open calls and closes old and new connections with GOAWAY. No timer is left."""
    cancelled: list[int] = []
    wired = Wired([unary(lambda call, request: call.on_cancel(lambda: cancelled.append(1)))]).greet()
    wired.feed(wired.peer.request(1, b"", ECHO, grpc_timeout="9S"))
    done: list[None] = []
    wired.factory.shutdown().addCallback(done.append)
    assert [frame.kind for frame in wired.frames()] == [f.GOAWAY]
    assert cancelled == [1]
    assert done == [None]
    assert not wired.clock.getDelayedCalls()
    wired.connect()
    assert wired.frames()[-1].kind == f.GOAWAY
    assert not wired.transport.connected


def test_shutdown_with_grace_ends_when_the_open_call_has_its_response() -> None:
    parked: list[ServerCall] = []
    wired = Wired([unary(lambda call, request: parked.append(call))]).greet()
    wired.feed(wired.peer.request(1, b""))
    done: list[None] = []
    wired.factory.shutdown(5).addCallback(done.append)
    _, ping = wired.frames()
    wired.feed(f.ping(ping.payload, ack=True))
    assert not done
    parked[0].reply(b"late")
    assert done == [None]
    assert not wired.transport.connected
    assert not wired.clock.getDelayedCalls()


def test_a_call_without_a_response_is_cancelled_when_the_grace_period_ends() -> None:
    """A call without a response within the grace period is cancelled. A second shutdown may shorten the period."""
    cancelled: list[int] = []
    for shorten in (False, True):
        wired = Wired([unary(lambda call, request: call.on_cancel(lambda: cancelled.append(1)))]).greet()
        wired.feed(wired.peer.request(1, b""))
        done: list[None] = []
        wired.factory.shutdown(5).addCallback(done.append)
        wired.clock.advance(4.9)
        assert not done
        if shorten:
            wired.factory.shutdown().addCallback(done.append)
        else:
            wired.clock.advance(0.2)
        assert done == [None] * (1 + shorten)
        assert not wired.clock.getDelayedCalls()
    assert cancelled == [1, 1]


def test_shutdown_without_connections_ends_at_once() -> None:
    done: list[None] = []
    GrpcServerFactory([], clock=Clock()).shutdown(5).addCallback(done.append)
    assert done == [None]


def test_two_methods_with_one_path_raise_value_error() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        GrpcServerFactory([unary(), unary()], clock=Clock())


def test_max_message_bytes_replaces_only_the_message_limit() -> None:
    factory = GrpcServerFactory([], clock=Clock(), max_message_bytes=5, limits=Limits(max_concurrent_streams=7))
    assert (factory.limits.max_message_bytes, factory.limits.max_concurrent_streams) == (5, 7)
    assert GrpcServerFactory([], clock=Clock()).limits.max_message_bytes == 130 * 1024 * 1024


def test_a_finished_call_is_freed_without_the_cycle_collector() -> None:
    """A call, its request and its closures are freed by reference counts alone, without the cycle collector."""

    def reply(call: ServerCall, request: bytes) -> None:
        call.on_cancel(lambda: call.finish())
        call.reply(request)

    def talk(call: ServerCall, _: None) -> None:
        call.on_message = lambda found: call.send(found)
        call.on_half_close = lambda: call.finish()

    wired = Wired([unary(reply), bidi(talk, "/test.Echo/Talk")]).greet()
    data = wired.peer.request(1, b"x") + wired.peer.request(3, b"y", "/test.Echo/Talk")
    gc.collect()
    gc.disable()
    try:
        wired.protocol.dataReceived(data)
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert {frame.stream_id for frame in wired.frames() if frame.flags & f.END_STREAM} == {1, 3}


@pytest.fixture
def raw(serve: Callable[..., Served]) -> Iterator[Callable[..., tuple[socket.socket, Served]]]:
    """Yield a function `raw(methods, limits)` that starts a server and opens a plain socket to it."""
    sockets = []

    def connect(methods: list[GrpcMethod], limits: Limits | None = None) -> tuple[socket.socket, Served]:
        served = serve(methods, limits)
        client = socket.create_connection(("127.0.0.1", served.port), timeout=_PATIENCE_S)
        sockets.append(client)
        return client, served

    yield connect
    for client in sockets:
        client.close()


def _read_until(client: socket.socket, enough: Callable[[list[Frame]], bool]) -> list[Frame]:
    """Return the received frames, until there are enough or the connection ends."""
    data = b""
    frames: list[Frame] = []
    while not enough(frames):
        piece = client.recv(1 << 16)
        if not piece:
            break
        fresh, data = parse(data + piece)
        frames += fresh
    return frames


def _ends(frames: list[Frame], stream_id: int) -> bool:
    return any(frame.stream_id == stream_id and frame.flags & f.END_STREAM for frame in frames if frame.kind < 2)


def test_a_request_that_arrives_byte_by_byte_gets_its_response(
    raw: Callable[..., tuple[socket.socket, Served]],
) -> None:
    client, _ = raw([unary()])
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer = Peer()
    for byte in f.PREFACE + f.settings() + peer.request(1, b"slow"):
        client.sendall(bytes((byte,)))
    frames = _read_until(client, lambda found: _ends(found, 1))
    assert [frame.payload for frame in frames if frame.kind == f.DATA] == [b"\0\0\0\0\x04slow"]


def test_garbage_leaves_other_connections_alone(raw: Callable[..., tuple[socket.socket, Served]]) -> None:
    """A connection that sends garbage is closed, and another one is served."""
    client, served = raw([unary()])
    with socket.create_connection(("127.0.0.1", served.port), timeout=_PATIENCE_S) as other:
        other.sendall(b"\x00" * 5_000)
        assert f.GOAWAY in [frame.kind for frame in _read_until(other, lambda found: False)]
    peer = Peer()
    client.sendall(f.PREFACE + f.settings() + peer.request(1, b"fine"))
    assert _ends(_read_until(client, lambda found: _ends(found, 1)), 1)
    assert len(served.log) == 1


def test_a_response_of_many_megabytes_arrives_complete_at_a_slow_client(
    raw: Callable[..., tuple[socket.socket, Served]],
) -> None:
    """Many megabytes arrive complete and in order at a slow client, while other calls are served."""
    client, _ = raw([unary(), unary(path="/test.Echo/Other")])
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
    peer = Peer()
    body = bytes(range(256)) * 40_000
    windows = f.settings(b"\0\4" + (0x7FFF_FFFF).to_bytes(4, "big")) + f.window_update(0, 0x7FFF_0000)
    client.sendall(f.PREFACE + windows + peer.request(1, body))
    client.sendall(peer.request(3, b"small", "/test.Echo/Other"))
    frames = _read_until(client, lambda found: _ends(found, 1) and _ends(found, 3))
    received = b"".join(frame.payload for frame in frames if frame.kind == f.DATA and frame.stream_id == 1)
    assert received[5:] == body
    assert [frame.payload[5:] for frame in frames if frame.kind == f.DATA and frame.stream_id == 3] == [b"small"]


def test_the_server_stops_reading_from_a_client_that_does_not_read(
    raw: Callable[..., tuple[socket.socket, Served]],
) -> None:
    """The server stops reading from a client that leaves its responses unread, and continues when it reads."""
    served_count = 0

    def count(call: ServerCall, request: bytes) -> None:
        nonlocal served_count
        served_count += 1
        call.reply(bytes(60_000))

    client, served = raw([unary(count)], Limits(max_unread_output_bytes=200_000, max_concurrent_streams=1 << 20))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
    peer = Peer()
    client.sendall(f.PREFACE + f.settings(b"\0\4" + (1 << 24).to_bytes(4, "big")) + f.window_update(0, 0x7FFF_0000))
    client.setblocking(False)
    stream_id = 1
    refused_since = None
    block = b""
    while refused_since is None or time.monotonic() - refused_since < 0.3:
        try:
            block = block or peer.request(stream_id, bytes(1_000))
            sent = client.send(block)
            block = block[sent:]
            stream_id += 0 if block else 2
            refused_since = None
        except BlockingIOError:
            refused_since = refused_since or time.monotonic()
            select.select([], [client], [], 0.05)
        assert stream_id < 40_000, "the server never stops reading"
    paused_at = served.thread.call(lambda: served_count)
    assert paused_at < stream_id // 2
    client.setblocking(True)
    client.settimeout(_PATIENCE_S)
    last = stream_id - 2
    frames = _read_until(client, lambda found: _ends(found[-5:], last))
    assert _ends(frames, last)


def test_unread_output_above_the_limit_stops_the_reading() -> None:
    """While the transport is full, output is counted. Above the limit, reading stops until the transport is empty."""
    wired = Wired([unary()], Limits(max_unread_output_bytes=10_000)).greet()
    wired.protocol.pauseProducing()
    for stream_id in range(1, 17, 2):
        wired.feed(wired.peer.request(stream_id, bytes(1_000)))
    assert wired.transport.producerState == "producing"
    wired.protocol.resumeProducing()
    wired.protocol.pauseProducing()
    wired.feed(wired.peer.request(21, bytes(9_000)))
    assert wired.transport.producerState == "producing"
    wired.feed(wired.peer.request(23, bytes(1_000)))
    assert wired.transport.producerState == "paused"
    wired.protocol.resumeProducing()
    assert wired.transport.producerState == "producing"


def test_reset_connection_sends_a_tcp_reset(raw: Callable[..., tuple[socket.socket, Served]]) -> None:
    """RESET_CONNECTION sends a TCP reset each time, not a graceful close."""
    _, served = raw([unary(lambda call, request: call.abort(Abort.RESET_CONNECTION))])
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", served.port), timeout=_PATIENCE_S) as client:
            client.sendall(f.PREFACE + f.settings() + Peer().request(1, b""))
            with pytest.raises(ConnectionResetError):
                _read_until(client, lambda found: False)
    assert not served.log


def test_half_frame_writes_half_a_frame_and_closes_gracefully(raw: Callable[..., tuple[socket.socket, Served]]) -> None:
    client, _ = raw([streaming(lambda call, request: call.abort(Abort.HALF_FRAME))])
    peer = Peer()
    client.sendall(f.PREFACE + f.settings() + peer.request(1, b""))
    data = b""
    while piece := client.recv(1 << 16):
        data += piece
    frames, rest = parse(data)
    assert frames[-1].kind == f.HEADERS
    assert len(rest) == f.HEAD_BYTES + 32


def test_a_client_that_disconnects_cancels_its_call(raw: Callable[..., tuple[socket.socket, Served]]) -> None:
    cancelled: list[str] = []
    client, served = raw([unary(lambda call, request: call.on_cancel(lambda: cancelled.append(call.path)))])
    peer = Peer()
    client.sendall(f.PREFACE + f.settings() + peer.request(1, b""))
    deadline = time.monotonic() + _PATIENCE_S
    while not served.thread.call(lambda: [c for c in served.factory.connections if c._output.streams]):
        assert time.monotonic() < deadline
    client.close()
    while not served.thread.call(lambda: cancelled[:]):
        assert time.monotonic() < deadline
    assert cancelled == [ECHO]


def test_events_after_the_end_of_a_connection_are_ignored() -> None:
    parked: list[ServerCall] = []
    wired = Wired([unary(lambda call, request: parked.append(call))]).greet()
    wired.feed(wired.peer.request(1, b"") + wired.peer.headers(3, request_fields()))
    wired.protocol.connectionLost(Failure(ConnectionDone()))
    wired.transport.clear()
    parked[0].reply(b"nobody")
    wired.protocol.dataReceived(f.ping(bytes(8), ack=False))
    wired.protocol.close_now()
    assert not wired.transport.value()


def test_a_connection_of_an_ended_process_is_closed_without_later_output() -> None:
    """An open call gets no response and no GOAWAY; the connection ends without RST."""
    parked: list[ServerCall] = []
    wired = Wired([unary(lambda call, request: parked.append(call))]).greet()
    wired.feed(wired.peer.request(1, b""))
    wired.transport.clear()
    wired.protocol.end()
    parked[0].reply(b"late")
    assert (wired.transport.connected, wired.transport.value()) == (False, b"")


def test_importing_the_transport_core_loads_neither_twisted_nor_protobuf() -> None:
    """Importing the package, the connection and the session loads neither Twisted nor protobuf."""
    program = (
        "import sys\n"
        "import rocketmq_testkit.grpc_v2.transport\n"
        "import rocketmq_testkit.grpc_v2.transport.grpc.session\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('twisted', 'zope', 'google', 'grpc')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
