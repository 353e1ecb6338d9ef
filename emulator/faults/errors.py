"""The errors for rules that cannot be used, and for rules that do not exist."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..kernel.nearest_name import nearest_of
from ..kernel.user_error import UserError

T = TypeVar("T")
SHOWN_MAX = 12
"""The most names that an error lists; it counts the others."""
VALUE_CHARACTERS_MAX = 80


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


def shown(value: object) -> str:
    """Return a value as Python writes it, shortened."""
    text = repr(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[: VALUE_CHARACTERS_MAX - 3]}..."


def listed(names: Iterable[str]) -> str:
    """Return `there are a, b, c`, shortened to the first `SHOWN_MAX` names."""
    known = sorted(names)
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"there are {', '.join(known[:SHOWN_MAX])}{more}" if known else "there are none"


def _unknown(noun: str, name: object, known: Iterable[str]) -> tuple[str, str | None]:
    names = list(known)
    nearest = nearest_of(name, names)
    hint = f"did you mean {nearest}?" if nearest else listed(names)
    return f"{noun}={shown(name)}: there is no such {noun}; {hint}", nearest
