"""A small protocol behind the port that accepts TLS and plaintext, and clients for it."""

import socket
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rocketmq_testkit.fixtures.host.event_loop import EventLoop
from rocketmq_testkit.fixtures.network.advertised import AdvertisedAddresses
from rocketmq_testkit.fixtures.network.certificates import Authority
from rocketmq_testkit.fixtures.network.route_address import RouteAddress
from rocketmq_testkit.fixtures.network.tls_by_first_byte import TlsContexts, TlsOrPlainFactory, TlsSettings
from rocketmq_testkit.fixtures.warnings.warnings import Warnings
from rocketmq_testkit.fixtures.warnings.wrong_ports import PortGuard, PortKind, WrongPortDetector
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

NAMES = ["127.0.0.1", "::1", "localhost", "broker.example"]


class Echo(Protocol):
    """Records its peer address, then echoes its input; `bye` closes the connection."""

    factory: "EchoFactory"

    def connectionMade(self) -> None:
        self._end = b""
        transport: Any = self.transport
        peer = transport.getPeer()
        self.factory.peers.append((peer.host, peer.port))

    def dataReceived(self, data: bytes) -> None:
        transport: Any = self.transport
        transport.writeSequence([data[:1], data[1:]])
        # The word may arrive in pieces.
        self._end = (self._end + data)[-3:]
        if self._end == b"bye":
            transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.factory.lost += 1


class EchoFactory(Factory):
    """Records the peers of its connections and counts the closed ones."""

    noisy = False
    protocol = Echo  # type: ignore[assignment]  # as Twisted documents it; its own annotation is too narrow

    def __init__(self) -> None:
        self.peers: list[tuple[str, int]] = []
        self.lost = 0


def port_guard(log: Callable[[str], None]) -> PortGuard:
    """Return the guard of a port that belongs to no emulator."""
    return PortGuard(
        WrongPortDetector(RouteAddress("127.0.0.1", AdvertisedAddresses()), Warnings(log)), PortKind.REMOTING
    )


class EchoServer:
    """Listens on a free port at three addresses of this machine."""

    def __init__(self, event_loop: EventLoop, settings: TlsSettings, *, reads_prologue: bool = False) -> None:
        self.authority = Authority()
        self.echo = EchoFactory()
        self.lines: list[str] = []
        contexts = TlsContexts(settings, lambda: NAMES, ["h2"], lambda: self.authority)
        factory = TlsOrPlainFactory(
            self.echo,
            settings=settings,
            contexts=contexts,
            log_line=self.lines.append,
            guard=port_guard(self.lines.append),
            clock=event_loop.reactor,
            reads_prologue=reads_prologue,
        )

        hosts = ("127.0.0.1", "127.0.0.2", "::1")
        self.ports = {host: event_loop.call(partial(event_loop.listen, 0, factory, host), 5) for host in hosts}
        self.port = self.ports["127.0.0.1"]

    def plain(self, host: str = "127.0.0.1") -> socket.socket:
        """Open a plaintext connection."""
        return socket.create_connection((host, self.ports[host]), 5)

    def trusting(self, folder: Path) -> ssl.SSLContext:
        """Return a client context that trusts only the server's own authority."""
        path = folder / "ca.pem"
        path.write_bytes(self.authority.certificate_pem)
        context = ssl.create_default_context(cafile=str(path))
        context.set_alpn_protocols(["h2"])
        return context


def read_to_end(connection: socket.socket) -> bytes:
    """Read all bytes until the other side closes."""
    found = b""
    while data := connection.recv(65536):
        found += data
    return found


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Read `count` bytes, or fewer if the other side closes."""
    found = b""
    while len(found) < count and (data := connection.recv(count - len(found))):
        found += data
    return found
