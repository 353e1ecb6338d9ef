"""A connection to a proxy as HTTP/2 frames, to observe how a server ends it."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from struct import Struct
from time import monotonic

from rocketmq_testkit.grpc_v2.proxy.rpc_table import SERVICE
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.errors import ErrorCode
from rocketmq_testkit.remoting.client.closeable import Closeable

_TWO_WORDS = Struct(">II")
_CONNECT_SECONDS = 10.0
_MESSAGE = f.HEADERS, f.DATA


class Http2ClientConnection(Closeable):
    """One connection to `address`, `host:port`. It acknowledges settings and pings as clients do. Raises OSError.

    Events are texts: `ping`, `stream 1 ended`, `stream 1 reset with ERROR`, `GOAWAY ERROR, last stream 1, 'text'`, and
    as the last one `closed` or `reset`.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), _CONNECT_SECONDS)
        self._rest = b""
        self._socket.sendall(f.PREFACE + f.settings())

    def call(self, stream_id: int, rpc: str, data: bytes, metadata: Mapping[str, str]) -> None:
        """Send a request with one message on a new stream, whose id is odd and larger than those before."""
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": SERVICE + rpc,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
            **metadata,
        }
        block = b"".join(_literal(name, value) for name, value in headers.items())
        message = b"\0" + len(data).to_bytes(4, "big") + data
        head = f.header_frames(stream_id, block, f.DEFAULT_MAX_FRAME_BYTES, end_stream=False)
        self._socket.sendall(head + f.frame(f.DATA, f.END_STREAM, stream_id, message))

    def until_ended(self, stream_id: int, seconds: float) -> list[str]:
        """Return the events until a stream has ended or the connection is closed. Raises TimeoutError."""
        return self.until_event(f"stream {stream_id} ended", seconds)

    def until_event(self, beginning: str, seconds: float) -> list[str]:
        """Return the events until one that begins with a text, or the end of the connection. Raises TimeoutError."""
        events = []
        for event in self._events(monotonic() + seconds):
            events.append(event)
            if event.startswith(beginning):
                break
        return events

    def until_closed(self, seconds: float) -> list[str]:
        """Return the events until the server has closed the connection. Raises TimeoutError."""
        return list(self._events(monotonic() + seconds))

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _events(self, end: float) -> Iterator[str]:
        while True:
            try:
                frame = self._frame(end)
            except ConnectionResetError:
                yield "reset"
                return
            if frame is None:
                yield "closed"
                return
            kind, flags, stream_id, payload = frame
            if kind == f.SETTINGS and not flags & f.ACK:
                self._socket.sendall(f.settings(ack=True))
            elif kind == f.PING and not flags & f.ACK:
                yield "ping"
                self._acknowledge(payload)
            elif kind == f.GOAWAY:
                last_id, code = _TWO_WORDS.unpack_from(payload)
                last = "any" if last_id == f.STREAM_ID_MASK else last_id
                yield f"GOAWAY {ErrorCode(code).name}, last stream {last}, {payload[8:].decode()!r}"
            elif kind == f.RST_STREAM:
                yield f"stream {stream_id} reset with {ErrorCode(int.from_bytes(payload, 'big')).name}"
            elif kind in _MESSAGE and flags & f.END_STREAM:
                yield f"stream {stream_id} ended"

    def _acknowledge(self, payload: bytes) -> None:
        with suppress(ConnectionError):  # the next read reports the end of the connection
            self._socket.sendall(f.ping(payload, ack=True))

    def _frame(self, end: float) -> tuple[int, int, int, bytes] | None:
        """Return type, flags, stream and payload of the next frame; None at the end of the connection."""
        while len(self._rest) < f.HEAD_BYTES or len(self._rest) < self._size():
            self._socket.settimeout(max(end - monotonic(), 0.001))
            more = self._socket.recv(65_536)
            if not more:
                return None
            self._rest += more
        _, _, kind, flags, stream_id = f.HEAD.unpack_from(self._rest)
        payload = self._rest[f.HEAD_BYTES : self._size()]
        self._rest = self._rest[self._size() :]
        return kind, flags, stream_id, payload

    def _size(self) -> int:
        return f.HEAD_BYTES + int.from_bytes(self._rest[:3], "big")


def _literal(name: str, value: str) -> bytes:
    """Encode a header field without compression; name and value have less than 127 bytes (RFC 7541 section 6.2.2)."""
    return b"\0" + b"".join(bytes((len(text),)) + text.encode() for text in (name, value))
