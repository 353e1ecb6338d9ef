"""The header lists of a gRPC server's responses."""

from __future__ import annotations

from typing import Final

from ..http2.header_blocks import HeaderBlock, encode_block
from .metadata import Metadata, encode_metadata, percent_encode

# Upstream's proxy announces its encodings in every response (grpc-java ServerCallImpl).
_RESPONSE_HEADERS: Final = [
    (":status", "200"),
    ("content-type", "application/grpc"),
    ("grpc-encoding", "identity"),
    ("grpc-accept-encoding", "gzip"),
]

RESPONSE_HEADERS: Final = HeaderBlock.of(_RESPONSE_HEADERS)
OK_TRAILERS: Final = HeaderBlock.of([("grpc-status", "0")])


def response_headers(metadata: Metadata) -> bytes:
    """Return the header block that opens a response with initial metadata."""
    return RESPONSE_HEADERS.block + encode_block(encode_metadata(metadata))


def trailers(status: int, text: str, metadata: Metadata | None) -> bytes:
    """Return the header block that ends a response."""
    if not status and not text and not metadata:
        return OK_TRAILERS.block
    fields = [("grpc-status", str(int(status)))]
    if text:
        fields.append(("grpc-message", percent_encode(text)))
    if metadata:
        fields += encode_metadata(metadata)
    return encode_block(fields)


def trailers_only(status: int, text: str, metadata: Metadata | None) -> bytes:
    """Return the only header block of a response without messages and initial metadata."""
    return RESPONSE_HEADERS.block + trailers(status, text, metadata)


def plain_text_headers(http_status: str) -> bytes:
    """Return the opening header block for a peer that does not speak gRPC. Plain text follows as the body."""
    return encode_block([(":status", http_status), ("content-type", "text/plain; charset=utf-8")])
