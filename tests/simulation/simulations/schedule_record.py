"""The record of the schedules that have run: `tests/simulation/record.json`, with one entry for each run.

    {"short": 36000, "whole": 0, "operations": 0, "runs": [
        {"date": "2026-11-27", "commit": "4b0f52e9", "first": 1000000, "count": 36000, "failed": []}]}

The number of a schedule says if it is short (20 actions), whole (all actions of its seed, 60 to 150), or of the
simulation of all operations (70 actions). The numbers of runs do not overlap, so that the sums `short`, `whole` and
`operations` count different schedules. The tests of `make test` run the same numbers each time and are not recorded.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Literal

RECORD = Path(__file__).resolve().parents[1] / "record.json"
FIRST = 1_000_000
"""The first recorded number. `make test` and runs by hand use lower ones."""
FIRST_WHOLE = 10_000_000
"""The first number of a whole schedule; those of short ones are lower."""
FIRST_OPERATIONS = 20_000_000
"""The first number of a schedule of all operations; they are whole. `make test` runs the first ones."""
Kind = Literal["short", "whole", "operations"]
NUMBERS: dict[Kind, range] = {
    "short": range(FIRST, FIRST_WHOLE),
    "whole": range(FIRST_WHOLE, FIRST_OPERATIONS),
    "operations": range(FIRST_OPERATIONS + 10_000, 10 * FIRST_OPERATIONS),
}
"""The recorded numbers of each kind of schedules."""


@dataclass(frozen=True)
class Run:
    """One run: date, abbreviated commit of the code, first schedule and number of schedules, and the failed ones."""

    date: str
    commit: str
    first: int
    count: int
    _: KW_ONLY
    failed: list[int]

    @property
    def end(self) -> int:
        """The number after the last one."""
        return self.first + self.count

    @property
    def kind(self) -> Kind:
        """The kind of its schedules."""
        return kind_of(self.first)


def kind_of(number: int) -> Kind:
    """Return the kind of a schedule."""
    return "short" if number < FIRST_WHOLE else "whole" if number < FIRST_OPERATIONS else "operations"


def read(path: Path) -> list[Run]:
    """Return the recorded runs. Raises ValueError that lists the contradictions of the record."""
    content = json.loads(path.read_text(encoding="utf-8"))
    runs = [Run(**each) for each in content["runs"]]
    wrong = problems(runs)
    for kind, total in totals(runs).items():
        if content[kind] != total:
            wrong.append(f"{kind}={content[kind]}: the runs have {total}")
    if wrong:
        raise ValueError(f"{path.name}: {'; '.join(wrong)}")
    return runs


def totals(runs: Sequence[Run]) -> dict[str, int]:
    """Return the number of schedules of each kind."""
    return {kind: sum(run.count for run in runs if run.kind == kind) for kind in NUMBERS}


def problems(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each contradiction of runs."""
    wrong = []
    for run in runs:
        if run.count < 1 or run.first < FIRST:
            wrong.append(f"first={run.first}, count={run.count}: a run has at least one number, from {FIRST} on")
        elif not any(run.first in numbers and run.end <= numbers.stop for numbers in NUMBERS.values()):
            wrong.append(f"first={run.first}, count={run.count}: a run has schedules of one kind")
        if re.fullmatch(r"[0-9a-f]{8,40}", run.commit) is None or not _is_date(run.date):
            wrong.append(f"first={run.first}: date={run.date} is no date, or commit={run.commit} no abbreviated commit")
        wrong += [
            f"failed={number}: not a number of its run" for number in run.failed if not run.first <= number < run.end
        ]
    for one, other in pairwise(sorted(runs, key=lambda run: run.first)):
        if other.first < one.end:
            wrong.append(f"first={other.first}: the run from {one.first} to {one.end - 1} has this number")
    return wrong


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def next_number(path: Path, kind: Kind = "short") -> int:
    """Return the number after those of all recorded runs of a kind of schedules."""
    numbers = NUMBERS[kind]
    return max((run.end for run in read(path) if run.first in numbers), default=numbers.start)


def add(run: Run, path: Path) -> int:
    """Add a run to the record and return the number of all schedules of its kind. Raises ValueError."""
    runs = [*read(path), run]
    wrong = problems(runs)
    if wrong:
        raise ValueError("; ".join(wrong))
    content = {**totals(runs), "runs": [asdict(each) for each in runs]}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return totals(runs)[run.kind]
