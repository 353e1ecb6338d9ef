"""Recursive descent parser for SQL92 filter expressions.

    or   := and (OR and)*            and  := equal (AND equal)*
    equal := compare ( = compare | <> compare | IS [NOT] NULL )*
    compare := unary ( > unary | >= unary | < unary | <= unary | [NOT] CONTAINS text | [NOT] STARTSWITH text
                     | [NOT] ENDSWITH text | [NOT] BETWEEN unary AND unary | [NOT] IN ( text, ... ) )*
    unary := + unary | - unary | NOT unary | literal | property | ( or )

Text after a complete expression is not read. Error texts list the tokens that are allowed instead of the first wrong
one, in the order of upstream's token numbers. Rules are generators that yield the rules they depend on, so that nesting
uses no Python stack. Source: SelectorParser (5.3.3).
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from ..kernel.errors import SqlError
from ..kernel.java_types import from_utf16
from .sql_lexer import ORDER, SqlLexer, SqlToken, TokenKind, escape
from .sql_nodes import (
    SqlNode,
    and_node,
    as_boolean,
    between_node,
    comparison_node,
    constant_node,
    decimal_node,
    equal_node,
    float_node,
    in_node,
    is_not_null_node,
    is_null_node,
    negate_node,
    not_between_node,
    not_equal_node,
    not_node,
    or_node,
    property_node,
    text_search_node,
)
from .sql_values import JavaType

_ORDER_SYMBOLS = {
    TokenKind.GREATER: ">",
    TokenKind.GREATER_EQUAL: ">=",
    TokenKind.LESS: "<",
    TokenKind.LESS_EQUAL: "<=",
}
_SEARCH_SYMBOLS = {TokenKind.CONTAINS: "CONTAINS", TokenKind.STARTSWITH: "STARTSWITH", TokenKind.ENDSWITH: "ENDSWITH"}
_AFTER_NOT = (TokenKind.CONTAINS, TokenKind.STARTSWITH, TokenKind.ENDSWITH, TokenKind.BETWEEN, TokenKind.IN)
_COMPARISONS = (TokenKind.NOT, *_AFTER_NOT, *_ORDER_SYMBOLS)
_LITERALS = {
    TokenKind.TRUE: constant_node(True, JavaType.BOOLEAN),
    TokenKind.FALSE: constant_node(False, JavaType.BOOLEAN),
    TokenKind.NULL: constant_node(None, JavaType.NULL),
}
_ANY = _LITERALS[TokenKind.TRUE]
_OPERANDS = (
    TokenKind.NOT,
    TokenKind.TRUE,
    TokenKind.FALSE,
    TokenKind.NULL,
    TokenKind.DECIMAL,
    TokenKind.FLOAT,
    TokenKind.STRING,
    TokenKind.ID,
    TokenKind.OPEN,
    TokenKind.MINUS,
)

_DEPTH_MAX = 18_000
"""Maximum nesting of signs and NOTs: 16,000 fit on upstream's stack when tried, 20,000 did not."""
_PARENTHESIS_DEPTH = 15
"""The number of signs that use as much stack as one parenthesis, of which 1,200 fit and 1,300 did not."""
_TOKENS_MAX = 50_000
"""Largest number of tokens of an expression. Upstream has no limit; here each takes up to a thousand bytes."""

Rule: TypeAlias = Generator["Rule", SqlNode, SqlNode]


class _SyntaxError(SqlError):
    """A wrong token, as opposed to a comparison of illegal operands."""


