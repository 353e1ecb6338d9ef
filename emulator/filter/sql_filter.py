"""SQL92 filter expressions over message properties.

An expression is compiled once and evaluated for every message. Source: SqlFilter, ExpressionMessageFilter (5.3.3).
"""

from collections.abc import Mapping
from functools import lru_cache

from ..kernel.errors import SqlError
from .sql_parser import SqlParser

__all__ = ["SqlError", "SqlExpression", "compile_sql"]


class SqlExpression:
    """A compiled expression."""

    __slots__ = ("_evaluate", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._evaluate = SqlParser(text).parse().evaluate
        except RecursionError:
            raise SqlError("java.lang.StackOverflowError") from None

    def matches(self, properties: Mapping[str, str]) -> bool:
        """True if the condition is true; unknown and failed evaluations are no match."""
        try:
            return self._evaluate(properties) is True
        except (ValueError, TypeError, RecursionError):
            return False


def compile_sql(expression: str) -> SqlExpression:
    """Compile an expression. Raises SqlError with upstream's text.

    The last 100 expressions of up to 4,096 characters are cached, and the last four longer ones, which take memory.
    Upstream caches 100 of any length.
    """
    return _compile_short(expression) if len(expression) <= _SHORT else _compile_long(expression)


_SHORT = 4096
_compile_short = lru_cache(maxsize=100)(SqlExpression)
_compile_long = lru_cache(maxsize=4)(SqlExpression)
