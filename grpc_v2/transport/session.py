"""gRPC on one HTTP/2 connection: which method a request is for, and what is wrong with one that has none."""

from __future__ import annotations

from collections.abc import Mapping

from .answers import trailers_only
from .call import ConnectionFacts
from .deadlines import Deadlines
from .limits import Limits
from .metadata import parse_timeout
from .method import GrpcMethod, MethodKind
from .request_head import RequestHead
from .requests import CallRequest, HttpRefusal, Log, RequestStream, SingleRequest
from .status import StatusCode, StatusError
from .stream import Receiver, Stream

_ENCODINGS = frozenset({"identity", "gzip"})
GRACE_SECONDS = 0.1
"""How much longer than its client a call is waited for: on a busy machine, too, a client that keeps its deadline says
in words of its own that it has passed, as in front of upstream's proxy.
"""


class GrpcSession:
    """The application of one connection; `methods` and `deadlines` are shared by all connections of a server."""

    __slots__ = ("_deadlines", "_facts", "_fresh", "_limits", "_log", "_methods")

    def __init__(
        self,
        methods: Mapping[str, GrpcMethod],
        facts: ConnectionFacts,
        limits: Limits,
        deadlines: Deadlines,
        log: Log,
    ) -> None:
        self._methods = methods
        self._facts = facts
        self._limits = limits
        self._deadlines = deadlines
        self._log = log
        # Requests with a time-out that came in since `settle`.
        self._fresh: list[CallRequest] = []

    def begin(self, stream: Stream, head: RequestHead) -> Receiver | None:
        """Find the method of a request; what cannot be served is answered here."""
        try:
            if head.list_bytes > self._limits.max_header_list_bytes:
                text = f"metadata of {head.list_bytes} bytes exceeds the limit of {self._limits.max_header_list_bytes}"
                raise StatusError(StatusCode.RESOURCE_EXHAUSTED, text)
            return _not_grpc(stream, head) or self._begin(stream, head)
        except StatusError as error:
            block = trailers_only(error.status, error.text, None)
            stream.connection.send_end(stream, block)
            return None

    def settle(self, now: float) -> bool:
        """Give deadlines to the calls that came in and were not answered at once; returns whether there are any.

        `now` is in seconds.
        """
        fresh = self._fresh
        if not fresh:
            return False
        waiting = [request for request in fresh if not request.done]
        fresh.clear()
        for request in waiting:
            if request.timeout_ms is not None:
                self._deadlines.add(now + request.timeout_ms / 1000 + GRACE_SECONDS, request)
        return bool(waiting)

    def _begin(self, stream: Stream, head: RequestHead) -> Receiver:
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
            single = SingleRequest(stream, head, method, self._facts, self._limits, self._log, timeout_ms, gzip)
            if timeout_ms is not None:
                self._fresh.append(single)
            return single
        request = RequestStream(stream, head, method, self._facts, self._limits, self._log, timeout_ms, gzip)
        if timeout_ms is not None:
            self._fresh.append(request)
        request.begin()
        return request


def _not_grpc(stream: Stream, head: RequestHead) -> HttpRefusal | None:
    content_type = head.metadata.get("content-type", "")
    if head.method != "POST":
        return HttpRefusal(stream, "405", f"gRPC requests are POST, not {head.method}")
    if content_type != "application/grpc" and not content_type.startswith(("application/grpc+", "application/grpc;")):
        return HttpRefusal(stream, "415", f"gRPC requests have content-type application/grpc, not {content_type!r}")
    return None
