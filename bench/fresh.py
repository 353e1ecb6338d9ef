"""Measures a broker for one test: start and stop of an emulator, as in the fixture `rocketmq`.

    python bench/fresh.py [--write]

Measures by the wall clock in a process that has its modules loaded, as in all tests of a run except the first. A start
ends when a client is connected.
"""

import argparse
import platform
import socket
import time
from datetime import date
from statistics import median

from document import Table
from rocketmq_testkit import Emulator

ROUNDS = 200
TABLE = Table(
    "fresh",
    "## A broker for each test\n\nStart and stop of an emulator in a process that has its modules loaded.\n",
)


def measured(rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each start and of each stop."""
    starts, stops = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        emulator = Emulator().start()
        host, _, port = emulator.endpoint.rpartition(":")
        with socket.create_connection((host, int(port)), 5):
            starts.append((time.perf_counter() - begin) * 1000)
        begin = time.perf_counter()
        emulator.stop()
        stops.append((time.perf_counter() - begin) * 1000)
    return starts, stops


def main() -> None:
    """Print the table; with `--write`, also write it to bench/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    options = parser.parse_args()
    measured(3)  # the first start loads modules
    head = f"{date.today()}, Python {platform.python_version()}; milliseconds, {ROUNDS} rounds.\n\n"
    rows = ["| step | median | 90th percentile |", "|---|---:|---:|"]
    for name, each in zip(("start until a client is connected", "stop"), measured(), strict=True):
        rows.append(f"| {name} | {median(each):.1f} | {sorted(each)[len(each) * 9 // 10]:.1f} |")
    text = head + "\n".join(rows) + "\n"
    print(text)
    if options.write:
        TABLE.write(text)


if __name__ == "__main__":
    main()
