"""Compares the emulator with a bare Twisted server that returns the same bytes: start, memory and processor time.

    python bench/bare.py [--messages 8000] [--pairs 3] [--only TEXT]

The bare server (`bench/bare_server.py`) is the floor of a server in Python. The client of `bench/outstanding.py` sends
the same requests to both by turns, and each pair has new processes. Processor time is that of the server alone. Rows
with TLS use the emulator's TLS transport in both. Transaction checks have no row: a server that sends them has to store
half messages. The floor of a start in a process of tests is an event loop with four ports.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import fresh
from bare_server import Record
from measured_clients import TrustedServer
from outstanding import RECEIVED, ROWS, TURNS, WARM_UP_MESSAGES, Row
from recording import recorded
from servers import EmulatorCommand, resident_mib
from without_faults import by_turns

STARTS = 9
ROUNDS_IN_PROCESS = 50
SERVER = Path(__file__).with_name("bare_server.py")
Cells = tuple[str, str, str, str]
"""Name, figure of the emulator, figure of the bare server, ratio."""


class BareServer:
    """`bench/bare_server.py` in a process of its own."""

    name = "bare Twisted"
    namesrv = ""

    def __init__(self, record: Record) -> None:
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the process has no pipes")
        self._process.stdin.write(record.text())
        self._process.stdin.close()
        ready = json.loads(self._process.stdout.readline())
        self.start_ms = (time.perf_counter() - begin) * 1000
        self.broker, self.endpoint = ready["broker"], ready["endpoint"]
        self._authority = record.authority.encode()

    def ca_pem(self) -> bytes:
        """Return the certificate (PEM) of the authority that issued the server's certificate."""
        return self._authority

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(10)

    @property
    def pids(self) -> list[int]:
        return [self._process.pid]


def measure(row: Row, messages: int) -> tuple[float, float]:
    """Measure one pair of new processes: return the microseconds of a message of the emulator and the bare server."""
    share = max(messages // TURNS, 64)
    with ExitStack() as stack:
        emulator = stack.enter_context(EmulatorCommand())
        row.prepare(emulator, WARM_UP_MESSAGES + (TURNS + 4) * (share + RECEIVED))
        bare = stack.enter_context(BareServer(recorded(emulator, row)))
        servers: Sequence[TrustedServer] = (emulator, bare)
        works = [row.work(server, stack) for server in servers]
        for work in works:
            work(WARM_UP_MESSAGES)
        return by_turns(servers, works, share, TURNS)


def starts(times: int) -> list[Cells]:
    """Measure a start until the ready line, and the resident memory before any client; the medians count."""
    found: list[tuple[float, ...]] = []
    for _ in range(times):
        with EmulatorCommand() as emulator, BareServer(Record()) as bare:
            found.append((emulator.start_ms, bare.start_ms, resident_mib(emulator), resident_mib(bare)))
    ours_ms, bare_ms, ours_mib, bare_mib = map(statistics.median, zip(*found, strict=True))
    return [
        cells("start until the ready line, ms", ours_ms, bare_ms, 0),
        cells("resident memory, idle, MiB", ours_mib, bare_mib, 0),
    ]


def in_process() -> Cells:
    """Measure start, connection and stop of an emulator in this process; the floor opens only four ports."""
    ours, floor = (statistics.median(times) for times in zip(*fresh.whole_times(ROUNDS_IN_PROCESS), strict=True))
    return cells("start and stop in a process of tests, ms", ours, floor, 2)


def cells(name: str, ours: float, floor: float, digits: int) -> Cells:
    """Return a row of the table."""
    return name, f"{ours:,.{digits}f}", f"{floor:,.{digits}f}", f"{ours / floor:.1f}"


def floors(messages: int, pairs: int, only: str = "") -> list[Cells]:
    """Measure each row whose name contains `only`; of several pairs the medians count."""
    rows = [] if only else [*starts(STARTS), in_process()]
    for name, row in ROWS.items():
        if only in name:
            print(f"... {name}", file=sys.stderr, flush=True)
            ours, floor = (
                statistics.median(times) for times in zip(*[measure(row, messages) for _ in range(pairs)], strict=True)
            )
            rows.append(cells(f"{name}, server CPU µs/message", ours, floor, 1))
    return rows


def table(rows: Sequence[Cells]) -> str:
    """Return the rows as Markdown."""
    head = "| with a bare server | emulator | bare Twisted | ratio |\n|---|---:|---:|---:|\n"
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Compare the emulator with a bare Twisted server.")
    parser.add_argument("--messages", type=int, default=8_000, help="messages to each process (default 8000)")
    parser.add_argument("--pairs", type=int, default=3, help="number of pairs of processes (default 3)")
    parser.add_argument("--only", default="", help="run only rows whose name contains this text")
    options = parser.parse_args(words)
    print(table(floors(options.messages, options.pairs, options.only)), end="")


if __name__ == "__main__":
    main()
