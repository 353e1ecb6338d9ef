"""Plan of a run: selected cases, scenarios and SDKs."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..case import Case, Protocol
from ..drivers import registry
from ..scenario import Scenario


class SelectionError(ValueError):
    """An expression or a name in a selection is invalid; the text says what to write instead."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection made on the command line. `expression`: like pytest's -k, matched against ids."""

    expression: str = ""
    protocols: frozenset[Protocol] = field(default_factory=lambda: frozenset(Protocol))
    sdks: tuple[str, ...] = ()
    """SDKs that scenarios run with; if empty, no scenario runs."""

    def of_cases(self, cases: Iterable[Case]) -> list[Case]:
        """Return the selected cases."""
        wanted = matcher(self.expression)
        return [case for case in cases if case.mark.protocol in self.protocols and wanted(case.id)]

    def of_scenarios(self, scenarios: Iterable[Scenario]) -> list[Scenario]:
        """Return the selected scenarios; the expression is matched against `scenarios.` plus the id."""
        wanted = matcher(self.expression)
        return [each for each in scenarios if wanted(f"scenarios.{each.id}")]

    def of_sdks(self) -> list[str]:
        """Return the names of the selected SDKs. Raises SelectionError."""
        try:
            recipes = [registry.recipe(name) for name in self.sdks]
        except LookupError as error:
            raise SelectionError(str(error)) from error
        protocols = {protocol.value for protocol in self.protocols}
        return [recipe.name for recipe in recipes if recipe.protocol in protocols]


def sdks_of(text: str | None) -> tuple[str, ...]:
    """Split the value of `--sdk` into names: separated by commas, or `all`; empty if None."""
    return registry.names() if text == "all" else tuple(filter(None, (text or "").split(",")))


_WORD = re.compile(r"\(|\)|[^\s()]+")


def matcher(expression: str) -> Callable[[str], bool]:
    """Return a test of ids for words joined with `and`, `or`, `not` and parentheses. Raises SelectionError."""
    words = _WORD.findall(expression)
    if not words:
        return lambda _id: True
    parser = _Parser(words, expression)
    return parser.whole()


class _Parser:
    """Recursive descent parser; `or` binds weakest, `not` strongest."""

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
    """True if a case or scenario needs a broker that most others cannot use."""
    has_settings = each.mark.real_settings if isinstance(each, Case) else each.mark.settings
    return each.mark.alone or bool(has_settings)


def in_order(cases: Iterable[Case]) -> list[Case]:
    """Sort cases so that those which share a broker are adjacent; tidy ones come first."""
    return sorted(
        cases, key=lambda case: (not case.mark.tidy, case.mark.alone, sorted(case.mark.real_settings.items()))
    )
