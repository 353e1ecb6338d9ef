"""The recorded schedules of the simulation: their table in CONTRIBUTING.md, and their numbers in CHANGELOG.md."""

import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "simulation" / "record.json"
FIRST_WHOLE, FIRST_OPERATIONS = 10_000_000, 20_000_000
"""The first number of a schedule of full length, and the first one of all operations.

They are those of `tests/simulation/simulations/schedule_record.py`.
"""
HEAD = "| code of `emulator/` | commits | dates | full length | all operations | 20 actions | failed |"
_LINE = re.compile(r"^  [\d,]+ schedules of full length, .*$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """The runs of one version of `emulator/`. `code` is the id of the folder in Git, empty if it is not known."""

    code: str
    commits: list[str]
    dates: list[str]
    _: KW_ONLY
    whole: int
    operations: int
    short: int
    failed: int

    def line(self) -> str:
        """Return the line of the table."""
        code = f"`{self.code}`" if self.code else ""
        numbers = (f"{number:,}" for number in (self.whole, self.operations, self.short, self.failed))
        return f"| {' | '.join((code, ', '.join(self.commits), _span(self.dates), *numbers))} |"


def rows(page: str, record: Path = RECORD) -> list[Row]:
    """Return a row for each version of `emulator/`, oldest first.

    `page` has the ids of commits that this copy of the repository does not have.
    """
    runs: list[dict[str, Any]] = json.loads(record.read_text(encoding="utf-8"))["runs"]
    known = _codes_of(page)
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        commit = run["commit"]
        groups.setdefault(code_at(commit) or known.get(commit, ""), []).append(run)
    return [_row(code, group) for code, group in groups.items()]


def _row(code: str, runs: list[dict[str, Any]]) -> Row:
    return Row(
        code=code,
        commits=list(dict.fromkeys(run["commit"] for run in runs)),
        dates=[run["date"] for run in runs],
        whole=sum(run["count"] for run in runs if FIRST_WHOLE <= run["first"] < FIRST_OPERATIONS),
        operations=sum(run["count"] for run in runs if run["first"] >= FIRST_OPERATIONS),
        short=sum(run["count"] for run in runs if run["first"] < FIRST_WHOLE),
        failed=sum(len(run["failed"]) for run in runs),
    )


def code_at(commit: str) -> str:
    """Return the abbreviated id of `emulator/` at a commit, empty if Git does not know the commit.

    Two commits with the same id have the same code there.
    """
    words = ["git", "rev-parse", "--quiet", "--verify", f"{commit}:emulator"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()[:8] if found.returncode == 0 else ""


def _codes_of(page: str) -> dict[str, str]:
    """Return the id of each commit in the table of a page."""
    _, _, rest = page.partition(HEAD)
    found: dict[str, str] = {}
    for line in rest.partition("\n\n")[0].splitlines()[2:]:
        code, commits, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        found |= dict.fromkeys(commits.split(", "), code.strip("`"))
    return found


def table(page: str) -> list[str]:
    """Return the lines of the table."""
    return [HEAD, "|---|---|---|---:|---:|---:|---:|", *(row.line() for row in rows(page))]


def summary(record: Path = RECORD) -> str:
    """Return the numbers of all recorded schedules as one line."""
    content = json.loads(record.read_text(encoding="utf-8"))
    failed = sum(len(run["failed"]) for run in content["runs"])
    last = max(run["date"] for run in content["runs"])
    numbers = f"{content['whole']:,} schedules of full length, {content['operations']:,} of all operations"
    others = f"{content['short']:,} short ones ran by {last}; {f'{failed:,}' if failed else 'none'} failed."
    return f"  {numbers} and {others}"


def with_summary(page: str, line: str) -> str:
    """Replace the line with the numbers in a page. Raises ValueError if the page has no such line."""
    found, count = _LINE.subn(lambda _: line, page)
    if count != 1:
        raise ValueError(f"the page has {count} lines like {line.strip()!r}; it has to have one")
    return found


def _span(dates: Iterable[str]) -> str:
    """Return the first and the last of some dates."""
    known = sorted(set(dates))
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
