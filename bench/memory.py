"""Measures the memory of a stored message with a body of 1 KiB and the properties of the Java SDK.

    python bench/memory.py

prints KiB of resident memory for each message, in a process that does nothing else: for the first messages of an
emulator, with the entries of its default journal, and for further ones, when the journal is full. The larger counts.
"""

import gc
import os
from pathlib import Path

from bench_harness import BORN_HOST, BenchHarness, empty
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult

FIRST_MESSAGES, MESSAGES = 40_000, 300_000
WARM_UP = 1_000
"""Messages after which the modules and functions of all later work are loaded."""
GOAL_KIB = 1.4
QUEUES = 8
BODY = b"x" * 1024


def resident_kib() -> float:
    """Return the resident memory of this process in KiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def store(harness: BenchHarness, count: int) -> None:
    """Send messages to several queues by turns."""
    now = harness.now_ms
    for number in range(count):
        properties = {"UNIQ_KEY": f"7F00000100012A139A55{number:012X}", "WAIT": "true", "TAGS": "TagA"}
        operation = SendMessage("P", "work", number % QUEUES, BODY, properties, BORN_HOST, now)
        assert isinstance(harness.submit(operation).outcome, SendResult)


def growth(harness: BenchHarness, count: int) -> float:
    """Return KiB for each of `count` messages."""
    gc.collect()
    before = resident_kib()
    store(harness, count)
    gc.collect()
    return (resident_kib() - before) / count


def main() -> None:
    """Print the larger of both figures."""
    harness = empty()
    harness.topic("work", QUEUES)
    store(harness, WARM_UP)
    first = growth(harness, FIRST_MESSAGES)
    store(harness, harness.engine.emulation.journal_max_entries)
    print(max(first, growth(harness, MESSAGES)))


if __name__ == "__main__":
    main()
