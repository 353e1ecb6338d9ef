"""The head of a request: pseudo-header fields, metadata, and their rules (RFC 9113 section 8)."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from .header_decoder import ENTRY_OVERHEAD_BYTES

_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+\-.^_`|~]+")
# Printable, tab or beyond ASCII. As in upstream (Netty), blanks at either end are accepted, although the RFC forbids
# them: a client id of only blanks gets a response.
_VALUE: Final = re.compile(r"[\t -~\x80-\xff]*")
_PSEUDO: Final = frozenset({":method", ":scheme", ":path", ":authority"})
_CONNECTION_SPECIFIC: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)
# Up to this many fields are joined without a size check: each field is limited by the length of the block or, if the
# block only refers to it, by the size of the HPACK table.
_SAFE_FIELDS: Final = 16


class MalformedRequestError(Exception):
    """The header list breaks a rule of HTTP/2. The stream is reset with PROTOCOL_ERROR."""


class RequestHead:
    """The content of a request's header block.

    `metadata` has every regular field by lower-case name. The values of a repeated name are joined with commas.
    """

    __slots__ = ("authority", "content_length", "list_bytes", "metadata", "method", "path", "scheme")

    def __init__(
        self,
        *,
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
    """Builds request heads. It caches valid names, because a client repeats them."""

    __slots__ = ("_max_list_bytes", "_valid_names")

    _CACHED_NAMES: Final = 256

    def __init__(self, max_list_bytes: int) -> None:
        self._max_list_bytes = max_list_bytes
        self._valid_names: set[str] = set()

    def read(self, fields: list[tuple[str, str]]) -> RequestHead:
        """Build the head of a header list. Raises MalformedRequestError.

        A list beyond the limit keeps only its first fields, the pseudo-header fields, and reports its real size.
        """
        oversize = 0
        if len(fields) > _SAFE_FIELDS:
            # A short block can refer to one long field of the table many times, so count before anything is joined.
            size = sum(ENTRY_OVERHEAD_BYTES + len(name) + len(value) for name, value in fields)
            if size > self._max_list_bytes:
                oversize = size
                fields = fields[: len(_PSEUDO)]
        # All names and values are joined with bars, and checked at once: a well-formed list costs as much as one field.
        flat = "|".join(chain.from_iterable(fields))
        if not (flat.isascii() and flat.isprintable()):
            _check_values(fields)
        metadata = dict(fields)
        method = metadata.pop(":method", "")
        scheme = metadata.pop(":scheme", "")
        path = metadata.pop(":path", "")
        authority = metadata.pop(":authority", None)
        if not (method and scheme and path):
            raise MalformedRequestError("the request lacks :method, :scheme or :path")
        if not self._valid_names.issuperset(metadata):
            for name in metadata:
                self._check_name(name)
        count = len(fields)
        pseudo_count = 3 if authority is None else 4
        for name, _ in fields[:pseudo_count]:
            if name not in _PSEUDO:
                raise MalformedRequestError(f"{name!r} comes before the last pseudo-header field")
        if len(metadata) + pseudo_count != count:
            metadata = _joined(fields[pseudo_count:])
        # The list's size: the joined text without its bars, plus the overhead per field.
        list_bytes = len(flat) + 1 + (ENTRY_OVERHEAD_BYTES - 2) * count
        if metadata.get("te", "trailers") != "trailers":
            raise MalformedRequestError(f"te: {metadata['te']}")
        length = metadata.get("content-length")
        content_length = None if length is None else _content_length(length)
        return RequestHead(
            method=method,
            scheme=scheme,
            path=path,
            authority=authority or metadata.get("host", ""),
            metadata=metadata,
            content_length=content_length,
            list_bytes=oversize or list_bytes,
        )

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise MalformedRequestError(f"header name {name!r} has a character that is not allowed")
        if name in _CONNECTION_SPECIFIC:
            raise MalformedRequestError(f"header {name!r} belongs to HTTP/1.1")
        if len(self._valid_names) < self._CACHED_NAMES:
            self._valid_names.add(name)


def _check_values(fields: list[tuple[str, str]]) -> None:
    for name, value in fields:
        if not _VALUE.fullmatch(value):
            raise MalformedRequestError(f"value of {name!r} has a character that is not allowed")


def _joined(fields: list[tuple[str, str]]) -> dict[str, str]:
    """Return regular fields by name. The values of a repeated name are joined."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        if name[:1] == ":":
            raise MalformedRequestError(f"pseudo-header field {name!r} is repeated")
        values.setdefault(name, []).append(value)
    return {name: ",".join(repeated) for name, repeated in values.items()}


def _content_length(text: str) -> int:
    # A long run of digits is slow to convert and cannot be a length.
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise MalformedRequestError(f"content-length: {text[:40]}")
    return int(text)
