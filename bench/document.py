"""Shared parts of the measurements: their options, and their tables in bench/README.md."""

import argparse
import os
import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path

README = Path(__file__).with_name("README.md")


def options(description: str, quick: str, what: str, *, runs: bool = False) -> argparse.Namespace:
    """Parse the options of a measurement: `--quick`, `--only`, `--write` and, with `runs`, `--runs`.

    `quick` describes the smaller amount of work, `what` names the parts that `--only` chooses among.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--only", default="", help=f"run only {what} whose name contains this text")
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    if runs:
        parser.add_argument("--runs", type=int, default=1, help="measure everything this number of times (default 1)")
    return parser.parse_args()


def machine(*software: str) -> str:
    """Return today's date, versions of software and of Python, and the processors, as the head of a table."""
    processor = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    parts = (*software, f"Python {platform.python_version()}", f"{os.cpu_count()} cores ({processor})")
    return f"{date.today().isoformat()}, {', '.join(parts)}"


@dataclass(frozen=True)
class Table:
    """A table of bench/README.md between two comments.

    `section` is written above a table that the page does not have yet. Without a section that is an error.
    """

    name: str
    section: str = ""

    @property
    def marks(self) -> tuple[str, str]:
        """The lines before and after the table."""
        return f"<!-- {self.name} begins -->\n", f"<!-- {self.name} ends -->\n"

    def read(self) -> str:
        """Return the content of the table, empty if the page has no such table."""
        begin, end = self.marks
        return README.read_text().partition(begin)[2].partition(end)[0]

    def write(self, text: str) -> None:
        """Replace the content of the table. Raises LookupError if the page has neither the table nor a section."""
        begin, end = self.marks
        old = README.read_text()
        if begin not in old:
            if not self.section:
                raise LookupError(f"{README} has no line {begin.strip()}; add it where the table belongs")
            old = f"{old.rstrip()}\n\n{self.section}\n{begin}{end}"
        head, _, rest = old.partition(begin)
        README.write_text(f"{head}{begin}{text}{end}{rest.partition(end)[2]}")
