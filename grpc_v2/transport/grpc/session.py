"""gRPC on one HTTP/2 connection: finds the method of each request, and rejects requests that it cannot serve."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from ..http2.errors import ErrorCode
from ..http2.request_head import RequestHead
from ..http2.stream import Http2Stream, Receiver
from .deadlines import Deadlines
from .metadata import parse_timeout
from .method import GrpcMethod, MethodKind
from .refused_calls import CallContext
from .requests import CallRequest, HttpRefusal, RequestStream, SingleRequest
from .response_headers import trailers_only
from .status import StatusCode, StatusError

_ENCODINGS = frozenset({"identity", "gzip"})
DEADLINE_GRACE_SECONDS = 0.1
"""Time that a call is kept after its client's deadline, in seconds.

A client that enforces its own deadline then reports the timeout itself, even on a busy machine, as with upstream's
proxy.
"""


class GrpcSession:
    """The gRPC layer of one connection. All connections of a server share `methods` and `deadlines`."""

    __slots__ = ("_context", "_deadlines", "_methods", "_new_requests")

    def __init__(
        self,
        methods: Mapping[str, GrpcMethod],
        context: CallContext,
        deadlines: Deadlines,
    ) -> None:
        self._methods = methods
        self._context = context
        self._deadlines = deadlines
        # Requests with a timeout that arrived since the last `register_deadlines`.
        self._new_requests: list[CallRequest] = []

    def begin(self, stream: Http2Stream, head: RequestHead) -> Receiver | None:
        """Find the method of a request. Returns the receiver of the body, None if the request was rejected at once."""
        try:
            most = self._context.limits.max_header_list_bytes
            if head.list_bytes > most:
                text = f"metadata of {head.list_bytes} bytes exceeds the limit of {most}"
                raise StatusError(StatusCode.RESOURCE_EXHAUSTED, text)
            not_grpc = _not_grpc(stream, head)
            if not_grpc is not None:
                not_grpc.report(self._context, head)
                return not_grpc
            return self._begin(stream, head)
        except StatusError as error:
            self._context.report_refused(head, error.status, error.status.name, error.text)
            block = trailers_only(error.status, error.text, None)
            stream.output.send_end(stream, block)
            return None

    def failed(self, receiver: Receiver | None, code: ErrorCode, reason: str) -> None:
        """Report a stream that the connection reset, or the failure of the connection.

        `receiver` is None for the connection and for streams without a request. A call is reported even if its handler
        has responded.
        """
        head: RequestHead | None = None
        if isinstance(receiver, CallRequest):
            head = receiver.head
        self._context.report_refused(head, code, code.name, reason)

    def register_deadlines(self, now: float) -> bool:
        """Register deadlines of the new calls that are still pending. Returns True if there are any.

        `now` is in seconds.
        """
        new_requests = self._new_requests
        if not new_requests:
            return False
        waiting = [request for request in new_requests if not request.done]
        new_requests.clear()
        for request in waiting:
            if request.timeout_ms is not None:
                self._deadlines.add(now + request.timeout_ms / 1000 + DEADLINE_GRACE_SECONDS, request)
        return bool(waiting)

    def _begin(self, stream: Http2Stream, head: RequestHead) -> Receiver:
        metadata = head.metadata
        method = self._methods.get(head.path)
        if method is None:
            raise StatusError(StatusCode.UNIMPLEMENTED, f"Method not found: {head.path.removeprefix('/')}")
        encoding = metadata.get("grpc-encoding", "identity")
        if encoding not in _ENCODINGS:
            raise StatusError(StatusCode.UNIMPLEMENTED, f"Can't find decompressor for {encoding}")
        timeout = metadata.get("grpc-timeout")
        timeout_ms = None if timeout is None else parse_timeout(timeout)
        gzip = encoding == "gzip"
        if method.kind is not MethodKind.BIDI:
            single = SingleRequest(stream, head, method, self._context, timeout_ms, gzip)
            if timeout_ms is not None:
                self._new_requests.append(single)
            return single
        request = RequestStream(stream, head, method, self._context, timeout_ms, gzip)
        if timeout_ms is not None:
            self._new_requests.append(request)
        request.begin()
        return request


def _not_grpc(stream: Http2Stream, head: RequestHead) -> HttpRefusal | None:
    content_type = head.metadata.get("content-type", "")
    if head.method != "POST":
        return HttpRefusal(stream, HTTPStatus.METHOD_NOT_ALLOWED, f"gRPC requests are POST, not {head.method}")
    if content_type != "application/grpc" and not content_type.startswith(("application/grpc+", "application/grpc;")):
        text = f"gRPC requests have content-type application/grpc, not {content_type!r}"
        return HttpRefusal(stream, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
    return None
