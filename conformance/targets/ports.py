"""Ports for a real broker: a block on this machine, reserved against other runs as long as it is held."""

import random
import socket

from ..deployment.target import TargetError

FIRST, END = 20_000, 32_000
"""Below the ephemeral ports, any of which the system might assign before the broker binds it."""
SIZE = 11


class PortBlock:
    """Eleven consecutive ports, for a name server, a proxy and up to two brokers.

    A restarted broker leaves its ports free for seconds, in which another run might take them. A bound UDP port with
    the block's first number, which no broker uses, reserves the block until `release` or the end of the process. Raises
    TargetError if no block is free.
    """

    def __init__(self) -> None:
        self._lock, first = _take()
        self.namesrv = first
        self.grpc = first + 1
        self.remoting = first + 2
        """The proxy's port of the remoting protocol; `grpc` is its port of the gRPC protocol."""
        self.broker = first + 5
        """The broker also uses its port - 2 (fast remoting) and + 1 (replication)."""
        self.second_broker = first + 9

    def release(self) -> None:
        """Release the block."""
        self._lock.close()


def _take() -> tuple[socket.socket, int]:
    firsts = range(FIRST, END - SIZE, SIZE)
    for first in random.sample(firsts, len(firsts)):
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(("127.0.0.1", first))
            for port in range(first, first + SIZE):
                # On all interfaces, since the proxy listens on them regardless of its configuration.
                socket.create_server(("0.0.0.0", port)).close()
        except OSError:
            lock.close()
        else:
            return lock, first
    raise TargetError(f"no {SIZE} consecutive ports are free from {FIRST} to {END - 1}: stop programs that use them")
