"""Mutants that people name in files: equivalent mutants, and the fixed sample of the build server.

[[equivalent]]               # tests/mutants/equivalent.toml
file = "emulator/pull/pull_service.py"
scope = "PullRequestHold.hold"  # the class and the function around it
old = "a >= b"               # as the report shows it
new = "(a > b)"
reason = "..."               # a sentence; in the sample `test` instead, the id of a test that kills it
"""

import tomllib
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from .mutant import Mutant

_PLACE = ("file", "scope", "old", "new", "number")


@dataclass(frozen=True, slots=True)
class NamedMutant:
    """A mutant identified by its scope and texts, not by its line, with a reason or the id of a test."""

    file: str
    scope: str
    old: str
    new: str
    _: KW_ONLY
    number: int
    says: str

    def is_meant(self, mutant: Mutant) -> bool:
        """Return True if the entry names this mutant."""
        return all(getattr(mutant, name) == getattr(self, name) for name in _PLACE)


class NamedError(ValueError):
    """An entry has wrong or empty fields."""


def read(file: Path, table: str, field: str) -> list[NamedMutant]:
    """Return all entries of a table. Raises NamedError if an entry has other fields or an empty text."""
    found = []
    wanted = {*_PLACE, field}
    for at, entry in enumerate(tomllib.loads(file.read_text()).get(table, ()), 1):
        given = {"number": 0, **entry}
        if set(given) != wanted:
            raise NamedError(f"{file.name}: entry {at} has {sorted(entry)}; give exactly {sorted(wanted)}")
        says = given.pop(field)
        if not says.strip():
            raise NamedError(f"{file.name}: entry {at} has an empty {field}; give one")
        found.append(NamedMutant(**given, says=says))
    return found


def said(mutant: Mutant, entries: Iterable[NamedMutant]) -> str | None:
    """Return the reason or test of a mutant's entry; None if it has no entry."""
    return next((entry.says for entry in entries if entry.is_meant(mutant)), None)


def stale(entries: Iterable[NamedMutant], mutants: Iterable[Mutant]) -> list[NamedMutant]:
    """Return the entries whose mutant no longer exists because the code has changed."""
    present = {tuple(getattr(mutant, name) for name in _PLACE) for mutant in mutants}
    return [entry for entry in entries if tuple(getattr(entry, name) for name in _PLACE) not in present]
