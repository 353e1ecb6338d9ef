"""The header lists of a gRPC server's answers."""

from __future__ import annotations

from typing import Final

from ..http2.header_blocks import HeaderBlock, encode_block
from .metadata import Metadata, encode_metadata, percent_encode

# Upstream's proxy announces its encodings in every answer (grpc-java ServerCallImpl).
_OPENING: Final = [
    (":status", "200"),
    ("content-type", "application/grpc"),
    ("grpc-encoding", "identity"),
    ("grpc-accept-encoding", "gzip"),
]

OPENING: Final = HeaderBlock.of(_OPENING)
OK_TRAILERS: Final = HeaderBlock.of([("grpc-status", "0")])


def opening(metadata: Metadata) -> bytes:
    """Return the block that opens an answer with initial metadata."""
    return OPENING.block + encode_block(encode_metadata(metadata))


def trailers(status: int, text: str, metadata: Metadata | None) -> bytes:
    """Return the block that ends an answer."""
    if not status and not text and not metadata:
        return OK_TRAILERS.block
    fields = [("grpc-status", str(int(status)))]
    if text:
        fields.append(("grpc-message", percent_encode(text)))
    if metadata:
        fields += encode_metadata(metadata)
    return encode_block(fields)


def trailers_only(status: int, text: str, metadata: Metadata | None) -> bytes:
    """Return the one block of an answer that has no message and no initial metadata."""
    return OPENING.block + trailers(status, text, metadata)


def plain_text_opening(http_status: str) -> bytes:
    """Return the opening block for a peer that does not speak gRPC; a text for people follows as the body."""
    return encode_block([(":status", http_status), ("content-type", "text/plain; charset=utf-8")])
