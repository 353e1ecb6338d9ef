"""A remoting port on a real socket, run by one thread without Twisted, for tests of the client."""

import selectors
import socket
import ssl
from threading import Thread
from time import time
from types import TracebackType

from remoting_harness import Port
from rocketmq_testkit.remoting.server.server_channel import RemotingChannel
from rocketmq_testkit.remoting.server.server_connection import ServerConnection


class SocketPort:
    """Serves a Port on 127.0.0.1. One thread does everything, because the engine must not be entered twice."""

    def __init__(self, port: Port, tls: ssl.SSLContext | None = None) -> None:
        self._port = port
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._stop, self._stopped = socket.socketpair()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "SocketPort":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.close()
        self._thread.join(10)
        self._listener.close()
        self._stopped.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stopped, selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                ready = selector.select(0.02)
                self._port.engine.scheduler.advance_to(int(time() * 1000))
                for key, _ in ready:
                    if key.fileobj is self._stopped:
                        for open_key in list(selector.get_map().values()):
                            if open_key.data is not None:
                                open_key.fileobj.close()  # type: ignore[union-attr]  # a socket
                        return
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    else:
                        self._read(selector, key)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        accepted, _ = self._listener.accept()
        if self._tls is not None:
            accepted = self._tls.wrap_socket(accepted, server_side=True)
        channel = RemotingChannel(
            self._port.dispatcher, accepted.getpeername(), accepted.getsockname(), accepted.sendall
        )
        selector.register(accepted, selectors.EVENT_READ, ServerConnection(self._port.dispatcher, channel))

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        connection: ServerConnection = key.data
        peer = key.fileobj
        assert isinstance(peer, socket.socket)
        data = peer.recv(65536)
        while isinstance(peer, ssl.SSLSocket) and peer.pending():
            data += peer.recv(peer.pending())
        if not data or not connection.received(data):
            selector.unregister(peer)
            connection.closed()
            peer.close()
