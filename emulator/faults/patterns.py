"""Patterns in rules: `*` stands for any text, every other character for itself."""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def matches(text: str, wanted: str | Sequence[str]) -> bool:
    """True if a text equals one of the wanted texts or matches one of the wanted patterns."""
    if not isinstance(wanted, str):
        return any(matches(text, each) for each in wanted)
    return matches_pattern(text, wanted) if "*" in wanted else text == wanted


def matches_pattern(text: str, pattern: str) -> bool:
    """True if a text matches a pattern."""
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))
