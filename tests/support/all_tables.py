"""Everything that an engine holds, as text by path: tables, buffers, timers, random streams, the journal.

The walk follows attributes, slots, items and elements. It needs no list of tables, so a new one is found as well.
"""

from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

LEAVES = (str, bytes, int, float, bool, type(None), Enum, range, type, ModuleType, FunctionType, BuiltinFunctionType)
Held = dict[str, str]


def held_by(root: object, *, beyond: tuple[type, ...] = ()) -> Held:
    """Return each value that an object holds, directly or not, as text by its path from the object.

    `beyond`: classes of objects that outlive `root`. Such an object is represented by the name of its class.
    """
    found: Held = {}
    seen: dict[int, str] = {}
    keep_alive: list[object] = []
    pending: list[tuple[str, Any]] = [("", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, LEAVES):
            found[path] = _text(value)
        elif isinstance(value, beyond):
            found[path] = type(value).__qualname__
        elif isinstance(value, bytearray | memoryview | array):
            found[path] = f"{type(value).__name__} {bytes(value)!r}"
        elif id(value) in seen:
            found[path] = f"same as {seen[id(value)]}"
        else:
            seen[id(value)] = path
            keep_alive.append(value)  # its id must not be used again during the walk
            children = list(_children(value))
            found[path] = f"{type(value).__qualname__} with {len(children)} parts"
            pending += ((f"{path}{name}", child) for name, child in reversed(children))
    return found


def changes(before: Held, after: Held) -> dict[str, tuple[str | None, str | None]]:
    """Return the paths whose values differ, with both values."""
    paths = before.keys() | after.keys()
    return {path: (before.get(path), after.get(path)) for path in sorted(paths) if before.get(path) != after.get(path)}


def _text(value: object) -> str:
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, FunctionType) else repr(value)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (part of a path, value) of everything that an object refers to, in its order."""
    if isinstance(value, MethodType):
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
        return
    if isinstance(value, Mapping):
        for key, item in value.items():  # the order of a dictionary may decide, so it counts
            yield f"[{key!r:.200}]", item
        yield ".order", repr(list(value))
    elif isinstance(value, Set):
        yield ".elements", repr(sorted(map(repr, value)))
    elif isinstance(value, list | tuple | deque):
        for index, item in enumerate(value):
            yield f"[{index}]", item
    for name in _attributes(value):
        yield f".{name}", getattr(value, name)


def _attributes(value: Any) -> Iterator[str]:
    """Yield the attributes and slots that an object has."""
    yield from getattr(value, "__dict__", ())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, mangled):
                yield mangled
