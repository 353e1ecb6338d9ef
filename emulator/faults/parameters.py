"""Parameters of faults: their accepted values, defaults and JSON Schema, and the errors for other values."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, field
from datetime import timedelta
from typing import Any, Protocol

from ..kernel.durations import NO_UNIT, DurationError, milliseconds
from .errors import FaultError, shown, unknown_name


class ParameterCheck(Protocol):
    """The accepted values of a parameter."""

    def plain(self, name: str, value: Any) -> Any:
        """Return the value as JSON and YAML can hold it. Raises FaultError if it is not accepted."""

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of accepted values."""


def duration_error(name: str, value: object, wrong: DurationError, sign: str = "") -> FaultError:
    """Return the error for a wrong duration, with a remedy that Python, JSON and YAML understand.

    `value` is the whole value as typed. `sign` is its minus sign, if it has one, which the example in `wrong` lacks.
    """
    return FaultError(f"{name}={shown(value)}: {wrong.why}; use {_durations_like(value, wrong, sign)}")


def _durations_like(value: object, wrong: DurationError, sign: str) -> str:
    """Return the durations that a wrong value may mean, for the error: `'50ms' or '50s'` for 50."""
    if wrong.why == NO_UNIT:
        number = f"{sign}{wrong.example.removesuffix('s')}"
        return f"'{number}ms' or '{number}s'"
    if isinstance(value, str) and (found := _OTHER_UNIT.fullmatch(value)):
        unit = next((unit for start, unit in _UNITS if found[2].lower().startswith(start)), None)
        if unit is not None:
            return f"'{found[1]}{unit}'"
    return f"'{sign}{wrong.example}'"


_OTHER_UNIT = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]+)\.?\s*")
_UNITS = (("ms", "ms"), ("milli", "ms"), ("s", "s"), ("m", "m"), ("h", "h"), ("d", "d"))
"""Beginnings of other names of units, such as `sec`, and the unit that is meant."""


DURATION_PATTERN = r"(\s*\d+(\.\d+)?\s*(ms|s|m|h|d))+\s*"
"""The texts that are durations, as a regular expression of JSON Schema without its anchors."""


class DurationCheck:
    """A duration: `"500ms"`, `"11s"` or a timedelta. Held as text."""

    pattern = f"^{DURATION_PATTERN}$"

    def plain(self, name: str, value: Any) -> str:
        """Return the duration as text."""
        try:
            ms = milliseconds(value, name)
        except DurationError as wrong:
            raise duration_error(name, value, wrong) from None
        return f"{ms}ms" if isinstance(value, timedelta) else str(value)

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a duration."""
        return {"type": "string", "pattern": self.pattern, "examples": ["500ms", "11s"]}


class PositiveDurationCheck(DurationCheck):
    """A duration of at least a millisecond."""

    pattern = f"^(?=.*[1-9]){DURATION_PATTERN}$"

    def plain(self, name: str, value: Any) -> str:
        """Return the duration as text."""
        text = super().plain(name, value)
        if milliseconds(text, name) == 0:
            raise FaultError(f"{name}={shown(value)}: shorter than a millisecond; use '5s'")
        return text


class OneOf:
    """One of several words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def plain(self, name: str, value: Any) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.words:
            raise unknown_name(name, value, self.words)
        return value

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the words."""
        return {"enum": list(self.words)}


class Whole:
    """A whole number from `low` to `high` (None: no limit)."""

    def __init__(self, low: int, high: int | None = None) -> None:
        self.low, self.high = low, high

    def plain(self, name: str, value: Any) -> int:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int) or value < self.low or not _below(value, self.high):
            raise FaultError(
                f"{name}={shown(value)}: not a whole number {_range(self.low, self.high)}; use {max(self.low, 1)}"
            )
        return value

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the range."""
        return {"type": "integer", "minimum": self.low, **({} if self.high is None else {"maximum": self.high})}


class Number:
    """A number from `low` to `high` (None: no limit), such as a probability or a rate. `example` is shown in errors."""

    def __init__(self, low: float, high: float | None = None, example: float | None = None) -> None:
        self.low, self.high = low, high
        self.example = example or (0.1 if high == 1 else 1)

    def plain(self, name: str, value: Any) -> float:
        """Return the number."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not value >= self.low or not _below(value, self.high):
            raise FaultError(f"{name}={shown(value)}: not a number {_range(self.low, self.high)}; use {self.example}")
        plain: float = value
        return plain

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the range."""
        return {"type": "number", "minimum": self.low, **({} if self.high is None else {"maximum": self.high})}


class Text:
    """A text that is not empty. `example` is shown in errors and schemas."""

    def __init__(self, example: str) -> None:
        self.example = example

    def plain(self, name: str, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value:
            raise FaultError(f"{name}={shown(value)}: not a text; use {self.example!r}")
        return value

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a text."""
        return {"type": "string", "minLength": 1, "examples": [self.example]}


class Flag:
    """True or False."""

    example = True
    """The value that the error for a missing parameter suggests."""

    def plain(self, name: str, value: Any) -> bool:
        """Return the flag."""
        if not isinstance(value, bool):
            raise FaultError(f"{name}={shown(value)}: neither true nor false; use true")
        return value

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a flag."""
        return {"type": "boolean"}


class Code:
    """A response code: its name, or its number."""

    def plain(self, name: str, value: Any) -> str | int:
        """Return the name or number."""
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise FaultError(
                f"{name}={shown(value)}: not a response code; use a name such as 'SYSTEM_BUSY', or its number"
            )
        # An IntEnum of response codes is a number as well; its name says more.
        known = getattr(value, "name", value)
        plain: str | int = known
        return plain

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a code."""
        return {"type": ["string", "integer"], "minLength": 1, "examples": ["SYSTEM_BUSY"]}


class Optional:
    """None, or a value that another check accepts."""

    def __init__(self, check: ParameterCheck) -> None:
        self.check = check

    def plain(self, name: str, value: Any) -> Any:
        """Return None or the plain value."""
        return None if value is None else self.check.plain(name, value)

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of the value. The schema of a rule adds null."""
        return self.check.schema()


def given(name: str) -> dict[str, Any]:
    """Return the JSON Schema of an object with a member `name` other than null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def parameter(check: ParameterCheck, about: str, default: Any = MISSING) -> Any:
    """Declare a parameter of a kind of fault: its accepted values, its meaning with unit, and its default."""
    return field(default=default, metadata={"check": check, "about": about})


def _below(value: float, high: float | None) -> bool:
    return high is None or value <= high


def _range(low: float, high: float | None) -> str:
    return f"of at least {low}" if high is None else f"from {low} to {high}"
