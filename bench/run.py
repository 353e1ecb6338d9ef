"""Compare the emulator with the real Apache broker: the same clients and the same work, by turns, in one run.

    python bench/run.py [--quick] [--only TEXT] [--runs N] [--write]

prints a table of rates, processor time of server and client for each message, and ratios (emulator / real). More is
better for rates, less for the others. `--write` puts the tables into bench/README.md and compares them with the goals
(`goals.py`); a Python with compiled modules has tables of its own, unless ROCKETMQ_TESTKIT_PURE turns them off.
`--runs 2` measures everything twice and prints two tables, which show the accuracy of one run. A second table of each
run compares the emulator's processor time with that of a bare server (`bare.py`).

Each workload runs twice on either server, in the order emulator, real, real, emulator, and the quicker round of each
counts. Each workload has new servers, so that no row depends on the messages of the rows before it. Before each round
the client does the same work until its JIT compiler is idle (`warm_up.py`). The processes of the other server are
stopped meanwhile: an idle broker takes 5 to 6 µs of processor time for each message of the other server. On a machine
with other load, rely on the ratios and the processor times.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import bare
import goals
from document import Table, machine, options
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION
from rocketmq_testkit.emulator import compiled_modules
from servers import EmulatorCommand, RealBroker, Server, catch_up, create_topic, frozen, resident_mib, send_one
from transaction_workloads import CHECK_SETTINGS, checks, transactions
from warm_up import FULL, QUICK, WarmUp
from workloads import Figure, Kind, Work, fill, new_name, push_drain, send, simple_drain

FIFO = Kind("FIFO", group="one")
DELAY = Kind("DELAY", seconds=3600)
LEVEL = Kind("DELAY", level=18)
"""Two hours, so that no message is delivered in a run."""
WORKLOADS: list[tuple[str, Callable[[int, WarmUp], Work], int]] = [
    ("Java remoting, send, 1 thread", partial(send, "java-remoting", 1), 12_000),
    ("Java remoting, send, 8 threads", partial(send, "java-remoting", 8), 40_000),
    ("Java remoting, send, 64 threads", partial(send, "java-remoting", 64), 80_000),
    ("Java remoting, push consumer drains 200,000", partial(push_drain, "concurrent"), 200_000),
    ("Java remoting, pop consumer drains 50,000", partial(push_drain, "pop"), 50_000),
    ("Java gRPC, send, 1 thread", partial(send, "java-grpc", 1), 8_000),
    ("Java gRPC, send, 8 threads", partial(send, "java-grpc", 8), 30_000),
    ("Java gRPC, send, 32 threads", partial(send, "java-grpc", 32), 60_000),
    ("Java remoting with TLS, send, 64 threads", partial(send, "java-remoting", 64, tls=True), 60_000),
    ("Java gRPC with TLS, send, 32 threads", partial(send, "java-grpc", 32, tls=True), 40_000),
    ("Java gRPC, FIFO send, 8 threads, one message group", partial(send, "java-grpc", 8, kind=FIFO), 20_000),
    ("Java gRPC, FIFO receive 32 + ack, 1 thread", partial(simple_drain, 1, kind=FIFO), 8_000),
    ("Java remoting, send with a delay level, 8 threads", partial(send, "java-remoting", 8, kind=LEVEL), 30_000),
    ("Java gRPC, send with a delivery time, 8 threads", partial(send, "java-grpc", 8, kind=DELAY), 20_000),
    ("Java remoting, committed transactions", partial(transactions, "java-remoting"), 10_000),
    ("Java gRPC, committed transactions", partial(transactions, "java-grpc"), 8_000),
    ("Java gRPC, receive 32 + ack, 1 thread", partial(simple_drain, 1), 8_000),
    ("Java gRPC, receive 32 + ack, 8 threads", partial(simple_drain, 8), 20_000),
]
"""Name, factory of a round (measured messages, warm-up), and the number of messages of a full run."""
PURE = Table("table")
COMPILED = Table("compiled")
FLOOR_MESSAGES = 8_000
CHECKS = "Java remoting, transactions that are checked and then committed"


def started_and_stored(make: Callable[[], EmulatorCommand | RealBroker], times: int) -> tuple[float, float]:
    """Return the ms from start to the first acknowledged message, and the resident MiB of an idle server (medians)."""
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
    """Return rows of the table: name, emulator, real broker, ratio."""
    rows = []
    chosen = [workload for workload in WORKLOADS if only in workload[0]]
    factor, warm_up = (10, QUICK) if quick else (1, FULL)
    if not only:
        first, idle = started_and_stored(EmulatorCommand, 3 if quick else 10)
        real_first, real_idle = started_and_stored(RealBroker, 1 if quick else 3)
        rows.append(row("start until first acknowledged send, ms", first, real_first, 0))
        rows.append(row("resident memory, idle, MiB", idle, real_idle, 0))
    for name, build, count in chosen:
        with RealBroker() as real, EmulatorCommand() as emulator:
            rows += compared(name, build(max(count // factor, 2000), warm_up), emulator, real)
    if only in CHECKS:
        settings = [f"--set={name}={value}" for name, value in CHECK_SETTINGS.items()]
        with RealBroker(settings=CHECK_SETTINGS) as real, EmulatorCommand(*settings) as emulator:
            rows += compared(CHECKS, checks(5_000 // factor, warm_up), emulator, real)
    if not only:
        rows.append(memory_after(200_000 // factor))
    return rows


def compared(name: str, work: Work, emulator: Server, real: Server) -> list[tuple[str, str, str, str]]:
    """Measure a workload with both servers; return its rows."""
    print(f"... {name}", file=sys.stderr, flush=True)
    ours, theirs = quicker_rounds(work, emulator, real)
    return [
        row(f"{name}, messages/s", ours.per_second, theirs.per_second, 0),
        row(f"{name}, server CPU µs/message", ours.server_micros, theirs.server_micros, 0),
        row(f"{name}, client CPU µs/message", ours.client_micros, theirs.client_micros, 0),
    ]


def quicker_rounds(work: Work, one: Server, other: Server) -> tuple[Figure, Figure]:
    """Return the quicker of two rounds of each server, in an order in which each is first once.

    The processes of the other server are stopped during a round.
    """

    def round_of(measured: Server, waiting: Server) -> Figure:
        with frozen([waiting]):
            catch_up(measured)
            return work(measured)

    ones, others = [round_of(one, other)], [round_of(other, one)]
    others.append(round_of(other, one))
    ones.append(round_of(one, other))
    return max(ones, key=_rate), max(others, key=_rate)


def _rate(figure: Figure) -> float:
    return figure.per_second


def memory_after(count: int) -> tuple[str, str, str, str]:
    """Return a row with the resident memory of new servers after `count` messages of 1 KiB."""
    held = []
    for make in (EmulatorCommand, RealBroker):
        with make() as server:
            fill(server, new_name(), count)
            held.append(resident_mib(server))
    return row(f"resident memory after {count:,} messages of 1 KiB, MiB", held[0], held[1], 0)


def row(what: str, ours: float, theirs: float, digits: int) -> tuple[str, str, str, str]:
    """Return one row of the table."""
    return what, f"{ours:,.{digits}f}", f"{theirs:,.{digits}f}", f"{ours / theirs:.2f}"


def table(rows: list[tuple[str, str, str, str]]) -> str:
    """Return the rows as Markdown, with date, versions and machine."""
    lines = [
        f"{machine(f'Apache RocketMQ {REFERENCE_VERSION}')}; clients and servers share them.",
        "",
        "| workload | emulator | real broker | ratio |",
        "|---|---:|---:|---:|",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        "",
    ]
    return "\n".join(lines)


def place() -> Table:
    """Return the table for the modules that this interpreter and its environment choose, compiled or pure."""
    return COMPILED if compiled_modules.is_active() else PURE


def main() -> int:
    """Measure, print, and write if requested."""
    quick = "do a tenth of the work, only to check that it runs"
    chosen = options("Compare the emulator with the real Apache broker.", quick, "workloads", runs=True)
    tables: list[str] = []
    for _ in range(chosen.runs):
        made = len(tables)
        tables.append(table(measure(chosen.quick, chosen.only)))
        if not chosen.only:
            tables.append(bare.table(bare.floors(FLOOR_MESSAGES // (10 if chosen.quick else 1), 1)))
        print("\n".join(tables[made:]), flush=True)
        if chosen.write:
            place().write("\n".join(tables))
            if not chosen.only:
                goals.write(place())
    return 0


if __name__ == "__main__":
    sys.exit(main())
