"""Finds the condition of a SQL92 filter that a message does not meet, and the message's properties in it.

The nodes of the compiled expression evaluate themselves. This module only chooses one of them, and prints it as a user
writes it.
"""

from collections.abc import Mapping

from ..kernel.errors import SqlError
from .sql_nodes import Part, SqlNode
from .sql_parser import SqlParser

_CHAINS = {" && ": " AND ", " || ": " OR "}
"""The symbols of chains, as upstream prints them and as users write them."""
_QUOTE = "'"


def false_clause(expression: str, properties: Mapping[str, str]) -> tuple[str, Mapping[str, str | None]]:
    """Return the condition that is not true, and the properties in it (None: the message does not have it).

    Of conditions joined by AND this is the first that is not true; conditions joined by OR are returned as a whole.
    Call it only for properties that the expression does not match. Raises SqlError if the expression does not compile.
    """
    try:
        node = SqlParser(expression).parse()
    except RecursionError:
        raise SqlError("java.lang.StackOverflowError") from None
    while (conditions := _joined_by_and(node)) is not None:
        node = next((each for each in conditions if not _is_true(each, properties)), conditions[-1])
    return _text(node), _values(node, properties)


def _is_true(node: SqlNode, properties: Mapping[str, str]) -> bool:
    try:
        return node.evaluate(properties) is True
    except (ValueError, TypeError, RecursionError):  # such as a text that is not a number: the expression fails here
        return False


def _joined_by_and(node: SqlNode) -> list[SqlNode] | None:
    """Return the conditions of an AND chain; None for other nodes."""
    return _operands(node) if _symbol(node) == " && " else None


def _symbol(node: SqlNode) -> str | None:
    """Return the symbol between the operands of a node; None for nodes that have another form."""
    symbol = node.parts[2] if len(node.parts) > 2 else None
    return symbol if isinstance(symbol, str) else None


def _operands(node: SqlNode) -> list[SqlNode]:
    return [part for part in node.parts if isinstance(part, SqlNode)]


def _values(node: SqlNode, properties: Mapping[str, str]) -> dict[str, str | None]:
    """Return the properties in a node, in the order of its text."""
    values: dict[str, str | None] = {}
    pending = [node]
    while pending:
        found = pending.pop()
        name = found.parts[0]
        if _is_property(found) and isinstance(name, str):
            values[name] = properties.get(name) or None
        pending.extend(reversed(_operands(found)))
    return values


def _is_property(node: SqlNode) -> bool:
    """True for a property, also for one that is used as a condition, whose node has no name of its own."""
    return node.is_property or (len(node.parts) == 1 and not node.constant)


# the text as users write it


def _text(node: SqlNode) -> str:
    pieces: list[str] = []
    pending: list[Part] = list(reversed(_user_parts(node)))
    while pending:
        part = pending.pop()
        if isinstance(part, SqlNode):
            pending.extend(reversed(_user_parts(part)))
        else:
            pieces.append(part if isinstance(part, str) else part())
    return "".join(pieces)


def _user_parts(node: SqlNode) -> list[Part]:
    """Return the parts of a node in the syntax of users, without parentheses around it."""
    operands, symbol = _operands(node), _symbol(node)
    if node.search is not None:
        operator = str(node.parts[0])[1:].strip()
        return [operands[0], f" {operator} '{node.search.replace(_QUOTE, 2 * _QUOTE)}'"]
    if symbol in _CHAINS:
        return _chain(operands, _CHAINS[symbol])
    if symbol == " == ":
        return _equality(operands, " = ", " IS NULL")
    if node.parts[0] == "(NOT ":
        inner = operands[0]
        if _symbol(inner) == " == ":
            return _equality(_operands(inner), " <> ", " IS NOT NULL")
        return ["NOT (", inner, ")"]
    if node.parts[0] == "(- ":
        return ["-", operands[0]]
    if node.parts[0] == "(":
        return list(node.parts[1:-1])
    return list(node.parts)


def _chain(operands: list[SqlNode], symbol: str) -> list[Part]:
    """Join conditions; those that are chains themselves get parentheses."""
    parts: list[Part] = []
    for operand in operands:
        parts += [symbol] if parts else []
        parts += ["(", operand, ")"] if _symbol(operand) in _CHAINS else [operand]
    return parts


def _equality(operands: list[SqlNode], symbol: str, null: str) -> list[Part]:
    left, right = operands
    return [left, null] if right.constant and right.value is None else [left, symbol, right]
