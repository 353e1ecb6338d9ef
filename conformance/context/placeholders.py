"""Placeholders for values that differ between two runs of a case and mean nothing: names, addresses, times, ids.

A text that a case made up itself (a topic, a group, a message id) is known exactly. Other values are recognized by
their form.
"""

import re
from typing import Any

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # A JVM that met a null often enough throws a preallocated exception, which does not say which value was null.
    (re.compile(r'(?:Cannot [a-z ]+"[^"]+" because "[^"]+" is null|null)\. NullPointerException.*'), "{null pointer}"),
    # A JVM drops the messages of its own exceptions once it has compiled a method that throws them often.
    (
        re.compile(
            r"(?s)(\bjava\.lang\.(?:NullPointer|Arithmetic|ArrayIndexOutOfBounds|ClassCast|ArrayStore)Exception): .*"
        ),
        r"\1",
    ),
    # The remark of an unhandled exception ends with its first stack frame, whose line number changes with each release.
    (re.compile(r",? ?[\w.$]+(?:/[\w.$]+)?\.[\w$<>]+\([A-Z]\w*\.java:\d+\)"), ""),
    (re.compile(r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost):\d{2,5}\b"), "{address}"),
    (re.compile(r"(?<=broker\[)\d{1,3}(?:\.\d{1,3}){3}(?=\])"), "{broker ip}"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "{time}"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "{time}"),
    (re.compile(r"\b[0-9A-F]{32,60}\b"), "{id}"),
)
_HANDLE = re.compile(r"^(\d+ )(\d{13})( -?\d+ )(\d+)( \d \S+ -?\d+ \d+)( \d+)?$")
"""Start offset, pop time, invisible time, revive queue, retry digit, broker, queue, offset, commit log offset."""
_ORDERED = "999"
"""The revive queue in the receipt handle of an orderly pop."""


class Placeholders:
    """The texts of one run and their placeholders."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def put(self, text: str, placeholder: str) -> None:
        """Show `text` as `{placeholder}` from now on; the first placeholder of a text stays."""
        if text:
            self._known.setdefault(text, f"{{{placeholder}}}")
            self._pattern = None

    def normal(self, value: Any) -> Any:
        """Return a JSON value with placeholders for all values that differ between runs.

        Raises TypeError for a value that is not JSON.
        """
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bool) or value is None or isinstance(value, float):
            return value
        if isinstance(value, int):
            return "{time}" if 10**12 < value < 2 * 10**12 else value
        if isinstance(value, dict):
            return {self._text(str(name)): self.normal(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.normal(each) for each in value]
        raise TypeError(f"{type(value).__name__} is no JSON value; note its parts that are: texts, numbers, lists")

    def _text(self, text: str) -> str:
        handle = _HANDLE.match(text)
        if handle is not None:
            start, _, invisible, revive, rest, log = handle.groups()
            revive = revive if revive == _ORDERED else "{revive queue}"
            text = f"{start}{{time}}{invisible}{revive}{rest}{' {log offset}' if log else ''}"
        if self._known:
            if self._pattern is None:
                # The longest first: one name may be a prefix of another.
                longest = sorted(self._known, key=len, reverse=True)
                self._pattern = re.compile("|".join(map(re.escape, longest)))
            text = self._pattern.sub(lambda found: self._known[found.group()], text)
        for pattern, form in _FORMS:
            text = pattern.sub(form, text)
        return text
