"""The PROXY prologue, by which a load balancer names the client's address at the start of a connection."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.remoting.wire.errors import ProtocolError
from rocketmq_testkit.remoting.wire.proxy_protocol import ProxyPrologue

FRAME = b"\x00\x00\x01\x07the frame"
V1 = b"PROXY TCP4 10.9.8.7 10.0.0.1 5555 10911\r\n"
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
V2 = (
    SIGNATURE
    + bytes([0x21, 0x11])
    + pack(">H", 15)
    + bytes([10, 9, 8, 6, 10, 0, 0, 1])
    + pack(">HH", 5556, 10911)
    + b"tlv"
)
V2_V6 = SIGNATURE + bytes([0x21, 0x21]) + pack(">H", 36) + bytes(15) + b"\x01" + bytes(16) + pack(">HH", 5557, 1)


@pytest.mark.parametrize(
    ("prologue", "source"),
    [
        (V1, ("10.9.8.7", 5555)),
        (b"PROXY TCP6 ::1 ::2 5555 10911\r\n", ("::1", 5555)),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff::1 ::1 1 2\r\n", None),
        (V2, ("10.9.8.6", 5556)),
        (V2_V6, ("::1", 5557)),
        (SIGNATURE + bytes([0x20, 0x00]) + pack(">H", 0), None),
        (SIGNATURE + bytes([0x20]) + V2[13:], None),
        (SIGNATURE + bytes([0x21, 0x31]) + pack(">H", 4) + b"unix", None),
        (b"", None),
    ],
)
def test_the_prologue_is_removed_and_its_source_stored_at_any_split(
    prologue: bytes, source: tuple[str, int] | None
) -> None:
    """For any split of the stream, the prologue is removed, its source is stored, and the first frame remains."""
    stream = prologue + FRAME
    for cut in range(1, len(stream)):
        reader = ProxyPrologue()
        rest = reader.feed(stream[:cut])
        if rest is None:
            rest = reader.feed(stream[cut:])
            assert rest is not None
        else:
            rest += stream[cut:]
        assert rest == FRAME
        assert reader.source == source


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY FOO bar baz\r\n",
        b"PROXY TCP4 10.9.8.7 10.0.0.1 5555\r\n",
        b"PROXY TCP4 300.9.8.7 10.0.0.1 5555 1\r\n",
        b"PROXY TCP4 10.9.8.7 10.0.0.1 port 1\r\n",
        b"PROXY TCP4 " + b"1" * 200 + b"\r\n",
        SIGNATURE + bytes([0x11, 0x11]) + pack(">H", 12) + bytes(12),
        SIGNATURE + bytes([0x22, 0x11]) + pack(">H", 12) + bytes(12),
        SIGNATURE + bytes([0x21, 0x11]) + pack(">H", 4) + bytes(4),
    ],
)
def test_malformed_prologues_are_rejected(data: bytes) -> None:
    """A malformed prologue is rejected; the broker closes the connection on these."""
    with pytest.raises(ProtocolError):
        ProxyPrologue().feed(data)


@given(st.binary(max_size=60))
def test_bytes_without_a_prologue_are_returned_unchanged(data: bytes) -> None:
    try:
        rest = ProxyPrologue().feed(data)
    except ProtocolError:
        assert data.startswith((b"PROXY ", SIGNATURE))
        return
    if rest is not None and not data.startswith((b"PROXY ", SIGNATURE)):
        assert rest == data


@pytest.mark.parametrize("data", [bytes(4), b"\xff" * 11, b"GET / HTTP/", b"PROXY", SIGNATURE[:11]])
def test_fewer_than_twelve_bytes_are_neither_accepted_nor_rejected(data: bytes) -> None:
    assert ProxyPrologue().feed(data) is None
