"""A channel whose next frame, the response to one request, goes to a handler instead of the client."""

from collections.abc import Collection, Sequence

import orjson
from rocketmq_testkit.emulator.faults.client_call import Later, Line, Piece, ResponseHandler
from rocketmq_testkit.emulator.gate.effects import Effect

from ..wire import frame
from ..wire.response_frame import encode_response
from .call_channel import CallChannel

_HEAD_BYTES = 8
"""Bytes before the header: the length of the frame (4), the serialize type (1) and the length of the header (3)."""
UNKNOWN_OPAQUE = 0x3FFF_0000
"""Added to the opaque of a request: no client that runs in a test sends so many requests."""


class InterceptedChannel:
    """The channel of one request whose response a rule of faults handles. Everything else passes."""

    def __init__(self, channel: CallChannel, opaque: int, handler: ResponseHandler) -> None:
        self._channel = channel
        self._opaque = opaque
        self._handler = handler

    def send(self, frame: bytes) -> None:
        """Pass the response to the handler."""
        self._handler(RemotingResponse(self._channel, self._opaque, frame))

    def push(self, effect: Effect) -> None:
        """Send an effect to the client."""
        self._channel.push(effect)

    @property
    def channel_id(self) -> str:
        """The id of the channel."""
        return self._channel.channel_id

    @property
    def active(self) -> bool:
        """False once the connection is closed; the property of `Channel`."""
        return self._channel.active

    @property
    def peer_address(self) -> tuple[str, int]:
        """The client's end of the TCP connection."""
        return self._channel.peer_address

    @property
    def remote_address(self) -> tuple[str, int]:
        """The client's (address, port): those of a PROXY prologue, or else those of `peer_address`."""
        return self._channel.remote_address

    @property
    def local_address(self) -> tuple[str, int]:
        """The server's end of the TCP connection."""
        return self._channel.local_address

    @property
    def is_open(self) -> bool:
        """The same as `active`; the property of `Line`."""
        return self._channel.active

    def pace(self, pieces: Sequence[Piece], later: Later) -> None:
        """Send pieces with pauses."""
        self._channel.pace(pieces, later)

    def close(self) -> None:
        """Close the connection after its output."""
        self._channel.close()

    def reset(self) -> None:
        """Reset the connection."""
        self._channel.reset()

    def half_close(self) -> None:
        """Close the sending direction of the connection."""
        self._channel.half_close()


class RemotingResponse:
    """A response frame on its way to the client; implements Response of the faults."""

    def __init__(self, channel: CallChannel, opaque: int, frame: bytes) -> None:
        self._channel = channel
        self._opaque = opaque
        self._frame = frame

    @property
    def line(self) -> Line:
        """The connection that the response takes."""
        return self._channel

    def send(self, copies: int = 1) -> None:
        """Send the frame, and further copies of it."""
        for _ in range(copies):
            if self._channel.active:
                self._channel.send(self._frame)

    def encoded(self) -> bytes:
        """Return the frame."""
        return self._frame

    def misaddressed(self) -> bytes:
        """Return the frame with an opaque that the client never sent."""
        return self._with_header(opaque=(self._opaque + UNKNOWN_OPAQUE) % 0x8000_0000)

    def set_remark(self, remark: str) -> None:
        """Replace the remark of the response."""
        self._frame = self._with_header(remark=remark)

    def corrupt_digests(self, message_ids: Collection[str]) -> None:
        """Raise TypeError: in this protocol a record has its own checksum."""
        raise TypeError("a remoting response has no digests")

    def refuse(self, code: int, remark: str) -> None:
        """Send a response code in place of the response."""
        if self._channel.active:
            self._channel.send(encode_response(self._opaque, code, remark))

    def _with_header(self, **changes: object) -> bytes:
        """Return the frame with other members of its header, which is always JSON."""
        body_at = _HEAD_BYTES + int.from_bytes(self._frame[5:8], "big")
        header = orjson.loads(self._frame[_HEAD_BYTES:body_at])
        return frame.join(orjson.dumps({**header, **changes}), self._frame[body_at:])
