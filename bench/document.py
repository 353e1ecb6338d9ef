"""What the measurements share: their options, and their tables in bench/README.md."""

import argparse
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).with_name("README.md")


def options(description: str, quick: str, what: str) -> argparse.Namespace:
    """The options `--quick`, `--only` and `--write` of a measurement; `quick` says what is less, `what` what it has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--only", default="", help=f"only {what} whose name contains this text")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    return parser.parse_args()


@dataclass(frozen=True)
class Table:
    """A table of bench/README.md between two comments; `section` is written above it where there is none yet."""

    name: str
    section: str = ""

    def write(self, text: str) -> None:
        """Put a text there."""
        begin, end = f"<!-- {self.name} begins -->\n", f"<!-- {self.name} ends -->\n"
        old = README.read_text()
        if begin not in old:
            old = f"{old.rstrip()}\n\n{self.section}\n{begin}{end}"
        head, _, rest = old.partition(begin)
        README.write_text(f"{head}{begin}{text}{end}{rest.partition(end)[2]}")
