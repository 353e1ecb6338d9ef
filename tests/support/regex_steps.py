"""Counts the steps that a backtracking matcher takes for a pattern: the cost that Python's `re` hides in one call.

It uses Python's own parser of patterns and tries alternatives in the order of `re`. A pattern that is exponential there
is exponential here, and can be counted. Groups are not captured; only the ends of matches are.
"""

import re
from collections.abc import Callable, Iterator
from re import _constants as c  # type: ignore[attr-defined]  # private, but the only parser of patterns
from re import _parser  # type: ignore[attr-defined]  # as above
from typing import Any

Items = list[tuple[Any, Any]]

_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    c.CATEGORY_DIGIT: str.isdecimal,
    c.CATEGORY_NOT_DIGIT: lambda character: not character.isdecimal(),
    c.CATEGORY_SPACE: str.isspace,
    c.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    c.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
    c.CATEGORY_NOT_WORD: lambda character: not (character.isalnum() or character == "_"),
}


class TooManyStepsError(Exception):
    """Raised when the matcher reaches its limit of steps."""


class StepCounter:
    """Matches one pattern and counts the steps. `steps_max` limits one match."""

    def __init__(self, pattern: "re.Pattern[str]", steps_max: int = 200_000) -> None:
        self.steps = 0
        self._parsed: Items = list(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
        self._dot_all = bool(pattern.flags & re.DOTALL)
        self._steps_max = steps_max
        self._text = ""

    def match(self, text: str, at: int = 0) -> int | None:
        """Return the end of a match that starts at `at`, None without a match. Raises TooManyStepsError."""
        self._text = text
        return next(self._sequence(self._parsed, 0, at), None)

    def full_match(self, text: str) -> bool:
        """Return True if the whole text matches. Raises TooManyStepsError."""
        self._text = text
        return any(end == len(text) for end in self._sequence(self._parsed, 0, 0))

    def search(self, text: str) -> int | None:
        """Return the end of the first match, None without a match. Raises TooManyStepsError."""
        found = (self.match(text, at) for at in range(len(text) + 1))
        return next((end for end in found if end is not None), None)

    def find_all(self, text: str) -> int:
        """Return the number of matches, as for split, sub and finditer. Raises TooManyStepsError."""
        at = count = 0
        while at <= len(text):
            end = self.match(text, at)
            count += end is not None
            at = at + 1 if end is None or end == at else end
        return count

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._steps_max:
            raise TooManyStepsError

    def _sequence(self, items: Items, index: int, at: int) -> Iterator[int]:
        if index == len(items):
            yield at
            return
        for end in self._item(items[index], at):
            yield from self._sequence(items, index + 1, end)

    def _item(self, item: tuple[Any, Any], at: int) -> Iterator[int]:
        kind, value = item
        self._step()
        if kind in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            if at < len(self._text) and self._fits(kind, value, self._text[at]):
                yield at + 1
        elif kind is c.AT:
            if self._at(value, at):
                yield at
        elif kind is c.BRANCH:
            for branch in value[1]:
                yield from self._sequence(list(branch), 0, at)
        elif kind is c.SUBPATTERN:
            yield from self._sequence(list(value[3]), 0, at)
        elif kind is c.ATOMIC_GROUP:
            end = next(self._sequence(list(value), 0, at), None)
            if end is not None:
                yield end
        elif kind in (c.ASSERT, c.ASSERT_NOT):
            assert value[0] == 1, "lookbehind is not counted"
            found = next(self._sequence(list(value[1]), 0, at), None) is not None
            if found is (kind is c.ASSERT):
                yield at
        else:
            yield from self._repeat(kind, value, at)

    def _repeat(self, kind: Any, value: Any, at: int) -> Iterator[int]:
        low, high, inner = value
        items = list(inner)
        if kind is c.POSSESSIVE_REPEAT:
            count = 0
            while count < high:
                end = next(self._sequence(items, 0, at), None)
                if end is None or (end == at and count >= low):
                    break
                at, count = end, count + 1
            if count >= low:
                yield at
            return
        assert kind in (c.MAX_REPEAT, c.MIN_REPEAT), kind
        yield from self._backtracking(kind is c.MAX_REPEAT, (low, high), items, at)

    def _backtracking(self, greedy: bool, bounds: tuple[int, Any], items: Items, at: int) -> Iterator[int]:
        low, high = bounds
        if low == 0 and not greedy:
            yield at
        # A list of one frame per iteration instead of recursion, which a long text would make too deep.
        frames = [(at, self._sequence(items, 0, at))] if high > 0 else []
        while frames:
            begun, ends = frames[-1]
            end = next(ends, None)
            if end is None:
                frames.pop()
                if greedy and len(frames) >= low:
                    yield begun
                continue
            if end == begun and len(frames) > low:
                continue
            if not greedy and len(frames) >= low:
                yield end
            if len(frames) < high:
                frames.append((end, self._sequence(items, 0, end)))
            elif greedy:
                yield end
        if low == 0 and greedy and high == 0:
            yield at

    def _fits(self, kind: Any, value: Any, character: str) -> bool:
        if kind is c.LITERAL:
            return bool(ord(character) == value)
        if kind is c.NOT_LITERAL:
            return bool(ord(character) != value)
        if kind is c.ANY:
            return self._dot_all or character != "\n"
        negated = value[0][0] is c.NEGATE
        return any(self._in(each, character) for each in value[negated:]) is not negated

    def _in(self, member: tuple[Any, Any], character: str) -> bool:
        kind, value = member
        if kind is c.LITERAL:
            return bool(ord(character) == value)
        if kind is c.RANGE:
            return bool(value[0] <= ord(character) <= value[1])
        assert kind is c.CATEGORY, kind
        return bool(_CATEGORIES[value](character))

    def _at(self, value: Any, at: int) -> bool:
        text = self._text
        if value in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
            return at == 0
        if value is c.AT_END:
            return at == len(text) or (at == len(text) - 1 and text[at] == "\n")
        assert value is c.AT_END_STRING, value
        return at == len(text)
