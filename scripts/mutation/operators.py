"""Finds the mutants of a file in its syntax tree. Each mutant changes the text of one expression or statement.

Some parts are never changed, because they hold no rule or because any change breaks the import: annotations and type
aliases, docstrings, `assert`, imports, and blocks for type checkers. F-strings are skipped as well because their
positions are not exact before Python 3.12.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from .mutant import Mutant

_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_NEGATIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_TYPE_MAKERS = {"TypeVar", "NewType", "ParamSpec", "cast", "field", "getLogger"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def mutants(file: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file in the order of its text, without duplicates."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    alike: Counter[tuple[str, ...]] = Counter()
    found = []
    for each in sorted(set(finder.found)):
        place = each.scope, each.operator, each.old, each.new
        found.append(replace(each, number=alike[place]))
        alike[place] += 1
    return found


class _Finder(ast.NodeVisitor):
    _SKIPPED: ClassVar[tuple[type[ast.AST], ...]] = (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)

    def __init__(self, file: str, source: bytes) -> None:
        self.found: list[Mutant] = []
        self._file, self._source = file, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._scope: list[str] = []
        self._function = self._outer = ""

    # Tree traversal.

    def visit(self, node: ast.AST) -> None:
        """Find the mutants of a node, then those of its children."""
        if isinstance(node, self._SKIPPED) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return
        if isinstance(node, ast.arguments):
            self._visit_defaults(node)
            return
        found = getattr(self, f"_of_{type(node).__name__}", None)
        if found is not None:
            for operator, target, new in found(node):
                self._add(operator, target, new)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not self._is_passive(node, child):
                    self._enter(child)

    def _visit_defaults(self, node: ast.arguments) -> None:
        """Visit defaults as code of the surrounding scope, because the definition of a function executes them."""
        before, self._function = self._function, self._outer
        for default in (*node.defaults, *filter(None, node.kw_defaults)):
            self._enter(default)
        self._function = before

    def _enter(self, node: ast.AST) -> None:
        if not isinstance(node, ast.ClassDef | _Function):
            self.visit(node)
            return
        before = self._function, self._outer
        self._outer = self._function
        self._scope.append(node.name)
        if isinstance(node, _Function) and not self._function:
            self._function = ".".join(self._scope)
        self.visit(node)
        self._scope.pop()
        self._function, self._outer = before

    def _is_passive(self, parent: ast.AST, child: ast.AST) -> bool:
        """Return True for docstrings and for expressions that create types at the level of a module."""
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            return True
        if isinstance(parent, ast.Module) and isinstance(child, ast.Assign | ast.AnnAssign):
            return self._makes_type(child)
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "key":
            return isinstance(child, ast.Constant) and isinstance(child.value, str)  # the description of a key
        return isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in _TYPE_MAKERS

    def _makes_type(self, node: ast.Assign | ast.AnnAssign) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if any(name in ("__all__", "__slots__") for name in names):
            return True
        value = node.value
        is_alias = isinstance(value, ast.BinOp | ast.Subscript | ast.Name | ast.Attribute)
        return is_alias and all(name.lstrip("_")[:1].isupper() and not name.isupper() for name in names)

    def _add(self, operator: str, node: ast.AST, new: str) -> None:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        old = self._source[begin:end].decode()
        if old != new:
            scope = ".".join(self._scope)
            self.found.append(
                Mutant(
                    self._file,
                    node.lineno,
                    begin,
                    end,
                    operator=operator,
                    old=old,
                    new=new,
                    scope=scope,
                    function=self._function,
                )
            )

    # Operators: yield the name, the node, and the text that replaces it.

    def _of_Compare(self, node: ast.Compare) -> Iterator[tuple[str, ast.AST, str]]:
        for index, operator in enumerate(node.ops):
            for name, table in (("boundary", _BOUNDARIES), ("comparison", _NEGATIONS)):
                other = table.get(type(operator))
                if other is not None:
                    operators = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                    yield name, node, _text(ast.Compare(node.left, operators, node.comparators))

    def _of_BinOp(self, node: ast.BinOp) -> Iterator[tuple[str, ast.AST, str]]:
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not (_is_text(node.left) or _is_text(node.right)):
            yield "arithmetic", node, _text(ast.BinOp(node.left, other(), node.right))

    def _of_AugAssign(self, node: ast.AugAssign) -> Iterator[tuple[str, ast.AST, str]]:
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not _is_text(node.value):
            yield "arithmetic", node, ast.unparse(ast.AugAssign(node.target, other(), node.value))
        yield "assignment instead", node, ast.unparse(ast.Assign([node.target], node.value, lineno=0))
        yield "removed statement", node, "pass"

    def _of_BoolOp(self, node: ast.BoolOp) -> Iterator[tuple[str, ast.AST, str]]:
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield "and/or", node, _text(ast.BoolOp(other, node.values))
        for index in range(len(node.values)):
            left = [*node.values[:index], *node.values[index + 1 :]]
            yield "removed operand", node, _text(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Iterator[tuple[str, ast.AST, str]]:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            yield "removed sign", node, _text(node.operand)

    def _of_If(self, node: ast.If) -> Iterator[tuple[str, ast.AST, str]]:
        yield from self._condition(node.test)

    def _of_While(self, node: ast.While) -> Iterator[tuple[str, ast.AST, str]]:
        yield from self._condition(node.test)

    def _of_IfExp(self, node: ast.IfExp) -> Iterator[tuple[str, ast.AST, str]]:
        yield "swapped branches", node, _text(ast.IfExp(node.test, node.orelse, node.body))

    def _of_comprehension(self, node: ast.comprehension) -> Iterator[tuple[str, ast.AST, str]]:
        for test in node.ifs:
            yield "always", test, "True"
            yield from self._condition(test)

    @staticmethod
    def _condition(test: ast.expr) -> Iterator[tuple[str, ast.AST, str]]:
        """Yield the negation of a condition, unless a comparison operator already does."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return
        if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            yield "opposite", test, f"(not {_text(test)})"

    def _of_Constant(self, node: ast.Constant) -> Iterator[tuple[str, ast.AST, str]]:
        value = node.value
        if isinstance(value, bool):
            yield "constant", node, str(not value)
        elif isinstance(value, int):
            yield "constant", node, str(value + 1)
        elif isinstance(value, str | bytes) and value:
            yield "constant", node, repr(value[:0])

    def _of_Return(self, node: ast.Return) -> Iterator[tuple[str, ast.AST, str]]:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "return value", node, "return None"
        elif node.value is None:
            yield "removed statement", node, "pass"

    def _of_Expr(self, node: ast.Expr) -> Iterator[tuple[str, ast.AST, str]]:
        if isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom):
            yield "removed statement", node, "pass"

    def _of_Assign(self, node: ast.Assign) -> Iterator[tuple[str, ast.AST, str]]:
        """Remove assignments to attributes and items.

        Local names stay: without them the next line raises a NameError, which proves nothing.
        """
        if self._scope and all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets):
            yield "removed statement", node, "pass"

    def _of_Delete(self, node: ast.Delete) -> Iterator[tuple[str, ast.AST, str]]:
        yield "removed statement", node, "pass"

    def _of_Raise(self, node: ast.Raise) -> Iterator[tuple[str, ast.AST, str]]:
        if "AssertionError" not in ast.unparse(node):
            yield "removed statement", node, "pass"

    def _of_Break(self, node: ast.Break) -> Iterator[tuple[str, ast.AST, str]]:
        yield "break/continue", node, "continue"

    def _of_Continue(self, node: ast.Continue) -> Iterator[tuple[str, ast.AST, str]]:
        yield "break/continue", node, "break"

    def _of_Call(self, node: ast.Call) -> Iterator[tuple[str, ast.AST, str]]:
        if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
            twin = ast.Name(_TWINS[node.func.id])
            yield "min/max", node, _text(ast.Call(twin, node.args, node.keywords))
            return  # their arguments have no order
        for index, (first, second) in enumerate(pairwise(node.args)):
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                continue
            swapped = [*node.args[:index], second, first, *node.args[index + 2 :]]
            yield "swapped arguments", node, _text(ast.Call(node.func, swapped, node.keywords))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _text(node: ast.expr) -> str:
    """Return the text of an expression with parentheses where they may be needed."""
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript) else f"({text})"
