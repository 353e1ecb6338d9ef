"""The declaration of a field, the same for custom headers and JSON bodies.

A class declares fields typed `str`, `Int` (32 bits), `Long` (64 bits) or `bool`, each with `| None` if it may be
absent. A field of a body may also be a list, a set, a map, another class of fields, or an enum. An enum is a `Literal`
of its names, annotated with the Java class. The name on the wire is the camelCase of the attribute, or the argument of
`wire("b")`. A field without a default is required.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from rocketmq_testkit.emulator.config.keys import camel_case
from rocketmq_testkit.emulator.kernel.java_types import Int, Long

__all__ = ["REQUIRED", "Int", "Long", "WireField", "wire", "wire_fields"]

REQUIRED: Any = object()
_KINDS = {32: "Int", 64: "Long"}


class WireField(NamedTuple):
    """One field: attribute, name on the wire, kind (`str`, `Int`, `Long`, `bool`, ...), default, declared type."""

    attribute: str
    name: str
    kind: str
    default: Any
    hint: Any
    make_default: Callable[[], Any] | None = None
    alternate: str | None = None

    @property
    def required(self) -> bool:
        """True if upstream's handler fails without the field."""
        return self.default is REQUIRED


def wire(name: str, *, alternate: str | None = None, default: Any = MISSING, default_factory: Any = MISSING) -> Any:
    """Declare a field whose name on the wire is not the camelCase of its attribute.

    Members of bodies may have an alternate name.
    """
    metadata = {"wire": name, "alternate": alternate}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def wire_fields(cls: Any) -> tuple[WireField, ...]:
    """Return the declared fields of a class, in the order of declaration."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_wire_field(each, hints[each.name]) for each in fields(cls))


def _wire_field(declared: "Field[Any]", hint: Any) -> WireField:
    arguments = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    (inner,) = arguments
    metadata = getattr(inner, "__metadata__", None)
    kind = _KINDS.get(metadata[0], "enum") if metadata else getattr(inner, "__name__", str(inner))
    make = None if declared.default_factory is MISSING else declared.default_factory
    default = None if make is not None else REQUIRED if declared.default is MISSING else declared.default
    name = declared.metadata.get("wire") or camel_case(declared.name)
    return WireField(declared.name, name, kind, default, inner, make, declared.metadata.get("alternate"))
