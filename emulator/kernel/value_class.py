"""How classes that only carry values are declared.

The standard library compiles `__repr__` and `__eq__` for each dataclass anew. With so many of them that is a seventh of
the time in which the emulator starts, for methods that serve a log line or a test now and then. Here every class has
the same two; `__init__` is the standard library's.
"""

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(field_specifiers=(field,))
def value(cls: type[C]) -> type[C]:
    """Make a class of annotated fields a slotted dataclass, equal to another of its class with equal fields.

    As with any dataclass that can be changed, its objects have no hash.
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
    """The representation of any dataclass: `Name(field=value, ...)`."""
    said = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({said})"


def equal(self: Any, other: Any) -> bool:
    """Whether another object is of the same class and has equal fields."""
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]  # as every comparison may
    return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self) if each.compare)
