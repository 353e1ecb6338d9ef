"""Responses that the proxy hands to a rule of faults (an interceptor) instead of sending them to the client."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from google.protobuf.message import Message
from rocketmq_testkit.emulator.faults.client_call import ResponseHandler

from ..proto import service_pb2 as sv
from ..rules.status import Refusal
from ..transport.grpc.call import ConnectionControl
from ..transport.http2.frames import split_frames, stream_id_of, with_stream_id
from .transport_call import TransportCall

UNKNOWN_STREAM = 0x3FFF_FFF1
"""A stream id that no client of a test opens."""


class HasResponse(Protocol):
    """The type of an RPC."""

    @property
    def response(self) -> Callable[..., Message]:
        """Creates a response."""


class InterceptedCall(Protocol):
    """A call of an RPC whose response can be taken over."""

    @property
    def rpc(self) -> HasResponse:
        """The RPC."""

    @property
    def server_call(self) -> TransportCall:
        """The call of the transport that sends the response."""

    @property
    def message(self) -> Message | None:
        """The request; None for a stream of requests."""

    def replace_server_call(self, server_call: TransportCall, /) -> None:
        """Send the response to another call of the transport."""

    def refuse(self, refusal: Refusal, /) -> None:
        """Send a Status as the response."""


def intercept(call: InterceptedCall, handler: ResponseHandler) -> None:
    """Pass the response of a call to a handler: all its messages and its end; of a stream, its next message."""
    call.replace_server_call(InterceptedServerCall(call, call.server_call, handler))


class InterceptedServerCall:
    """Replaces the transport's call of an RPC: collects the response for `handler`, and forwards all other calls."""

    def __init__(self, call: InterceptedCall, server_call: TransportCall, handler: ResponseHandler) -> None:
        self._call = call
        self._server_call = server_call
        self._handler = handler
        self._messages: list[bytes] = []
        self._is_stream = call.message is None

    def send(self, message: bytes) -> None:
        """Collect a message."""
        self._messages.append(message)
        if self._is_stream:
            self._hand_over(None)

    def reply(self, message: bytes) -> None:
        """Collect the only message, and pass the response to the handler."""
        self._messages.append(message)
        self._hand_over((0, ""))

    def finish(self, status: int = 0, message: str = "") -> None:
        """Pass the response to the handler."""
        self._hand_over((status, message))

    def take(self, messages: Sequence[bytes], end: tuple[int, str] | None) -> None:
        """Collect messages and their end at once, as the handler before this one sends them."""
        self._messages += messages
        self._hand_over(end)

    def _hand_over(self, end: tuple[int, str] | None) -> None:
        self._call.replace_server_call(self._server_call)
        messages, self._messages = self._messages, []
        self._handler(RpcResponse(self._call, messages, end))

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` if the client cancels before the response is complete."""
        self._server_call.on_cancel(callback)

    def listen(self, on_message: Callable[[Any], None], on_half_close: Callable[[], None]) -> None:
        """Call functions with each message of the client, and after its last one."""
        self._server_call.listen(on_message, on_half_close)

    @property
    def number(self) -> int:
        """The id of the call's stream."""
        return self._server_call.number

    @property
    def path(self) -> str:
        """`/package.Service/Method`."""
        return self._server_call.path

    @property
    def metadata(self) -> dict[str, str]:
        """Request headers by lower-case name."""
        return self._server_call.metadata

    @property
    def peer(self) -> tuple[str, int]:
        """The client's (address, port)."""
        return self._server_call.peer

    @property
    def local(self) -> tuple[str, int]:
        """The (address, port) at which the client reached the server."""
        return self._server_call.local

    @property
    def authority(self) -> str:
        """The `host:port` that the client dialed."""
        return self._server_call.authority

    @property
    def secure(self) -> bool:
        """True if the call uses TLS."""
        return self._server_call.secure

    @property
    def control(self) -> ConnectionControl:
        """The connection."""
        return self._server_call.control

    @property
    def deadline_ms(self) -> int | None:
        """The client's timeout, in ms from the arrival of the request. None means no timeout."""
        return self._server_call.deadline_ms

    @property
    def cancelled(self) -> bool:
        """True if the client no longer waits for the response."""
        return self._server_call.cancelled

    @property
    def finished(self) -> bool:
        """True if the response is complete."""
        return self._server_call.finished


class RpcResponse:
    """The response of an RPC on its way to the client; implements `Response` of `emulator/faults`.

    `end` is the gRPC status and text that end the call, None for a message of a stream that stays open.
    """

    def __init__(self, call: InterceptedCall, messages: list[bytes], end: tuple[int, str] | None) -> None:
        self._call = call
        self._messages = messages
        self._end = end

    @property
    def line(self) -> ConnectionControl:
        """The connection that the response takes."""
        return self._call.server_call.control

    def send(self, copies: int = 1) -> None:
        """Send all messages `copies` times, then the end of the call. A no-op if the call is complete."""
        server_call = self._call.server_call
        if server_call.finished:
            return
        messages = self._messages * copies
        if isinstance(server_call, InterceptedServerCall):
            server_call.take(messages, self._end)
            return
        for message in messages:
            server_call.send(message)
        if self._end is not None:
            server_call.finish(*self._end)

    def encoded(self) -> bytes:
        """Return the HTTP/2 frames of the response without sending them. The call counts as complete afterwards."""
        return self.line.captured(self.send)

    def misaddressed(self) -> bytes:
        """Return the HTTP/2 frames with the id of a stream that the client never opened.

        The part of the response that waits for flow-control credit is discarded.
        """
        frames = split_frames(self.encoded())
        for stream_id in {stream_id_of(each) for each in frames}:
            self.line.discard_unsent(stream_id)
        return b"".join(with_stream_id(each, UNKNOWN_STREAM) for each in frames)

    def set_remark(self, remark: str) -> None:
        """Replace the text of each Status in the response."""
        self._messages = [self._with_text(message, remark) for message in self._messages]

    def corrupt_digests(self, message_ids: Collection[str]) -> None:
        """Change the digests of the bodies of messages in a ReceiveMessage response."""
        changed = []
        for frame in self._messages:
            read = sv.ReceiveMessageResponse.FromString(frame)
            system = read.message.system_properties
            if read.HasField("message") and system.message_id in message_ids:
                digest = system.body_digest
                digest.checksum = digest.checksum[:-1] + ("0" if digest.checksum[-1:] != "0" else "1")
                frame = read.SerializeToString()
            changed.append(frame)
        self._messages = changed

    def refuse(self, code: int, remark: str) -> None:
        """Send a Code in place of the response."""
        if not self._call.server_call.finished:
            self._call.refuse(Refusal(code, remark))

    def _with_text(self, message: bytes, text: str) -> bytes:
        read: Message = self._call.rpc.response()
        read.ParseFromString(message)
        if read.HasField("status"):
            read.status.message = text  # type: ignore[attr-defined]  # every response of the protocol has a Status
        return read.SerializeToString()
