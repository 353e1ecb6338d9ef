"""The response codes that the engine may return for an operation, as far as its source shows them.

A handler names codes, and so do the functions that it calls, including those of its services and hooks. These are
objects of a created broker, so that names can be resolved. Codes that are known only at run time, such as one in a
table of another module, are not found.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType, MethodType
from typing import Any

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation

_PACKAGE = "rocketmq_testkit.emulator"
_UNKNOWN = object()
_OTHERS = frozenset({"arrivals", "watchers", "wake", "_resume", "_scan_later"})
"""Attributes that resume requests of other clients, whose responses do not count."""
_STORES = frozenset({"_choose_handlers", "listen"})
"""Functions that store functions and do not call them."""


def possible_codes() -> dict[type[Operation], set[ResponseCode]]:
    """Return the codes named by the handler of each operation or by functions that it calls."""
    engine = Engine()
    handlers = {**engine.brokers[0].handlers, **engine.name_server.handlers}
    return {operation: _Walk().of(handler) for operation, handler in handlers.items()}


class _Walk:
    """Walks from a handler through everything that it names and that can be resolved without running it."""

    def __init__(self) -> None:
        self.codes: set[ResponseCode] = set()
        self._visited: set[tuple[Any, int]] = set()

    def of(self, handler: Callable[..., Any]) -> set[ResponseCode]:
        """Return the codes that are named on the way."""
        self._visit(handler)
        return self.codes

    def _visit(self, thing: Any) -> None:
        function = getattr(thing, "__func__", thing)
        function = getattr(function, "__wrapped__", function)
        owner = getattr(thing, "__self__", None)
        if not isinstance(function, FunctionType) or not function.__module__.startswith(_PACKAGE):
            return
        if function.__name__ in ("<lambda>", *_STORES) or (function.__code__, id(owner)) in self._visited:
            return
        self._visited.add((function.__code__, id(owner)))
        tree = _tree(function)
        first = function.__code__.co_varnames[:1]
        known = {first[0]: owner} if owner is not None and first else {}
        passed_over = {id(each) for node in ast.walk(tree) for part in _passed_over(node) for each in ast.walk(part)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name) and id(node) not in passed_over:
                found = self._value(node, known, function.__globals__)
                if isinstance(found, ResponseCode):
                    self.codes.add(found)
                for each in _callables(found):
                    self._visit(each)

    def _value(self, node: ast.AST, known: dict[str, Any], names: dict[str, Any]) -> Any:
        if isinstance(node, ast.Name):
            return known.get(node.id, names.get(node.id, _UNKNOWN))
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, known, names)
            if node.attr in _OTHERS or owner is _UNKNOWN or not _ours(owner):
                return _UNKNOWN
            return getattr(owner, node.attr, _UNKNOWN)
        return _UNKNOWN


def _passed_over(node: ast.AST) -> list[ast.AST]:
    """Return nodes to skip: comparisons with codes, and blocks whose errors are caught."""
    if isinstance(node, ast.Compare):
        return [node]
    if isinstance(node, ast.Try) and any("EngineError" in ast.dump(each.type) for each in node.handlers if each.type):
        return [*node.body]
    return []


def _ours(owner: Any) -> bool:
    kind = owner if isinstance(owner, type) else type(owner)
    return getattr(owner, "__name__", kind.__module__).startswith(_PACKAGE) or kind.__module__.startswith(_PACKAGE)


def _callables(found: Any) -> Iterator[Any]:
    if isinstance(found, FunctionType | MethodType):
        yield found
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _callables(each)


@cache
def _tree(function: FunctionType) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))
