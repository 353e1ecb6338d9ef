"""The error for a rule that cannot be used."""

from collections.abc import Iterable

from ..kernel.nearest_name import nearest_of
from ..kernel.user_error import UserError

SHOWN_MAX = 12
"""The most names that an error lists; it counts the others."""


class FaultError(UserError, ValueError):
    """A rule, a criterion or a parameter of a fault is wrong. The text is one sentence."""


def unknown_name(noun: str, name: object, known: Iterable[str]) -> FaultError:
    """Return the error for a name that does not exist, with the nearest one or a list of those that do."""
    names = list(known)
    nearest = nearest_of(name, names)
    return FaultError(
        f"{noun}={name!r}: there is no such {noun}; {f'did you mean {nearest}?' if nearest else listed(names)}"
    )


def listed(names: Iterable[str]) -> str:
    """Return `there are a, b, c`, shortened to the first `SHOWN_MAX` names."""
    known = sorted(names)
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"there are {', '.join(known[:SHOWN_MAX])}{more}" if known else "there are none"
