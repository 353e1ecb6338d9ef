"""Declares configuration keys, parses and formats their values, and suggests the nearest key for a misspelled name.

A configuration is a dataclass; each field is one key, declared by `key(...)`. Its public name is upstream's: the
camelCase of the attribute. To add a key, add a field: the generated page, the nearest-name suggestion and
`updateBrokerConfig` follow from it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any, Self

from ..kernel.java_types import java_text
from ..kernel.masking import masked, masked_line
from ..kernel.value_class import dataclass_eq, dataclass_repr

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
"""The range of a Java long, for number keys without a declared range."""
_NAME_LENGTH_MAX = 200
"""Longer names are cut in error texts, and no similar key is suggested for them."""


class ConfigError(ValueError):
    """An unusable key or value; the text says what to do.

    `key` is the key, None if no single key is wrong. `nearest` is the nearest known key if the key does not exist.
    """

    def __init__(self, text: str, *, key: str | None = None, nearest: str | None = None) -> None:
        super().__init__(text)
        self.key = key
        self.nearest = nearest


def key(
    default: Any,
    doc: str,
    *,
    unit: str = "",
    low: int | None = None,
    high: int | None = None,
    choices: tuple[str, ...] = (),
    name: str = "",
    secret: bool = False,
) -> Any:
    """Declare a key: its default, one sentence, its unit and its range (or its allowed texts).

    `name` is the public name if it is not the camelCase of the attribute. A `secret` is left out of the configuration's
    `repr`.
    """
    return field(
        default=default,
        repr=not secret,
        metadata={"doc": doc, "unit": unit, "low": low, "high": high, "choices": choices, "name": name},
    )


def camel_case(attribute: str) -> str:
    """Convert an attribute name to a key name: `pop_ck_max_buffer_size` -> `popCkMaxBufferSize`."""
    head, *rest = attribute.split("_")
    return head + "".join(part.capitalize() for part in rest)


def parse_properties(text: str) -> dict[str, str]:
    """Parse Java properties lines (`key=value`, `#` comments). Raises ConfigError for a line without `=`."""
    properties: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        name, separator, value = line.partition("=")
        if not separator:
            allowed = "each line is KEY=VALUE, or a comment that begins with #"
            raise ConfigError(f"line {number}: {masked_line(line)}: not a setting; {allowed}; add = and a value")
        properties[name.strip()] = value.strip()
    return properties


@dataclass(repr=False, eq=False)
class Config:
    """Base class of all configurations."""

    __repr__ = dataclass_repr
    __eq__ = dataclass_eq

    @classmethod
    @cache
    def attributes(cls) -> Mapping[str, str]:
        """Map public key names to attribute names, in the order of declaration."""
        return MappingProxyType({f.metadata["name"] or camel_case(f.name): f.name for f in fields(cls)})

    def set(self, name: str, value: Any) -> None:
        """Set a key by its public name, from text or from a value of its type.

        Raises ConfigError for an unknown name (with the nearest known one), a wrong type or a value out of range.
        """
        self.update({name: value})

    def update(self, properties: Mapping[str, Any]) -> None:
        """Set several keys, or none if one is wrong. Raises ConfigError as `set` does."""
        known = self.attributes()
        changed = {}
        for name, value in properties.items():
            attribute = known.get(name)
            if attribute is None:
                raise unknown_key(name, known)
            changed[attribute] = self._convert(name, attribute, value)
        for attribute, value in changed.items():
            setattr(self, attribute, value)

    def update_known(self, properties: Mapping[str, str]) -> None:
        """Set several keys from text. Unknown keys and unusable values are ignored.

        For a boolean each text is usable: all but `true` mean false, as in Java's parseBoolean.
        Source: MixAll.properties2Object (5.3.3).
        """
        booleans = {each.name for each in fields(self) if isinstance(each.default, bool)}
        for name, value in properties.items():
            is_boolean = self.attributes().get(name) in booleans
            with suppress(ConfigError):
                self.set(name, value.lower() == "true" if is_boolean else value)

    def get(self, name: str) -> Any:
        """Return the value of a key by its public name. Raises ConfigError if the name is unknown."""
        attribute = self.attributes().get(name)
        if attribute is None:
            raise unknown_key(name, self.attributes())
        return getattr(self, attribute)

    def _convert(self, name: str, attribute: str, value: Any) -> Any:
        declared = next(f for f in fields(self) if f.name == attribute)
        default = declared.default if declared.default is not MISSING else ""
        meta = declared.metadata
        if isinstance(default, bool):
            if isinstance(value, bool):
                return value
            if str(value).strip().lower() in ("true", "false"):
                return str(value).strip().lower() == "true"
            raise ConfigError(f"{name}={value}: expected true or false{_for_example(name, default)}", key=name)
        if isinstance(default, int | float):
            try:
                number = type(default)(str(value).strip())
            except ValueError:
                expected = "a whole number" if isinstance(default, int) else "a number"
                wanted = f"expected {expected}{_in_unit(meta['unit'])}"
                raise ConfigError(f"{name}={value}: {wanted}{_for_example(name, default)}", key=name) from None
            low, high = meta["low"], meta["high"]
            if not (_LOWEST if low is None else low) <= number <= (_HIGHEST if high is None else high):
                wanted = f"expected {_range(low, high)}{_in_unit(meta['unit'])}"
                raise ConfigError(f"{name}={value}: {wanted}{_for_example(name, default)}", key=name)
            return number
        text = str(value)
        if java_text(text) != text:
            raise ConfigError(
                f"{name}={masked(name, text)!a}: half of a surrogate pair is no text; give text that is UTF-8",
                key=name,
            )
        if meta["choices"] and text not in meta["choices"]:
            choices = ", ".join(choice or "nothing" for choice in meta["choices"])
            wanted = f"expected one of {choices}{_for_example(name, default)}"
            raise ConfigError(f"{name}={masked(name, text)}: {wanted}", key=name)
        return text

    def as_text(self) -> str:
        """Format all keys as properties lines, sorted by name."""
        return "".join(
            f"{name}={_text(getattr(self, attribute))}\n" for name, attribute in sorted(self.attributes().items())
        )

    def changed(self) -> dict[str, str]:
        """Return the keys whose value is not their default, as text, sorted by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: _text(values[made]) for name, made in sorted(self.attributes().items()) if made in values}

    def is_default(self, name: str) -> bool:
        """True if the value of a key is its default."""
        attribute = self.attributes()[name]
        default = next(each.default for each in fields(self) if each.name == attribute)
        return bool(getattr(self, attribute) == default)

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(**{f.name: getattr(self, f.name) for f in fields(self)})


def unknown_key(name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a key that does not exist."""
    if len(name) > _NAME_LENGTH_MAX:  # comparing it with every key would take too long
        return ConfigError(f"unknown configuration key {name[:_NAME_LENGTH_MAX]}...", key=name)
    nearest = next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)
    hint = "" if nearest is None else f"; did you mean {nearest}?"
    return ConfigError(f"unknown configuration key {name}{hint}", key=name, nearest=nearest)


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _for_example(name: str, default: Any) -> str:
    """Return the remedy for an error text: the default, which always works."""
    return f"; use {name}={_text(default)}, the default"


def _in_unit(unit: str) -> str:
    return f" ({unit})" if unit else ""


def _range(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "a 64-bit number"
    if low is not None and high is not None:
        return f"a value from {low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"
