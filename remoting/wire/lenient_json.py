"""Parse JSON as fastjson does, for texts that stricter parsers reject.

Accepted in addition to valid JSON: names and strings in single quotes, unquoted names, numbers, lists and objects as
names, a comma after the last member or item, comments, raw control characters, `NaN`, the escapes of `_ESCAPE`, and the
numbers of `json_numbers.number`. Brokers and clients themselves write maps with objects as names
(`{{"queueId":0,...}:5}`).
Source: tried on 5.3.3, which uses fastjson 1.2.83; JSONLexerBase (scanString, scanStringSingleQuote) for the escapes.

Other forms that fastjson accepts are rejected, such as `undefined`.

The scanner does not backtrack: each pattern is possessive. A hostile text therefore costs no more than a usual text of
its length.
"""

import re
from json import JSONDecoder
from typing import Any

from .json_numbers import number

_SKIPPED = re.compile(r"(?>\s++|//[^\n]*+|/\*(?>[^*]++|\*(?!/))*+\*/)*+")
_WORD = re.compile(r"[^\s{}\[\]:,\"'/]++")
_TEXT = JSONDecoder(strict=False)
_IN_DOUBLE_QUOTES = re.compile(r'"((?>[^"\\]++|\\.)*+)"', re.DOTALL)
_IN_SINGLE_QUOTES = re.compile(r"'((?>[^'\\]++|\\.)*+)'", re.DOTALL)
_QUOTED = {'"': _IN_DOUBLE_QUOTES, "'": _IN_SINGLE_QUOTES}
_ESCAPE = re.compile(r"\\(?:([0-7])|x([0-9a-fA-F]{2})|u([+-][0-9a-fA-F]{3})|(.))|\"", re.DOTALL)
"""An escape, which has the same meaning in double and single quotes, or a double quote in single quotes."""
_NOT_IN_JSON = {"'": "'", "v": "\\u000b", "F": "\\f"}
"""Escapes that JSON lacks, as they are written in JSON."""
_WORDS = {"true": True, "false": False, "null": None, "NaN": None}
_DEPTH_MAX = 200


class ObjectMap(list[tuple[Any, Any]]):
    """The members of a map with objects as names, in order."""


def loads(text: str) -> Any:
    """Parse a text. Raises ValueError for forms that the module does not accept, and beyond `_DEPTH_MAX` levels."""
    reader = _Reader(text)
    value = reader.value(0)
    if reader.peek():
        raise ValueError("more after the end")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def peek(self) -> str:
        """Skip blanks and comments; return the next character, or an empty string at the end."""
        skipped = _SKIPPED.match(self._text, self._at)
        assert skipped is not None  # the pattern matches the empty text
        self._at = skipped.end()
        return self._text[self._at : self._at + 1]

    def value(self, depth: int) -> Any:
        """Read the value that begins at the next character."""
        first = self.peek()
        if not first or depth > _DEPTH_MAX:
            raise ValueError("nested too deeply" if first else "the text ends too early")
        if first == "{":
            return self._members(depth + 1)
        if first == "[":
            return self._items(depth + 1)
        if first in "\"'":
            return self._quoted(first)
        word = self._word()
        return _WORDS[word] if word in _WORDS else number(word)

    def _members(self, depth: int) -> dict[str, Any] | ObjectMap:
        pairs: list[tuple[Any, Any]] = []
        self._at += 1
        while self.peek() != "}":
            name = self._name(depth)
            if self.peek() != ":":
                raise ValueError(f"no : after the name {str(name)[:40]!r}")
            self._at += 1
            pairs.append((name, self.value(depth)))
            self._pass_comma("}")
        self._at += 1
        if all(isinstance(name, str) for name, _ in pairs):
            return dict(pairs)
        return ObjectMap(pairs)

    def _name(self, depth: int) -> Any:
        first = self.peek()
        return self.value(depth) if not first or first in "{[\"'" else self._word()

    def _items(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self._at += 1
        while self.peek() != "]":
            items.append(self.value(depth))
            self._pass_comma("]")
        self._at += 1
        return items

    def _pass_comma(self, end: str) -> None:
        found = self.peek()
        if found == ",":
            self._at += 1
        elif found != end:
            raise ValueError(f"neither , nor {end} at {self._at}")

    def _word(self) -> str:
        found = _WORD.match(self._text, self._at)
        if found is None:
            raise ValueError(f"nothing that can be read at {self._at}")
        self._at = found.end()
        return found.group()

    def _quoted(self, quote: str) -> str:
        found = _QUOTED[quote].match(self._text, self._at)
        if found is None:
            raise ValueError(f"a text without end at {self._at}")
        self._at = found.end()
        text = found.group(1)
        return str(_TEXT.decode('"' + _ESCAPE.sub(_in_json, text) + '"')) if "\\" in text else text


def _in_json(escape: re.Match[str]) -> str:
    """Write an escape in JSON. Java reads the digits of `\\u` as a number, which may have a sign."""
    octal, two, signed, letter = escape.groups()
    if octal or two or signed:
        return f"\\u{int(octal or two or signed, 16) & 0xFFFF:04x}"
    return _NOT_IN_JSON.get(letter, escape.group()) if letter else '\\"'
