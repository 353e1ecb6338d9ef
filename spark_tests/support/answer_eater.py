"""A way to a broker that lets requests through and loses the first answers, and the connection with them."""

import socket
import threading
from types import TracebackType
from typing import Self

SECONDS = 30.0
CHUNK = 65536


class AnswerEater:
    """Listens on a port of its own, for one connection: it is cut when the broker has begun to answer."""

    def __init__(self, broker: str) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(SECONDS)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.eaten = 0
        """Bytes of answers that nobody got."""

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
        self._listener.close()
        self._thread.join(SECONDS)

    def _serve(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # nobody came
        with client, socket.create_connection(self._broker, SECONDS) as broker:
            client.settimeout(SECONDS)
            broker.sendall(client.recv(CHUNK))
            self.eaten += len(broker.recv(CHUNK))
