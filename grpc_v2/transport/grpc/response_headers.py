"""The header lists of a gRPC server's responses."""

from __future__ import annotations

from typing import Final

from ..http2.header_blocks import HeaderBlock
from .metadata import Metadata, encode_metadata, percent_encode

# Upstream's proxy announces its encodings in every response (grpc-java ServerCallImpl).
_RESPONSE_HEADERS: Final = (
    (":status", "200"),
    ("content-type", "application/grpc"),
    ("grpc-encoding", "identity"),
    ("grpc-accept-encoding", "gzip"),
)

RESPONSE_HEADERS: Final = HeaderBlock.of_recurring(*_RESPONSE_HEADERS)
OK_TRAILERS: Final = HeaderBlock.of_recurring(("grpc-status", "0"))


def response_headers(metadata: Metadata) -> HeaderBlock:
    """Return the header block that opens a response with initial metadata."""
    return HeaderBlock.of([*_RESPONSE_HEADERS, *encode_metadata(metadata)])


def trailers(status: int, text: str, metadata: Metadata | None) -> HeaderBlock:
    """Return the header block that ends a response."""
    if not status and not text and not metadata:
        return OK_TRAILERS
    return HeaderBlock.of(_status_fields(status, text, metadata))


def trailers_only(status: int, text: str, metadata: Metadata | None) -> HeaderBlock:
    """Return the only header block of a response without messages and initial metadata."""
    return HeaderBlock.of([*_RESPONSE_HEADERS, *_status_fields(status, text, metadata)])


def plain_text_headers(http_status: str) -> HeaderBlock:
    """Return the opening header block for a peer that does not speak gRPC. Plain text follows as the body."""
    return HeaderBlock.of([(":status", http_status), ("content-type", "text/plain; charset=utf-8")])


def _status_fields(status: int, text: str, metadata: Metadata | None) -> list[tuple[str, str]]:
    fields = [("grpc-status", str(int(status)))]
    if text:
        fields.append(("grpc-message", percent_encode(text)))
    if metadata:
        fields += encode_metadata(metadata)
    return fields
