"""The existing name that a misspelled one probably means."""

from collections.abc import Iterable
from difflib import get_close_matches

from .shown import shown

NAME_CHARACTERS_MAX = 200
"""The longest name that is compared: the time of a comparison grows with the product of both lengths."""


def nearest_of(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a misspelled one, ignoring case; None if none is similar enough."""
    text = name if isinstance(name, str) else shown(name)
    if len(text) > NAME_CHARACTERS_MAX:
        return None
    lower = {each.lower(): each for each in known}
    found = get_close_matches(text.lower(), list(lower), n=1)
    return lower[found[0]] if found else None
