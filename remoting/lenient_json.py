"""JSON as fastjson reads it, for texts that stricter readers refuse.

Besides valid JSON: names and texts in single quotes, names without quotes, numbers and objects for names, a comma after
the last member, comments, raw control characters. Brokers and clients write maps with objects for names
(`{{"queueId":0,...}:5}`) themselves. Source: fastjson 1.2.83 in front of 5.3.3, tried.
"""

import json
import re
from typing import Any

from .json_numbers import number

_TOKEN = re.compile(
    r"(?:\s|//[^\n]*|/\*.*?\*/)*"
    r"(?:(?P<mark>[{}\[\]:,])|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s{}\[\]:,\"'/]+)|$)",
    re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None, "NaN": None}
_DEPTH_MAX = 200


class ObjectMap(list[tuple[Any, Any]]):
    """A map with an object for a name: its members in their order."""


def loads(text: str) -> Any:
    """The value of a text. Raises ValueError when fastjson would not read it either."""
    reader = _Reader(text)
    value = reader.value(reader.take(), 0)
    if reader.take() is not None:
        raise ValueError("more after the end")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self) -> re.Match[str] | None:
        """The next token, None at the end."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(f"nothing that can be read at {self._at}")
        self._at = found.end()
        return found if found.lastgroup else None

    def value(self, token: re.Match[str] | None, depth: int) -> Any:
        """The value that begins with a token."""
        if token is None or depth > _DEPTH_MAX:
            raise ValueError("the text ends too early" if token is None else "nested too deeply")
        mark = token["mark"]
        if mark == "{":
            return self._members(depth + 1)
        if mark == "[":
            return self._items(depth + 1)
        if mark is not None:
            raise ValueError(f"{mark} where a value belongs")
        if token["text"] is not None:
            return _unquoted(token["text"])
        word = token["word"]
        return _WORDS[word] if word in _WORDS else number(word)

    def _members(self, depth: int) -> dict[str, Any] | ObjectMap:
        pairs: list[tuple[Any, Any]] = []
        token = self.take()
        while not _is(token, "}"):
            name = self._name(token, depth)
            if not _is(self.take(), ":"):
                raise ValueError(f"no : after the name {name!r}")
            pairs.append((name, self.value(self.take(), depth)))
            token = self._after_item("}")
        if all(isinstance(name, str) for name, _ in pairs):
            return dict(pairs)
        return ObjectMap(pairs)

    def _name(self, token: re.Match[str] | None, depth: int) -> Any:
        if token is not None and token["word"] is not None:
            return token["word"]
        return self.value(token, depth)

    def _items(self, depth: int) -> list[Any]:
        items: list[Any] = []
        token = self.take()
        while not _is(token, "]"):
            items.append(self.value(token, depth))
            token = self._after_item("]")
        return items

    def _after_item(self, end: str) -> re.Match[str] | None:
        token = self.take()
        if _is(token, end):
            return token
        if not _is(token, ","):
            raise ValueError(f"neither , nor {end} at {self._at}")
        return self.take()


def _is(token: re.Match[str] | None, mark: str) -> bool:
    return token is not None and token["mark"] == mark


def _unquoted(quoted: str) -> str:
    if quoted[0] == "'":
        quoted = '"' + quoted[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    text = json.loads(quoted, strict=False)
    return str(text)
