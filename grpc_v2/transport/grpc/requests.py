"""Read the body of a request and call its handler."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from rocketmq_testkit.emulator.kernel import bug_reports as bugs

from ..http2.errors import ErrorCode
from ..http2.request_head import RequestHead
from ..http2.stream import Http2Stream
from ..http2.stream_table import StreamState
from .call import ServerCall
from .messages import PREFIX_BYTES, MessageReader
from .method import GrpcMethod
from .refused_calls import CallContext
from .response_headers import plain_text_headers, trailers, trailers_only
from .status import StatusCode, StatusError


class CallRequest:
    """A request for a known method: the base of both kinds below. `timeout_ms` is None if there is no timeout."""

    __slots__ = ("_context", "_gzip", "_method", "_reader", "_stream", "call", "head", "timeout_ms")

    def __init__(  # noqa: PLR0917  # made for each call: keywords would cost it time
        self,
        stream: Http2Stream,
        head: RequestHead,
        method: GrpcMethod,
        context: CallContext,
        timeout_ms: float | None,
        gzip: bool,
    ) -> None:
        self._stream = stream
        self.head = head
        self._method = method
        self._context = context
        self._gzip = gzip
        self._reader: MessageReader | None = None
        self.timeout_ms = timeout_ms
        self.call: ServerCall | None = None

    @property
    def done(self) -> bool:
        """True if the stream has ended."""
        state = self._stream.state
        return state is not StreamState.OPEN and state is not StreamState.HALF_CLOSED_REMOTE

    def client_lost(self, reason: str) -> None:
        """Cancel the handler's call: its client has disconnected, or its deadline has passed."""
        if self.call is not None:
            for callback in self.call.cancel():
                self._guard(callback)

    def expire(self) -> None:
        """End the call because its deadline has passed."""
        call = self.call
        if call is not None and call.finished:
            return
        opened = call is not None and call.opened
        expired = StatusCode.DEADLINE_EXCEEDED
        self._context.report_refused(self.head, expired, expired.name, f"no response within {self.timeout_ms} ms")
        self.client_lost("the deadline has passed")
        if opened:
            # Messages may wait for credit that no longer arrives, and a regular end would wait behind them.
            self._stream.output.reset_stream(self._stream, ErrorCode.CANCEL)
        else:
            block = trailers_only(StatusCode.DEADLINE_EXCEEDED, "deadline exceeded", None)
            self._stream.output.send_end(self._stream, block)

    def end(self, status: StatusCode, text: str) -> None:
        """End the call with a status, because its handler will not."""
        call = self.call
        if call is None:
            self._stream.output.send_end(self._stream, trailers_only(status, text, None))
        elif not call.finished:
            call.finish(status, text)

    def _open_call(self) -> ServerCall:
        timeout_ms = self.timeout_ms
        call = ServerCall(self._stream, self.head, self._context.facts, None if timeout_ms is None else int(timeout_ms))
        self.call = call
        return call

    def _read(self, payload: bytes | memoryview) -> MessageReader:
        reader = self._reader
        if reader is None:
            reader = self._reader = MessageReader(self._context.limits.max_message_bytes, gzip=self._gzip)
        reader.feed(payload)
        return reader

    def _guard(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function of the handler. An exception ends this call and no other."""
        try:
            function(*arguments)
        except Exception:
            path = self.head.path
            report = f"gRPC {path} failed in its handler\n{traceback.format_exc()}"
            self._context.log(report)
            bugs.note(report)
            self._refuse(StatusError(StatusCode.INTERNAL, f"{path[1:]} failed in the server, whose log says why"))

    def _refuse(self, error: StatusError) -> None:
        """Respond with an error, unless the handler has already responded."""
        call = self.call
        if call is not None and call.finished:
            return
        self._context.report_refused(self.head, error.status, error.status.name, error.text)
        if call is None:
            self._stream.output.send_end(self._stream, trailers_only(error.status, error.text, None))
        else:
            call.finish(error.status, error.text)

    def _decode(self, message: bytes) -> Any:
        try:
            return self._method.decode(message)
        except Exception:
            # As the proxy 5.3.3, without a text.
            raise StatusError(StatusCode.UNKNOWN, "") from None


class SingleRequest(CallRequest):
    """The request of a unary or server-streaming call: exactly one message."""

    __slots__ = ("_message",)

    _message: bytes | None

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Collect the message, and call the handler when the request has ended."""
        size = len(payload)
        try:
            if (
                ended
                and self._reader is None
                and size >= PREFIX_BYTES
                and not payload[0]
                and size == PREFIX_BYTES + int.from_bytes(payload[1:PREFIX_BYTES], "big")
                and size <= PREFIX_BYTES + self._context.limits.max_message_bytes
            ):
                message = bytes(payload[PREFIX_BYTES:])
            else:
                collected = self._collect(payload, ended)
                if collected is None:
                    return
                message = collected
            request = self._decode(message)
        except StatusError as error:
            self._refuse(error)
            return
        self._guard(self._method.handler, self._open_call(), request)

    def _collect(self, payload: bytes | memoryview, ended: bool) -> bytes | None:
        """Return the message after the request has ended. Raises StatusError unless there is exactly one message."""
        if self._reader is None:
            self._message = None
        reader = self._read(payload)
        if self._message is None:
            self._message = reader.take()
        if self._message is not None and not reader.empty:
            raise StatusError(StatusCode.INTERNAL, "Too many requests")
        if not ended:
            return None
        if self._message is None:
            text = "Half-closed without a request" if reader.empty else "the request ends inside a message"
            raise StatusError(StatusCode.INTERNAL, text)
        return self._message


class RequestStream(CallRequest):
    """The requests of a bidirectional call: any number of messages, each forwarded when it is complete."""

    __slots__ = ()

    def begin(self) -> None:
        """Call the handler, which passes its callbacks for messages to the call."""
        self._guard(self._method.handler, self._open_call(), None)

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Forward the complete messages, and the end of the request."""
        call = self.call
        if call is None or call.finished:
            return
        try:
            reader = self._read(payload)
            while (message := reader.take()) is not None:
                request = self._decode(message)
                if call.on_message is not None:
                    self._guard(call.on_message, request)
            if ended and not reader.empty and not call.finished:
                raise StatusError(StatusCode.INTERNAL, "the request ends inside a message")
        except StatusError as error:
            self._refuse(error)
            return
        if ended and call.on_half_close is not None:
            self._guard(call.on_half_close)


class HttpRefusal:
    """A request that is not gRPC. It gets a plain text response when it has ended, for users of a browser or curl."""

    __slots__ = ("_http_status", "_stream", "_text")

    def __init__(self, stream: Http2Stream, http_status: HTTPStatus, text: str) -> None:
        self._stream = stream
        self._http_status = http_status
        self._text = text

    def report(self, context: CallContext, head: RequestHead) -> None:
        """Report the rejected request."""
        context.report_refused(head, self._http_status, self._http_status.name, self._text)

    def data(self, payload: bytes | memoryview, ended: bool) -> None:
        """Discard the body and respond at its end."""
        if ended:
            output = self._stream.output
            output.send_headers(self._stream, plain_text_headers(str(int(self._http_status))))
            output.send_data(self._stream, self._text.encode("utf-8"))
            output.send_end(self._stream, trailers(StatusCode.INTERNAL, self._text, None))

    def client_lost(self, reason: str) -> None:
        """Do nothing: there is no handler to cancel."""
