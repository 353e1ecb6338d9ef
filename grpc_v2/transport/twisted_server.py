"""The gRPC server on Twisted: the one module of the transport that knows sockets and the reactor.

Plaintext HTTP/2 with prior knowledge.  TLS (ALPN `h2`) is wrapped around it by whoever listens.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Protocol, cast

from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from twisted.internet import protocol
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IConsumer, IPullProducer, IPushProducer, ISSLTransport, ITCPTransport
from twisted.internet.tcp import Connection as TcpConnection
from twisted.python.failure import Failure
from zope.interface import implementer

from .grpc.call import ConnectionFacts
from .grpc.deadlines import Deadlines
from .grpc.method import GrpcMethod
from .grpc.refused import CallContext, OnRefused, ignore_refused
from .grpc.session import GrpcSession
from .http2.connection import Closing, Http2Connection
from .http2.errors import ErrorCode
from .http2.limits import Limits

_FIRST_BYTES: Final = 32
TurnedAway = Callable[[tuple[str, int], tuple[str, int], bytes], bool]
_LOGGER: Final = logging.getLogger("rocketmq_testkit.grpc_v2.transport")


def _nobody_turned_away(_peer: tuple[str, int], _local: tuple[str, int], _first: bytes) -> bool:
    return False


class Timer(Protocol):
    """A call that the clock will make."""

    def getTime(self) -> float:
        """When, in the clock's seconds."""

    def cancel(self) -> None:
        """Not at all."""


