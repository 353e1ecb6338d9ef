"""Ports for a real broker: a block of this machine's that nobody else of ours takes as long as it is held."""

import random
import socket

from .target import TargetError

FIRST, END = 20_000, 32_000
"""Below the ports that the system gives to outgoing connections, any of which it might take before the broker does."""
SIZE = 11


class Ports:
    """Eleven ports in a row, for a name server, a proxy and up to two brokers.

    A broker is stopped and started again, so its ports are free for seconds while somebody else looks for some. The
    block is held by the UDP port of the first number, which no broker uses, until `release` or the end of the process.
    Raises TargetError.
    """

    def __init__(self) -> None:
        self._lock, first = _take()
        self.namesrv = first
        self.grpc = first + 1
        self.remoting = first + 2
        self.broker = first + 5
        """It also takes its port - 2 (fast remoting) and + 1 (replication)."""
        self.beside = first + 9

    def release(self) -> None:
        """Others may have them."""
        self._lock.close()


def _take() -> tuple[socket.socket, int]:
    firsts = range(FIRST, END - SIZE, SIZE)
    for first in random.sample(firsts, len(firsts)):
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(("127.0.0.1", first))
            for port in range(first, first + SIZE):
                # Of all addresses: the proxy listens on them, whatever it is told.
                socket.create_server(("0.0.0.0", port)).close()
        except OSError:
            lock.close()
        else:
            return lock, first
    raise TargetError(f"no {SIZE} ports in a row are free between {FIRST} and {END}: stop what listens there")
