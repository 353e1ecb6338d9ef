"""A name server and a broker in front of an emulator's, for behavior that an emulator never shows."""

import socketserver
import threading
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand

SECONDS = 30.0

Answer = Callable[[RemotingClient, RemotingCommand], RemotingCommand]


class Gateway:
    """Forwards requests to an emulator. Routes of the name server contain this gateway as the broker."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._broker = _Server(emulator.broker, self.response)
        self._name_server = _Server(emulator.namesrv, self._renamed)

    @property
    def namesrv(self) -> str:
        """The address of the name server."""
        return self._name_server.address

    def __enter__(self) -> Self:
        for each in (self._broker, self._name_server):
            threading.Thread(target=each.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._broker, self._name_server):
            each.shutdown()
            each.server_close()

    def response(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        """Return the broker's response; `behind` is a connection to the emulator."""
        return forward(behind, request)

    def _renamed(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        response = forward(behind, request)
        ours, theirs = self._broker.address.encode(), self._emulator.broker.encode()
        return replace(response, body=response.body.replace(theirs, ours))


class TruncatingGateway(Gateway):
    """Truncates responses to pulls at or after an offset, while `on` is True."""

    def __init__(self, emulator: Emulator, offset: int) -> None:
        super().__init__(emulator)
        self._offset = offset
        self.on = True
        """True if responses are still truncated."""

    def response(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        """Return the broker's response, truncated if it is selected."""
        response = forward(behind, request)
        at = int((request.ext_fields or {}).get("queueOffset", -1))
        if self.on and request.code == RequestCode.PULL_MESSAGE and at >= self._offset:
            return replace(response, body=response.body[:-1])
        return response


def forward(behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
    """Forward a request to the emulator, and return its response."""
    return behind.request(request.code, request.ext_fields, request.body)


class _Server(socketserver.ThreadingTCPServer):
    """Serves each connection in a thread, one request after the other."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behind: str, response: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.behind = behind
        self.response = response

    @property
    def address(self) -> str:
        """The server's address, `host:port`."""
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Respond to requests until the connection is closed."""
        splitter = frame.FrameSplitter()
        with RemotingClient(self.server.behind, timeout=SECONDS) as behind:
            while data := self.request.recv(65536):
                for kind, header, body in splitter.feed(data):
                    request = frame.decode(kind, header, body)
                    response = self.server.response(behind, request)
                    made = replace(response, opaque=request.opaque, flag=RESPONSE, serialize_type=kind)
                    self.request.sendall(frame.encode(made))
