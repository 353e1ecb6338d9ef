"""The head of a request: pseudo-header fields, metadata, and the rules that both must keep (RFC 9113 section 8)."""

from __future__ import annotations

import re
from typing import Final

from .header_decoder import ENTRY_OVERHEAD_BYTES

_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+\-.^_`|~]+")
# Printable or tab or beyond ASCII, and no blank at either end.
_VALUE: Final = re.compile(r"(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?")
_PSEUDO: Final = frozenset({":method", ":scheme", ":path", ":authority"})
_CONNECTION_SPECIFIC: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)


class MalformedRequestError(Exception):
    """The header list breaks a rule of HTTP/2; the stream is reset with PROTOCOL_ERROR."""


class RequestHead:
    """What a request's header block says.

    `metadata` has lower-case names and holds every regular field; values of a repeated name are joined by commas.
    """

    __slots__ = ("authority", "content_length", "list_bytes", "metadata", "method", "path", "scheme")

    def __init__(
        self,
        method: str,
        scheme: str,
        path: str,
        authority: str,
        metadata: dict[str, str],
        content_length: int | None,
        list_bytes: int,
    ) -> None:
        self.method = method
        self.scheme = scheme
        self.path = path
        self.authority = authority
        self.metadata = metadata
        self.content_length = content_length
        self.list_bytes = list_bytes


class HeadReader:
    """Builds request heads; remembers the names that it has found valid, because a client repeats them."""

    __slots__ = ("_valid_names",)

    _REMEMBERED_NAMES: Final = 256

    def __init__(self) -> None:
        self._valid_names: set[str] = set()

    def read(self, fields: list[tuple[str, str]]) -> RequestHead:
        """Return the head that a header list means; raises MalformedRequestError."""
        pseudo: dict[str, str] = {}
        metadata: dict[str, str] = {}
        valid_names = self._valid_names
        list_bytes = ENTRY_OVERHEAD_BYTES * len(fields)
        for name, value in fields:
            list_bytes += len(name) + len(value)
            if not (value.isprintable() and value.isascii() and value == value.strip()) and not _VALUE.fullmatch(value):
                raise MalformedRequestError(f"value of {name!r} has a character that is not allowed")
            if name not in valid_names:
                if name[:1] == ":":
                    if name not in _PSEUDO or name in pseudo or metadata:
                        raise MalformedRequestError(f"pseudo-header field {name!r} is unknown, repeated or late")
                    pseudo[name] = value
                    continue
                self._check_name(name)
            metadata[name] = f"{metadata[name]},{value}" if name in metadata else value
        return self._head(pseudo, metadata, list_bytes)

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise MalformedRequestError(f"header name {name!r} has a character that is not allowed")
        if name in _CONNECTION_SPECIFIC:
            raise MalformedRequestError(f"header {name!r} belongs to HTTP/1.1")
        if len(self._valid_names) < self._REMEMBERED_NAMES:
            self._valid_names.add(name)

    @staticmethod
    def _head(pseudo: dict[str, str], metadata: dict[str, str], list_bytes: int) -> RequestHead:
        method = pseudo.get(":method")
        scheme = pseudo.get(":scheme")
        path = pseudo.get(":path")
        if not method or not scheme or not path:
            raise MalformedRequestError("the request lacks :method, :scheme or :path")
        if metadata.get("te", "trailers") != "trailers":
            raise MalformedRequestError(f"te: {metadata['te']}")
        length: int | None = None
        text = metadata.get("content-length")
        if text is not None:
            # A long run of digits would be slow to convert and cannot be a length.
            if not (text.isascii() and text.isdigit() and len(text) <= 19):
                raise MalformedRequestError(f"content-length: {text[:40]}")
            length = int(text)
        authority = pseudo.get(":authority") or metadata.get("host", "")
        return RequestHead(method, scheme, path, authority, metadata, length, list_bytes)
