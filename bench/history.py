"""Measures the cost of the delivery record: sends, pulls, pops and acknowledgements with and without it.

    python bench/history.py

prints processor time of one step without the record (`deliveryRecordMaxEntries=0`) and with the default one. Both are
measured in turns, and once more without it: the noise is the spread of these equal rounds. The exit code is 1 if a send
costs more than the noise, or another step more than 3 % beyond the noise. Each step is an operation of the engine
alone, without a protocol around it, which makes the share of the record as large as it can be.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, permutations

from bench_harness import START_MS, BenchHarness
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.consume import AckMessage

GOALS = {"send": 1.00, "pull": 1.03, "pop": 1.03, "acknowledge": 1.03}
ROUNDS = 15
STEPS = 2_000
MESSAGES_OF_A_PULL = 32
SLICE = 50
"""The number of steps of one kind before the next kind's turn."""
OFF, ON, OFF_AGAIN = range(3)
ORDERS = tuple(permutations((OFF, ON, OFF_AGAIN)))


@dataclass(frozen=True)
class Row:
    """Microseconds of one step in each round, without the record, with it, and without it again."""

    name: str
    rounds: Sequence[tuple[float, float, float]]

    def median(self, kind: int) -> float:
        """The median time of a kind of rounds."""
        return statistics.median(each[kind] for each in self.rounds)

    @property
    def ratio(self) -> float:
        """The time with the record relative to that without, as the median of pairs."""
        return statistics.median(each[ON] / each[OFF] for each in self.rounds)

    @property
    def noise(self) -> float:
        """Half the distance between the quartiles of pairs of equal rounds."""
        low, _, high = statistics.quantiles([each[OFF_AGAIN] / each[OFF] for each in self.rounds], n=4)
        return (high - low) / 2

    @property
    def is_good(self) -> bool:
        """True if the ratio meets its goal, apart from the noise."""
        return self.ratio <= GOALS[self.name] + self.noise


def harness(kind: int) -> BenchHarness:
    """Create an emulator with a topic."""
    emulation = EmulationConfig()
    if kind != ON:
        emulation.delivery_record_max_entries = 0
    made = BenchHarness(Engine(emulation=emulation, now_ms=START_MS))
    made.topic("work")
    return made


def send(of: BenchHarness) -> Iterator[None]:
    """Send to a topic without waiting consumers."""
    while True:
        of.send("work")
        yield


def pull(of: BenchHarness) -> Iterator[None]:
    """Pull 32 messages."""
    of.send("work", STEPS)
    for step in count():
        of.pull("work", step % (STEPS - MESSAGES_OF_A_PULL))
        yield


def pop(of: BenchHarness) -> Iterator[None]:
    """Pop one message."""
    of.send("work", STEPS)
    while True:
        of.pop("work")
        yield


def acknowledge(of: BenchHarness) -> Iterator[None]:
    """Acknowledge one message."""
    of.send("work", STEPS)
    for handle in of.receipts("work", STEPS):
        of.submit(AckMessage("G", "work", 0, handle.text(), handle.queue_offset))
        yield


WORK: dict[str, Callable[[BenchHarness], Iterator[None]]] = {
    "send": send,
    "pull": pull,
    "pop": pop,
    "acknowledge": acknowledge,
}


def measure(name: str) -> Row:
    """Measure one row, alternating between the kinds after every few steps, so that other load affects all of them."""
    rounds = []
    for number in range(ROUNDS):
        found = [0.0, 0.0, 0.0]
        works = [WORK[name](harness(kind)) for kind in (OFF, ON, OFF_AGAIN)]
        for work in works:
            next(work)  # the messages of the harness
        gc.collect()
        gc.disable()
        for turn in range((STEPS - 1) // SLICE):
            for kind in ORDERS[(number + turn) % len(ORDERS)]:
                begin = time.process_time()
                for _ in zip(range(SLICE), works[kind], strict=False):
                    pass
                found[kind] += time.process_time() - begin
        gc.enable()
        off, on, off_again = (each / STEPS * 1e6 for each in found)
        rounds.append((off, on, off_again))
    return Row(name, rounds)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| step | without record | with record | ratio | noise | goal |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        times = f"{row.median(OFF):.2f} µs | {row.median(ON):.2f} µs"
        lines.append(f"| {row.name} | {times} | {row.ratio:.3f} | {row.noise:.3f} | {GOALS[row.name]:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and print; return exit code 1 if the record costs too much."""
    rows = [measure(name) for name in WORK]
    print(table(rows), end="")
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
