"""A client's connection as the engine sees it, without the socket.

Frames that are sent while received bytes are handled are collected and written together.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from rocketmq_testkit.emulator.gate.effects import CloseExpiredConnection, Effect, ServerRequest

from ..request import broker_requests

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.faults.client_call import Later, Piece
    from rocketmq_testkit.emulator.faults.pacer import Pacer


class Connection(Protocol):
    """The socket of a channel."""

    def close(self) -> None:
        """Close after all written bytes are sent."""

    def reset(self) -> None:
        """Reset (TCP RST), without sending the remaining bytes."""

    def half_close(self) -> None:
        """Close the sending direction after all written bytes are sent, and read on."""


class PortCounters(Protocol):
    """The counters of a listening port."""

    def next_channel_id(self, peer: tuple[str, int], local: tuple[str, int], /) -> str:
        """The id of a new channel."""

    def next_opaque(self) -> int:
        """The opaque of the next request that the broker sends."""


class RemotingChannel:
    """A client's channel; implements Channel of the gate, and Line of the faults.

    `peer_address` is the peer of the TCP connection; it becomes the born host of messages. `remote_address` is the
    address in a PROXY prologue, or else the peer; lists of connections show it. `local_address` is this end of the
    connection. `connection` is the socket, None in memory.
    """

    __slots__ = (
        "_collected",
        "_connection",
        "_counters",
        "_pacer",
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
        connection: Connection | None = None,
    ) -> None:
        self._counters = counters
        self._write = write
        self._connection = connection
        self._pacer: Pacer | None = None
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
        if isinstance(effect, CloseExpiredConnection):
            self.close()
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
            self._write(b"".join(frames))

    @property
    def is_open(self) -> bool:
        """False once the connection is closed."""
        return self.active

    def pace(self, pieces: "Sequence[Piece]", later: "Later") -> None:
        """Send pieces with pauses. Later output of the connection waits behind them."""
        from rocketmq_testkit.emulator.faults.pacer import Pacer

        if self._pacer is None:
            self._pacer = Pacer(self._write)
            self._write = self._pacer.send
        self._write_collected()
        self._pacer.pace(pieces, later)

    def close(self) -> None:
        """Close the connection after its output."""
        self._finish(lambda connection: connection.close())

    def reset(self) -> None:
        """Reset the connection, and discard unwritten output."""
        self._finish(lambda connection: connection.reset())

    def half_close(self) -> None:
        """Close the sending direction after its output, and read on."""
        self._finish(lambda connection: connection.half_close())

    def _finish(self, end: Callable[[Connection], None]) -> None:
        connection = self._connection
        if connection is None:
            return
        self._write_collected()
        if self._pacer is None:
            end(connection)
        else:
            self._pacer.finish(lambda: end(connection))

    def _write_collected(self) -> None:
        """Write the frames collected so far, and go on collecting."""
        frames = self._collected
        if frames:
            self._collected = []
            if self.active:
                self._write(b"".join(frames))
