"""A name server that knows no topic, and remembers what it was asked."""

import socket
import threading
from types import TracebackType
from typing import Self

from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.remoting import frame
from rocketmq_testkit.remoting.command import RESPONSE, VERSION_5_3_3, RemotingCommand

SECONDS = 30.0


class Listener:
    """Listens on a port of its own, for one connection."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(SECONDS)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.requests: list[RemotingCommand] = []
        """What came, in order."""

    @property
    def address(self) -> str:
        """Where to connect to."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join(SECONDS)
        self._listener.close()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        splitter = frame.FrameSplitter()
        with client:
            client.settimeout(SECONDS)
            while data := client.recv(65536):
                for kind, header, body in splitter.feed(data):
                    request = frame.decode(kind, header, body)
                    self.requests.append(request)
                    code = ResponseCode.TOPIC_NOT_EXIST
                    answer = RemotingCommand(code, "JAVA", VERSION_5_3_3, request.opaque, RESPONSE, "no", None, b"")
                    client.sendall(frame.encode(answer))
