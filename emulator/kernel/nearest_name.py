"""The existing name that a misspelled one probably means."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from .shown import shown

NAME_CHARACTERS_MAX = 200
"""The longest name that is compared: the time of a comparison grows with the product of both lengths."""
NAMES_MIN = 100
"""The number of names that `NearestNames` always compares, even beyond `WORK_MAX`."""
WORK_MAX = 20_000_000
"""The work after which `NearestNames` compares no further names, in pairs of characters (20 million: about 2 s)."""
_WORK_OF_NAME = 1_000  # of a name that there is nothing to compare with


def nearest_of(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a misspelled one, ignoring case; None if none is similar enough."""
    text = name if isinstance(name, str) else shown(name)
    if len(text) > NAME_CHARACTERS_MAX:
        return None
    lower = {each.lower(): each for each in known}
    found = get_close_matches(text.lower(), list(lower), n=1)
    return lower[found[0]] if found else None


class NearestNames:
    """Finds the nearest names of many misspelled ones in bounded time: there may be thousands of both.

    The first `NAMES_MIN` names are compared with all known names, and further ones until the work exceeds `WORK_MAX`.
    """

    def __init__(self) -> None:
        self._compared = self._work = 0

    @property
    def is_exhausted(self) -> bool:
        """True if no further name is compared."""
        return self._compared >= NAMES_MIN and self._work >= WORK_MAX

    def of(self, name: str, known: Collection[str]) -> str | None:
        """Return the same as `nearest_of`; None for a name that is not compared."""
        if self.is_exhausted or len(name) > NAME_CHARACTERS_MAX:
            return None
        self._compared += 1
        self._work += _WORK_OF_NAME + len(name) * sum(map(len, known))
        return nearest_of(name, known)
