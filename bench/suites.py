"""Measures suites of tests with an emulator of its own for each test, as users run them.

    python bench/suites.py [--quick] [--write]

Runs 200 tests in one process, and 500 tests with two workers of pytest-xdist. Each test gets the fixture `rocketmq`,
and half of them also send a message. The time is that of the whole command, with the start of pytest.
`--write` puts the table into bench/README.md.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from document import Table, machine

TABLE = Table("suites")
SUITES = (("in one process", 200, 0), ("two workers of pytest-xdist", 500, 2))
"""Name, number of tests, and number of workers; 0 runs without pytest-xdist."""
SUITE = """
import pytest
from rocketmq_testkit import Emulator


@pytest.mark.parametrize("number", range({tests}))
def test_a_fresh_broker_has_only_what_the_test_sends(rocketmq: Emulator, number: int) -> None:
    topic = rocketmq.topic("orders", queues=2)
    if number % 2:
        topic.send(b"hello")
    assert len(topic.messages) == number % 2
"""


def run(tests: int, workers: int) -> tuple[float, float]:
    """Run a suite; return seconds of the wall clock, and processor time of pytest and its workers (s)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_suite.py").write_text(SUITE.format(tests=tests))
        options = ["-n", str(workers)] if workers else ["-p", "no:xdist"]
        before, begin = os.times(), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_suite.py"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        wall, after = time.perf_counter() - begin, os.times()
    if f"{tests} passed" not in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def table(divisor: int = 1) -> str:
    """Run each suite once, with its number of tests divided by `divisor`, and return the table as Markdown."""
    lines = [
        f"{machine()}; the whole command, with the start of pytest.",
        "",
        "| suite | wall s | CPU s | CPU ms/test |",
        "|---|---:|---:|---:|",
    ]
    for name, whole, workers in SUITES:
        tests = whole // divisor
        wall, used = run(tests, workers)
        lines.append(f"| {tests} tests, {name} | {wall:.1f} | {used:.1f} | {used / tests * 1000:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table; with `--write`, also write it to bench/README.md."""
    parser = argparse.ArgumentParser(description="Measure suites of tests with an emulator for each test.")
    parser.add_argument("--quick", action="store_true", help="run a tenth of the tests, only to check that it works")
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    options = parser.parse_args()
    text = table(10 if options.quick else 1)
    print(text)
    if options.write:
        TABLE.write(text)


if __name__ == "__main__":
    main()
