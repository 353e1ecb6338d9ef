"""Calls of the proxy as bytes on a socket, for tests of protocol violations and of abandoned connections."""

import socket
from collections.abc import Mapping
from struct import Struct
from types import TracebackType

from hpack import Encoder
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f

SERVICE = "/apache.rocketmq.v2.MessagingService/"
METADATA = (("x-mq-client-id", "waiting"), ("x-mq-language", "PYTHON"), ("x-mq-protocol", "v2"))
GREETING = f.PREFACE + f.settings()
_HEAD = Struct(">HBBBI")
_PATIENCE_S = 10


def call(
    rpc: str,
    data: bytes,
    *,
    stream_id: int = 1,
    ends: bool = True,
    flag: int = 0,
    length: int | None = None,
    head: Mapping[str, str] | None = None,
    **more: str,
) -> bytes:
    """Return the bytes of one call with a message; `length` replaces the true length in the message's prefix.

    `head` replaces headers of every call by name, `more` adds metadata.
    """
    usual = {
        ":method": "POST",
        ":scheme": "http",
        ":path": SERVICE + rpc,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    names = [
        *(usual | dict(head or {})).items(),
        *METADATA,
        *((name.replace("_", "-"), value) for name, value in more.items()),
    ]
    headers = f.header_frames(stream_id, Encoder().encode(names), 16_384, end_stream=False)
    message = bytes((flag,)) + (len(data) if length is None else length).to_bytes(4, "big") + data
    return headers + f.frame(f.DATA, f.END_STREAM if ends else 0, stream_id, message)


class Http2Client:
    """One connection to a proxy, which stays open until it is closed without further frames."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), _PATIENCE_S)
        self._rest = b""
        self._socket.sendall(GREETING)

    def __enter__(self) -> "Http2Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(data)

    def until_ended(self, stream_id: int) -> None:
        """Read until a call has ended; the proxy has then processed everything that was sent before it."""
        while (frame := self.frame()) is not None:
            if frame[2] == stream_id and frame[0] in (f.HEADERS, f.DATA) and frame[1] & f.END_STREAM:
                return
        raise AssertionError(f"the connection was closed before stream {stream_id} ended")

    def kinds(self) -> list[int]:
        """Return the types of all frames until the connection is closed."""
        found = []
        while (frame := self.frame()) is not None:
            found.append(frame[0])
        return found

    def frame(self) -> tuple[int, int, int] | None:
        """Return type, flags and stream of the next frame; None at the end."""
        while len(self._rest) < _HEAD.size or len(self._rest) < self._size():
            try:
                more = self._socket.recv(65_536)
            except ConnectionResetError:
                return None
            if not more:
                return None
            self._rest += more
        _, _, kind, flags, stream_id = _HEAD.unpack_from(self._rest)
        self._rest = self._rest[self._size() :]
        return kind, flags, stream_id

    def _size(self) -> int:
        return _HEAD.size + int.from_bytes(self._rest[:3], "big")

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
