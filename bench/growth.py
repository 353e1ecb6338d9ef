"""Measures if the engine slows down as it fills: the same steps in an empty and in a full emulator, in virtual time.

    python bench/growth.py [--quick] [--only TEXT] [--write]

prints processor time for each step and the ratio (full / empty). The exit code is 1 if a ratio is above 1.5. The full
emulator holds 1,000,000 stored messages, 100,000 messages in flight (each with a check point of its own) and 10,000
waiting pops. If the name of a row says so, 1,000 of the pops have the topic and group of the steps.

Some steps have a full emulator of their own. For delayed messages it holds 100,000 timed, delayed and half messages
each. Another one has 10,000 topics, 1,000 groups and 5,000 clients. A third one has a slave with 1,000,000 messages as
well. The last one has 10,000 light message queues (LMQ), 10,000 static topics and a compacted topic.

`memory.py` measures the memory of a stored message. `--write` puts the table into bench/README.md. A run takes some
minutes and 2 GiB.
"""

import datetime
import gc
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import crowd
import memory
import parked
import reads_and_batches
import special_topics
import with_slaves
from bench_harness import FAR_MS, BenchHarness, empty
from document import Table, options
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.message.receipt import Receipt
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ChannelClosed
from rocketmq_testkit.emulator.operations.consume import AckMessage, ChangeInvisibleTime

GOAL = 1.5
STORED, IN_FLIGHT, WAITING, CROWD = 1_000_000, 100_000, 10_000, 1_000
MESSAGES_PER_MS = 10
"""Number of messages stored per millisecond."""
ROUNDS = 9
CHECKS = 3
STEPS = 1_000


