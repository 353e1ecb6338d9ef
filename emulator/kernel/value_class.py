"""Decorator for classes that only carry values.

The standard library compiles a `__repr__` and an `__eq__` for each dataclass. With the many classes of the engine that
is a seventh of the start time, for methods that only log lines and tests use. Here all classes share the same two;
`__init__` is the standard library's.
"""

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(field_specifiers=(field,))
def value(cls: type[C]) -> type[C]:
    """Make a class of annotated fields a slotted dataclass, equal to another of its class with equal fields.

    Its objects are mutable and therefore have no hash.
    """
    own = cls.__dict__
    made: Any = dataclass(slots=True, repr=False, eq=False)(cls)
    if "__repr__" not in own:
        made.__repr__ = shown
    if "__eq__" not in own:
        made.__eq__ = equal
        made.__hash__ = None
    return made  # type: ignore[no-any-return]  # the class again, now with slots


def shown(self: Any) -> str:
    """Return the representation of any dataclass: `Name(field=value, ...)`."""
    said = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({said})"


def equal(self: Any, other: Any) -> bool:
    """True if another object is of the same class and has equal fields."""
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]  # Python then tries the other operand's `__eq__`
    return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self) if each.compare)
