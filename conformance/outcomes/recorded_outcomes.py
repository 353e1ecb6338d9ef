"""Recorded outcomes of real brokers, one file for each version and noun.

A file of the reference version contains every case. A file of another version contains only the cases whose outcome
differs. Every record has the date of its run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..deployment.target import REFERENCE_VERSION

FOLDER = Path(__file__).parents[1] / "recorded"

Notes = list[tuple[str, Any]]
"""Observations of a case or scenario: label and value."""


class RecordedOutcomesError(Exception):
    """A file of recorded outcomes cannot be read; the text says which."""


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """The notes of one outcome, with the version and the day (ISO) of the run."""

    version: str
    date: str
    notes: Notes


class RecordedOutcomes:
    """The recorded outcomes of all versions; files are read on first use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[tuple[str, str], dict[str, Any]] = {}

    def versions(self) -> list[str]:
        """All versions that have records."""
        return sorted(each.name for each in self._folder.iterdir() if each.is_dir() and each.name[0].isdigit())

    def record_of(self, version: str, noun: str, name: str) -> RecordedOutcome | None:
        """Return the record of a version, or the reference version's if the outcome is the same."""
        for each in dict.fromkeys((version, REFERENCE_VERSION)):
            found = self._file(each, noun).get(name)
            if found is not None:
                return RecordedOutcome(each, found["date"], [(label, value) for label, value in found["seen"]])
        return None

    def reference(self, record: RecordedOutcome | None, noun: str, name: str) -> RecordedOutcome | None:
        """Return the reference version's record if `record` belongs to another version, else None."""
        other = record is not None and record.version != REFERENCE_VERSION
        return self.record_of(REFERENCE_VERSION, noun, name) if other else None

    def nouns(self, version: str) -> list[str]:
        """The files of a version: nouns of cases, and those of scenarios prefixed with their folder."""
        folder = self._folder / version
        return sorted(each.relative_to(folder).with_suffix("").as_posix() for each in folder.rglob("*.json"))

    def names(self, version: str, noun: str) -> list[str]:
        """The names of the records in one file."""
        return list(self._file(version, noun))

    def store(self, version: str, noun: str, records: Mapping[str, Notes | None], date: str) -> list[str]:
        """Write the notes of a run; None deletes a record. Returns the names whose record has changed."""
        self._files.clear()  # another run may have written the files since
        table = dict(self._file(version, noun))
        reference = {} if version == REFERENCE_VERSION else self._file(REFERENCE_VERSION, noun)
        changed = []
        for name, notes in records.items():
            before = table.get(name)
            if notes is None:
                after = None
            else:
                seen = [list(note) for note in notes]
                same = reference.get(name, {}).get("seen") == seen
                after = None if same else {"date": date, "seen": seen}
            if (before or {}).get("seen") != (after or {}).get("seen"):
                changed.append(name)
            if after is None:
                table.pop(name, None)
            else:
                table[name] = after
        self._write(version, noun, table)
        return changed

    def _file(self, version: str, noun: str) -> dict[str, Any]:
        key = version, noun
        if key not in self._files:
            path = self._folder / version / f"{noun}.json"
            try:
                self._files[key] = json.loads(path.read_text()) if path.is_file() else {}
            except ValueError as error:
                raise RecordedOutcomesError(f"{path} is no JSON: {error}") from error
        return self._files[key]

    def _write(self, version: str, noun: str, table: dict[str, Any]) -> None:
        self._files[version, noun] = table
        path = self._folder / version / f"{noun}.json"
        if not table:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(table))


def text_of(table: Mapping[str, Any]) -> str:
    """Render the file's text, one line per note, so that a change appears as one changed line."""
    blocks = []
    for name in sorted(table):
        record = table[name]
        lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False, sort_keys=True)}" for each in record["seen"])
        blocks.append(f' {json.dumps(name)}: {{"date": "{record["date"]}", "seen": [\n{lines}\n ]}}')
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def comparable(notes: Iterable[tuple[str, Any]]) -> list[Any]:
    """Return notes as they are after a JSON round trip: tuples become lists, and keys become strings."""
    plain: list[Any] = json.loads(json.dumps([list(note) for note in notes]))
    return plain


def differences(expected: Notes, seen: Notes) -> Iterator[str]:
    """Yield the lines in which two lists of notes differ: - recorded, + seen."""
    before, now = comparable(expected), comparable(seen)
    for number in range(max(len(before), len(now))):
        left = before[number] if number < len(before) else None
        right = now[number] if number < len(now) else None
        if left != right:
            yield f"- {_text(left)}"
            yield f"+ {_text(right)}"


def _text(note: Any) -> str:
    return "nothing" if note is None else f"{note[0]}: {json.dumps(note[1], ensure_ascii=False, sort_keys=True)}"
