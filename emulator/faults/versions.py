"""Versions of SDKs in rules: whole versions, the beginnings that several versions share, and patterns."""

import re
from collections.abc import Sequence

from .errors import FaultError, shown
from .patterns import matches_pattern

_ALLOWED = re.compile(r"^(\d[\w.+-]*|[\w.+-]*\*[\w.+*-]*)$", re.ASCII)
PATTERN = _ALLOWED.pattern
"""The texts that a rule may have, as a regular expression of Python and of JSON Schema."""


def check_version(name: str, text: str) -> None:
    """Raise FaultError unless a text can match versions."""
    if not _ALLOWED.fullmatch(text):
        raise FaultError(
            f"{name}={shown(text)}: no version, which begins with a digit; use '5.3.3', '5.3' for all versions 5.3.x, "
            "or a pattern such as '5.*'"
        )


def matches_version(version: str, wanted: str | Sequence[str]) -> bool:
    """True if a version equals one of the wanted versions, begins with its numbers, or matches its pattern.

    `5.3` means 5.3 and 5.3.3, and not 5.30.
    """
    if not isinstance(wanted, str):
        return any(matches_version(version, each) for each in wanted)
    return matches_pattern(version, wanted) if "*" in wanted else f"{version}.".startswith(f"{wanted}.")