def full(factor: int) -> BenchHarness:
    """Return the full emulator. Its journal is full as well."""
    harness = empty()
    in_flight, waiting = IN_FLIGHT // factor, WAITING // factor
    topics = [harness.topic(f"other-{number}", 4) for number in range(16)]
    for number in range(STORED // factor // 2):
        harness.send("work")
        if number % MESSAGES_PER_MS == 0:
            harness.engine.scheduler.advance_to(harness.now_ms + 1)
    for number in range(STORED // factor // 2):
        harness.send(topics[number % len(topics)])
    harness.engine.scheduler.advance_to(harness.now_ms + 1_000)
    for _ in range(in_flight):
        harness.pop("work")
    crowd = CROWD // factor
    for number in range(waiting):
        name = "crowd" if number < crowd else harness.topic(f"idle-{number // 100}")
        channel = DirectChannel(f"client-{number}")
        call = harness.pop(name, group="G", poll_ms=FAR_MS, channel=channel)
        assert call.outcome is None
    return harness


# --- The steps: each prepares its data and returns the function to time, which repeats the step `count` times.

Step = Callable[[BenchHarness, int], Callable[[], None]]


def send(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Send to a topic without waiting consumers."""
    return lambda: harness.send("work", count)


def pop_one(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Pop one message."""
    harness.send("work", count)

    def work() -> None:
        for _ in range(count):
            harness.pop("work")

    return work


def pop_many(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Pop 32 messages; the time is per message."""
    harness.send("work", count)

    def work() -> None:
        for _ in range(count // 32):
            harness.pop("work", 32)

    return work


def _with_receipts(harness: BenchHarness, count: int, operation: Callable[[Receipt], Operation]) -> Callable[[], None]:
    """Submit an operation for each of `count` popped messages."""
    harness.send("work", count)
    receipts = harness.receipts("work", count)

    def work() -> None:
        for receipt in receipts:
            harness.submit(operation(receipt))

    return work


def ack(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Acknowledge; the way through the timer into the revive topic is not measured."""
    return _with_receipts(harness, count, lambda it: AckMessage("G", "work", 0, it.text(), it.queue_offset))


def change(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Change the invisible duration."""
    return _with_receipts(
        harness, count, lambda it: ChangeInvisibleTime("G", "work", 0, it.text(), it.queue_offset, FAR_MS)
    )


def revive(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Let check points expire: timer, revive queue and retry topic together."""
    harness.send("work", count)
    for _ in range(count):
        harness.pop("work", invisible_ms=5_000)

    def work() -> None:
        harness.engine.scheduler.advance_to(harness.now_ms + 10_000)

    return work


def timers(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Set and cancel timers."""
    scheduler = harness.engine.scheduler

    def work() -> None:
        for _ in range(count):
            scheduler.call_later(10_000, work, "bench").cancel()

    return work


def ticks(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Advance the clock by milliseconds, with a timer in each."""
    scheduler = harness.engine.scheduler
    for ms in range(count):
        scheduler.call_later(ms, lambda: None, "bench")

    def work() -> None:
        for _ in range(count):
            scheduler.advance_to(scheduler.now_ms + 1)

    return work


def wake(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Start a pop that waits, and wake it by a message."""
    name = harness.topic(f"wake-{next(harness.names)}")

    def work() -> None:
        for _ in range(count):
            call = harness.pop(name, poll_ms=FAR_MS)
            harness.send(name)
            assert call.outcome is not None

    return work


def wake_in_crowd(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Start a pop that waits behind many others of its group, and wake the first of them by a message."""

    def work() -> None:
        for _ in range(count):
            harness.pop("crowd", poll_ms=FAR_MS)
            harness.send("crowd")

    return work


def poll_ends(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Start pops that wait until their deadlines."""

    def work() -> None:
        for _ in range(count):
            harness.pop("crowd", poll_ms=10)
        harness.engine.scheduler.advance_to(harness.now_ms + 20)

    return work


def wake_pull(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Hold a pull and wake it by a message."""
    name = harness.topic(f"wake-{next(harness.names)}")

    def work() -> None:
        for offset in range(count):
            call = harness.pull(name, offset, 15_000)
            harness.send(name)
            assert call.outcome is not None

    return work


def leave(harness: BenchHarness, count: int) -> Callable[[], None]:
    """Close the connection of a client with a waiting pop."""
    name = harness.topic(f"wake-{next(harness.names)}")
    channels = [DirectChannel(f"gone-{next(harness.names)}") for _ in range(count)]
    for channel in channels:
        harness.pop(name, poll_ms=FAR_MS, channel=channel)

    def work() -> None:
        for channel in channels:
            channel.active = False
            harness.submit(ChannelClosed(), channel)

    return work


ROWS: tuple[tuple[str, Step], ...] = (
    ("send", send),
    ("pop of one message", pop_one),
    ("pop of 32 messages, each", pop_many),
    ("ack", ack),
    ("change of the invisible duration", change),
    ("revive, each check point", revive),
    ("timer scheduled and cancelled", timers),
    ("scheduler step of a millisecond with a timer", ticks),
    ("pop waits, message wakes it", wake),
    ("pop waits behind 1,000 of its group, message wakes the first", wake_in_crowd),
    ("pop waits among 1,000 of its group until its timeout", poll_ends),
    ("pull waits, message wakes it", wake_pull),
    ("client with a waiting pop disconnects", leave),
)


AnyHarness = TypeVar("AnyHarness", bound=BenchHarness)

WAITING_ROWS = "jumps and idle"
"""Name for `--only` of the figures that are not rows."""


@dataclass(frozen=True)
class Row:
    """Microseconds of processor time for one step."""

    name: str
    empty: float
    full: float

    @property
    def ratio(self) -> float:
        """The slowdown of the full emulator."""
        return self.full / self.empty


def timed(step: Callable[[AnyHarness, int], Callable[[], object]], harness: AnyHarness, count: int) -> float:
    """Return the microseconds for one step."""
    work = step(harness, count)
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1000 / count


def measure(
    rows: Iterable[tuple[str, Callable[[AnyHarness, int], Callable[[], object]]]],
    few: AnyHarness,
    many: AnyHarness,
    only: str,
    *,
    quick: bool,
) -> Iterator[Row]:
    """Measure some rows, alternating between the emulators so that other load affects both."""
    # Collects the garbage of other emulators, then uses the settings of the command. Requests create no reference
    # cycles, and a collection that visits all stored data is expensive.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    for name, step in rows:
        if only not in name:
            continue
        pairs = [(timed(step, few, STEPS), timed(step, many, STEPS)) for _ in range(2 if quick else ROUNDS)]
        yield Row(name, statistics.median(one for one, _ in pairs), statistics.median(other for _, other in pairs))


Measured = Callable[[int], Callable[[], float]]
"""Takes a number of objects; returns a function that measures microseconds per object and can be called repeatedly."""
TOGETHER: tuple[tuple[str, Measured, int], ...] = (
    ("timed message fires from a crowded second", lambda number: parked.fired_together(empty(), number), parked.PARKED),
    ("half message is checked", lambda number: parked.checked(empty(), number), parked.PARKED),
    ("client is checked for missing heartbeats", crowd.scanned_for_inactive_clients, crowd.CLIENTS),
    ("message of a compacted topic is compacted", special_topics.compaction_round, special_topics.COMPACTED),
)


def measure_together(factor: int, only: str) -> Iterator[Row]:
    """Measure actions on many objects at once, with few and with many objects."""
    for name, measured, number in TOGETHER:
        if only not in name:
            continue
        few, many = measured(STEPS), measured(number // factor)
        pairs = [(few(), many()) for _ in range(CHECKS)]
        yield Row(name, statistics.median(one for one, _ in pairs), statistics.median(other for _, other in pairs))


def all_rows(only: str, quick: bool) -> Iterator[Row]:
    """Measure all rows, one pair of emulators after another, because they do not fit into memory together."""
    factor = 100 if quick else 1
    rows = ROWS + reads_and_batches.ROWS
    if any(only in name for name, _ in rows):
        yield from measure(rows, empty(), full(factor), only, quick=quick)
    if any(only in name for name, _ in parked.ROWS):
        yield from measure(parked.ROWS, parked.empty_of_parked(), parked.full_of_parked(factor), only, quick=quick)
    if any(only in name for name, _ in crowd.ROWS):
        yield from measure(crowd.ROWS, crowd.few(), crowd.many(factor), only, quick=quick)
    if any(only in name for name, _ in with_slaves.ROWS):
        yield from measure(with_slaves.ROWS, with_slaves.empty(), with_slaves.full(factor), only, quick=quick)
    if any(only in name for name, _ in special_topics.ROWS):
        yield from measure(special_topics.ROWS, special_topics.empty(), special_topics.full(factor), only, quick=quick)
    yield from measure_together(factor, only)


def memory_kib() -> float:
    """Return the KiB of memory for each stored message of 1 KiB, measured in another process."""
    command = [sys.executable, str(Path(__file__).with_name("memory.py"))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown, with date and interpreter."""
    lines = [
        f"{datetime.date.today().isoformat()}, Python {platform.python_version()}; µs of processor time for each step, "
        f"median of {ROUNDS} x {STEPS:,}.",
        "",
        "| step | empty | full | ratio |",
        "|---|---:|---:|---:|",
        *(f"| {row.name} | {row.empty:.1f} | {row.full:.1f} | {row.ratio:.2f} |" for row in rows),
        "",
    ]
    return "\n".join(lines)


def waiting(factor: int) -> tuple[str, bool]:
    """Measure jumps over delayed messages, an idle minute and the memory of a message.

    Returns the text and True if a figure exceeds its goal.
    """
    found = list(parked.jumps(factor))
    due, idle_ms = parked.idle(factor)
    idle = parked.idle_emulator(factor)
    kib = memory_kib()
    lines = [
        f"Seconds of processor time for a jump over {parked.PARKED:,} messages that become due in it, at most "
        f"{parked.JUMP_GOAL_S:g}: "
        + ", ".join(f"{what} {seconds:.2f}" for what, seconds in found)
        + f". A minute with {parked.MILLION:,} timed and delayed messages that wait for hours runs {due} timers and "
        f"takes {idle_ms:.2f} ms; a running emulator that holds them takes {idle:.2%} of a processor, at most "
        f"{parked.IDLE_GOAL:.0%}. Half messages are not included: as in upstream, a round of checks stores each one "
        "again every 30 s.",
        "",
        f"A stored message of 1 KiB takes {kib:.2f} KiB of memory, at most {memory.GOAL_KIB:g}.",
        "",
    ]
    slow = any(seconds > parked.JUMP_GOAL_S for _, seconds in found)
    return "\n".join(lines), slow or due > 0 or idle > parked.IDLE_GOAL or kib > memory.GOAL_KIB


SECTION = f"""## Growth

`make bench-growth` measures the same steps in an empty emulator and in a full one. None may take more than {GOAL} times
as long in the full one, which holds:

- by default {STORED:,} stored messages, {IN_FLIGHT:,} in flight and {WAITING:,} waiting pops
- for steps of timed, delayed and half messages, {parked.PARKED:,} of each
- for steps of topics, groups and clients, {crowd.STORED:,} messages in {crowd.TOPICS:,} topics, {crowd.GROUPS:,} groups
  and {crowd.CLIENTS:,} connected clients, which all wait for messages
- for steps of slaves, {with_slaves.STORED:,} messages at both brokers
- for steps of light message queues (LMQ), static and compacted topics, {special_topics.LIGHT:,} LMQs,
  {special_topics.STATIC:,} static topics and {special_topics.COMPACTED:,} messages of a compacted topic
"""


def main() -> int:
    """Measure, print, and write if requested."""
    quick = "do a hundredth of the work, only to check that it runs"
    chosen = options("Compare a full emulator with an empty one.", quick, "steps")
    rows = list(all_rows(chosen.only, chosen.quick))
    text = table(rows)
    print(text, flush=True)
    too_much = False
    if chosen.only in WAITING_ROWS:
        waits, too_much = waiting(100 if chosen.quick else 1)
        print(waits)
        text = f"{text}\n{waits}"
    if chosen.write:
        Table("growth", SECTION).write(text)
    slow = [row.name for row in rows if row.ratio > GOAL]
    if slow:
        print(f"more than {GOAL} times slower: {', '.join(slow)}", file=sys.stderr)
    if too_much:
        print("waiting or stored messages cost too much", file=sys.stderr)
    return 1 if (slow or too_much) and not chosen.quick else 0


if __name__ == "__main__":
    sys.exit(main())
