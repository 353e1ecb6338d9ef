"""A client's connection as the engine sees it, without the socket.

Frames that are sent while received bytes are handled are collected and written together.
"""

from collections.abc import Callable
from typing import Protocol

from rocketmq_testkit.emulator.gate.effects import CloseConnection, Effect, ServerRequest

from ..request import broker_requests


class PortCounters(Protocol):
    """The counters of a listening port."""

    def next_channel_id(self, peer: tuple[str, int], local: tuple[str, int], /) -> str:
        """The id of a new channel."""

    def next_opaque(self) -> int:
        """The opaque of the next request that the broker sends."""


class RemotingChannel:
    """A client's channel; implements Channel of the gate.

    `peer_address` is the peer of the TCP connection; it becomes the born host of messages. `remote_address` is the
    address in a PROXY prologue, or else the peer; lists of connections show it. `local_address` is this end of the
    connection. `close` closes the connection.
    """

    __slots__ = (
        "_close",
        "_collected",
        "_counters",
        "_tickets",
        "_write",
        "active",
        "channel_id",
        "local_address",
        "peer_address",
        "remote_address",
    )

    def __init__(
        self,
        counters: PortCounters,
        peer_address: tuple[str, int],
        local_address: tuple[str, int],
        write: Callable[[bytes], None],
        *,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._counters = counters
        self._write = write
        self._close = close
        self._collected: list[bytes] | None = None
        self._tickets: dict[int, int] = {}
        self.channel_id = counters.next_channel_id(peer_address, local_address)
        self.peer_address = peer_address
        self.remote_address = peer_address
        self.local_address = local_address
        self.active = True

    def send(self, frame: bytes) -> None:
        """Write a frame, or collect it between `start_collecting` and `flush`."""
        if self._collected is not None:
            self._collected.append(frame)
        elif self.active:
            self._write(frame)

    def push(self, effect: Effect) -> None:
        """Send an effect as a request of the broker, or close the connection. A no-op if the connection is closed."""
        if not self.active:
            return
        if isinstance(effect, CloseConnection):
            if self._close is not None:
                self._close()
            return
        opaque = self._counters.next_opaque()
        if isinstance(effect, ServerRequest):
            self._tickets[opaque] = effect.ticket
        self.send(broker_requests.encode_effect(opaque, effect))

    def pop_ticket(self, opaque: int) -> int | None:
        """Return the ticket of the request to which a client responds. None if no request has this opaque."""
        return self._tickets.pop(opaque, None)

    def start_collecting(self) -> None:
        """Start collecting frames instead of writing them."""
        self._collected = []

    def flush(self) -> None:
        """Write the collected frames at once."""
        frames, self._collected = self._collected, None
        if frames and self.active:
            self._write(frames[0] if len(frames) == 1 else b"".join(frames))
