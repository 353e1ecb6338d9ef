"""Requests that did not become an operation, and refusals of the protocol layers, as the journal stores them."""

from collections.abc import Iterable

from ..kernel.masking import masked
from ..kernel.value_class import value

_MOST_FIELDS = 32
_LONGEST_VALUE = 200


@value
class RawRequest:
    """A request in the terms of its protocol. Secrets are masked.

    It keeps the first 32 fields, the first 200 characters of each value, and of the body only its size in bytes.
    """

    fields: dict[str, str]
    body_bytes: int = 0

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]], body_bytes: int = 0) -> "RawRequest":
        """Mask and shorten the fields of a request."""
        kept: dict[str, str] = {}
        for name, text in fields:
            if len(kept) >= _MOST_FIELDS:
                break
            shown = str(masked(name, text))
            kept[name[:_LONGEST_VALUE]] = shown if len(shown) <= _LONGEST_VALUE else shown[:_LONGEST_VALUE] + "..."
        return cls(kept, body_bytes)


@value
class Rejection:
    """An outcome worded by a protocol layer.

    It holds the protocol's code (None if the client got no response) and the name of the code. `remark` is the text
    that the client saw or that was logged.
    """

    code: int | None
    name: str
    remark: str | None = None
