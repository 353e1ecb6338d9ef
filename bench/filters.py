"""Measures how many messages per second a SQL92 expression filters, in one process and without sockets.

    python bench/filters.py [--quick] [--only TEXT] [--write]

The first of the expression's two clauses is true for every message, the second for one message in a hundred. The script
measures the compiled expression alone, and pulls that filter stored messages as a broker does. The exit code is 1 if a
rate is below the goal. `--write` puts the table into bench/README.md.
"""

import datetime
import platform
import sys
from collections.abc import Callable
from time import process_time

from bench_harness import BORN_HOST, BenchHarness
from document import Table, options
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.filter.sql_filter import compile_sql
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, PullMessage, PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage

EXPRESSION = "color = 'red' AND size > 98"
GOAL = 200_000
MESSAGES = 100_000
ROUNDS = 5
NOW_MS = 1_700_000_000_000


def properties(number: int) -> dict[str, str]:
    """Return common message properties and the two properties in the expression."""
    return {
        "KEYS": f"key-{number}",
        "UNIQ_KEY": f"FD{number:030X}",
        "WAIT": "true",
        "TAGS": "TagA",
        "color": "red",
        "size": str(number % 100),
    }


def filled(count: int) -> BenchHarness:
    """Create a broker with `count` messages of 1 KiB in one queue."""
    config, emulation = BrokerConfig(), EmulationConfig()
    config.enable_property_filter = True
    emulation.store_max_bytes = 4 * 1024**3  # enough for all messages, so that none is deleted
    harness = BenchHarness(Engine(brokers=[config], emulation=emulation, now_ms=NOW_MS))
    harness.topic("work")
    body = b"x" * 1024
    for number in range(count):
        harness.submit(SendMessage("P", "work", 0, body, properties(number), BORN_HOST, NOW_MS))
    return harness


def alone(count: int) -> Callable[[], int]:
    """Return a function that evaluates the expression for properties in memory."""
    compiled = compile_sql(EXPRESSION)
    messages = [properties(number) for number in range(count)]
    return lambda: sum(map(compiled.matches, messages))


def pulled(count: int) -> Callable[[], int]:
    """Return a function that pulls from the beginning of a queue to its end."""
    harness = filled(count)

    def work() -> int:
        offset = found = 0
        while offset < count:
            operation = PullMessage("G", "work", 0, offset, 32, FLAG_SUBSCRIPTION, 0, 0, 0, EXPRESSION, "SQL92")
            result = harness.submit(operation).outcome
            assert isinstance(result, PullResult)
            offset, found = result.next_begin_offset, found + len(result.records)
        return found

    return work


MEASURED: tuple[tuple[str, Callable[[int], Callable[[], int]]], ...] = (
    ("expression alone", alone),
    ("stored messages, read by pulls", pulled),
)


def measure(work: Callable[[], int], count: int) -> float:
    """Return the messages per second of processor time, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = process_time()
        found = work()
        best = min(best, process_time() - began)
        assert found == count // 100, f"{found} messages match"
    return count / best


def table(rates: dict[str, float]) -> str:
    """Return the rates as Markdown, with date and interpreter."""
    lines = [
        f"{datetime.date.today().isoformat()}, Python {platform.python_version()}; processor time, best of {ROUNDS}.",
        "",
        f"| `{EXPRESSION}` | messages/s | \u00b5s each |",
        "|---|---:|---:|",
        *(f"| {name} | {rate:,.0f} | {1e6 / rate:.2f} |" for name, rate in rates.items()),
        "",
    ]
    return "\n".join(lines)


SECTION = f"""## Filters

The number of messages per second to which a broker applies a SQL92 expression of two clauses. The first clause is true
for every message, so that the broker also evaluates the second. At least {GOAL:,} messages per second are required;
`make bench-growth` measures this rate as well.
"""


def main() -> int:
    """Measure, print, and write if requested."""
    chosen = options("Filter messages by an expression.", "use a tenth of the messages", "rates")
    count = MESSAGES // 10 if chosen.quick else MESSAGES
    rates = {name: measure(work(count), count) for name, work in MEASURED if chosen.only in name}
    print(table(rates))
    if chosen.write:
        Table("filters", SECTION).write(table(rates))
    slow = [name for name, rate in rates.items() if rate < GOAL]
    if slow:
        print(f"fewer than {GOAL:,} messages/s: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