class Clock(Protocol):
    """The part of a reactor that knows the time (IReactorTime, in a form that type checkers understand)."""

    def seconds(self) -> float:
        """Now."""

    # Any: whatever the callable takes.
    def callLater(self, delay: float, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> Timer:  # noqa: A002  # Twisted's name
        """Have `callable` called in `delay` seconds."""


class _Transport(Protocol):
    """What is asked of a transport (several interfaces of Twisted, likewise)."""

    def write(self, data: bytes) -> None: ...
    def loseConnection(self) -> None: ...
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

    Output goes to the socket at once when nothing waits before it: an answer then costs one system call, and the
    reactor need not watch the socket for room.  Otherwise it waits in Twisted's buffer, and when the client leaves too
    much of it unread, nothing more is read from the client either.
    """

    factory: GrpcServerFactory

    def __init__(self, factory: GrpcServerFactory) -> None:
        self.factory = factory
        self._closed = False
        self._first = b""
        # Twisted's buffer has output that is not yet in the socket, so many bytes as far as is known.
        self._buffered = False
        self._unread_bytes = 0
        self._paused = False

    def connectionMade(self) -> None:
        """Build the connection for the transport, and greet the client."""
        transport = self._transport = cast(_Transport, self.transport)
        secure = bool(ISSLTransport.providedBy(transport))
        # A TLS transport must encrypt first; one that is no socket (in memory) has nothing to gain.
        self._socket = transport if isinstance(transport, TcpConnection) and not secure else None
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
        factory = self.factory
        self._facts = ConnectionFacts(_host_and_port(transport.getPeer()), _host_and_port(transport.getHost()), secure)
        context = CallContext(self._facts, factory.limits, factory.log, factory.on_refused)
        self._session = GrpcSession(factory.methods, context, factory.deadlines)
        self._connection = Http2Connection(self._session, factory.limits, self._on_output)
        if IConsumer.providedBy(transport):
            # A socket asks for more whenever its buffer is empty, a TLS transport tells when it is full and when empty.
            transport.registerProducer(self, streaming=self._socket is None)
        factory.opened(self)
        self._connection.open()
        if factory.stopping:
            self.cut()
        self._flush()

    def dataReceived(self, data: bytes) -> None:
        """Serve what the client sent, and write all answers at once."""
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
            self._connection.go_away(ErrorCode.INTERNAL_ERROR)
            self._connection.close(Closing.AFTER_OUTPUT)
        if self._session.settle(now):
            factory.watch_deadlines()
        self._flush()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Tell every open call that its client is gone."""
        self._closed = True
        self._connection.lost(reason.getErrorMessage())
        self.factory.closed(self)

    def drain(self) -> None:
        """Ask the client to go elsewhere, and close once its calls are answered."""
        self._connection.drain()

    def cut(self) -> None:
        """Close now, calls or not."""
        self._connection.go_away(ErrorCode.NO_ERROR)
        self._connection.close(Closing.AFTER_OUTPUT)
        if self._buffered:
            # The client does not read; waiting for it would be for ever.
            self._transport.abortConnection()

    def abort(self) -> None:
        """Close now without a word, as a process that dies does."""
        self._transport.abortConnection()

    def pauseProducing(self) -> None:
        """Learn that the transport's buffer is full."""
        self._buffered = True

    def resumeProducing(self) -> None:
        """Learn that the transport's buffer is empty."""
        self._buffered = False
        self._unread_bytes = 0
        if self._paused:
            self._paused = False
            self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """Learn that the transport takes nothing more."""
        self._buffered = False

    def _on_output(self, final: bool) -> None:
        self._flush(final)

    def _flush(self, at_once: bool = True) -> None:
        connection = self._connection
        data = connection.take_output()
        if data and not self._closed:
            self._write(data, at_once)
        if connection.closing:
            self._close(connection.closing)

    def _write(self, data: bytes, at_once: bool) -> None:
        transport = self._transport
        socket = self._socket
        if socket is not None and not self._buffered:
            if at_once:
                sent = socket.writeSomeData(data)
                if sent == len(data):
                    return
                # A broken socket says so again to the next one who tries, who then ends the connection.
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
        turned_away = self.factory.turned_away
        if self._connection.failure is not None and not turned_away(self._facts.peer, self._facts.local, self._first):
            self.factory.log(f"gRPC connection from {self._peer()} closed: {self._connection.failure}")
        if closing is Closing.ABORT:
            transport.abortConnection()
            return
        if IConsumer.providedBy(transport):
            # A transport with a producer would wait for its last word.
            transport.unregisterProducer()
        transport.loseConnection()

    def _peer(self) -> str:
        host, port = self._facts.peer
        return f"{host}:{port}"


class GrpcServerFactory(protocol.Factory):
    """Builds the server's half of each connection.

    `methods` are all that is served, each path once.  `log` takes one line for each connection given up, and one with
    a traceback for each handler that raised; by default they go to the logger of this package as warnings.
    `max_message_bytes` is a short way to the one limit that is set most often.  `clock` is the reactor in use.
    `on_refused` is called with each call that ends without a handler's answer. `turned_away` is called with both ends
    and the first bytes of a connection that failed, and returns True if it has warned about a client that speaks
    another protocol; then nothing is logged.
    """

    noisy = False

    def __init__(
        self,
        methods: Iterable[GrpcMethod],
        *,
        clock: Clock,
        log: Callable[[str], None] = _LOGGER.warning,
        on_refused: OnRefused = ignore_refused,
        turned_away: TurnedAway = _nobody_turned_away,
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
        self.turned_away = turned_away
        self.deadlines = Deadlines()
        self.connections: set[GrpcServerProtocol] = set()
        self._timer: Timer | None = None
        self._grace: Timer | None = None
        # Who waits for the end; not empty once it has been asked for.
        self._stopped: list[Deferred[None]] = []

    def buildProtocol(self, addr: IAddress | None) -> protocol.Protocol:
        """Return a protocol for a connection that was accepted; after `shutdown` it is turned away at once."""
        return GrpcServerProtocol(self)

    def shutdown(self, grace_s: float = 0.0) -> Deferred[None]:
        """End all connections with GOAWAY, and fire when they are gone.

        Open calls have `grace_s` seconds for their answers; after that their connections are closed.  The port is
        the caller's, who stops listening first.  A further call replaces the grace of the one before.
        """
        stopped: Deferred[None] = Deferred()
        self._stopped.append(stopped)
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        if grace_s > 0:
            self._grace = self.clock.callLater(grace_s, self._cut_all)
            for connection in list(self.connections):
                connection.drain()
        else:
            self._cut_all()
        self._settle_shutdown()
        return stopped

    def abort_connections(self) -> None:
        """Close all connections without a word; new ones are taken."""
        for connection in list(self.connections):
            connection.abort()

    @property
    def stopping(self) -> bool:
        """Whether new connections are turned away."""
        return bool(self._stopped)

    def opened(self, connection: GrpcServerProtocol) -> None:
        """Count a connection."""
        self.connections.add(connection)

    def closed(self, connection: GrpcServerProtocol) -> None:
        """Stop counting a connection."""
        self.connections.discard(connection)
        self._settle_shutdown()

    def watch_deadlines(self) -> None:
        """Have the clock call when the next deadline is due."""
        due = self.deadlines.next_due
        if due is None:
            return
        timer = self._timer
        if timer is not None:
            if timer.getTime() <= due:
                return
            timer.cancel()
        self._timer = self.clock.callLater(max(due - self.clock.seconds(), 0.0), self._expire)

    def _expire(self) -> None:
        self._timer = None
        self.deadlines.expire(self.clock.seconds())
        self.watch_deadlines()

    def _cut_all(self) -> None:
        self._grace = None
        for connection in list(self.connections):
            connection.cut()

    def _settle_shutdown(self) -> None:
        if not self._stopped or self.connections:
            return
        for timer in (self._timer, self._grace):
            if timer is not None:
                timer.cancel()
        self._timer = self._grace = None
        for stopped in self._stopped:
            if not stopped.called:
                stopped.callback(None)


def _host_and_port(address: IAddress) -> tuple[str, int]:
    """Return the two parts of an internet address, blanks for one that has none."""
    return str(getattr(address, "host", "")), int(getattr(address, "port", 0))
