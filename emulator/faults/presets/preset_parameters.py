"""Checks of the parameters that only presets have: a spread of durations, and names of brokers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...kernel.value_class import frozen_value
from ..errors import FaultError, shown
from ..parameters import DURATION_PATTERN, DurationCheck

_SIGN = re.compile(r"±|\+-|\+/-")


@frozen_value
class Spread:
    """A duration, and the half of the range around it (None: there is no range)."""

    mean: str
    jitter: str | None

    @classmethod
    def of(cls, text: str) -> "Spread":
        """Parse `20ms±10ms`, or `20ms`."""
        mean, *jitter = _SIGN.split(text, maxsplit=1)
        return cls(mean.strip(), jitter[0].strip() if jitter else None)


class SpreadCheck:
    """A duration, or one with the half of its range: `20ms±10ms`, which may be written `20ms+-10ms` as well."""

    def plain(self, name: str, value: Any) -> str:
        """Return the text."""
        check = DurationCheck()
        if not isinstance(value, str):
            return check.plain(name, value)
        spread = Spread.of(value)
        mean = check.plain(name, spread.mean)
        return mean if spread.jitter is None else f"{mean}±{check.plain(name, spread.jitter)}"

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of a spread."""
        spread = rf"^{DURATION_PATTERN}((±|\+-|\+/-){DURATION_PATTERN})?$"
        return {"type": "string", "pattern": spread, "examples": ["20ms±10ms"]}


class BrokerNames:
    """A name of a broker, or several."""

    def plain(self, name: str, value: Any) -> list[str]:
        """Return the names."""
        names = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else []
        if not names or not all(isinstance(each, str) and each for each in names):
            raise FaultError(f"{name}={shown(value)}: not a list of names of brokers; use ['broker-a', 'broker-b']")
        return names

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON Schema of names."""
        name = {"type": "string", "minLength": 1}
        several = {"type": "array", "items": name, "minItems": 1}
        return {"anyOf": [name, several], "examples": [["broker-a", "broker-b"]]}
