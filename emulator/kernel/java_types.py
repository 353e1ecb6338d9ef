"""Java types of declared fields, and the check that a Python value fits them.

`int` in a declaration means a Java long; `Int` marks fields that are a Java int. A `str` must be encodable as UTF-8:
a lone surrogate is legal in a Java string, but Java writes it as `?`.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Int = Annotated[int, 32]
Long = Annotated[int, 64]
_BITS_OF_LONG = 64
_SHOWN_MAX = 60
"""The most characters of a value in an error."""


class JavaTypeError(ValueError):
    """A value does not fit its declared type. The text names the field, the value and the type."""


def java_text(text: str) -> str:
    """Return the text as Java writes it: each lone surrogate becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def from_utf16(units: str) -> str:
    """Return a text of UTF-16 units with one character for each pair of surrogates. Lone surrogates stay."""
    return units if units.isascii() else units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def wrapped(number: int, bits: int) -> int:
    """Return the number as a Java integer of `bits` bits, which wraps around."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def fits(number: int, bits: int) -> bool:
    """True if a Java integer of `bits` bits can hold the number."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def check(value: Any, hint: Any, name: str = "value") -> None:
    """Check a value and its contents against a declared type. Raises JavaTypeError."""
    origin = get_origin(hint)
    if origin is Annotated:
        kind, bits = get_args(hint)[:2]
        _check_plain(value, kind, name, bits)
    elif origin in (Union, UnionType):
        _check_union(value, get_args(hint), name)
    elif origin is Literal:
        if value not in get_args(hint):
            raise _wrong(value, name, f"one of {', '.join(map(str, get_args(hint)))}")
    elif origin is not None:
        _check_items(value, origin, get_args(hint), name)
    elif is_dataclass(hint) or hasattr(hint, "_fields"):
        if not isinstance(value, hint):
            raise _wrong(value, name, f"a {getattr(hint, '__name__', hint)}")
        check_fields(value, name)
    elif isinstance(hint, type):
        _check_plain(value, hint, name, _BITS_OF_LONG)


@cache
def declared_types(cls: Any) -> Mapping[str, Any]:
    """Return the declared types of a dataclass's fields, by attribute."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in hints.items() if hint is not KW_ONLY}


def check_fields(value: Any, name: str = "") -> None:
    """Check the fields of a dataclass or a named tuple against their declared types. Raises JavaTypeError."""
    kind: Any = type(value)
    hints = declared_types(kind)
    prefix = f"{name}." if name else ""
    for attribute in getattr(value, "_fields", None) or [field.name for field in fields(value)]:
        check(getattr(value, attribute), hints[attribute], prefix + attribute)


def _check_union(value: Any, options: Sequence[Any], name: str) -> None:
    if value is None and NoneType in options:
        return
    others = [option for option in options if option is not NoneType]
    if not any(_is_of(value, option, name) for option in others[:-1]):
        check(value, others[-1], name)


def _is_of(value: Any, hint: Any, name: str) -> bool:
    try:
        check(value, hint, name)
    except JavaTypeError:
        return False
    return True


def _check_items(value: Any, origin: Any, arguments: tuple[Any, ...], name: str) -> None:
    if not isinstance(value, origin) or isinstance(value, str | bytes):
        raise _wrong(value, name, f"a {origin.__name__}")
    if isinstance(value, Mapping):
        for key, item in value.items():
            check(key, arguments[0], f"a key of {name}")
            check(item, arguments[1], f"{name}[{_shown(key)}]")
    elif issubclass(origin, tuple) and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            raise _wrong(value, name, f"{len(arguments)} values")
        for item, argument in zip(value, arguments, strict=True):
            check(item, argument, f"an item of {name}")
    elif isinstance(value, Sequence | Set):
        for item in value:
            check(item, arguments[0], f"an item of {name}")


def _check_plain(value: Any, kind: Any, name: str, bits: int) -> None:
    if kind is Any or kind is object:
        return
    if kind is int:
        if type(value) is not int or not fits(value, bits):
            raise _wrong(value, name, f"a whole number of {bits} bits")
    elif kind is str:
        if not isinstance(value, str):
            raise _wrong(value, name, "text")
        if java_text(value) != value:
            raise _wrong(value, name, "text without half of a surrogate pair")
    elif kind is float:
        if type(value) not in (int, float):
            raise _wrong(value, name, "a number")
    elif not isinstance(value, kind):
        raise _wrong(value, name, f"one of {', '.join(map(str, kind))}" if issubclass(kind, Enum) else kind.__name__)


def _wrong(value: Any, name: str, expected: str) -> JavaTypeError:
    return JavaTypeError(f"{name}={_shown(value)}: expected {expected}")


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN_MAX:
        return f"a number of {value.bit_length()} bits"  # Python refuses to print thousands of digits
    text = ascii(value) if not isinstance(value, list | dict | set | tuple) else f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
