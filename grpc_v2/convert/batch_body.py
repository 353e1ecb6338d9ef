"""Encode several messages as the body of one batch send. Source: MessageDecoder.encodeMessages (5.3.3)."""

from collections.abc import Iterable
from struct import Struct

from rocketmq_testkit.emulator.message import properties as props

_HEAD = Struct(">iiiii")
_LENGTH = Struct(">h")
_LONGEST_PROPERTIES = 0x7FFF


def encode_batch(messages: Iterable[tuple[bytes, dict[str, str]]]) -> bytes | None:
    """Encode (body, properties) pairs. Returns None if the properties of a message are too long for the format."""
    parts: list[bytes] = []
    for body, properties in messages:
        text = props.encode(properties).encode()
        if len(text) > _LONGEST_PROPERTIES:
            return None
        size = _HEAD.size + len(body) + _LENGTH.size + len(text)
        parts += (_HEAD.pack(size, 0, 0, 0, len(body)), body, _LENGTH.pack(len(text)), text)
    return b"".join(parts)
