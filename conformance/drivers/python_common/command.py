"""One line of input: typed access to its fields, with the errors of PROTOCOL.md for missing or wrong ones."""

import base64
import binascii
from typing import Any

_NEEDED: Any = object()


class Refusal(Exception):
    """An error of the driver itself; ``kind`` is one of those in PROTOCOL.md."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def bad(text: str) -> Refusal:
    """Return the error for a command with a missing or wrong field."""
    return Refusal("BadCommand", text)


def unsupported(text: str) -> Refusal:
    """Return the error for a field that the SDK cannot express, so that no test relies on it."""
    return Refusal("Unsupported", text)


class Command:
    """The fields of one JSON object. An absent or null field has its default, or is an error if there is none."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def has(self, name: str) -> bool:
        """True if the field is present and not null."""
        return self.fields.get(name) is not None

    def _take(self, name: str, kind: type, what: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None:
            if default is _NEEDED:
                raise bad(f"field {name!r} is missing")
            return default
        if not _is_a(value, kind):
            raise bad(f"field {name!r} must be {what}")
        return value

    def text(self, name: str, default: Any = _NEEDED) -> Any:
        """Return a string field."""
        return self._take(name, str, "a text", default)

    def number(self, name: str, default: Any = _NEEDED) -> Any:
        """Return an integer field."""
        return self._take(name, int, "an integer", default)

    def flag(self, name: str) -> bool:
        """Return a boolean field; false if absent."""
        return bool(self._take(name, bool, "true or false", False))

    def data(self, name: str, default: Any = _NEEDED) -> Any:
        """Return a bytes field, which is encoded as base64."""
        value = self._take(name, str, "base64", default)
        if value is default:
            return default
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise bad(f"field {name!r} must be base64: {error}") from None

    def texts(self, name: str) -> list[str]:
        """Return a list of strings; empty if absent."""
        values = self._take(name, list, "a list of texts", [])
        if not all(isinstance(value, str) for value in values):
            raise bad(f"field {name!r} must be a list of texts")
        return list(values)

    def pairs(self, name: str) -> dict[str, str]:
        """Return a map of strings; empty if absent."""
        return self._map(name, str, "texts")

    def counts(self, name: str) -> dict[str, int]:
        """Return a map of integers; empty if absent."""
        return self._map(name, int, "integers")

    def _map(self, name: str, kind: type, what: str) -> dict[str, Any]:
        values = self._take(name, dict, f"a map of {what}", {})
        if not all(_is_a(value, kind) for value in values.values()):
            raise bad(f"field {name!r} must be a map of {what}")
        return dict(values)

    def table(self, name: str) -> dict[str, "Command"]:
        """Return a map of objects; empty if absent."""
        return {key: Command(value) for key, value in self._map(name, dict, "objects").items()}

    def list_of(self, name: str) -> list["Command"]:
        """Return a list of objects."""
        values = self._take(name, list, "a list of objects", _NEEDED)
        if not all(isinstance(value, dict) for value in values):
            raise bad(f"field {name!r} must be a list of objects")
        return [Command(value) for value in values]

    def handles(self) -> list[int]:
        """Return the field ``h``: one handle or a list of them."""
        value = self.fields.get("h")
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(_is_a(one, int) for one in values):
            raise bad("field 'h' must be a handle or a list of handles")
        return values


def _is_a(value: object, kind: type) -> bool:
    """True if a JSON value has this type. In Python, booleans are integers, too; here they are not."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
