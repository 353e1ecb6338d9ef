"""Recorded seconds of the test files of engine, protocols and host, and the choice of `make test-fast`.

    python scripts/file_seconds.py REPORT...

`make test` writes JUnit files to `.reports/`. This command writes the record, `tests/seconds.json`, from `tests.xml` of
them. `make test-fast` leaves out the files with more than SECONDS_MAX in the record. It runs files without a record,
because they are new, and the quickest file of a room that has only slow ones.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from selected_tests import ENGINE_AND_PROTOCOLS, PROTOCOLS

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "seconds.json"
SECONDS_MAX = 0.2
"""Limit of the recorded seconds of a file in `make test-fast`."""
SUM_MAX = 60.0
"""Limit of the processor time of `make test-fast`, and so of the recorded seconds of its files."""
ROOMS = ("tests/emulator/", *(f"{folder}/" for folder in PROTOCOLS))
"""Folders below which each folder has the tests of a room."""
KEPT = ("tests/grpc_v2/test_ack.py", "tests/grpc_v2/test_telemetry.py")
"""Files that run in spite of their seconds: the only ones near rooms of `grpc_v2/` without a folder of tests."""
NEW_MAX = 40
"""Limit of files without a record, whose seconds are unknown. With more of them the record is stale."""


class FileSecondsError(ValueError):
    """A run cannot be recorded; the text says why."""


@dataclass(frozen=True, slots=True)
class RecordedSeconds:
    """The seconds of files in a whole run, which began on `date`."""

    date: str
    files: Mapping[str, float]

    def left_out(self) -> list[str]:
        """Return the files that are too slow for `make test-fast`.

        A folder of engine or protocols in which all files are too slow keeps the quickest one, so that no room is
        without tests. The files of KEPT stay as well.
        """
        quickest: dict[str, str] = {}
        for file in sorted(self.files, key=self.files.__getitem__):
            if file.startswith(ROOMS):
                quickest.setdefault(file.rpartition("/")[0], file)
        kept = {*quickest.values(), *KEPT}
        return [file for file, seconds in self.files.items() if seconds > SECONDS_MAX and file not in kept]


def files_of_tests(root: Path = ROOT) -> list[str]:
    """Return the test files of engine, protocols and host, relative to the project."""
    found = (path for folder in ENGINE_AND_PROTOCOLS for path in (root / folder).rglob("test_*.py"))
    return sorted(path.relative_to(root).as_posix() for path in found)


def of_report(report: Path, root: Path = ROOT) -> dict[str, float]:
    """Return the seconds of each test file in a JUnit file."""
    found: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")
        if not (root / "/".join(parts)).with_suffix(".py").is_file():
            parts.pop()  # the name of a class
        name = "/".join(parts) + ".py"
        found[name] = found.get(name, 0.0) + float(case.get("time", 0))
    return found


def read(file: Path = FILE) -> RecordedSeconds:
    """Return the record."""
    return RecordedSeconds(**json.loads(file.read_text()))


def record_of(reports: Iterable[Path], root: Path = ROOT) -> RecordedSeconds:
    """Return the record of a run. Raises FileSecondsError if a file did not run.

    A file may have no test in the report if its tests need an idle machine, because another stage runs them.
    """
    seconds: dict[str, float] = {}
    dates = []
    for report in reports:
        seconds |= of_report(report, root)
        dates += [suite.get("timestamp", "")[:10] for suite in ElementTree.parse(report).iter("testsuite")]
    files = files_of_tests(root)
    for file in files:
        if file not in seconds and "pytest.mark.alone" not in (root / file).read_text(encoding="utf-8"):
            raise FileSecondsError(f"{file}: no test ran; only a whole run is recorded; run `make test`")
    return RecordedSeconds(max(dates), {file: round(seconds[file], 2) for file in files if file in seconds})


def text_of(record: RecordedSeconds) -> str:
    """Render the record, one line for each file."""
    rows = ",\n".join(f"  {json.dumps(file)}: {seconds}" for file, seconds in record.files.items())
    return f'{{\n "date": {json.dumps(record.date)},\n "files": {{\n{rows}\n }}\n}}\n'


def summary(record: RecordedSeconds) -> str:
    """Return a sentence about the files that `make test-fast` runs and leaves out."""
    slow = set(record.left_out())
    quick = sum(seconds for file, seconds in record.files.items() if file not in slow)
    return (
        f"{len(record.files) - len(slow)} files with {quick:.0f} s in the whole run of {record.date}; left out are "
        f"{len(slow)} with more than {SECONDS_MAX:g} s each, which `make test` runs"
    )


def main(words: Sequence[str]) -> int:
    """Write the record from JUnit files; return 0, 1 if they are not of a whole run, 2 for a wrong command line."""
    if not words or any(word.startswith("-") for word in words):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        record = record_of([Path(word) for word in words])
    except FileSecondsError as error:
        print(f"seconds of files: {error}", file=sys.stderr)
        return 1
    FILE.write_text(text_of(record))
    print(f"{FILE.name}: {summary(record)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
