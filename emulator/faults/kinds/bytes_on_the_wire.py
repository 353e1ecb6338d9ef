"""Faults of the bytes of a response: cut, corrupted, stalled, slow, split, or behind garbage."""

from functools import partial

from ...gate.call import Outcome
from ..client_call import Later, Response
from ..events import ResponseEvent
from ..fault import Fault, kind
from ..parameters import Number, OneOf, PositiveDurationCheck, Whole, parameter
from ..phase import Phase
from ..times import ms_of

RESPONSE = (Phase.RESPONSE,)
PIECES_MAX = 10_000
"""The most pieces into which a response is divided."""
GARBAGE_BYTES_MAX = 1024 * 1024


def position(at: int, size: int) -> int:
    """Return a position in a response of a size; a negative one counts from the end. It is limited to the response."""
    return max(0, min(at + size if at < 0 else at, size))


class _OfBytes(Fault):
    """A fault that writes the bytes of a response itself."""

    __slots__ = ()

    @property
    def writes_bytes(self) -> bool:
        """True: no other fault may write the bytes of the response."""
        return True


@kind(
    "truncate_frame",
    layer="bytes",
    phases=RESPONSE,
    situation="A broker dies while it writes a response: the connection ends in the middle of a frame.",
)
class TruncateFrame(_OfBytes):
    """Send the first bytes of the response, then close the connection."""

    at: int = parameter(
        Whole(-GARBAGE_BYTES_MAX, None), "bytes to send; a negative number counts from the end", default=-1
    )
    how: str = parameter(OneOf("close", "reset"), "end of the connection", default="close")

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Cut the response."""
        return event.intercept(partial(self._cut, event.firing.hold), loses=True)

    def _cut(self, later: Later, response: Response) -> None:
        data = response.encoded()
        response.line.pace([(0, data[: position(self.at, len(data))])], later)
        if self.how == "close":
            response.line.close()
        else:
            response.line.reset()


@kind(
    "corrupt_byte",
    layer="bytes",
    phases=RESPONSE,
    situation="A host, proxy or load balancer with faulty memory changes a byte before it computes TCP's checksum.",
)
class CorruptByte(_OfBytes):
    """Change one byte of the response."""

    at: int = parameter(
        Whole(-GARBAGE_BYTES_MAX, None), "position of the byte; a negative number counts from the end", default=-1
    )
    mask: int = parameter(Whole(1, 255), "bits of the byte that are inverted", default=255)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Corrupt the response."""
        return event.intercept(partial(self._corrupt, event.firing.hold))

    def _corrupt(self, later: Later, response: Response) -> None:
        data = bytearray(response.encoded())
        if data:
            data[min(position(self.at, len(data)), len(data) - 1)] ^= self.mask
        response.line.pace([(0, bytes(data))], later)


@kind(
    "stall_frame",
    layer="bytes",
    phases=RESPONSE,
    situation="The network loses packets in the middle of a frame, and TCP repeats them after a pause.",
)
class StallFrame(_OfBytes):
    """Send the first bytes of the response, and the rest after a pause. Later responses wait behind it."""

    duration: str = parameter(PositiveDurationCheck(), "length of the pause")
    at: int = parameter(
        Whole(-GARBAGE_BYTES_MAX, None), "bytes before the pause; a negative number counts from the end", default=10
    )

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Stall the response."""
        return event.intercept(partial(self._stall, event.firing.hold))

    def _stall(self, later: Later, response: Response) -> None:
        data = response.encoded()
        at = position(self.at, len(data))
        response.line.pace([(0, data[:at]), (ms_of(self.duration), data[at:])], later)


@kind(
    "drip_frame",
    layer="bytes",
    phases=RESPONSE,
    situation="A congested or throttled network.",
)
class DripFrame(_OfBytes):
    """Send the response at a limited rate. Later responses wait behind it."""

    bytes_per_second: float = parameter(Number(1, 1_000_000_000), "rate in bytes per second of the emulator's time")
    piece: int = parameter(Whole(1), "bytes of each piece", default=1)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Send the response slowly."""
        return event.intercept(partial(self._drip, event.firing.hold))

    def _drip(self, later: Later, response: Response) -> None:
        data = response.encoded()
        size = max(self.piece, -(-len(data) // PIECES_MAX))
        pieces = []
        sent_ms = 0
        for start in range(0, len(data), size):
            due_ms = round(start * 1000 / self.bytes_per_second)
            pieces.append((due_ms - sent_ms, data[start : start + size]))
            sent_ms = due_ms
        response.line.pace(pieces, later)


@kind(
    "split_frame",
    layer="bytes",
    phases=RESPONSE,
    situation="A network with small packets, or a proxy with small buffers: a frame arrives in many reads.",
)
class SplitFrame(_OfBytes):
    """Send each piece of the response in a packet of its own."""

    piece: int = parameter(Whole(1), "bytes of each packet", default=1)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Split the response."""
        return event.intercept(partial(self._split, event.firing.hold))

    def _split(self, later: Later, response: Response) -> None:
        data = response.encoded()
        size = max(self.piece, -(-len(data) // PIECES_MAX))
        # A pause of 1 ms between pieces keeps the kernel from joining them.
        response.line.pace([(int(start > 0), data[start : start + size]) for start in range(0, len(data), size)], later)


@kind(
    "garbage_before_frame",
    layer="bytes",
    phases=RESPONSE,
    situation="A broken proxy, or a port that another program used before, sends bytes that are no frame.",
)
class GarbageBeforeFrame(_OfBytes):
    """Send bytes that are no frame, then the response."""

    size: int = parameter(Whole(1, GARBAGE_BYTES_MAX), "number of bytes", default=16)
    byte: int = parameter(Whole(0, 255), "value of each byte", default=255)

    def on_response(self, event: ResponseEvent) -> Outcome:
        """Send garbage, then the response."""
        return event.intercept(partial(self._soil, event.firing.hold))

    def _soil(self, later: Later, response: Response) -> None:
        response.line.pace([(0, bytes([self.byte]) * self.size + response.encoded())], later)
