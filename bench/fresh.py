"""Measures a broker for one test: start and stop of an emulator, as in the fixture `rocketmq`.

    python bench/fresh.py [--write]

Measures by the wall clock in one process whose modules are loaded, as in all tests of a run but the first. A start
counts until a client is connected.
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
    """Milliseconds of each start and of each stop."""
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
    """Print the table, and write it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    wanted = parser.parse_args()
    measured(3)  # loads what a first start loads
    head = f"{date.today()}, Python {platform.python_version()}; milliseconds, {ROUNDS} rounds.\n\n"
    rows = ["| step | median | slowest of ten |", "|---|---:|---:|"]
    for name, each in zip(("start until a client is connected", "stop"), measured(), strict=True):
        rows.append(f"| {name} | {median(each):.1f} | {sorted(each)[len(each) * 9 // 10]:.1f} |")
    text = head + "\n".join(rows) + "\n"
    print(text)
    if wanted.write:
        TABLE.write(text)


if __name__ == "__main__":
    main()
