"""Runs the tests that are near a change: those of the rooms that it touches, in less than 15 seconds.

    python scripts/near.py [COMMIT]

The change is the difference of the work tree to the last commit. If there is none, it is the last commit. With COMMIT
it is everything since then. `near_tests.py` says which tests are near; changed conformance cases run on the emulator.

The durations of test files come from the reports of earlier runs, or else from `tests/seconds.json`. Tests that exceed
the time are listed and do not run, and neither do tests that start Spark. The exit code is 0 if all tests that ran have
passed.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import file_seconds
import near_tests

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".reports"
SECONDS = 15.0
WORKERS = 2
FEW_FILES = 4
"""Up to this number of test files one process is faster, because workers take a second to start."""
SESSIONS = re.compile(r"\b(SparkSession|SparkRocketMQ|spark_rocketmq\w*|subprocess)\b")
"""A session of Spark, the fixtures that need one, and processes with their own. A start alone takes ten seconds."""
NO_TESTS_RAN = 5
"""Exit code of pytest if it has selected no test."""


def changed(commit: str | None = None, root: Path = ROOT) -> list[str]:
    """Return the files that were changed or added, as paths relative to the root."""
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    found = [*_git(root, "diff", "--name-only", commit or "HEAD"), *new]
    if not found and commit is None:
        found = _git(root, "diff", "--name-only", "HEAD~1", "HEAD")
    return [name for name in sorted(set(found)) if (root / name).is_file()]


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def fitting(tests: Sequence[str], seconds: Mapping[str, float], root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Divide tests into those that fit into the time, the nearest first, and the others.

    `seconds` is the processor time by test file; a file without an earlier run counts as short.
    """
    fit: list[str] = []
    others: list[str] = []
    left = SECONDS * WORKERS
    for test in tests:
        cost = seconds.get(test, 0.0)
        if cost > left or starts_spark(test, root):
            others.append(test)
        else:
            fit.append(test)
            left -= cost
    return fit, others


def starts_spark(test: str, root: Path = ROOT) -> bool:
    """True if a test file uses a session of Spark, in this process or in another one."""
    return test.startswith(f"{near_tests.TESTS['spark']}/") and bool(SESSIONS.search((root / test).read_text()))


def seconds_of_earlier_runs(reports: Path = REPORTS, root: Path = ROOT) -> dict[str, float]:
    """Return the seconds of each test file in the JUnit files of earlier runs; the latest run of a file counts."""
    found: dict[str, float] = {}
    for report in sorted(reports.rglob("*.xml"), key=lambda path: path.stat().st_mtime):
        found.update(file_seconds.of_report(report, root))
    return found


def commands(tests: Sequence[str], cases: Sequence[str]) -> list[list[str]]:
    """Return the commands that run tests, and conformance cases of some nouns."""
    folder = Path(sys.executable).parent
    found: list[list[str]] = []
    if tests:
        parallel = ["-p", "no:xdist"] if len(tests) <= FEW_FILES else ["-n", str(WORKERS), "--dist", "loadfile"]
        report = f"--junitxml={REPORTS / 'near' / 'last.xml'}"
        found.append([str(folder / "pytest"), "-q", "-m", "not alone", report, *parallel, *tests])
    if cases:
        expression = " or ".join(f"{noun}." for noun in cases)
        found.append([str(folder / "rocketmq-conformance"), "run", "-k", expression])
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the tests near a change; return 0 if all have passed, 1 if not, and 2 for a wrong command line."""
    if len(arguments) > 1 or any(each.startswith("-") for each in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    found = near_tests.Tree().near(changed(arguments[0] if arguments else None))
    tests, others = fitting(found.tests, {**file_seconds.read().files, **seconds_of_earlier_runs()})
    for text, names in (("no test is near", found.without), ("not run, for lack of time", others)):
        if names:
            print(f"{text} (make test-fast, make test): {' '.join(names)}")
    codes = []
    for words in commands(tests, found.cases):
        print("$", " ".join(words), flush=True)
        codes.append(subprocess.run(words, cwd=ROOT, check=False).returncode)
    if not codes:
        print("no tests to run")
    return 0 if all(code in (0, NO_TESTS_RAN) for code in codes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
