"""A server of bare Twisted on uvloop, which responds with recorded bytes: the floor of a Python server.

    python bench/bare_server.py < RECORD

RECORD is the JSON of a `Record`. The server prints a line of JSON with its ports, `broker` and `endpoint`. It finds
the ends of requests and the parts of them that a response repeats (opaque, stream id), and nothing else: no routes, no
checks, no flow control. It can serve a client that sends only recorded requests. If the record has a certificate, all
connections are encrypted by the emulator's TLS transport.
"""

import base64
import json
import ssl
import sys
import tempfile
from collections.abc import Callable
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any, Self

import uvloop
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.protocol import Factory, Protocol

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1
WINDOW = (0x7FFFFFFF).to_bytes(4, "big")
NO_WINDOWS = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04" + WINDOW
"""SETTINGS with the largest window for each stream."""
NO_WINDOW = b"\x00\x00\x04\x08\x00\x00\x00\x00\x00" + (0x7FFFFFFF - 65535).to_bytes(4, "big")
"""WINDOW_UPDATE that gives the connection the largest window."""


Response = tuple[str, str, str]
"""Header of a remoting response up to the opaque, header after it, and body."""


@dataclass
class Record:
    """Responses. Bytes are in base64, so that a record is JSON."""

    remoting: dict[str, Response | None] = field(default_factory=dict)
    """Request code -> response; None for requests without one (oneway)."""
    grpc: dict[str, list[str]] = field(default_factory=dict)
    """Request message -> the messages of the response."""
    others: list[str] = field(default_factory=list)
    """Messages of the response to any other request over gRPC."""
    certificate: str = ""
    """Key and certificate (PEM), empty for plaintext."""
    _: KW_ONLY
    authority: str = ""
    """The certificate (PEM) that clients trust."""

    def text(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a record from JSON."""
        return cls(**json.loads(text))


def frame(kind: int, flags: int, stream: bytes, payload: bytes) -> bytes:
    """Return an HTTP/2 frame. `stream` has four bytes."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream + payload


def literals(headers: dict[bytes, bytes]) -> bytes:
    """Return headers in HPACK, each as a literal that enters no table."""
    return b"".join(
        b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value for name, value in headers.items()
    )


RESPONSE = literals({b":status": b"200", b"content-type": b"application/grpc"})
TRAILERS = literals({b"grpc-status": b"0"})


class BareRemoting(Protocol):
    """Responds to each frame with the recorded response to its request code."""

    transport: Any
    """A TCP or TLS transport."""

    def __init__(self, record: Record) -> None:
        self._rest = b""
        self._responses = {
            code.encode(): parts and tuple(map(base64.b64decode, parts)) for code, parts in record.remoting.items()
        }

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)

    def dataReceived(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        at, responses = 0, []
        while len(data) - at >= 8:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > len(data):
                break
            code = data.index(b'"code":', at) + 7
            response = self._responses[data[code : data.index(b",", code)]]
            if response is not None:
                opaque = data.index(b'"opaque":', at) + 9
                before, after, body = response
                header = before + data[opaque : data.index(b",", opaque)] + after
                size = len(header)
                responses.append((4 + size + len(body)).to_bytes(4, "big") + size.to_bytes(4, "big") + header + body)
            at = end
        self._rest = data[at:]
        if responses:
            self.transport.write(b"".join(responses))


class BareGrpc(Protocol):
    """Responds at the end of each stream with the recorded response to its message."""

    transport: Any
    """A TCP or TLS transport."""

    def __init__(self, record: Record) -> None:
        self._rest = b""
        self._begun = False
        self._bodies: dict[bytes, bytes] = {}
        self._responses = {
            base64.b64decode(request): [*map(base64.b64decode, messages)] for request, messages in record.grpc.items()
        }
        self._others = [*map(base64.b64decode, record.others)]

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.transport.write(NO_WINDOWS + NO_WINDOW)

    def dataReceived(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        at = 0
        if not self._begun:
            self._begun, at = True, len(PREFACE)
        responses: list[bytes] = []
        while len(data) - at >= 9:
            end = at + 9 + int.from_bytes(data[at : at + 3], "big")
            if end > len(data):
                break
            kind, flags, stream, payload = data[at + 3], data[at + 4], data[at + 5 : at + 9], data[at + 9 : end]
            if kind == DATA:
                body = self._bodies.pop(stream, b"") + payload
                if flags & END_STREAM:
                    self._respond(stream, body[5:], responses)
                else:
                    self._bodies[stream] = body
            elif kind in (SETTINGS, PING) and not flags & ACK:
                responses.append(frame(kind, ACK, stream, payload if kind == PING else b""))
            at = end
        self._rest = data[at:]
        if responses:
            self.transport.write(b"".join(responses))

    def _respond(self, stream: bytes, request: bytes, responses: list[bytes]) -> None:
        responses.append(frame(HEADERS, END_HEADERS, stream, RESPONSE))
        for message in self._responses.get(request, self._others):
            responses += (frame(DATA, 0, stream, b"\x00" + len(message).to_bytes(4, "big") + message),)
        responses.append(frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS))


def encrypted(certificate: str, alpn: str, inner: Callable[[], Protocol]) -> Callable[[], Protocol]:
    """Return a function that makes a protocol behind the emulator's TLS transport."""
    from rocketmq_testkit.fixtures.network.tls_connection import TlsConnection  # a plaintext server does not load it

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if alpn:
        context.set_alpn_protocols([alpn])
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate)
        file.flush()
        context.load_cert_chain(file.name)

    def log(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return lambda: TlsConnection(context, inner(), log, lambda: None, handshake_failed=log)


def main() -> None:
    """Serve until the process ends."""
    record = Record.of(sys.stdin.read())
    reactor: Any = AsyncioSelectorReactor(uvloop.new_event_loop())  # Any: Twisted declares no types of reactors

    def listen(alpn: str, protocol: Callable[[], Protocol]) -> str:
        if record.certificate:
            protocol = encrypted(record.certificate, alpn, protocol)
        port = reactor.listenTCP(0, Factory.forProtocol(protocol), interface="127.0.0.1")
        return f"127.0.0.1:{port.getHost().port}"

    broker, endpoint = listen("", lambda: BareRemoting(record)), listen("h2", lambda: BareGrpc(record))
    print(json.dumps({"broker": broker, "endpoint": endpoint}), flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
