"""The gRPC server on Twisted. No other module of the transport knows sockets and the reactor.

It serves plaintext HTTP/2 with prior knowledge. The code that listens adds TLS (ALPN `h2`) around it.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from twisted.internet import protocol
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IConsumer, IPullProducer, IPushProducer, ISSLTransport, ITCPTransport
from twisted.internet.tcp import Connection as TcpConnection
from twisted.python.failure import Failure
from zope.interface import implementer

from .grpc.call import ConnectionAttributes
from .grpc.deadlines import Deadlines
from .grpc.method import GrpcMethod
from .grpc.refused_calls import CallContext, OnRefused, RefusedCall, ignore_refused
from .grpc.requests import CallRequest
from .grpc.session import GrpcSession
from .grpc.status import StatusCode
from .http2.connection import Http2Connection
from .http2.errors import ErrorCode
from .http2.limits import Limits
from .http2.stream import Closing

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.faults.pacer import Pacer

_FIRST_BYTES: Final = 32
WarnOtherProtocol = Callable[[tuple[str, int], tuple[str, int], bytes], bool]
_LOGGER: Final = logging.getLogger("rocketmq_testkit.grpc_v2.transport")


def _no_warning(_peer: tuple[str, int], _local: tuple[str, int], _first: bytes) -> bool:
    return False


class DelayedCall(Protocol):
    """A delayed call."""

    def getTime(self) -> float:
        """Return the time of the call, in the clock's seconds."""

    def cancel(self) -> None:
        """Cancel the call."""


