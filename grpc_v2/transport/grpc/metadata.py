"""Text forms of gRPC header values: metadata, binary metadata, timeouts, status messages."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from .status import StatusCode, StatusError

Metadata = Mapping[str, str | bytes]
"""Outgoing metadata: lower-case names. Values are text for plain names, bytes for names that end in `-bin`."""

_KEY: Final = re.compile(r"[0-9a-z_.-]+")
_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])")
_MS_PER_UNIT: Final = {"H": 3_600_000.0, "M": 60_000.0, "S": 1_000.0, "m": 1.0, "u": 1e-3, "n": 1e-6}
_LITERAL: Final = frozenset(range(0x20, 0x7F)) - {ord("%")}


@lru_cache(maxsize=1_024)
def parse_timeout(text: str) -> float:
    """Return the value of `grpc-timeout` in milliseconds. Raises StatusError(INTERNAL) for any other form."""
    match = _TIMEOUT.fullmatch(text)
    if match is None:
        raise StatusError(StatusCode.INTERNAL, f"malformed grpc-timeout: {text[:40]}")
    return int(match[1]) * _MS_PER_UNIT[match[2]]


def percent_encode(text: str) -> str:
    """Encode a text for `grpc-message`: UTF-8 with everything except printable ASCII escaped."""
    if text.isascii() and text.isprintable() and "%" not in text:
        return text
    data = text.encode("utf-8", "replace")
    return "".join([chr(byte) if byte in _LITERAL else f"%{byte:02X}" for byte in data])


def encode_metadata(metadata: Metadata) -> list[tuple[str, str]]:
    """Return the header fields for outgoing metadata.

    Raises ValueError for names that gRPC reserves or forbids, and for text that a header cannot carry. Raises TypeError
    for bytes under a plain name, and for text under a `-bin` name.
    """
    fields = []
    for name, value in metadata.items():
        if not _KEY.fullmatch(name) or name.startswith("grpc-"):
            raise ValueError(f"metadata name {name!r} is not allowed")
        if isinstance(value, bytes):
            if not name.endswith("-bin"):
                raise TypeError(f"metadata {name!r} takes text; bytes need a name that ends in -bin")
            fields.append((name, b64encode(value).rstrip(b"=").decode("ascii")))
        elif name.endswith("-bin"):
            raise TypeError(f"metadata {name!r} takes bytes")
        elif value.isascii() and value.isprintable():
            fields.append((name, value.strip()))
        else:
            raise ValueError(f"value of metadata {name!r} is not printable ASCII")
    return fields


def decode_binary(text: str) -> list[bytes]:
    """Return the values of a `-bin` field, padded or not. Raises ValueError if one is not Base64."""
    try:
        return [b64decode(part + "=" * (-len(part) % 4), validate=True) for part in map(str.strip, text.split(","))]
    except Base64Error as error:
        raise ValueError(f"not Base64: {error}") from None
