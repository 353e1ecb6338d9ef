"""Clients of a measured server, whose certificate they trust if they use TLS."""

import ssl
from contextlib import ExitStack
from typing import Protocol

from grpc import Channel, ssl_channel_credentials
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.remoting.client import RemotingClient
from servers import Server

TIMEOUT_SECONDS = 60.0


class TrustedServer(Server, Protocol):
    """A server whose authority is known."""

    def ca_pem(self) -> bytes:
        """Return the certificate (PEM) of the authority that issued the server's certificate."""


class Clients:
    """Opens clients of a server, which are closed with `stack`. With `tls` their connections are encrypted."""

    def __init__(self, server: TrustedServer, stack: ExitStack, *, tls: bool = False) -> None:
        self._server = server
        self._stack = stack
        self._tls = tls

    def remoting(self) -> RemotingClient:
        """Open a client of the remoting protocol."""
        return self._stack.enter_context(
            RemotingClient(self._server.broker, timeout=TIMEOUT_SECONDS, tls=self._context())
        )

    def grpc(self) -> GrpcClient:
        """Open a client of the gRPC protocol."""
        return self._stack.enter_context(GrpcClient(self._channel()))

    def _context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cadata=self._server.ca_pem().decode()) if self._tls else None

    def _channel(self) -> Channel:
        trusted = ssl_channel_credentials(self._server.ca_pem()) if self._tls else None
        return open_channel(self._server.endpoint, trusted)
