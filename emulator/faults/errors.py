"""The errors for rules that cannot be used, and for rules that do not exist."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..kernel.nearest_name import nearest_of
from ..kernel.shown import shown as text_of
from ..kernel.user_error import UserError

T = TypeVar("T")
SHOWN_MAX = 12
"""The most names that an error lists; it counts the others."""
VALUE_CHARACTERS_MAX = 80
"""The most characters of a value in an error; the rest is left out."""
RULE_CHARACTERS_MAX = 1_000
"""The most characters of a whole rule in an error."""


class FaultError(UserError, ValueError):
    """A rule, a criterion or a parameter of a fault is wrong. The text is one sentence.

    `nearest` is the nearest known name if a name does not exist.
    """

    def __init__(self, text: str, *, nearest: str | None = None) -> None:
        super().__init__(text)
        self.nearest = nearest

    def located(self, at: str) -> "FaultError":
        """Return the error with the place of the rule before its text."""
        return FaultError(f"{at}: {self}", nearest=self.nearest)


class NameTaken(FaultError):
    """A rule of that name exists already."""

    def located(self, at: str) -> "NameTaken":
        """Return the error with the place of the rule before its text."""
        return NameTaken(f"{at}: {self}")


class NoSuchRule(FaultError):
    """There is no rule with the name `name`; `known` are the names of all rules."""

    def __init__(self, name: object, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(known)
        text, nearest = _unknown("rule", name, self.known)
        super().__init__(text, nearest=nearest)


def without_frames(make: Callable[[], T]) -> T:
    """Return the result of a function. The traceback of its FaultError begins at the caller.

    Users of the caller do not see where the emulator has found their mistake.
    """
    __tracebackhide__ = True
    try:
        return make()
    except FaultError as wrong:
        raise wrong.with_traceback(None) from None


def unknown_name(noun: str, name: object, known: Iterable[str]) -> FaultError:
    """Return the error for a name that does not exist, with the nearest one or a list of those that do."""
    text, nearest = _unknown(noun, name, known)
    return FaultError(text, nearest=nearest)


def unknown_parameter(owner: str, name: object, known: Iterable[str]) -> FaultError:
    """Return the error for a parameter that a kind of fault or a preset (`owner`) does not have."""
    hint, nearest = _hint(name, list(known))
    return FaultError(f"{shortened(str(name))}: no parameter of {owner}; {hint}", nearest=nearest)


def shown(value: object, characters_max: int = VALUE_CHARACTERS_MAX) -> str:
    """Return a value as Python writes it, shortened."""
    return shortened(text_of(value), characters_max)


def shortened(text: str, characters_max: int = VALUE_CHARACTERS_MAX) -> str:
    """Return a text, with dots in the place of the end of a long one."""
    return text if len(text) <= characters_max else f"{text[: characters_max - 3]}..."


def joined(names: Iterable[str]) -> str:
    """Return `a, b, c`, shortened to the first `SHOWN_MAX` names."""
    known = sorted(names)
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"{', '.join(map(shortened, known[:SHOWN_MAX]))}{more}"


def listed(names: Iterable[str]) -> str:
    """Return `there are a, b, c`, shortened to the first `SHOWN_MAX` names."""
    return f"there are {joined(names) or 'none'}"


def _unknown(noun: str, name: object, known: Iterable[str]) -> tuple[str, str | None]:
    """Return the text of the error for an unknown name, and the nearest known name (None: none is similar)."""
    hint, nearest = _hint(name, list(known))
    return f"{noun}={shown(name)}: there is no such {noun}; {hint}", nearest


def _hint(name: object, known: Sequence[str]) -> tuple[str, str | None]:
    """Return a clause that suggests known names, and the nearest of them (None: none is similar)."""
    nearest = nearest_of(name, known)
    return f"did you mean {nearest}?" if nearest else listed(known), nearest
