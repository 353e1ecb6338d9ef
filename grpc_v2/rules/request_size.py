"""Count the fields of a long request before it is decoded.

The limit protects the memory: an empty nested message takes two bytes on the wire (a few bits with gzip), but sixty
bytes after decoding. Data that is not protobuf is left to the decoder.
"""

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

UNCOUNTED_BYTES = 256 * 1024
"""Requests up to this length, in bytes, are decoded without counting."""
FIELDS_MAX = 100_000
"""Maximum number of fields in one request, including those of nested messages. Upstream limits only the length."""

_VARINT, _FIXED64, _LENGTH, _GROUP_START, _GROUP_END, _FIXED32 = range(6)
_SKIPPED_BYTES = {_FIXED64: 8, _FIXED32: 4, _GROUP_START: 0, _GROUP_END: 0}


def decoder(kind: type[Message]) -> Callable[[bytes], Message]:
    """Return the decoder of a request type. It raises DecodeError for a request of more than FIELDS_MAX fields."""
    decode = kind.FromString
    descriptor = kind.DESCRIPTOR

    def bounded(data: bytes) -> Message:
        if len(data) > UNCOUNTED_BYTES and count_fields(data, descriptor, FIELDS_MAX) > FIELDS_MAX:
            raise DecodeError(f"the request has more than {FIELDS_MAX} fields")
        return decode(data)

    return bounded


def count_fields(data: bytes, descriptor: Any, limit: int) -> int:
    """Return the number of fields of a request and its nested messages. Counting stops above `limit`."""
    pending: list[tuple[int, int, Any]] = [(0, len(data), descriptor)]
    count = 0
    while pending and count <= limit:
        at, end, kind = pending.pop()
        fields = kind.fields_by_number
        while at < end and count <= limit:
            count += 1
            tag, at = _varint(data, at)
            wire = tag & 7
            if wire == _LENGTH:
                length, at = _varint(data, at)
                field = fields.get(tag >> 3)
                if field is not None and field.type == FieldDescriptor.TYPE_MESSAGE:
                    pending.append((at, min(at + length, end), field.message_type))
                at += length
            elif wire == _VARINT:
                _, at = _varint(data, at)
            else:
                at += _SKIPPED_BYTES.get(wire, end)
    return count


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    end = min(at + 10, len(data))
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, at + 1
