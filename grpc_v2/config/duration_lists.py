"""Parse configuration values that are lists of durations, separated by blanks; an empty text is an empty list."""

import re

_DELAY = re.compile(r"([0-9]+)([smhd])\Z")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def delays_ms(text: str) -> list[int]:
    """Parse `1s 5s 1m` to milliseconds. The units are s, m, h and d.

    Raises ValueError for a word that is not a whole number followed by a unit. The size is not limited.
    """
    found = []
    for word in text.split():
        matched = _DELAY.match(word)
        if matched is None:
            raise ValueError(f"{word!r} is not a delay such as 5s or 10m")
        found.append(int(matched[1]) * _UNIT_MS[matched[2]])
    return found


def times_ms(text: str) -> list[int]:
    """Parse `100 1000`, durations in milliseconds. Raises ValueError for a word with anything but digits."""
    found = []
    for word in text.split():
        if not (word.isascii() and word.isdigit()):
            raise ValueError(f"{word!r} is not a time in milliseconds")
        found.append(int(word))
    return found
