"""Lexer of SQL92 filter expressions, with the positions and error texts of upstream's lexer.

Tokens are produced on demand, because text after a complete expression is never read.
Source: SelectorParserTokenManager, SimpleCharStream, TokenMgrError (5.3.3).
"""

import re
from enum import Enum
from itertools import pairwise

from ..kernel.errors import SqlError
from ..kernel.value_class import frozen_value

_TAB_WIDTH = 8


class TokenKind(Enum):
    """Kinds of tokens in upstream's order, with the names that its error texts use."""

    EOF = "<EOF>"
    NOT = '"NOT"'
    AND = '"AND"'
    OR = '"OR"'
    BETWEEN = '"BETWEEN"'
    IN = '"IN"'
    TRUE = '"TRUE"'
    FALSE = '"FALSE"'
    NULL = '"NULL"'
    IS = '"IS"'
    CONTAINS = '"CONTAINS"'
    STARTSWITH = '"STARTSWITH"'
    ENDSWITH = '"ENDSWITH"'
    DECIMAL = "<DECIMAL_LITERAL>"
    FLOAT = "<FLOATING_POINT_LITERAL>"
    STRING = "<STRING_LITERAL>"
    ID = "<ID>"
    EQUAL = '"="'
    NOT_EQUAL = '"<>"'
    GREATER = '">"'
    GREATER_EQUAL = '">="'
    LESS = '"<"'
    LESS_EQUAL = '"<="'
    OPEN = '"("'
    COMMA = '","'
    CLOSE = '")"'
    PLUS = '"+"'
    MINUS = '"-"'


ORDER = {kind: number for number, kind in enumerate(TokenKind)}
_KEYWORDS = {
    kind.value.strip('"'): kind
    for kind in (
        TokenKind.NOT,
        TokenKind.AND,
        TokenKind.OR,
        TokenKind.BETWEEN,
        TokenKind.IN,
        TokenKind.TRUE,
        TokenKind.FALSE,
        TokenKind.NULL,
        TokenKind.IS,
        TokenKind.CONTAINS,
        TokenKind.STARTSWITH,
        TokenKind.ENDSWITH,
    )
}
_SYMBOLS = {
    kind.value.strip('"'): kind
    for kind in (
        TokenKind.EQUAL,
        TokenKind.NOT_EQUAL,
        TokenKind.GREATER,
        TokenKind.GREATER_EQUAL,
        TokenKind.LESS,
        TokenKind.LESS_EQUAL,
        TokenKind.OPEN,
        TokenKind.COMMA,
        TokenKind.CLOSE,
        TokenKind.PLUS,
        TokenKind.MINUS,
    )
}

_SKIPPED = re.compile(r"(?>[ \t\n\r\f]++|--[^\n\r]*+(?:\r\n|\n|\r)|/\*(?>[^*]++|\*(?!/))*+\*/)*+")
_TOKEN = re.compile(
    r"(?P<FLOAT>[0-9]++\.[0-9]*+(?:[Ee][+-]?[0-9]++)?|\.[0-9]++(?:[Ee][+-]?[0-9]++)?|[0-9]++[Ee][+-]?[0-9]++)"
    r"|(?P<DECIMAL>0|[1-9][0-9]*+[lL]?)"
    r"|(?P<STRING>(?>'[^']*+')++)"
    r"|(?P<ID>[A-Za-z_$][A-Za-z0-9_$]*+)"
    r"|(?P<SYMBOL><>|>=|<=|[=><(),+-])"
)


@frozen_value
class SqlToken:
    """A token, its text in the expression, and the index of its first character; EOF has that of the last character."""

    kind: TokenKind
    image: str
    at: int


def _to_utf16(text: str) -> str:
    """Convert a text to UTF-16 units, which Java reads and counts as columns."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))


class SqlLexer:
    """Produces the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self._text = _to_utf16(text)
        self._at = 0

    def next(self) -> SqlToken:
        """Return the next token; EOF repeatedly at the end. Raises SqlError if no token starts here."""
        text = self._text
        skipped = _SKIPPED.match(text, self._at)
        assert skipped is not None  # the pattern matches the empty string
        at = skipped.end()
        if at == len(text):
            self._at = at
            return SqlToken(TokenKind.EOF, "", at - 1)
        found = _TOKEN.match(text, at)
        if found is None:
            raise self._lexical_error(at)
        self._at = found.end()
        image = found.group()
        match found.lastgroup:
            case "SYMBOL":
                kind = _SYMBOLS[image]
            case "ID":
                kind = _KEYWORDS.get(image.upper(), TokenKind.ID)
            case name:
                assert name is not None  # every alternative is named
                kind = TokenKind[name]
        return SqlToken(kind, image, at)

    def position(self, at: int) -> tuple[int, int]:
        """Return (line, column) of a character, both counted from 1."""
        return _position(self._text, at)

    def _lexical_error(self, at: int) -> SqlError:
        """Build upstream's error: the character where its automaton stopped, and the part of the token before it."""
        text = self._text
        last = at
        if text[at] == "'" or text.startswith("/*", at):
            last = len(text)
        elif text[at] in "./" and at + 1 < len(text):
            last = at + 1
        if last >= len(text) - 1:
            after = text[at:] if at + 1 < len(text) else ""
            line, column = _position(text, len(text) - 1)
            line, column = (line + 1, 0) if text[-1] in "\r\n" else (line, column + 1)
            encountered = "<EOF>"
        else:
            after = text[at:last]
            line, column = _position(text, last)
            encountered = f'"{escape(text[last])}" ({ord(text[last])}),'
        return SqlError(
            "org.apache.rocketmq.filter.parser.TokenMgrError: "
            f'Lexical error at line {line}, column {column}.  Encountered: {encountered} after : "{escape(after)}"'
        )


def _position(text: str, at: int) -> tuple[int, int]:
    """Return (line, column) of a character; a tab extends to the next multiple of eight."""
    if at < 0:
        return 0, 0
    line, column = 1, 0
    for previous, character in pairwise("\0" + text[: at + 1]):
        if previous == "\n" or (previous == "\r" and character != "\n"):
            line, column = line + 1, 0
        column += 1
        if character == "\t":
            column += _TAB_WIDTH - 1 - (column - 1) % _TAB_WIDTH
    return line, column


_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def escape(text: str) -> str:
    """Quote a text as upstream's error messages do."""
    return "".join(
        _ESCAPES.get(character) or (character if " " <= character <= "~" else f"\\u{ord(character):04x}")
        for character in text
        if character != "\0"
    )
