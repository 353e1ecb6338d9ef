"""Compare the emulator with the real Apache broker: the same clients, the same work, in turn, in one run.

    python bench/run.py [--quick] [--only TEXT] [--write]

prints a table of rates, processor time for each unit of work, and ratios (emulator / real; rates: more is better, the
rest: less is better). `--write` puts it into bench/README.md. Each workload runs twice on either, in the order
emulator, real, real, emulator, and the quicker round of each counts: what else the machine does in between then harms
neither. It takes about a quarter of an hour; on a machine that others use too, the ratios and the processor times are
what to look at.
"""

import datetime
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from document import Table, options
from rocketmq_testkit.conformance.targets.target import REFERENCE_VERSION
from servers import EmulatorCommand, RealBroker, Server, create_topic, resident_mib, send_one
from workloads import Figure, push_drain, send, simple_drain

WORKLOADS: list[tuple[str, Callable[[int], Callable[[Server], Figure]], int]] = [
    ("Java remoting, send, 1 thread", lambda n: send("java-remoting", 1, n), 12_000),
    ("Java remoting, send, 8 threads", lambda n: send("java-remoting", 8, n), 40_000),
    ("Java remoting, send, 64 threads", lambda n: send("java-remoting", 64, n), 80_000),
    ("Java remoting, push consumer drains 200,000", push_drain, 200_000),
    ("Java remoting, pop consumer drains 50,000", lambda n: push_drain(n, "pop"), 50_000),
    ("Java gRPC, send, 1 thread", lambda n: send("java-grpc", 1, n), 8_000),
    ("Java gRPC, send, 8 threads", lambda n: send("java-grpc", 8, n), 30_000),
    ("Java gRPC, send, 32 threads", lambda n: send("java-grpc", 32, n), 60_000),
    ("Java gRPC, receive 32 + ack, 1 thread", lambda n: simple_drain(1, n), 8_000),
    ("Java gRPC, receive 32 + ack, 8 threads", lambda n: simple_drain(8, n), 20_000),
]


def started_and_stored(make: Callable[[], EmulatorCommand | RealBroker], times: int) -> tuple[float, float]:
    """Milliseconds from start to the first acknowledged message, and resident MiB of an idle server (medians)."""
    moments, memory = [], []
    for _ in range(times):
        begin = time.perf_counter()
        with make() as server:
            create_topic(server, "first")
            send_one(server, "first")
            moments.append((time.perf_counter() - begin) * 1000)
            memory.append(resident_mib(server))
    return statistics.median(moments), statistics.median(memory)


def measure(quick: bool, only: str) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, emulator, real broker, ratio."""
    rows = []
    chosen = [workload for workload in WORKLOADS if only in workload[0]]
    factor = 10 if quick else 1
    if not only:
        first, idle = started_and_stored(EmulatorCommand, 3 if quick else 10)
        real_first, real_idle = started_and_stored(RealBroker, 1 if quick else 3)
        rows.append(row("start until first acknowledged send, ms", first, real_first, 0))
        rows.append(row("resident memory, idle, MiB", idle, real_idle, 0))
    with RealBroker() as real, EmulatorCommand() as emulator:
        for name, build, count in chosen:
            work = build(max(count // factor, 2000))
            print(f"... {name}", file=sys.stderr, flush=True)
            ours, theirs = quicker_rounds(work, emulator, real)
            rows.append(row(f"{name}, messages/s", ours.per_second, theirs.per_second, 0))
            rows.append(row(f"{name}, server CPU µs/message", ours.cpu_micros, theirs.cpu_micros, 0))
    if not only:
        rows.append(memory_after(200_000 // factor))
    return rows


def quicker_rounds(work: Callable[[Server], Figure], one: Server, other: Server) -> tuple[Figure, Figure]:
    """The quicker of two rounds of each, taken so that neither is always the first."""
    ones, others = [work(one)], [work(other)]
    others.append(work(other))
    ones.append(work(one))
    return max(ones, key=_rate), max(others, key=_rate)


def _rate(figure: Figure) -> float:
    return figure.per_second


def memory_after(count: int) -> tuple[str, str, str, str]:
    """Resident memory of fresh servers after `count` messages of 1 KiB."""
    held = []
    for make in (EmulatorCommand, RealBroker):
        with make() as server:
            send("java-remoting", 64, count * 4 // 5)(server)  # the warm-up is another fifth
            held.append(resident_mib(server))
    return row(f"resident memory after {count:,} messages of 1 KiB, MiB", held[0], held[1], 0)


def row(what: str, ours: float, theirs: float, digits: int) -> tuple[str, str, str, str]:
    """One line of the table."""
    return what, f"{ours:,.{digits}f}", f"{theirs:,.{digits}f}", f"{ours / theirs:.2f}"


def table(rows: list[tuple[str, str, str, str]]) -> str:
    """The rows as Markdown, with date, versions and machine."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    lines = [
        f"{datetime.date.today().isoformat()}, Apache RocketMQ {REFERENCE_VERSION}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({cpu}); clients and servers share them.",
        "",
        "| what | emulator | real broker | ratio |",
        "|---|---:|---:|---:|",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write if asked to."""
    quick = "a tenth of the work: shows that it runs, not how fast"
    chosen = options("Compare the emulator with the real Apache broker.", quick, "workloads")
    text = table(measure(chosen.quick, chosen.only))
    print(text)
    if chosen.write:
        Table("table").write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
