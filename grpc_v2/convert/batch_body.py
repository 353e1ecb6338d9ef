"""Encode several messages as the body of one batch send. Source: MessageDecoder.encodeMessages (5.3.3)."""

from collections.abc import Iterable
from struct import Struct

from rocketmq_testkit.emulator.message import properties as props

_HEAD = Struct(">iiiii")
"""Size of the message, magic code, CRC of the body, flag, length of the body (bytes)."""
_LENGTH = Struct(">h")
"""Length of the properties (bytes)."""
_LONGEST_PROPERTIES = 0x7FFF


def encode_batch(messages: Iterable[tuple[bytes, dict[str, str]]]) -> bytes | None:
    """Encode (body, properties) pairs. Returns None if the encoded properties of a message exceed 32,767 bytes."""
    parts: list[bytes] = []
    for body, properties in messages:
        text = props.encode(properties).encode()
        if len(text) > _LONGEST_PROPERTIES:
            return None
        size = _HEAD.size + len(body) + _LENGTH.size + len(text)
        # Senders of batches leave magic code and CRC 0 (upstream), and messages of the gRPC protocol have no flag.
        parts += (_HEAD.pack(size, 0, 0, 0, len(body)), body, _LENGTH.pack(len(text)), text)
    return b"".join(parts)
