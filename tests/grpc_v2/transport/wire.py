"""A client in memory: it sends frames to a server connection and reads the server's frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from hpack import Decoder, Encoder
from rocketmq_testkit.grpc_v2.transport import GrpcMethod, Limits, MethodKind, ServerCall
from rocketmq_testkit.grpc_v2.transport.grpc.call import ConnectionAttributes
from rocketmq_testkit.grpc_v2.transport.grpc.deadlines import Deadlines
from rocketmq_testkit.grpc_v2.transport.grpc.refused_calls import CallContext, RefusedCall
from rocketmq_testkit.grpc_v2.transport.grpc.session import GrpcSession
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.connection import Http2Connection
from rocketmq_testkit.grpc_v2.transport.http2.settings import encode_settings

FACTS = ConnectionAttributes(("192.0.2.1", 40_000), ("192.0.2.2", 8_081), False)
ECHO = "/test.Echo/Unary"


@dataclass(frozen=True)
class Frame:
    """A frame that the server wrote."""

    kind: int
    flags: int
    stream_id: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of a RST_STREAM or GOAWAY frame."""
        at = 4 if self.kind == f.GOAWAY else 0
        return int.from_bytes(self.payload[at : at + 4], "big")


def parse(data: bytes) -> tuple[list[Frame], bytes]:
    """Return the complete frames in `data`, and the remaining bytes."""
    found = []
    while len(data) >= f.HEAD_BYTES:
        high, low, kind, flags, stream_id = f.HEAD.unpack_from(data)
        end = f.HEAD_BYTES + (high << 16 | low)
        if len(data) < end:
            break
        found.append(Frame(kind, flags, stream_id, data[f.HEAD_BYTES : end]))
        data = data[end:]
    return found, data


def message(body: bytes, flag: int = 0) -> bytes:
    """Return one length-prefixed message."""
    return bytes((flag,)) + len(body).to_bytes(4, "big") + body


def request_fields(path: str = ECHO, **headers: str) -> list[tuple[str, str]]:
    """Return the header list of a gRPC request. Underscores in the names of `headers` become hyphens."""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "emulator:8081"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    return fields + [(name.replace("_", "-"), value) for name, value in headers.items()]


@dataclass
class Answer:
    """A response as the client sees it. `reset` is the error code of RST_STREAM, None if there was none."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    trailers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    ended: bool = False
    _: KW_ONLY
    reset: int | None = None

    @property
    def messages(self) -> list[bytes]:
        """The messages of the body."""
        found, data = [], self.body
        while data:
            end = 5 + int.from_bytes(data[1:5], "big")
            found.append(data[5:end])
            data = data[end:]
        return found

    @property
    def status(self) -> tuple[int, str]:
        """The gRPC status and its text as sent."""
        last = dict(self.trailers or self.headers)
        return int(last["grpc-status"]), last.get("grpc-message", "")


class Peer:
    """A client and a server connection that exchange bytes in memory."""

    def __init__(self, methods: Iterable[GrpcMethod] = (), limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.deadlines = Deadlines()
        self.log: list[str] = []
        table = {method.path: method for method in methods}
        self.refused: list[RefusedCall] = []
        context = CallContext(FACTS, self.limits, self.log.append, lambda _facts, refused: self.refused.append(refused))
        self.session = GrpcSession(table, context, self.deadlines)
        # One entry for each output of the server outside of `receive`: True if no more output follows, else False.
        self.wakes: list[bool] = []
        self.connection = Http2Connection(self.session, self.limits, self.wakes.append)
        self.now = 1_000.0
        self.encoder = Encoder()
        self.frames: list[Frame] = []
        self.responses: dict[int, Answer] = {}
        self._decoder = Decoder()
        self._rest = b""
        self._blocks: dict[int, tuple[int, bytes]] = {}
        self.connection.open()

    def greet(self, settings: dict[int, int] | None = None) -> Peer:
        """Send the preface and the first SETTINGS."""
        self.feed(f.PREFACE + f.settings(encode_settings(settings or {})))
        return self

    def feed(self, data: bytes) -> list[Frame]:
        """Pass bytes to the server, and return the frames that it wrote."""
        self.connection.receive(data, self.now)
        self.session.register_deadlines(self.now)
        return self.read()

    def feed_in_pieces(self, data: bytes, size: int) -> None:
        """Pass bytes to the server in pieces of `size`."""
        for at in range(0, len(data), size):
            self.feed(data[at : at + size])

    def read(self) -> list[Frame]:
        """Return the frames that the server wrote since the last call."""
        fresh, self._rest = parse(self._rest + self.connection.output.take())
        for frame in fresh:
            self._learn(frame)
        self.frames += fresh
        return fresh

    def headers(self, stream_id: int, fields: list[tuple[str, str]], *, end: bool = False) -> bytes:
        """Return a HEADERS frame."""
        block = self.encoder.encode(fields)
        return f.header_frames(stream_id, block, f.DEFAULT_MAX_FRAME_BYTES, end_stream=end)

    def data(self, stream_id: int, payload: bytes, *, end: bool = False) -> bytes:
        """Return DATA frames, as many as the payload needs."""
        size = f.DEFAULT_MAX_FRAME_BYTES
        pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
        last = len(pieces) - 1
        return b"".join(
            f.frame(f.DATA, f.END_STREAM if end and at == last else 0, stream_id, piece)
            for at, piece in enumerate(pieces)
        )

    def request(self, stream_id: int, body: bytes, path: str = ECHO, **headers: str) -> bytes:
        """Return the frames of a unary request."""
        return self.headers(stream_id, request_fields(path, **headers)) + self.data(stream_id, message(body), end=True)

    def response(self, stream_id: int) -> Answer:
        """Return the response of a stream as received so far."""
        return self.responses.setdefault(stream_id, Answer())

    def go_away(self) -> Frame | None:
        """Return the last GOAWAY frame, None if there was none."""
        return next((frame for frame in reversed(self.frames) if frame.kind == f.GOAWAY), None)

    def _learn(self, frame: Frame) -> None:
        response = self.response(frame.stream_id)
        if frame.kind in (f.HEADERS, f.CONTINUATION):
            flags, block = self._blocks.pop(frame.stream_id, (frame.flags, b""))
            block += frame.payload
            if not frame.flags & f.END_HEADERS:
                self._blocks[frame.stream_id] = (flags, block)
                return
            fields = [(str(name), str(value)) for name, value in self._decoder.decode(block)]
            if response.headers:
                response.trailers = fields
            else:
                response.headers = fields
            response.ended = bool(flags & f.END_STREAM)
        elif frame.kind == f.DATA:
            response.body += frame.payload
            response.ended = bool(frame.flags & f.END_STREAM)
        elif frame.kind == f.RST_STREAM:
            response.reset = frame.code


def echo(call: ServerCall, request: bytes) -> None:
    """Respond with the request."""
    call.reply(request)


def unary(handler: Callable[[ServerCall, Any], None] = echo, path: str = ECHO) -> GrpcMethod:
    """Return a unary method on raw bytes."""
    return GrpcMethod(path, MethodKind.UNARY, bytes, handler)


def streaming(handler: Callable[[ServerCall, Any], None], path: str = ECHO) -> GrpcMethod:
    """Return a server-streaming method on raw bytes."""
    return GrpcMethod(path, MethodKind.SERVER_STREAM, bytes, handler)


def bidi(handler: Callable[[ServerCall, None], None], path: str = ECHO) -> GrpcMethod:
    """Return a bidirectional method on raw bytes."""
    return GrpcMethod(path, MethodKind.BIDI, bytes, handler)
