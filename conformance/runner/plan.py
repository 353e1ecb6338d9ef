"""What a run has to do: which cases and scenarios, on which targets, with which SDKs."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..case import Case, Protocol
from ..drivers import registry
from ..scenario import Scenario


class SelectionError(ValueError):
    """An expression or a name of a selection cannot be used; the text says what to write."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line leaves of all there is. `expression`: as pytest's -k, over ids."""

    expression: str = ""
    protocols: frozenset[Protocol] = field(default_factory=lambda: frozenset(Protocol))
    sdks: tuple[str, ...] = ()
    """The SDKs that scenarios run through; without any, none runs."""

    def of_cases(self, cases: Iterable[Case]) -> list[Case]:
        """The wanted ones."""
        wanted = matcher(self.expression)
        return [case for case in cases if case.mark.protocol in self.protocols and wanted(case.id)]

    def of_scenarios(self, scenarios: Iterable[Scenario]) -> list[Scenario]:
        """The wanted ones; an expression sees `scenarios.` before their ids."""
        wanted = matcher(self.expression)
        return [each for each in scenarios if wanted(f"scenarios.{each.id}")]

    def of_sdks(self) -> list[str]:
        """The names of the wanted SDKs. Errors: SelectionError."""
        try:
            recipes = [registry.recipe(name) for name in self.sdks]
        except LookupError as error:
            raise SelectionError(str(error)) from error
        protocols = {protocol.value for protocol in self.protocols}
        return [recipe.name for recipe in recipes if recipe.protocol in protocols]


def sdks_of(text: str | None) -> tuple[str, ...]:
    """The names in the value of `--sdk`: joined by commas, or `all`; none without one."""
    return registry.names() if text == "all" else tuple(filter(None, (text or "").split(",")))


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
            raise self._refused(f"{self._words[0]} is not expected there")
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
            raise self._refused("a part of a name is missing")
        word = self._words.pop(0)
        if word == "not":
            part = self._one()
            return lambda id_: not part(id_)
        if word == "(":
            part = self._any()
            if self._words[:1] != [")"]:
                raise self._refused("a parenthesis is not closed")
            self._words.pop(0)
            return part
        wanted = word.lower()
        return lambda id_: wanted in id_.lower()

    def _refused(self, wrong: str) -> SelectionError:
        allowed = "parts of names are joined by and, or, not and parentheses"
        return SelectionError(f"-k {self._expression!r}: {wrong}; {allowed}; use -k 'send and not batch'")


def is_own(each: Case | Scenario) -> bool:
    """Whether a case or scenario needs a broker that most others cannot use."""
    return each.mark.alone or bool(each.mark.settings)


def in_order(cases: Iterable[Case]) -> list[Case]:
    """Cases so that those which share a broker follow each other; first those that have one after each other."""
    return sorted(cases, key=lambda case: (not case.mark.tidy, case.mark.alone, sorted(case.mark.settings.items())))
