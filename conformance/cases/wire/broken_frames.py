"""Frames that are empty, incomplete or without a header."""

from rocketmq_testkit.remoting.wire import frame

from ...case import remoting_case
from ...context.remoting import RemotingContext, replies_to
from .frames import answer_to, header, seen

_NOBODYS = -1
"""Opaque of no request; a response to a request without one uses the server's next number."""


@remoting_case("NettyDecoder.decode")
def a_frame_of_fewer_than_four_bytes_closes_the_connection(t: RemotingContext) -> None:
    """A frame with fewer than four bytes closes the connection."""
    seen(
        t,
        {
            "no byte": bytes(4),
            "one byte": bytes.fromhex("00000001 00"),
            "three bytes": bytes.fromhex("00000003 000000"),
            "no byte, then a request": bytes(4) + frame.join(header()),
        },
        seconds=5,
    )


@remoting_case("RemotingCommand.decode")
def an_empty_header_closes_the_connection(t: RemotingContext) -> None:
    """A frame with an empty header closes the connection for every serialize type."""
    for kind in (0, 1, 2, 9, 255):
        word = (kind << 24).to_bytes(4, "big")
        seen(t, {f"type {kind}": (4).to_bytes(4, "big") + word}, seconds=5)
        seen(t, {f"type {kind}, with a body": (6).to_bytes(4, "big") + word + b"{}"}, seconds=5)


@remoting_case("NettyDecoder.decode")
def an_incomplete_frame_is_awaited_without_blocking_other_connections(t: RemotingContext) -> None:
    """The rest of a frame may arrive after a long pause. Requests of other connections are served in the meantime."""
    data = frame.join(header(), b"body")
    parts = {part: t.connect() for part in (2, 4, 30, len(data) - 1)}
    for part, connection in parts.items():
        connection.send_bytes(data[:part])
    silence = replies_to(parts, 77, 0.5)
    for part, connection in parts.items():
        t.note(f"after {part} bytes", silence[part])
        t.note("another connection", answer_to(t.connect(), data))
        t.note("the rest", answer_to(connection, data[part:]))


@remoting_case("NettyRemotingServer.HandshakeHandler.decode, HAProxyMessageDecoder.detectProtocol")
def the_protocol_is_not_detected_before_twelve_bytes(t: RemotingContext) -> None:
    """A connection with fewer than twelve bytes stays open; its protocol is detected only with twelve bytes."""
    beginnings = {
        "no byte of a frame": bytes(4),
        "negative length": b"\xff" * 11,
        "HTTP": b"GET / HTTP/",
        "like TLS": bytes.fromhex("16030100050100000100"),
        "unknown type": frame.join(b"{}", serialize_type=9),
        "an empty object": frame.join(b"{}"),
        "half a frame": frame.join(header())[:11],
    }
    connections = {label: t.connect() for label in beginnings}
    for label, connection in connections.items():
        connection.send_bytes(beginnings[label])
    before = replies_to(connections, _NOBODYS, 1)
    for label, connection in connections.items():
        connection.send_bytes(bytes(12 - len(beginnings[label])))
    after = replies_to(connections, _NOBODYS, 2)
    for label in beginnings:
        t.note(label, before[label])
        t.note(f"{label}, with twelve", after[label])
