"""What a run has to do: which cases and scenarios, on which targets, with which SDKs."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..case import Case, Protocol


class SelectionError(ValueError):
    """An expression or a name of a selection cannot be used; the text says what to write."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line leaves of all there is. `expression`: as pytest's -k, over ids."""

    expression: str = ""
    protocols: frozenset[Protocol] = field(default_factory=lambda: frozenset(Protocol))
    sdks: tuple[str, ...] | None = None
    """None: all SDKs; empty: no scenario at all."""
    cases: bool = True

    def case(self, case: Case) -> bool:
        """Whether a case is wanted."""
        return self.cases and case.mark.protocol in self.protocols and matcher(self.expression)(case.id)


_WORD = re.compile(r"\(|\)|[^\s()]+")


def matcher(expression: str) -> Callable[[str], bool]:
    """A test of ids for words joined with `and`, `or`, `not` and brackets. Errors: SelectionError."""
    words = _WORD.findall(expression)
    if not words:
        return lambda _id: True
    parser = _Parser(words, expression)
    return parser.whole()


class _Parser:
    """`or` binds weakest, `not` strongest."""

    def __init__(self, words: Sequence[str], expression: str) -> None:
        self._words = list(words)
        self._expression = expression

    def whole(self) -> Callable[[str], bool]:
        found = self._any()
        if self._words:
            raise SelectionError(f"-k {self._expression!r}: {self._words[0]!r} is not expected there")
        return found

    def _any(self) -> Callable[[str], bool]:
        parts = [self._all()]
        while self._words[:1] == ["or"]:
            self._words.pop(0)
            parts.append(self._all())
        return lambda id_: any(part(id_) for part in parts)

    def _all(self) -> Callable[[str], bool]:
        parts = [self._one()]
        while self._words[:1] == ["and"]:
            self._words.pop(0)
            parts.append(self._one())
        return lambda id_: all(part(id_) for part in parts)

    def _one(self) -> Callable[[str], bool]:
        if not self._words or self._words[0] in ("and", "or", ")"):
            raise SelectionError(
                f"-k {self._expression!r}: a part of a name is missing; write such as 'send and not batch'"
            )
        word = self._words.pop(0)
        if word == "not":
            part = self._one()
            return lambda id_: not part(id_)
        if word == "(":
            part = self._any()
            if self._words[:1] != [")"]:
                raise SelectionError(f"-k {self._expression!r}: a bracket is not closed")
            self._words.pop(0)
            return part
        wanted = word.lower()
        return lambda id_: wanted in id_.lower()


def in_order(cases: Iterable[Case]) -> list[Case]:
    """Cases so that those which share a broker follow each other, the common one first."""
    return sorted(cases, key=lambda case: (case.mark.alone, sorted(case.mark.settings.items())))
