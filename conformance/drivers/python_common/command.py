"""One line of input: typed access to its fields, with the refusals of PROTOCOL.md for what is missing or wrong."""

import base64
import binascii
from typing import Any

_NEEDED: Any = object()


class Refusal(Exception):
    """An error of the driver itself; ``kind`` is one of PROTOCOL.md."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def bad(text: str) -> Refusal:
    """The refusal of a command with a missing or wrong field."""
    return Refusal("BadCommand", text)


def unsupported(text: str) -> Refusal:
    """The refusal of a field that the SDK has no way to express, so that a test does not believe in it."""
    return Refusal("Unsupported", text)


class Command:
    """The fields of one JSON object; a field that is absent or null takes the default, or is refused without one."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.fields.get(name) is not None

    def _take(self, name: str, kind: type | tuple[type, ...], what: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None:
            if default is _NEEDED:
                raise bad(f"field {name!r} is missing")
            return default
        # In Python true and false are numbers as well.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise bad(f"field {name!r} must be {what}")
        return value

    def text(self, name: str, default: Any = _NEEDED) -> Any:
        """A text."""
        return self._take(name, str, "a text", default)

    def number(self, name: str, default: Any = _NEEDED) -> Any:
        """An integer."""
        return self._take(name, int, "an integer", default)

    def flag(self, name: str) -> bool:
        """True or false; false when absent."""
        return bool(self._take(name, bool, "true or false", False))

    def data(self, name: str, default: Any = _NEEDED) -> Any:
        """Bytes, which stand there in base64."""
        value = self._take(name, str, "base64", default)
        if value is default:
            return default
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise bad(f"field {name!r} must be base64: {error}") from None

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty when absent."""
        values = self._take(name, list, "a list of texts", [])
        if not all(isinstance(value, str) for value in values):
            raise bad(f"field {name!r} must be a list of texts")
        return list(values)

    def pairs(self, name: str) -> dict[str, str]:
        """A map of texts; empty when absent."""
        return self._map(name, str, "texts")

    def counts(self, name: str) -> dict[str, int]:
        """A map of integers; empty when absent."""
        return self._map(name, int, "integers")

    def _map(self, name: str, kind: type, what: str) -> dict[str, Any]:
        values = self._take(name, dict, f"a map of {what}", {})
        if not all(isinstance(value, kind) for value in values.values()):
            raise bad(f"field {name!r} must be a map of {what}")
        return dict(values)

    def table(self, name: str) -> dict[str, "Command"]:
        """A map of objects; empty when absent."""
        return {key: Command(value) for key, value in self._map(name, dict, "objects").items()}

    def list_of(self, name: str) -> list["Command"]:
        """A list of objects."""
        values = self._take(name, list, "a list of objects", _NEEDED)
        if not all(isinstance(value, dict) for value in values):
            raise bad(f"field {name!r} must be a list of objects")
        return [Command(value) for value in values]

    def handles(self) -> list[int]:
        """The field ``h``: one handle or a list of them."""
        value = self.fields.get("h")
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in values):
            raise bad("field 'h' must be a handle or a list of handles")
        return values
