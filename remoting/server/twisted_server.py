"""The remoting server on Twisted. No other file of this folder knows Twisted. The host adds TLS around it.

A connection is closed if its bytes are invalid, if nothing was read or written for 120 s, or if its client stopped
sending heartbeats.
Source: NettyRemotingServer (5.3.3).
"""

from collections.abc import Callable
from typing import Any, cast
from typing import Protocol as Shape

from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.gate.gate import Gate
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from ..request.call import BrokerAddress
from .dispatcher import BrokerNode, Log, RemotingDispatcher, WrongPortWarnings
from .server_channel import RemotingChannel
from .server_connection import ServerConnection

IDLE_SECONDS = 120


class DelayedCall(Shape):
    """Twisted's IDelayedCall."""

    def active(self) -> bool: ...

    def cancel(self) -> None: ...


class ReactorTime(Shape):
    """Twisted's IReactorTime."""

    def seconds(self) -> float: ...

    def callLater(self, delay: float, action: Callable[[], None], /) -> DelayedCall: ...


class Transport(Shape):
    """Twisted's transport of a TCP or TLS connection (its zope interfaces have no types that mypy understands)."""

    def write(self, data: bytes) -> None: ...

    def loseConnection(self) -> None: ...

    def loseWriteConnection(self) -> None: ...

    def abortConnection(self) -> None: ...

    def registerProducer(self, producer: object, streaming: bool) -> None: ...

    def unregisterProducer(self) -> None: ...

    def pauseProducing(self) -> None: ...

    def resumeProducing(self) -> None: ...

    def getPeer(self) -> object: ...

    def setTcpNoDelay(self, enabled: bool) -> None: ...

    def getHost(self) -> object: ...


class RemotingServerProtocol(Protocol):
    """One connection.

    It is its own transport's producer: reading pauses while the client does not read its responses, so that responses
    do not accumulate.
    """

    def __init__(self, factory: "RemotingServerFactory") -> None:
        self.factory = factory
        self._transport: Transport
        self._connection: ServerConnection | None = None
        self._seconds = factory.seconds
        self._last_used = 0.0
        self._idle_check: DelayedCall | None = None
        self._closing = False
        self._ended = False
        self.number = 0
        """The number of the connection among all connections of its port so far, from 1."""

    def connectionMade(self) -> None:  # Twisted's name
        transport = self._transport = cast(Transport, self.transport)
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)  # as upstream, NettyRemotingServer
        self._connection = ServerConnection(self.factory.dispatcher, self._new_channel())
        self.number = self.factory.next_number()
        self._last_used = self._seconds()
        if self.factory.clock is not None:
            self._idle_check = self.factory.clock.callLater(IDLE_SECONDS, self._check_idle)
        self.factory.connections.add(self)
        transport.registerProducer(self, True)

    def _new_channel(self) -> RemotingChannel:
        transport = self._transport
        return RemotingChannel(
            self.factory.dispatcher,
            _endpoint(transport.getPeer()),
            _endpoint(transport.getHost()),
            self._write,
            connection=self,
        )

    def adopt(self) -> None:
        """Continue with the nodes that the factory serves now, as a new channel."""
        if self._connection is not None:
            self._connection.continue_on(self.factory.dispatcher, self._new_channel())

    def dataReceived(self, data: bytes) -> None:  # Twisted's name
        connection = self._connection
        if connection is None or self._closing:
            return
        self._last_used = self._seconds()
        self.factory.tick()
        if not connection.received(data):
            self.close()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # Twisted's name
        self.factory.connections.discard(self)
        if self._idle_check is not None and self._idle_check.active():
            self._idle_check.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            self.factory.tick()
            connection.closed()

    def close(self) -> None:
        """Close after all written bytes are sent."""
        self._closing = True
        self._transport.unregisterProducer()
        self._transport.loseConnection()

    def half_close(self) -> None:
        """Close the sending direction after all written bytes are sent, and read on."""
        self._transport.unregisterProducer()
        self._transport.loseWriteConnection()

    def end(self) -> None:
        """Close without RST, as the operating system does when a process has ended. Later output is discarded."""
        self._ended = True
        self.close()

    def abort(self) -> None:
        """Close without sending the remaining bytes."""
        self._closing = True
        self._transport.abortConnection()

    def reset(self) -> None:
        """Reset (TCP RST), without sending the remaining bytes."""
        self._closing = True
        getattr(self._transport, "resetConnection", self._transport.abortConnection)()

    def pauseProducing(self) -> None:
        """Stop reading requests, because the client is slow to read responses."""
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        """Read requests again, because the client has caught up."""
        self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """Do nothing: the transport closes itself."""

    def _write(self, data: bytes) -> None:
        if self._ended:
            return
        self._last_used = self._seconds()
        self._transport.write(data)

    def _check_idle(self) -> None:
        clock = self.factory.clock
        assert clock is not None
        left = self._last_used + IDLE_SECONDS - clock.seconds()
        if left <= 0:
            if self._closing:  # close() did not finish within the idle timeout, because the peer does not read
                self.abort()
                return
            self.close()
            left = IDLE_SECONDS
        self._idle_check = clock.callLater(left, self._check_idle)


