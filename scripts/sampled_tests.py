"""Tests of which CI runs a sample, and the record of their last whole run.

    python scripts/sampled_tests.py REPORT...

The marker `sampled` is for tests that repeat one rule, such as with each SDK. With TEST_SAMPLE=1, as in `make test`,
pytest runs a sixth of the parameters of each marked test, and each test without parameters. If a file is marked with
`sampled("tests")`, only a sixth of its tests without parameters run. A sample has at least two tests, or one with
`sampled(least=1)`, for tests of half a minute. A hash of the names chooses them. `make test-seldom` runs all marked
tests, and this command writes the record, `tests/sampled.json`, from the JUnit files. A file that has changed since
runs whole. The JUnit file of all tests of the changed files is enough, because the rows of others stay.

With TEST_SAMPLE=all, pytest runs a sixth of the parameters of every test, marked or not. That is for runs of tests
that have passed whole with other libraries or without compiled modules.
"""

import hashlib
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "sampled.json"
MARK = re.compile(r"^(@|pytestmark = \[?)pytest\.mark\.sampled\b", re.MULTILINE)
OF_MARKED, OF_ALL = "1", "all"
"""Values of TEST_SAMPLE: the sample of marked tests, and that of all tests."""
FOLDERS = ("tests", "spark_tests")
SHARE = 6
"""One in this number of tests is in the sample, but at least LEAST."""
LEAST = 2
CHANGED_MAX = 3
"""Limit of files that have changed since the record. Each of them runs whole, in up to a minute."""


class SampledTestsError(ValueError):
    """A run cannot be recorded; the text says why."""


def marked_files(root: Path = ROOT) -> list[str]:
    """Return the files with marked tests, relative to the project."""
    files = (file for folder in FOLDERS for file in sorted((root / folder).rglob("test_*.py")))
    return [file.relative_to(root).as_posix() for file in files if MARK.search(file.read_text(encoding="utf-8"))]


def digest_of(file: Path) -> str:
    """Return a digest of a test file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def unchanged(record: Mapping[str, Any], file: str, root: Path = ROOT) -> bool:
    """True if a test file is as in its last whole run."""
    return bool(record["files"].get(file, [""])[0] == digest_of(root / file))


def read(file: Path = FILE) -> dict[str, Any]:
    """Return the record; an empty one if there is none."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {"date": "", "files": {}}
    return found


def chosen(names: Iterable[str], least: int = LEAST) -> set[str]:
    """Return the sample of names: a sixth of them, at least `least`, by their hash."""
    in_order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return set(in_order[: max(least, -(-len(in_order) // SHARE))])


def problem(record: Mapping[str, Any], files: Sequence[str], root: Path = ROOT) -> str:
    """Return a sentence if the record is stale; empty if not."""
    changed = [file for file in files if not unchanged(record, file, root)]
    if len(changed) <= CHANGED_MAX:
        return ""
    return (
        f"record of {record['date'] or 'no day'}: {len(changed)} files with sampled tests have changed since, such as "
        f"{changed[0]}; at most {CHANGED_MAX} may run whole in CI; run `make test-seldom` and commit {FILE.name}"
    )


def form_of(
    reports: Iterable[Path], files: Sequence[str], root: Path = ROOT, record: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the record of a run. Files that did not run keep their row of `record`, if they have not changed since.

    Raises SampledTestsError if a test failed, or if another file did not run.
    """
    earlier = (
        {} if record is None else {file: row for file, row in record["files"].items() if unchanged(record, file, root)}
    )
    counts = dict.fromkeys(files, 0)
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            file = f"{case.get('classname', '').replace('.', '/')}.py"
            if case.find("failure") is not None or case.find("error") is not None:
                raise SampledTestsError(f"{file}: {case.get('name')} failed; only a whole run that passed is recorded")
            if file in counts:
                counts[file] += 1
    missing = [file for file, count in counts.items() if not count and file not in earlier]
    if missing:
        raise SampledTestsError(f"{missing[0]}: no test ran; only a whole run is recorded")
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    rows = {file: [digest_of(root / file), count] if count else earlier[file] for file, count in counts.items()}
    return {"date": date, "files": rows}


def text_of(form: Mapping[str, Any]) -> str:
    """Render the record, one line for each file."""
    rows = ",\n".join(f"  {json.dumps(file)}: {json.dumps(row)}" for file, row in form["files"].items())
    return f'{{\n "date": {json.dumps(form["date"])},\n "files": {{\n{rows}\n }}\n}}\n'


def main(words: Sequence[str]) -> int:
    """Write the record from JUnit files."""
    try:
        form = form_of([Path(word) for word in words], marked_files(), record=read())
    except SampledTestsError as error:
        print(f"sampled tests: {error}", file=sys.stderr)
        return 1
    FILE.write_text(text_of(form))
    print(f"{FILE.name}: {sum(row[1] for row in form['files'].values())} tests of {len(form['files'])} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
