"""A test's own server for one connection, in a thread."""

import socket
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

SECONDS = 30.0


class OneConnection(ABC):
    """Listens on its own port and serves the first client."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(SECONDS)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        """The server's address, `host:port`."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._thread.join(SECONDS)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # no client connected
        with client:
            client.settimeout(SECONDS)
            self.serve(client)

    @abstractmethod
    def serve(self, client: socket.socket) -> None:
        """Serve the client; the connection is closed afterwards."""
