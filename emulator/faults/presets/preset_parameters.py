"""Checks of the parameters that only presets have: names of brokers."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import FaultError, shown


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
