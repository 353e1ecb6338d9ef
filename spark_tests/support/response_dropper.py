"""A proxy to a broker that forwards requests, discards the first responses, and closes the connection."""

import socket

from one_connection import SECONDS, OneConnection

CHUNK = 65536


class ResponseDropper(OneConnection):
    """Closes the connection once the broker has started to respond."""

    def __init__(self, broker: str) -> None:
        super().__init__()
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self.dropped_bytes = 0
        """Number of response bytes that the client did not get."""

    def serve(self, client: socket.socket) -> None:
        """Forward a request, and discard its response."""
        with socket.create_connection(self._broker, SECONDS) as broker:
            broker.sendall(client.recv(CHUNK))
            self.dropped_bytes += len(broker.recv(CHUNK))
