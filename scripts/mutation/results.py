"""Verdicts of runs, written to a file one by one, so that an interrupted run can continue."""

import json
from dataclasses import asdict
from pathlib import Path

from .forked import Fate, MutantVerdict
from .mutant import Mutant


class Results:
    """Verdicts by the key of the mutant."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, MutantVerdict] = {}
        self.read()

    def read(self) -> None:
        """Read verdicts that other processes have added."""
        for line in self._file.read_text().splitlines() if self._file.is_file() else ():
            entry = json.loads(line)
            self._found[entry["key"]] = MutantVerdict(Fate(entry["fate"]), entry["by"], entry["seconds"])

    def add(self, mutant: Mutant, verdict: MutantVerdict) -> None:
        """Store a verdict; it replaces an earlier one of the same mutant."""
        self._found[mutant.key] = verdict
        entry = {"key": mutant.key, "mutant": str(mutant), **asdict(verdict), "fate": verdict.fate.value}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as out:
            out.write(json.dumps(entry) + "\n")

    def of(self, mutant: Mutant) -> MutantVerdict | None:
        """Return the verdict of a mutant; None if it was not tried."""
        return self._found.get(mutant.key)
