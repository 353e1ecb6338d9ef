"""A reactor in a thread of its own, for tests that connect to a server over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from rocketmq_testkit.grpc_v2.transport.twisted_server import GrpcServerFactory
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.tcp import Port

T = TypeVar("T")
_PATIENCE_S = 20.0


class ReactorThread:
    """Runs an asyncio reactor on a private loop until `stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.reactor = AsyncioSelectorReactor(self._loop)
        self._thread = Thread(target=self.reactor.run, kwargs={"installSignalHandlers": False}, name="reactor")
        self._thread.start()

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the reactor's thread and return its result."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        self.reactor.callFromThread(run)
        return result.result(_PATIENCE_S)

    def listen(self, factory: GrpcServerFactory) -> Port:
        """Listen on a free loopback port."""
        port: Port = self.call(lambda: self.reactor.listenTCP(0, factory, interface="127.0.0.1"))
        return port

    def close(self, port: Port, factory: GrpcServerFactory, grace_s: float = 0.0) -> None:
        """Stop listening, shut the server down, and wait until its connections are closed."""
        gone: Future[None] = Future()

        def run() -> None:
            port.stopListening()
            factory.shutdown(grace_s).addCallback(gone.set_result)

        self.call(run)
        gone.result(_PATIENCE_S)

    def stop(self) -> None:
        """Stop the reactor and its thread."""
        self.call(self.reactor.stop)
        self._thread.join(_PATIENCE_S)
        self._loop.close()
