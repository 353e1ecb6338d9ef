"""Decorators for classes that only carry values.

The standard library compiles `__init__`, `__repr__` and `__eq__` of each dataclass when its module is loaded. With the
many classes of the engine that is a third of the start time, for methods that most runs never call. Here all classes
share `__repr__` and `__eq__`, and `__init__` is compiled when the first object is created.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, cast, dataclass_transform

C = TypeVar("C")
_SET_CLASS: Any = object.__dict__["__class__"].__set__


@dataclass_transform(field_specifiers=(field,))
def value(cls: type[C]) -> type[C]:
    """Make a class of annotated fields a slotted dataclass. Its objects with equal fields are equal.

    They are mutable and therefore have no hash.
    """
    return _with_equality(slotted(cls))


@dataclass_transform(field_specifiers=(field,), frozen_default=True)
def frozen_value(cls: type[C]) -> type[C]:
    """Make a class of annotated fields a slotted dataclass whose fields are read-only for type checkers.

    Its objects are equal to others of its class with equal fields, and their hash is that of their fields.
    """
    made = _with_equality(slotted(cls))
    if "__hash__" not in cls.__dict__:
        made.__hash__ = _hash  # type: ignore[method-assign]  # a function in place of the method of `object`
    return made


@dataclass_transform(field_specifiers=(field,), frozen_default=True)
def frozen_view(cls: type[C]) -> type[C]:
    """Make a class as `frozen_value` does, whose objects also refuse each assignment and deletion at run time.

    For objects that users get. Creating one takes about 0.15 µs longer.
    """
    made: Any = frozen_value(cls)
    made.__setattr__, made.__delattr__, made.__reduce__ = _refuse_assignment, _refuse_deletion, _reduce
    return cast("type[C]", made)


@dataclass_transform(field_specifiers=(field,), frozen_default=True, kw_only_default=True)
def parts(cls: type[C]) -> type[C]:
    """Make a class of annotated fields a slotted, keyword-only dataclass whose objects are compared by identity."""
    return slotted(cls, kw_only=True)


def slotted(cls: type[C], *, kw_only: bool = False) -> type[C]:
    """Make a class of annotated fields a dataclass with slots, whose `__init__` is compiled when it is first called."""
    made: Any = dataclass(slots=True, init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    own = cls.__dict__
    if "__repr__" not in own:
        made.__repr__ = dataclass_repr
    if "__init__" not in own:

        def first(self: Any, /, *args: Any, **kwargs: Any) -> None:
            compiled = made.__init__ = _compiled_init(made)
            compiled(self, *args, **kwargs)

        made.__init__ = first
    return cast("type[C]", made)


class LazySignature:
    """The attribute `__signature__` of value classes that users call: `inspect.signature` and `help` read it.

    Without it they see `(*args, **kwargs)` until the first object is created.
    """

    def __get__(self, _instance: object, owner: Any) -> inspect.Signature:
        """Return the signature of a class, with names, types and defaults of its fields."""
        if owner.__init__.__name__ == "first":
            owner.__init__ = _compiled_init(owner)
        found = inspect.signature(owner.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:], return_annotation=found.empty)


def _with_equality(cls: type[C]) -> type[C]:
    made: Any = cls
    if "__eq__" not in made.__dict__:
        made.__eq__ = dataclass_eq
        made.__hash__ = None
    return cls


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Compile the `__init__` that the standard library would have compiled for the fields of a dataclass."""
    names: dict[str, Any] = {"MISSING": MISSING}
    positional, lines = ["self"], []
    keyword: list[str] = []
    for each in fields(cls):
        name = source = each.name
        parameter = name
        if each.default is not MISSING:
            names[f"default_{name}"] = each.default
            parameter = f"{name}=default_{name}"
        elif each.default_factory is not MISSING:
            names[f"make_{name}"] = each.default_factory
            parameter = f"{name}=MISSING"
            source = f"make_{name}() if {name} is MISSING else {name}"
        if each.init:
            (keyword if each.kw_only else positional).append(parameter)
        elif parameter == name:
            continue
        else:
            source = f"make_{name}()" if each.default is MISSING else f"default_{name}"
        lines.append(f"    self.{name} = {source}\n")
    if cls.__setattr__ is _refuse_assignment:
        names |= {"set_class": _SET_CLASS, "changeable": _changeable(cls), "frozen": cls}
        lines = ["    set_class(self, changeable)\n", *lines, "    self.__class__ = frozen\n"]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()\n")
    parameters = ", ".join([*positional, *(["*", *keyword] if keyword else [])])
    made: dict[str, Any] = {}
    exec(f"def __init__({parameters}):\n{''.join(lines) or '    pass'}", names, made)
    compiled: Callable[..., None] = made["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    compiled.__annotations__ = {each.name: each.type for each in fields(cls) if each.init} | {"return": None}
    return compiled


def _changeable(cls: type[C]) -> type[C]:
    """Return a subclass that accepts assignments. `__init__` makes the object one of it while it sets the fields.

    Both changes of the class take 0.15 µs for each object. With field descriptors, each field would take as long.
    """
    own = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(cls.__name__, (cls,), own)


def dataclass_repr(self: Any) -> str:
    """Return the representation of any dataclass: `Name(field=value, ...)`."""
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def dataclass_eq(self: Any, other: Any) -> bool:
    """True if another object is of the same class and has equal fields."""
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]  # Python then tries the other operand's `__eq__`
    return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self) if each.compare)


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(
        f"{type(self).__name__}.{name}={value!r}: the object is a view, which cannot be changed; "
        "change the emulator through its methods, or copy the view with dataclasses.replace()"
    )


def _refuse_deletion(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"{type(self).__name__}.{name}: the object is a view, of which no field can be deleted")


def _reduce(self: Any) -> tuple[Any, ...]:
    """Copy and pickle by the constructor, because the objects accept no assignment."""
    return _rebuilt, (type(self), {each.name: getattr(self, each.name) for each in fields(self)})


def _rebuilt(cls: type[C], values: dict[str, Any]) -> C:
    return cls(**values)


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, each.name) for each in fields(self) if each.compare))
