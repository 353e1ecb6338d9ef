"""Measures the time in which the inspection returns one message among many.

    python bench/looking.py            # a million messages, of which a thousand are in flight
    python bench/looking.py 100000

prints the processor time of each look, a call of the inspection. The first looks come at once after the messages,
before the emulator has had an idle moment: they search the log. The next ones follow the indexing, which an idle
emulator does in steps. The exit code is 1 if one of these takes more than 5 ms.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench_harness import START_MS
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.inspection.log_index import LONG_SEARCHES
from rocketmq_testkit.emulator.message.message import MessageToStore
from rocketmq_testkit.emulator.operations.consume import PopMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

MESSAGES = 1_000_000
BATCH = 1_000
QUEUES = 4
LIMIT_MS = 5.0
LOOKS = 20
"""The number of looks of which the median counts."""


@dataclass(frozen=True)
class Look:
    """A look, and its time in milliseconds."""

    name: str
    ms: float

    def __str__(self) -> str:
        return f"{self.name:44}{self.ms:10.2f} ms"


def unique_key(number: int) -> str:
    """Return the id of a message."""
    return f"7F0000010A2B18B4AAC2{number:012X}"


def filled(messages: int) -> Engine:
    """Create an engine with messages in four queues, some of them in flight."""
    engine = Engine(emulation=EmulationConfig(store_max_bytes=1 << 30), now_ms=START_MS)
    broker = engine.brokers[0]
    engine.execute(broker, CreateTopic(TopicConfig("orders", QUEUES, QUEUES)))
    for first in range(0, messages, BATCH):
        numbers = range(first, min(first + BATCH, messages))
        parts = [
            (0, b"tea", f"UNIQ_KEY\x01{unique_key(each)}\x02KEYS\x01k{each}\x02TAGS\x01a\x02".encode())
            for each in numbers
        ]
        whole = MessageToStore("orders", first // BATCH % QUEUES, b"", {}, START_MS, broker.store.store_host)
        broker.store.append_batch(parts, whole)
        engine.scheduler.advance_to(engine.scheduler.now_ms + 10)
    for _ in range(32):
        pop = PopMessage("billing", "orders", -1, 32, 600_000, 0, engine.scheduler.now_ms, 0, "TAG", "*")
        engine.execute(broker, pop)
    return engine


def timed(name: str, look: Callable[[int], object], numbers: range) -> Look:
    """Return the median time of a look at different messages."""
    times = []
    for number in numbers:
        began = time.process_time()
        assert look(number), f"{name} of {number}"
        times.append(time.process_time() - began)
    return Look(name, 1000 * sorted(times)[len(times) // 2])


def looks(messages: int) -> tuple[list[Look], list[Look]]:
    """Return the looks before the index and the steps of the indexing, and the looks after it."""
    engine = filled(messages)
    inspection, unindexed = (Inspection(engine, NoSurroundings()) for _ in range(2))
    distance = max(messages // (LOOKS + 2), 1)
    numbers = range(distance, messages, distance)[:LOOKS]

    def by_id(number: int) -> object:
        return inspection.find(unique_key(number))

    def at_once(number: int) -> object:
        return unindexed.find(unique_key(number))

    first = [timed(f"look {each + 1} at once", at_once, numbers[each : each + 1]) for each in range(LONG_SEARCHES)]
    first.append(timed("later look at once, median", at_once, numbers))
    step = timed("step of the indexing", lambda _: inspection.extend_index(), range(LOOKS))
    began = time.process_time()
    while inspection.extend_index():
        pass
    rest = Look("all other steps together", 1000 * (time.process_time() - began))
    place = inspection.find(unique_key(numbers[0]))[0].copies[0].place
    held = inspection.receipts()[0].place
    following = [
        timed("first message by id", by_id, numbers[-1:]),
        timed("message by id", by_id, numbers),
        timed("message by key", lambda number: inspection.find(f"k{number}"), numbers),
        timed("message by place", lambda _: inspection.at(place), numbers),
        timed("receipts of a place", lambda _: inspection.receipts("billing", held), numbers),
        timed("queue with the progress of its group", lambda _: inspection.queue("broker-a", "orders", 0), numbers),
        timed("group", lambda _: inspection.group("billing"), numbers),
    ]
    return [*first, step, rest], following


def main(words: list[str]) -> int:
    """Print all looks; return 1 if one after the indexing is too slow."""
    messages = int(words[0]) if words else MESSAGES
    before, following = looks(messages)
    print(f"{messages:,} messages")
    for look in (*before, *following):
        print(look)
    slow = [look.name for look in following if look.ms > LIMIT_MS]
    print(f"too slow: {', '.join(slow)}" if slow else f"all looks after the indexing take at most {LIMIT_MS:g} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
