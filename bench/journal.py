"""Measures the cost of a journal that nothing reads: sends, pops and acknowledgements with and without it.

    python bench/journal.py

prints processor time of one step with the default journal, with an empty one (`journalMaxEntries=0`), and without a
journal. The exit code is 1 if the first is more than half above the last. The default journal encodes old entries
as blocks, which need less memory; its figures include this time, some 2 µs for each entry.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench_harness import START_MS, BenchHarness
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.call import Call, Channel
from rocketmq_testkit.emulator.gate.effects import Effect
from rocketmq_testkit.emulator.gate.journal import Journal
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.consume import AckMessage

GOAL = 1.5
"""Highest ratio of the time with the default journal to that without one."""
ROUNDS = 15
STEPS = 2_000
"""Steps of a round, such as sends of one message."""


class NoJournal(Journal):
    """A journal that writes nothing."""

    def responded(  # noqa: PLR0917 - the signature of the class it derives from
        self, now_ms: int, node: str, call: Call, operation: Operation, outcome: Result | EngineError
    ) -> None:
        """Write nothing."""

    def parked(self, now_ms: int, node: str, call: Call, operation: Operation) -> None:
        """Write nothing."""

    def pushed(self, now_ms: int, node: str, channel: Channel, effect: Effect) -> None:
        """Write nothing."""


@dataclass(frozen=True)
class Row:
    """Microseconds of one step with each kind of journal, in the order of `JOURNALS`: the medians of the rounds."""

    name: str
    microseconds: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The time with the default journal relative to that without one."""
        return self.microseconds[0] / self.microseconds[-1]


def harness(journal: str) -> BenchHarness:
    """Create an emulator with a topic and a journal: `default`, `empty` or `none`."""
    emulation = EmulationConfig()
    if journal == "empty":
        emulation.journal_max_entries = 0
    made = BenchHarness(Engine(emulation=emulation, now_ms=START_MS))
    if journal == "none":
        # The gate and the brokers keep references to the journal, so its class is replaced.
        made.engine.journal.__class__ = NoJournal
    made.topic("work")
    return made


def send(of: BenchHarness) -> Callable[[], None]:
    """Return a function that sends messages to a topic without waiting consumers."""
    return lambda: of.send("work", STEPS)


def pop(of: BenchHarness) -> Callable[[], None]:
    """Return a function that pops messages, each with a pop of its own."""
    of.send("work", STEPS)

    def work() -> None:
        for _ in range(STEPS):
            of.pop("work")

    return work


def acknowledge(of: BenchHarness) -> Callable[[], None]:
    """Return a function that acknowledges popped messages, each with a request of its own."""
    of.send("work", STEPS)
    handles = of.receipts("work", STEPS)

    def work() -> None:
        for handle in handles:
            of.submit(AckMessage("G", "work", 0, handle.text(), handle.queue_offset))

    return work


JOURNALS = ("default", "empty", "none")
WORK: dict[str, Callable[[BenchHarness], Callable[[], None]]] = {"send": send, "pop": pop, "acknowledge": acknowledge}


def measure(name: str) -> Row:
    """Measure one row, alternating between the journals so that other load affects all of them."""
    found: dict[str, list[float]] = {journal: [] for journal in JOURNALS}
    for number in range(ROUNDS):
        for journal in JOURNALS if number % 2 else reversed(JOURNALS):
            work = WORK[name](harness(journal))
            gc.collect()
            gc.disable()
            begin = time.process_time()
            work()
            found[journal].append((time.process_time() - begin) / STEPS * 1e6)
            gc.enable()
    return Row(name, tuple(statistics.median(found[journal]) for journal in JOURNALS))


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| step | default journal | empty journal | no journal | default / no journal |", "|---|---|---|---|---|"]
    for row in rows:
        cells = " | ".join(f"{value:.1f} µs" for value in row.microseconds)
        lines.append(f"| {row.name} | {cells} | {row.ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and print; return exit code 1 if the journal costs too much."""
    rows = [measure(name) for name in WORK]
    print(table(rows), end="")
    return 0 if all(row.ratio <= GOAL for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
