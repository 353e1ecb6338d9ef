"""Page of the engine's operations, made from their classes; both protocols convert each request to one of them."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from rocketmq_testkit import emulator
from rocketmq_testkit.emulator.operations.base import Operation

from .markdown import annotation, prose, table

HEAD = """\
# Operations

Made from the classes in `emulator/`. Both protocols turn a request into one of these operations before the engine sees
it, and the [journal](fixtures.md#request-journal) names each request by its operation. Fields whose names end in `_ms`
are milliseconds.
"""


def page() -> str:
    """Render the whole page: a section for each file of operations, with every operation in it."""
    parts = [HEAD]
    for noun, found in sorted(_by_noun().items()):
        parts.append(f"## {noun.replace('_', ' ')}\n")
        parts += [_section(each) for each in found]
    return "\n".join(parts)


def operations() -> list[type[Operation]]:
    """All operations of the engine, in source order within each module."""
    for module in pkgutil.walk_packages(emulator.__path__, f"{emulator.__name__}."):
        importlib.import_module(module.name)
    return [each for each in _below(Operation) if each.__module__.startswith(emulator.__name__)]


def _below(base: type[Operation]) -> Iterator[type[Operation]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


def _by_noun() -> dict[str, list[type[Operation]]]:
    """Operations by the name of their file, or by that of its room if the file is called operations.py."""
    nouns: dict[str, list[type[Operation]]] = {}
    for each in dict.fromkeys(operations()):
        *_, room, file = each.__module__.split(".")
        nouns.setdefault(room if file == "operations" else file, []).append(each)
    return nouns


def _section(each: type[Operation]) -> str:
    parts = [f"### {each.__name__}\n", f"{prose(inspect.cleandoc(each.__doc__ or ''))}\n"]
    if is_dataclass(each) and fields(each):
        rows = [(f"`{field.name}`", f"`{annotation(field.type)}`", _default(field)) for field in fields(each)]
        parts.append(table(("field", "type", "default"), rows) + "\n")
    return "\n".join(parts)


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return "" if field.default_factory is MISSING else f"`{getattr(field.default_factory, '__name__', '')}()`"
