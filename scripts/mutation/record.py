"""The record of a run of mutation testing: counts and score of each room, and every mutant that was not killed.

    {"date": "2026-11-26", "commit": "933efcf...", "seed": 1, "mutants": 320, "score": 97.4,
    "rooms": {"emulator: pull": {"killed": 19, "survived": 1, "equivalent": 2, "score": 95.0}, ...},
    "survived": ["..."], "equivalent": ["..."]}

The score is the share of killed mutants among those that are not equivalent, in percent.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .forked import Fate, MutantVerdict
from .mutant import Mutant

MUTANTS_MIN, SCORE_MIN = 300, 95.0
"""Minimum number of mutants of a recorded run, and minimum score of each of its rooms, in percent."""


@dataclass(slots=True)
class RoomCounts:
    """Counts of mutants in one room."""

    killed: int = 0
    survived: int = 0
    equivalent: int = 0

    @property
    def score(self) -> float:
        """The percentage of killed mutants; 100 if all are equivalent or there is none."""
        killable = self.killed + self.survived
        return round(100 * self.killed / killable, 1) if killable else 100.0


@dataclass(slots=True)
class Report:
    """The results of a run."""

    rooms: dict[str, RoomCounts] = field(default_factory=dict)
    survived: list[str] = field(default_factory=list)
    equivalent: list[str] = field(default_factory=list)

    def add(self, room: str, mutant: Mutant, verdict: MutantVerdict, reason: str | None) -> None:
        """Count a mutant of a room. `reason` says why no test can kill it; None if no reason is known.

        A mutant that was not killed is equivalent if it has a reason, else it survived.
        """
        counts = self.rooms.setdefault(room, RoomCounts())
        if verdict.fate is Fate.KILLED:
            counts.killed += 1
        elif reason is not None:
            counts.equivalent += 1
            self.equivalent.append(f"{mutant}: {reason}")
        else:
            counts.survived += 1
            self.survived.append(str(mutant))

    @property
    def total(self) -> RoomCounts:
        """The counts of all rooms together."""
        each = self.rooms.values()
        return RoomCounts(
            sum(room.killed for room in each),
            sum(room.survived for room in each),
            sum(room.equivalent for room in each),
        )

    def lines(self) -> Iterable[str]:
        """Yield a table, and the mutants that survived."""
        yield f"{'room':32} killed survived equivalent  score"
        for name, room in [*sorted(self.rooms.items()), ("all", self.total)]:
            yield f"{name:32} {room.killed:6} {room.survived:8} {room.equivalent:10} {room.score:5.1f}%"
        if self.survived:
            yield "survived:"
            yield from (f"  {each}" for each in sorted(self.survived))

    def form(self, date: str, commit: str, seed: int) -> dict[str, Any]:
        """Return the record as it is written to JSON."""
        total = self.total
        return {
            "date": date,
            "commit": commit,
            "seed": seed,
            "mutants": total.killed + total.survived + total.equivalent,
            "score": total.score,
            "rooms": {name: asdict(room) | {"score": room.score} for name, room in sorted(self.rooms.items())},
            "survived": sorted(self.survived),
            "equivalent": sorted(self.equivalent),
        }


def write(file: Path, form: Mapping[str, Any]) -> None:
    """Write a record to a file."""
    file.write_text(json.dumps(form, indent=2) + "\n")


def problems(form: Mapping[str, Any], rooms: Iterable[str]) -> list[str]:
    """Return every error of a record, one sentence each. `rooms`: names of the rooms that the record must have."""
    found = []
    for name, pattern in (("date", r"\d{4}-\d\d-\d\d"), ("commit", r"[0-9a-f]{40}"), ("seed", r"\d+")):
        if not re.fullmatch(pattern, str(form.get(name))):
            found.append(f"{name}={form.get(name)}: not of the form {pattern}")
    counted = {name: RoomCounts(*(room[each] for each in RoomCounts.__slots__)) for name, room in form["rooms"].items()}
    found += [f"room {name}: not in the record" for name in rooms if name not in counted]
    for name, counts in counted.items():
        stated = form["rooms"][name]["score"]
        if stated != counts.score:
            found.append(f"room {name}: a score of {stated} is stated, the counts give {counts.score}")
        if counts.score < SCORE_MIN:
            found.append(f"room {name}: its score is {counts.score}; at least {SCORE_MIN} is required")
    number = sum(counts.killed + counts.survived + counts.equivalent for counts in counted.values())
    if number != form["mutants"] or number < MUTANTS_MIN:
        found.append(f"mutants={form['mutants']}: the rooms have {number}; at least {MUTANTS_MIN} are required")
    for name in ("survived", "equivalent"):
        if len(form[name]) != sum(getattr(counts, name) for counts in counted.values()):
            found.append(f"{name}: {len(form[name])} are listed, the rooms have another number")
    return found
