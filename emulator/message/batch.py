"""Split the body of a batch send into messages, decoding only as much as the store needs.

Upstream copies the encoded properties of each message into its record and never decodes them. This module checks the
encoded properties of all messages of a batch at once. If all are well-formed, copying them equals decoding, merging and
encoding them. Source: MessageDecoder.encodeMessages, MessageExtEncoder (5.3.3).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from struct import error as StructError

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from . import properties as props

_HEAD = Struct(">12xii")
_LENGTH = Struct(">h")
_JOINT = b"\x03"
_NOT_SEPARATORS = bytes(each for each in range(256) if each not in (1, 2, 3))
_EMPTY = (b"\x01\x02", b"\x02\x01", b"\x03\x01")
"""Separators that surround an empty value or an empty name."""
_TAG = f"{props.TAGS}\x01".encode()
_LATER_TAG = b"\x02" + _TAG

Part = tuple[int, bytes, bytes]
"""One message of a batch: its flag, its body, and its encoded properties as sent."""


def properties_of(text: bytes) -> dict[str, str]:
    """Decode properties into a mapping by name."""
    return props.decode(text.decode(errors="replace"))


def split_batch(body: bytes) -> list[Part]:
    """Split the body of a batch into its messages. Raises SYSTEM_ERROR if the body is malformed.

    Each message is: size, magic, crc, flag, body length, body, properties length, properties. The first three are
    ignored.
    """
    found = []
    at, limit = 0, len(body)
    unpack_head, head_size = _HEAD.unpack_from, _HEAD.size
    unpack_length, length_size = _LENGTH.unpack_from, _LENGTH.size
    try:
        while at < limit:
            flag, body_length = unpack_head(body, at)
            at += head_size
            if not 0 <= body_length <= limit - at:
                raise _broken("java.lang.ArrayIndexOutOfBoundsException")
            end = at + body_length
            (property_length,) = unpack_length(body, end)
            if property_length < 0:
                raise StructError  # upstream would go back that many bytes and read on there
            start, text_at = at, end + length_size
            at = text_at + property_length
            if at > limit:
                raise _broken(f"java.lang.IllegalArgumentException: newPosition > limit: ({at} > {limit})")
            found.append((flag, body[start:end], body[text_at:at]))
    except StructError:
        raise _broken("java.nio.BufferUnderflowException") from None
    return found


def are_well_formed(texts: Sequence[bytes], reserved: Iterable[str]) -> bool:
    """True if all encoded properties are in the form that clients write.

    That form is pairs of a name and a value, each pair with its two separators. Neither is empty and no name is
    reserved. The broker can then add properties with reserved names by appending them.
    """
    joined = _JOINT.join((b"", *texts, b""))
    if joined.translate(None, _NOT_SEPARATORS).replace(b"\x01\x02", b"") != _JOINT * (len(texts) + 1):
        return False
    if joined.count(b"\x02\x03") != len(texts) - texts.count(b"") or any(each in joined for each in _EMPTY):
        return False
    # A longer name that ends in a reserved name also matches, which only costs time.
    if any(f"{name}\x01".encode() in joined for name in reserved):
        return False
    return joined.isascii() or _is_text(joined)


def tag_of(text: bytes) -> str | None:
    """Return the tag in well-formed encoded properties, or None; of several the last one, as for any repeated name."""
    at = text.rfind(_LATER_TAG) + 1
    if not at and not text.startswith(_TAG):
        return None
    at += len(_TAG)
    return text[at : text.index(b"\x02", at)].decode()


def tags_of(texts: Sequence[bytes]) -> list[str | None]:
    """Return the tag of each message, from well-formed encoded properties. Fast for messages without tags."""
    return [tag_of(text) if _TAG in text else None for text in texts]


class LazyProperties(Mapping[str, str]):
    """Properties that are decoded at first access; those of most messages never are."""

    __slots__ = ("_found", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        found = self._found
        if found is None:
            found = self._found = props.decode(self._text.decode())
        return found

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _broken(exception: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, exception)
