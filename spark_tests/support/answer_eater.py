"""A way to a broker that lets requests through and loses the first answers, and the connection with them."""

import socket

from one_connection import SECONDS, OneConnection

CHUNK = 65536


class AnswerEater(OneConnection):
    """The connection is cut when the broker has begun to answer."""

    def __init__(self, broker: str) -> None:
        super().__init__()
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self.eaten = 0
        """Bytes of answers that nobody got."""

    def serve(self, client: socket.socket) -> None:
        """Hand a request on, and keep its answer."""
        with socket.create_connection(self._broker, SECONDS) as broker:
            broker.sendall(client.recv(CHUNK))
            self.eaten += len(broker.recv(CHUNK))
