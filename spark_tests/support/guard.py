"""A way to an emulator that serves users with the right keys, as a broker with ACL does; the emulator has no users.

It stands before the name server, which asks nobody for keys but names this place as its broker, and before the broker.
"""

import hmac
import socketserver
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting import frame
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.command import RESPONSE, RemotingCommand

SECONDS = 30.0

Answer = Callable[[RemotingClient, RemotingCommand], RemotingCommand]


class Guard:
    """A name server and a broker before those of an emulator. `users`: secrets by access key."""

    def __init__(self, emulator: Emulator, users: Mapping[str, str]) -> None:
        self._emulator = emulator
        self._users = users
        self._broker = _Gateway(emulator.broker, self._checked)
        self._name_server = _Gateway(emulator.namesrv, self._renamed)
        self.refused: list[str] = []
        """Why requests were refused, in order."""

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

    def _renamed(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        answer = _handed_on(behind, request)
        ours, theirs = self._broker.address.encode(), self._emulator.broker.encode()
        return replace(answer, body=answer.body.replace(theirs, ours))

    def _checked(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        why = self._refusal(request)
        if why is None:
            return _handed_on(behind, request)
        self.refused.append(why)
        return RemotingCommand(ResponseCode.NO_PERMISSION, remark=why)

    def _refusal(self, request: RemotingCommand) -> str | None:
        """Upstream's texts (DefaultAuthenticationHandler, 5.3.3)."""
        fields = request.ext_fields or {}
        user = fields.get("AccessKey")
        if not user:
            return "username cannot be null."
        if user not in self._users:
            return f"User:{user} is not found."
        text = "".join(value for name, value in sorted(fields.items()) if name != "Signature").encode()
        right = b64encode(hmac.digest(self._users[user].encode(), text + request.body, "sha1")).decode()
        return None if fields.get("Signature") == right else "check signature failed."


def _handed_on(behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
    return behind.request(request.code, request.ext_fields, request.body)


class _Gateway(socketserver.ThreadingTCPServer):
    """Serves each connection on a thread, one request after the other."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behind: str, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.behind = behind
        self.answer = answer

    @property
    def address(self) -> str:
        """Where to connect to."""
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    server: _Gateway

    def handle(self) -> None:
        """Answer until nothing comes any more."""
        splitter = frame.FrameSplitter()
        with RemotingClient(self.server.behind, timeout=SECONDS) as behind:
            while data := self.request.recv(65536):
                for kind, header, body in splitter.feed(data):
                    request = frame.decode(kind, header, body)
                    answer = self.server.answer(behind, request)
                    made = replace(answer, opaque=request.opaque, flag=RESPONSE, serialize_type=kind)
                    self.request.sendall(frame.encode(made))
