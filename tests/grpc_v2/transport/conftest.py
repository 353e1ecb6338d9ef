"""Servers on real sockets for the tests of the transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from rocketmq_testkit.grpc_v2.transport import GrpcMethod, Limits
from rocketmq_testkit.grpc_v2.transport.twisted_server import GrpcServerFactory

from tests.grpc_v2.transport.reactor_thread import ReactorThread


@dataclass
class Served:
    """A listening server and its log."""

    port: int
    factory: GrpcServerFactory
    thread: ReactorThread
    log: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def reactor_thread() -> Iterator[ReactorThread]:
    """One reactor for all tests."""
    thread = ReactorThread()
    yield thread
    thread.stop()


@pytest.fixture
def serve(reactor_thread: ReactorThread) -> Iterator[Callable[..., Served]]:
    """Return a function `serve(methods, limits)` that starts a server, which is shut down after the test."""
    opened = []

    def start(methods: Iterable[GrpcMethod], limits: Limits | None = None) -> Served:
        log: list[str] = []
        factory = GrpcServerFactory(methods, clock=reactor_thread.reactor, log=log.append, limits=limits)
        port = reactor_thread.listen(factory)
        opened.append((port, factory))
        return Served(port.getHost().port, factory, reactor_thread, log)

    yield start
    for port, factory in opened:
        reactor_thread.close(port, factory)
