"""A memo of the last encoded value."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastEncoded(Generic[T]):
    """Encodes values with `encode`, and returns the same bytes while it gets the same object, which must not change."""

    def __init__(self, encode: Callable[[T], bytes]) -> None:
        self._encode = encode
        self._last: tuple[object, bytes] = (None, b"")

    def __call__(self, value: T) -> bytes:
        """Return the encoding of a value."""
        last, encoded = self._last
        if last is not value:
            encoded = self._encode(value)
            self._last = value, encoded
        return encoded
