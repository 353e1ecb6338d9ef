"""Shared parts of the measurements: their options, and their tables in bench/README.md."""

import argparse
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Table:
    """A table of bench/README.md between two comments. `section` is written above a new table."""

    name: str
    section: str = ""

    def write(self, text: str) -> None:
        """Replace the content of the table."""
        begin, end = f"<!-- {self.name} begins -->\n", f"<!-- {self.name} ends -->\n"
        old = README.read_text()
        if begin not in old:
            old = f"{old.rstrip()}\n\n{self.section}\n{begin}{end}"
        head, _, rest = old.partition(begin)
        README.write_text(f"{head}{begin}{text}{end}{rest.partition(end)[2]}")