class ReactorTime(Protocol):
    """The time-keeping part of a reactor (IReactorTime, in a form that type checkers understand)."""

    def seconds(self) -> float:
        """Return the current time."""

    # Any: the arguments of the callable.
    def callLater(self, delay: float, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> DelayedCall:  # noqa: A002  # Twisted's name
        """Call `callable` after `delay` seconds."""


class _Transport(Protocol):
    """The used methods of a transport (from several interfaces of Twisted)."""

    def write(self, data: bytes) -> None: ...
    def loseConnection(self) -> None: ...
    def loseWriteConnection(self) -> None: ...
    def abortConnection(self) -> None: ...
    def getPeer(self) -> IAddress: ...
    def getHost(self) -> IAddress: ...
    def setTcpNoDelay(self, enabled: bool) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...
    def registerProducer(self, producer: object, streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...


@implementer(IPullProducer, IPushProducer)
class GrpcServerProtocol(protocol.Protocol):
    """One connection of a client.

    Output is written to the socket at once if nothing is queued before it. A response then costs one system call, and
    the reactor does not need to watch the socket for writing. Otherwise output waits in Twisted's buffer. If the client
    leaves too much of it unread, the server stops reading from the client.
    """

    factory: GrpcServerFactory

    def __init__(self, factory: GrpcServerFactory) -> None:
        self.factory = factory
        self._closed = False
        self._first = b""
        # True if Twisted's buffer may hold unsent output; `_unread_bytes` counts it as far as known.
        self._buffered = False
        self._unread_bytes = 0
        self._paused = False
        self._pacer: Pacer | None = None

    def connectionMade(self) -> None:
        """Create the connection for the transport, and send the preface."""
        transport = self._transport = cast(_Transport, self.transport)
        secure = bool(ISSLTransport.providedBy(transport))
        # A TLS transport must encrypt first, and a transport without a socket (in memory) gains nothing.
        self._socket = transport if isinstance(transport, TcpConnection) and not secure else None
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
        factory = self.factory
        self._facts = ConnectionAttributes(
            _host_and_port(transport.getPeer()), _host_and_port(transport.getHost()), secure, control=self
        )
        context = CallContext(self._facts, factory.limits, factory.log, factory.report_refused)
        self._session = GrpcSession(factory.methods, context, factory.deadlines)
        self._connection = Http2Connection(self._session, factory.limits, self._on_output)
        self._output = self._connection.output
        if IConsumer.providedBy(transport):
            # A socket requests more output whenever its buffer is empty; a TLS transport pauses and resumes its
            # producer.
            transport.registerProducer(self, streaming=self._socket is None)
        factory.opened(self)
        self._connection.open()
        if factory.stopping:
            self.close_now()
        self._flush()

    def dataReceived(self, data: bytes) -> None:
        """Process received bytes, and write all responses at once."""
        factory = self.factory
        now = factory.clock.seconds()
        if not self._first:
            self._first = data[:_FIRST_BYTES]
        try:
            self._connection.receive(data, now)
        except Exception:
            report = f"gRPC connection from {self._peer()} failed in the server\n{traceback.format_exc()}"
            factory.log(report)
            bugs.note(report)
            self._output.go_away(ErrorCode.INTERNAL_ERROR)
            self._output.close(Closing.AFTER_OUTPUT)
        if self._session.register_deadlines(now):
            factory.watch_deadlines()
        self._flush()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Cancel every open call, because its client has disconnected."""
        self._closed = True
        self._connection.connection_lost(reason.getErrorMessage())
        self.factory.closed(self)

    def drain(self) -> None:
        """Send GOAWAY to the client, and close after its calls are complete."""
        self._output.drain()

    def close_now(self) -> None:
        """Close now, even with open calls."""
        self._output.go_away(ErrorCode.NO_ERROR)
        self._output.close(Closing.AFTER_OUTPUT)
        if self._buffered or (self._pacer is not None and self._pacer.is_running):
            # The client does not read, or a fault holds output back, so waiting for it could last forever.
            self._transport.abortConnection()

    def abort(self) -> None:
        """Close now without GOAWAY, as in a crash. Later writes are discarded."""
        self._closed = True
        self._transport.abortConnection()

    def end_calls(self, text: str) -> None:
        """End all open calls with UNAVAILABLE. The connection stays open."""
        for stream in list(self._output.streams.values()):
            if isinstance(stream.receiver, CallRequest):
                stream.receiver.end(StatusCode.UNAVAILABLE, text)
        self._flush()

    def end(self) -> None:
        """Close without GOAWAY and RST, as for a process that has ended. Later output is discarded."""
        self._close(Closing.AFTER_OUTPUT)

    def pauseProducing(self) -> None:
        """Handle a full buffer of the transport."""
        self._buffered = True

    def resumeProducing(self) -> None:
        """Handle an empty buffer of the transport."""
        self._buffered = False
        self._unread_bytes = 0
        if self._paused:
            self._paused = False
            self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """Handle a transport that accepts no more output."""
        self._buffered = False

    def _on_output(self, final: bool) -> None:
        self._flush(final)

    def _flush(self, at_once: bool = True) -> None:
        output = self._output
        data = output.take()
        if data and not self._closed:
            if self._pacer is None:
                self._write(data, at_once)
            else:
                self._pacer.send(data)
        if output.closing:
            self._end_output(output.closing)

    def _end_output(self, closing: Closing) -> None:
        if closing is Closing.AFTER_OUTPUT and self._pacer is not None:
            self._pacer.finish(lambda: self._close(closing))
        else:
            self._close(closing)

    @property
    def is_open(self) -> bool:
        """False once the connection is closed."""
        return not self._closed

    def pace(self, pieces: Sequence[tuple[int, bytes]], later: Callable[[int, Callable[[], None]], object]) -> None:
        """Send (pause in ms, bytes) pieces. Other output of the connection waits behind them."""
        from rocketmq_testkit.emulator.faults.pacer import Pacer

        self._flush()
        if self._pacer is None:
            self._pacer = Pacer(self._write_paced)
        self._pacer.pace(pieces, later)

    def captured(self, deliver: Callable[[], None]) -> bytes:
        """Return the bytes that a delivery writes, without sending them."""
        return self._output.captured(deliver)

    def discard_unsent(self, stream_id: int) -> None:
        """Send nothing more on a stream. A no-op if it has ended."""
        stream = self._output.streams.get(stream_id)
        if stream is not None:
            self._output.stall(stream)

    def close(self) -> None:
        """Close the connection after its output."""
        self._finish(lambda: self._output.close(Closing.AFTER_OUTPUT))

    def reset(self) -> None:
        """Reset the connection, and discard unwritten output."""
        self._finish(self._reset_connection)

    def half_close(self) -> None:
        """Close the sending direction after the output, and read on."""
        self._finish(self._lose_write_connection)

    def go_away(self, *, finish: bool) -> None:
        """Send GOAWAY. `finish`: as in a graceful shutdown, else the connection is closed at once."""
        if finish:
            self.drain()
        else:
            self.close_now()

    def withhold_window(self) -> None:
        """Give the client no more credit for request bodies."""
        self._output.withhold_credit()

    def ignore_pings(self) -> None:
        """Respond to no PING from now on."""
        self._output.ignores_pings = True

    def _finish(self, action: Callable[[], None]) -> None:
        self._flush()
        if self._pacer is None:
            action()
        else:
            self._pacer.finish(action)

    def _reset_connection(self) -> None:
        self._closed = True
        getattr(self._transport, "resetConnection", self._transport.abortConnection)()

    def _lose_write_connection(self) -> None:
        if IConsumer.providedBy(self._transport):
            self._transport.unregisterProducer()
        self._transport.loseWriteConnection()

    def _write_paced(self, data: bytes) -> None:
        if not self._closed:
            self._write(data, True)

    def _write(self, data: bytes, at_once: bool) -> None:
        transport = self._transport
        socket = self._socket
        if socket is not None and not self._buffered:
            if at_once:
                sent = socket.writeSomeData(data)
                if sent == len(data):
                    return
                # A broken socket fails again on the next write, which then ends the connection.
                if isinstance(sent, int) and sent > 0:
                    data = data[sent:]
            self._buffered = True
        transport.write(data)
        if self._buffered:
            self._unread_bytes += len(data)
            if self._unread_bytes > self.factory.limits.max_unread_output_bytes and not self._paused:
                self._paused = True
                transport.pauseProducing()

    def _close(self, closing: Closing) -> None:
        transport = self._transport
        if self._closed:
            return
        self._closed = True
        warn_other_protocol = self.factory.warn_other_protocol
        if self._output.failure is not None and not warn_other_protocol(
            self._facts.peer, self._facts.local, self._first
        ):
            self.factory.log(f"gRPC connection from {self._peer()} closed: {self._output.failure}")
        if closing is Closing.ABORT:
            transport.abortConnection()
            return
        if IConsumer.providedBy(transport):
            # A transport with a producer would wait for the producer before it closes.
            transport.unregisterProducer()
        transport.loseConnection()

    def _peer(self) -> str:
        host, port = self._facts.peer
        return f"{host}:{port}"


class GrpcServerFactory(protocol.Factory):
    """Creates the server side of each connection.

    - `methods` are all served methods, each path once.
    - `log` takes one line for each failed connection, and one with a traceback for each handler that raised. By default
      they are warnings of this package's logger.
    - `max_message_bytes` sets the most common limit without a `limits` object.
    - `clock` is the reactor in use.
    - `on_refused` is called with each call that ends without a response of its handler.
    - `warn_other_protocol` is called with both ends and the first bytes of a failed connection. It returns True if it
      has warned about a client that speaks another protocol. The connection is then not logged.
    """

    noisy = False

    def __init__(
        self,
        methods: Iterable[GrpcMethod],
        *,
        clock: ReactorTime,
        log: Callable[[str], None] = _LOGGER.warning,
        on_refused: OnRefused = ignore_refused,
        warn_other_protocol: WarnOtherProtocol = _no_warning,
        max_message_bytes: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        if max_message_bytes is not None:
            limits = replace(limits, max_message_bytes=max_message_bytes)
        self.limits = limits
        self.methods: dict[str, GrpcMethod] = {}
        for method in methods:
            if method.path in self.methods:
                raise ValueError(f"method {method.path} is registered twice")
            self.methods[method.path] = method
        self.clock = clock
        self.log = log
        self.on_refused = on_refused
        self.warn_other_protocol = warn_other_protocol
        self.deadlines = Deadlines()
        self.connections: set[GrpcServerProtocol] = set()
        self._deadline_timer: DelayedCall | None = None
        self._grace_timer: DelayedCall | None = None
        # Pending results of `shutdown`. Not empty after the first call of it.
        self._shutdown_results: list[Deferred[None]] = []

    def buildProtocol(self, addr: IAddress | None) -> protocol.Protocol:
        """Return a protocol for an accepted connection. After `shutdown` it closes at once."""
        return GrpcServerProtocol(self)

    def shutdown(self, grace_s: float = 0.0) -> Deferred[None]:
        """Close all connections with GOAWAY. The result fires when they are closed.

        Open calls have `grace_s` seconds to complete; then their connections are closed. The caller owns the port and
        must stop listening first. A further call replaces the grace period of the previous one.
        """
        stopped: Deferred[None] = Deferred()
        self._shutdown_results.append(stopped)
        if self._grace_timer is not None:
            self._grace_timer.cancel()
            self._grace_timer = None
        if grace_s > 0:
            self._grace_timer = self.clock.callLater(grace_s, self._close_all_now)
            for connection in list(self.connections):
                connection.drain()
        else:
            self._close_all_now()
        self._finish_shutdown()
        return stopped

    def report_refused(self, facts: ConnectionAttributes, refused: RefusedCall) -> None:
        """Report a call that ends without a response of its handler."""
        self.on_refused(facts, refused)

    def adopt(self, methods: Iterable[GrpcMethod], on_refused: OnRefused, text: str) -> None:
        """Serve other methods, on open connections as well. Their open calls end with UNAVAILABLE and the text."""
        for connection in list(self.connections):
            connection.end_calls(text)
        self._clear_deadlines()
        self.methods.clear()  # all connections share the dictionary
        self.methods.update((method.path, method) for method in methods)
        self.on_refused = on_refused

    def abort_connections(self) -> None:
        """Close all connections without GOAWAY. New ones are accepted."""
        for connection in list(self.connections):
            connection.abort()
        self._clear_deadlines()

    def end_connections(self) -> None:
        """Close all connections as the end of a process does. New ones are accepted."""
        for connection in list(self.connections):
            connection.end()
        self._clear_deadlines()

    @property
    def stopping(self) -> bool:
        """True if new connections are closed at once."""
        return bool(self._shutdown_results)

    def opened(self, connection: GrpcServerProtocol) -> None:
        """Add a connection."""
        self.connections.add(connection)

    def closed(self, connection: GrpcServerProtocol) -> None:
        """Remove a connection."""
        self.connections.discard(connection)
        self._finish_shutdown()

    def watch_deadlines(self) -> None:
        """Schedule a call of the clock at the next deadline."""
        due = self.deadlines.next_due
        if due is None:
            return
        timer = self._deadline_timer
        if timer is not None:
            if timer.getTime() <= due:
                return
            timer.cancel()
        self._deadline_timer = self.clock.callLater(max(due - self.clock.seconds(), 0.0), self._expire)

    def _expire(self) -> None:
        self._deadline_timer = None
        self.deadlines.expire(self.clock.seconds())
        self.watch_deadlines()

    def _clear_deadlines(self) -> None:
        """Remove the deadlines of calls that have ended, or get no response. The reactor then refers to no call."""
        self.deadlines.clear()
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None

    def _close_all_now(self) -> None:
        self._grace_timer = None
        for connection in list(self.connections):
            connection.close_now()

    def _finish_shutdown(self) -> None:
        if not self._shutdown_results or self.connections:
            return
        for timer in (self._deadline_timer, self._grace_timer):
            if timer is not None:
                timer.cancel()
        self._deadline_timer = self._grace_timer = None
        for stopped in self._shutdown_results:
            if not stopped.called:
                stopped.callback(None)


def _host_and_port(address: IAddress) -> tuple[str, int]:
    """Return the (host, port) of an internet address, ("", 0) for an address of another kind."""
    return str(getattr(address, "host", "")), int(getattr(address, "port", 0))