class SqlParser:
    """Parses one expression."""

    def __init__(self, text: str) -> None:
        self._lexer = SqlLexer(text)
        self._tokens: list[SqlToken] = []
        self._index = 0
        self._expected: list[TokenKind] = []
        self._depth = 0
        self._reading_ahead = False
        self._read_ahead_until = 0
        """Index of the token after the last operand of a plus sign that was read ahead without an error."""

    def parse(self) -> SqlNode:
        """Parse the condition at the beginning of the text. Raises SqlError."""
        return as_boolean(_run(self._or()))

    # tokens

    def _peek(self, ahead: int = 0) -> SqlToken:
        while len(self._tokens) <= self._index + ahead:
            if len(self._tokens) >= _TOKENS_MAX:
                raise SqlError(f"the expression has more than {_TOKENS_MAX} tokens; use a shorter one")
            self._tokens.append(self._lexer.next())
        return self._tokens[self._index + ahead]

    def _next_is(self, *kinds: TokenKind) -> bool:
        """True if the next token is one of these; otherwise they are added to the tokens that an error text lists."""
        if self._peek().kind in kinds:
            return True
        self._expected.extend(kinds)
        return False

    def _take(self, kind: TokenKind) -> SqlToken:
        token = self._peek()
        if token.kind is not kind:
            raise self._wrong_token(kind)
        self._index += 1
        self._expected.clear()
        return token

    def _wrong_token(self, *kinds: TokenKind) -> _SyntaxError:
        token = self._peek()
        expected = sorted({*self._expected, *kinds}, key=_error_order)
        line, column = self._lexer.position(token.at)
        encountered = '"<EOF>"' if token.kind is TokenKind.EOF else f'" {token.kind.value} "{escape(token.image)} ""'
        return _SyntaxError(
            "org.apache.rocketmq.filter.parser.ParseException: "
            f"Encountered {encountered} at line {line}, column {column}.\n"
            f"Was expecting{':' if len(expected) == 1 else ' one of:'}\n    "
            + "".join(f"{kind.value} ...\n    " for kind in expected)
        )

    # nodes: none are built while reading ahead, which only detects wrong tokens

    def _build(self, make: Callable[..., SqlNode], *parts: Any, **more: Any) -> SqlNode:
        return _ANY if self._reading_ahead else make(*parts, **more)

    def _condition(self, node: SqlNode) -> SqlNode:
        return _ANY if self._reading_ahead else as_boolean(node)

    # rules

    def _or(self) -> Rule:
        left = yield self._and()
        conditions: list[SqlNode] = []
        while self._next_is(TokenKind.OR):
            self._take(TokenKind.OR)
            right = yield self._and()
            if not conditions:
                conditions.append(self._condition(left))
            conditions.append(self._condition(right))
        return self._build(or_node, *conditions) if conditions else left

    def _and(self) -> Rule:
        left = yield self._equal()
        conditions: list[SqlNode] = []
        while self._next_is(TokenKind.AND):
            self._take(TokenKind.AND)
            right = yield self._equal()
            if not conditions:
                conditions.append(self._condition(left))
            conditions.append(self._condition(right))
        return self._build(and_node, *conditions) if conditions else left

    def _equal(self) -> Rule:
        left = yield self._compare()
        while self._next_is(TokenKind.IS, TokenKind.EQUAL, TokenKind.NOT_EQUAL):
            kind = self._take(self._peek().kind).kind
            if kind is TokenKind.IS:
                make = is_null_node
                if not self._next_is(TokenKind.NULL):
                    self._take(TokenKind.NOT)
                    make = is_not_null_node
                self._take(TokenKind.NULL)
                left = self._build(make, left)
            else:
                right = yield self._compare()
                left = self._build(equal_node if kind is TokenKind.EQUAL else not_equal_node, left, right)
        return left

    def _compare(self) -> Rule:
        left = yield self._unary()
        while self._next_is(*_COMPARISONS):
            left = yield self._comparison(left)
        return left

    def _comparison(self, left: SqlNode) -> Rule:
        negated = self._peek().kind is TokenKind.NOT
        if negated and self._peek(1).kind not in _AFTER_NOT:
            raise self._wrong_token(*_COMPARISONS[1:])
        if negated:
            self._take(TokenKind.NOT)
        kind = self._take(self._peek().kind).kind
        if kind in _ORDER_SYMBOLS:
            right = yield self._unary()
            return self._build(comparison_node, _ORDER_SYMBOLS[kind], left, right)
        if kind in _SEARCH_SYMBOLS:
            return self._build(text_search_node, _SEARCH_SYMBOLS[kind], left, self._text(), negated=negated)
        if kind is TokenKind.IN:
            return self._build(in_node, left, self._texts(), negated=negated)
        low = yield self._unary()
        self._take(TokenKind.AND)
        high = yield self._unary()
        return self._build(not_between_node if negated else between_node, left, low, high)

    def _texts(self) -> list[str]:
        self._take(TokenKind.OPEN)
        texts = [self._text()]
        while self._next_is(TokenKind.COMMA):
            self._take(TokenKind.COMMA)
            texts.append(self._text())
        self._take(TokenKind.CLOSE)
        return texts

    def _text(self) -> str:
        return from_utf16(self._take(TokenKind.STRING).image[1:-1].replace("''", "'"))

    def _unary(self) -> Rule:
        kind = self._peek().kind
        if kind is TokenKind.PLUS and (self._reading_ahead or self._plus_is_complete()):
            self._take(TokenKind.PLUS)
            self._enter(1)
            signed = yield self._unary()
            self._depth -= 1
            return signed
        if not self._next_is(*_OPERANDS):
            raise self._wrong_token(*(() if kind is TokenKind.PLUS else (TokenKind.PLUS,)))
        if kind is TokenKind.OPEN:
            self._take(TokenKind.OPEN)
            self._enter(_PARENTHESIS_DEPTH)
            inner = yield self._or()
            self._depth -= _PARENTHESIS_DEPTH
            self._take(TokenKind.CLOSE)
            return inner
        if kind in (TokenKind.MINUS, TokenKind.NOT):
            self._take(kind)
            self._enter(1)
            operand = yield self._unary()
            self._depth -= 1
            return self._build(negate_node, operand) if kind is TokenKind.MINUS else self._build(_negation, operand)
        return self._build(_operand, self._text() if kind is TokenKind.STRING else self._take(kind).image, kind)

    def _enter(self, depth: int) -> None:
        """Enter an operand. Raises SqlError at a depth that upstream's stack does not allow."""
        self._depth += depth
        if self._depth > _DEPTH_MAX:
            raise SqlError("java.lang.StackOverflowError")

    def _plus_is_complete(self) -> bool:
        """Read ahead over the operand of a plus sign. Returns False if it contains a wrong token.

        Upstream reads the whole operand ahead and reports any error in it at the plus sign. A plus sign inside an
        operand that was already read ahead is complete. Reading ahead again for each would take quadratic time.
        """
        if self._index < self._read_ahead_until:
            return True
        index, expected, depth = self._index, list(self._expected), self._depth
        self._index += 1
        self._reading_ahead = True
        try:
            _run(self._unary())
            self._read_ahead_until = self._index
        except _SyntaxError:
            return False
        finally:
            self._index, self._expected, self._depth = index, expected, depth
            self._reading_ahead = False
        return True


def _run(rule: Rule) -> SqlNode:
    """Run a rule and all rules that it yields. Returns the node of the rule. Raises SqlError."""
    rules = [rule]
    node: Any = None  # starts a generator
    while rules:
        try:
            needed = rules[-1].send(node)
        except StopIteration as done:
            rules.pop()
            node = done.value
        else:
            rules.append(needed)
            node = None
    return node  # type: ignore[no-any-return]  # StopIteration.value has no type


def _negation(operand: SqlNode) -> SqlNode:
    return not_node(as_boolean(operand))


def _operand(image: str, kind: TokenKind) -> SqlNode:
    if kind is TokenKind.STRING:
        return constant_node(image, JavaType.STRING)
    if kind is TokenKind.DECIMAL:
        return decimal_node(image)
    if kind is TokenKind.FLOAT:
        return float_node(image)
    return property_node(image) if kind is TokenKind.ID else _LITERALS[kind]


def _error_order(kind: TokenKind) -> int:
    return len(ORDER) if kind is TokenKind.PLUS else ORDER[kind]
