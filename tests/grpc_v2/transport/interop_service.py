"""The service for gRPC's interoperability clients (grpc.testing.TestService), on this transport.

The messages are declared here in a private package, according to the public description of the interop test cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketmq_testkit.grpc_v2.transport import GrpcMethod, MethodKind, ServerCall
from rocketmq_testkit.grpc_v2.transport.grpc.descriptors import BYTES, ENUM, INT32, MESSAGE, FileBuilder
from rocketmq_testkit.grpc_v2.transport.grpc.metadata import Metadata
from rocketmq_testkit.grpc_v2.transport.twisted_server import ReactorTime

_INITIAL = "x-grpc-test-echo-initial"
_TRAILING = "x-grpc-test-echo-trailing-bin"


def _describe() -> FileBuilder:
    builder = FileBuilder("rocketmq_testkit/tests/interop.proto", "rocketmq_testkit.tests.interop")
    builder.enum("PayloadType", ["COMPRESSABLE"])
    builder.message("Empty")
    builder.message("Payload").field(1, "type", ENUM, type_name="PayloadType").field(2, "body", BYTES)
    # The message of the status is text. As bytes it also accepts invalid UTF-8.
    builder.message("EchoStatus").field(1, "code", INT32).field(2, "message", BYTES)
    simple = builder.message("SimpleRequest").field(2, "response_size", INT32)
    simple.field(3, "payload", MESSAGE, type_name="Payload")
    simple.field(7, "response_status", MESSAGE, type_name="EchoStatus")
    builder.message("SimpleResponse").field(1, "payload", MESSAGE, type_name="Payload")
    builder.message("StreamingInputCallRequest").field(1, "payload", MESSAGE, type_name="Payload")
    builder.message("StreamingInputCallResponse").field(1, "aggregated_payload_size", INT32)
    builder.message("ResponseParameters").field(1, "size", INT32).field(2, "interval_us", INT32)
    output = builder.message("StreamingOutputCallRequest")
    output.field(2, "response_parameters", MESSAGE, type_name="ResponseParameters", repeated=True)
    output.field(3, "payload", MESSAGE, type_name="Payload")
    output.field(7, "response_status", MESSAGE, type_name="EchoStatus")
    builder.message("StreamingOutputCallResponse").field(1, "payload", MESSAGE, type_name="Payload")
    return builder


class InteropService:
    """Serves the methods of TestService. `clock` measures the intervals between the responses of streams."""

    def __init__(self, clock: ReactorTime) -> None:
        self._clock = clock
        self.messages = _describe().classes()

    def methods(self) -> list[GrpcMethod]:
        """Return the methods under their real paths. UnimplementedCall is absent on purpose."""
        return [
            self._method("EmptyCall", MethodKind.UNARY, "Empty", self._empty),
            self._method("UnaryCall", MethodKind.UNARY, "SimpleRequest", self._unary),
            self._method("StreamingOutputCall", MethodKind.SERVER_STREAM, "StreamingOutputCallRequest", self._output),
            self._method("StreamingInputCall", MethodKind.BIDI, "StreamingInputCallRequest", self._input),
            self._method("FullDuplexCall", MethodKind.BIDI, "StreamingOutputCallRequest", self._full_duplex),
        ]

    def _method(self, name: str, kind: MethodKind, request: str, handler: Any) -> GrpcMethod:
        return GrpcMethod(f"/grpc.testing.TestService/{name}", kind, self.messages[request].FromString, handler)

    def _empty(self, call: ServerCall, request: Any) -> None:
        call.reply(b"")

    def _unary(self, call: ServerCall, request: Any) -> None:
        _echo_initial(call)
        if request.response_status.code:
            call.finish(request.response_status.code, request.response_status.message.decode("utf-8"), _trailing(call))
            return
        call.send(self._payload("SimpleResponse", request.response_size))
        call.finish(0, "", _trailing(call))

    def _output(self, call: ServerCall, request: Any) -> None:
        _echo_initial(call)
        responses = _AnswerQueue(self, call)
        responses.add(request)
        responses.close()

    def _input(self, call: ServerCall, _: None) -> None:
        sizes: list[int] = []
        call.on_message = lambda request: sizes.append(len(request.payload.body))

        def end() -> None:
            response = self.messages["StreamingInputCallResponse"](aggregated_payload_size=sum(sizes))
            call.reply(response.SerializeToString())

        call.on_half_close = end

    def _full_duplex(self, call: ServerCall, _: None) -> None:
        _echo_initial(call)
        responses = _AnswerQueue(self, call)
        call.on_message = responses.add
        call.on_half_close = responses.close

    def _payload(self, message: str, size: int) -> bytes:
        payload = self.messages["Payload"](body=bytes(size))
        data: bytes = self.messages[message](payload=payload).SerializeToString()
        return data

    def answer_later(self, call: ServerCall, parameters: Any, sent: Callable[[], None]) -> None:
        """Send one message of a stream after its interval, then call `sent`."""

        def send() -> None:
            if not call.finished:
                call.send(self._payload("StreamingOutputCallResponse", parameters.size))
                sent()

        if parameters.interval_us:
            timer = self._clock.callLater(parameters.interval_us / 1e6, send)
            call.on_cancel(lambda: _cancel(timer))
        else:
            send()


def _cancel(timer: Any) -> None:
    if timer.active():
        timer.cancel()


class _AnswerQueue:
    """The responses of one streaming call, sent one after another, each after its own interval."""

    def __init__(self, service: InteropService, call: ServerCall) -> None:
        self._service = service
        self._call = call
        self._waiting: list[Any] = []
        self._busy = False
        self._closing = False

    def add(self, request: Any) -> None:
        """Queue the responses that a request describes."""
        if request.response_status.code:
            self._call.finish(request.response_status.code, request.response_status.message.decode("utf-8"))
            return
        self._waiting += request.response_parameters
        self._send_next()

    def close(self) -> None:
        """End the call after the last response."""
        self._closing = True
        self._send_next()

    def _send_next(self) -> None:
        if self._busy or self._call.finished:
            return
        if self._waiting:
            self._busy = True
            self._service.answer_later(self._call, self._waiting.pop(0), self._sent)
        elif self._closing:
            self._call.finish(0, "", _trailing(self._call))

    def _sent(self) -> None:
        self._busy = False
        self._send_next()


def _echo_initial(call: ServerCall) -> None:
    wanted = call.metadata.get(_INITIAL)
    if wanted is not None:
        call.send_metadata({_INITIAL: wanted})


def _trailing(call: ServerCall) -> Metadata | None:
    values = call.binary_metadata(_TRAILING)
    return {_TRAILING: values[0]} if values else None