class RemotingServerFactory(Factory):
    """Creates the connections of one port.

    - `broker` and `name_server` are the nodes that the port serves; at least one is required.
    - `broker_address` returns the address of a broker for a client.
    - `tick` runs before received bytes are handled, and advances the engine's time to now.
    - `log` is called with one line at a time.
    - `wrong_port_warnings` warns about clients that connect to the wrong port.
    - `clock` is the reactor, which closes idle connections. Without it they stay open.
    """

    noisy = False

    def __init__(
        self,
        *,
        gate: Gate,
        broker: BrokerNode | None,
        name_server: Node | None,
        broker_address: BrokerAddress,
        tick: Callable[[], None],
        log: Log,
        clock: ReactorTime | None = None,
        wrong_port_warnings: WrongPortWarnings | None = None,
    ) -> None:
        if broker is None and name_server is None:
            raise ValueError("a remoting port needs a broker, a name server or both")
        self._last_number = 0
        self._broker_address = broker_address
        self._log = log
        self._wrong_port_warnings = wrong_port_warnings
        self.dispatcher = self._dispatcher(gate, broker, name_server)
        self.tick = tick
        self.clock = clock
        self.seconds: Callable[[], float] = float if clock is None else clock.seconds
        """Returns the time of the clock in seconds; 0 without a clock."""
        self.connections: set[RemotingServerProtocol] = set()

    def _dispatcher(self, gate: Gate, broker: BrokerNode | None, name_server: Node | None) -> RemotingDispatcher:
        return RemotingDispatcher(
            gate=gate,
            broker=broker,
            name_server=name_server,
            broker_address=self._broker_address,
            log=self._log,
            wrong_port_warnings=self._wrong_port_warnings,
        )

    def adopt(
        self, *, gate: Gate, broker: BrokerNode | None, name_server: Node | None, keep_connections: bool = False
    ) -> None:
        """Serve other nodes: break all connections, or keep them, each as a new channel.

        The numbers of channels and requests begin again.
        """
        if not keep_connections:
            self.abort_connections()
        self.dispatcher = self._dispatcher(gate, broker, name_server)
        if keep_connections:
            for connection in sorted(self.connections, key=lambda each: each.number):
                connection.adopt()

    def next_number(self) -> int:
        """Return the number of a new connection."""
        self._last_number += 1
        return self._last_number

    def buildProtocol(self, addr: Any) -> RemotingServerProtocol:  # Twisted's name
        """Create the protocol of a connection."""
        return RemotingServerProtocol(self)

    def close_connections(self) -> None:
        """Close all connections, when the server stops."""
        for connection in tuple(self.connections):
            connection.close()

    def end_connections(self) -> None:
        """Close all connections as the end of a process does."""
        for connection in tuple(self.connections):
            connection.end()

    def abort_connections(self) -> None:
        """Close all connections immediately, without sending the remaining bytes."""
        for connection in tuple(self.connections):
            connection.abort()


def _endpoint(address: object) -> tuple[str, int]:
    """Return the (host, port) of a TCP address. A socket of another kind has port 0."""
    return str(getattr(address, "host", "127.0.0.1")), int(getattr(address, "port", 0))
