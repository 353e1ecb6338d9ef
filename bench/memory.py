"""Memory of a stored message with a body of 1 KiB and the properties of the Java SDK.

    python bench/memory.py

prints KiB of resident memory for each message, in a process that does nothing else. The journal is filled before, so
that only growth by messages counts.
"""

import gc
import os
from pathlib import Path

from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from world import World, empty

MESSAGES = 300_000
GOAL_KIB = 1.4
QUEUES = 8
BODY = b"x" * 1024


def resident_kib() -> float:
    """Return the resident memory of this process in KiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def store(world: World, count: int) -> None:
    """Send messages to several queues by turns."""
    now = world.now_ms
    for number in range(count):
        properties = {"UNIQ_KEY": f"7F00000100012A139A55{number:012X}", "WAIT": "true", "TAGS": "TagA"}
        operation = SendMessage("P", "work", number % QUEUES, BODY, properties, ("10.0.0.1", 1), now)
        assert isinstance(world.submit(operation).outcome, SendResult)


def main() -> None:
    """Print KiB for each message."""
    world = empty()
    world.topic("work", QUEUES)
    store(world, world.engine.emulation.journal_max_entries)
    gc.collect()
    before = resident_kib()
    store(world, MESSAGES)
    gc.collect()
    print((resident_kib() - before) / MESSAGES)


if __name__ == "__main__":
    main()
