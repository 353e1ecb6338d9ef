"""Measures many timed, delayed and half messages: the cost of further messages, of a jump of the clock, and of idling.

These are the rows of `bench/growth.py` about such messages. The full emulator holds 100,000 of each kind.
"""

import gc
import time
from collections.abc import Callable, Iterator

from bench_harness import BODY, BORN_HOST, START_MS, BenchHarness, empty
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    RecallResult,
    SendMessage,
    SendResult,
)
from rocketmq_testkit.emulator.transaction.transaction_service import COMMIT, ROLLBACK
from rocketmq_testkit.fixtures import Emulator

PARKED = 100_000
MILLION = 1_000_000
DAY_MS = 86_400_000
NEVER_CHECKED_MS = 10 * DAY_MS
JUMP_GOAL_S = 2.0
IDLE_GOAL = 0.01
"""Maximum share of a processor for an idle running emulator."""
IDLE_SECONDS = 5.0
MINUTE_MS = 60_000
ROUND_MS = 45_000
"""Time for exactly one round of transaction checks."""
SLOTS = 1_000
CROWDED_MS = START_MS + DAY_MS // 2
"""A second with 100,000 timed messages."""
PRODUCERS = "P"


def send(harness: BenchHarness, count: int, **properties: str) -> list[SendResult]:
    """Send messages with these properties."""
    now, found = harness.now_ms, []
    for number in range(count):
        own = {"UNIQ_KEY": f"k{number}", "PGROUP": PRODUCERS, **properties}
        outcome = harness.submit(SendMessage(PRODUCERS, "work", 0, BODY, own, BORN_HOST, now)).outcome
        assert isinstance(outcome, SendResult), outcome
        found.append(outcome)
    return found


def empty_of_parked() -> BenchHarness:
    """Create an emulator whose transaction checks do not run between the measured steps."""
    harness = empty()
    harness.engine.brokers[0].config.transaction_check_interval = NEVER_CHECKED_MS
    return harness


def full_of_parked(factor: int) -> BenchHarness:
    """Create an emulator with messages that are delayed for hours.

    It holds timed messages in 1,000 slots and in one slot, delayed messages, and half messages.
    """
    harness = empty_of_parked()
    for slot in range(SLOTS):
        send(harness, PARKED // factor // SLOTS, TIMER_DELAY_SEC=str(DAY_MS // 1_000 + slot))
    send(harness, PARKED // factor, TIMER_DELIVER_MS=str(CROWDED_MS))
    send(harness, PARKED // factor, DELAY="18")
    send(harness, PARKED // factor, TRAN_MSG="true")
    return harness


Work = Callable[[], object]
Step = Callable[[BenchHarness, int], Work]
"""(harness, count) -> function that repeats a step `count` times. Its time is measured, that of preparations is not."""


def sends(**properties: str) -> Step:
    """Return the step that sends messages with these properties."""

    def prepare(harness: BenchHarness, count: int) -> Work:
        return lambda: send(harness, count, **properties)

    return prepare


def fires(**properties: str) -> Step:
    """Return the step that delivers messages with these properties, which delay them by at most 5 s."""

    def prepare(harness: BenchHarness, count: int) -> Work:
        send(harness, count, **properties)
        return lambda: harness.engine.scheduler.advance_to(harness.now_ms + 6_000)

    return prepare


def timed_recalled(harness: BenchHarness, count: int) -> Work:
    """Recall timed messages by their handles."""
    return recalled(harness, send(harness, count, TIMER_DELAY_SEC="5"))


def recalled(harness: BenchHarness, sent: list[SendResult]) -> Work:
    """Recall sent messages."""
    handles = [each.recall_handle for each in sent]

    def work() -> None:
        for handle in handles:
            assert handle is not None
            outcome = harness.submit(RecallMessage("work", handle)).outcome
            assert isinstance(outcome, RecallResult), outcome

    return work


def recalled_passed_over(harness: BenchHarness, count: int) -> Work:
    """Reach the delivery time of recalled messages."""
    timed_recalled(harness, count)()
    return lambda: harness.engine.scheduler.advance_to(harness.now_ms + 6_000)


def timed_cancelled(harness: BenchHarness, count: int) -> Work:
    """Cancel timed messages by marker messages of their producer."""
    send(harness, count, TIMER_DELAY_SEC="5")

    def work() -> None:
        for number in range(count):
            send(harness, 1, TIMER_DELAY_SEC="5", TIMER_DEL_UNIQKEY=f"work+k{number}")

    return work


def crowded_recalled(harness: BenchHarness, count: int) -> Work:
    """Recall timed messages of the crowded second."""
    return recalled(harness, send(harness, count, TIMER_DELIVER_MS=str(CROWDED_MS)))


def committed(harness: BenchHarness, count: int) -> Work:
    """Commit half messages."""
    return ended(harness, count, COMMIT)


def rolled_back(harness: BenchHarness, count: int) -> Work:
    """Roll back half messages."""
    return ended(harness, count, ROLLBACK)


def ended(harness: BenchHarness, count: int, how: int) -> Work:
    """End half messages."""
    halves = send(harness, count, TRAN_MSG="true")

    def work() -> None:
        for half in halves:
            operation = EndTransaction(PRODUCERS, half.queue_offset, half.physical_offset, how, False, half.msg_id)
            assert isinstance(harness.submit(operation).outcome, Done)

    return work


ROWS: tuple[tuple[str, Step], ...] = (
    ("timed message is sent", sends(TIMER_DELAY_SEC="5")),
    ("timed message fires", fires(TIMER_DELAY_SEC="5")),
    ("timed message is recalled", timed_recalled),
    ("timed message is cancelled by a marker message", timed_cancelled),
    ("timed message is sent to a crowded second", sends(TIMER_DELIVER_MS=str(CROWDED_MS))),
    ("timed message is recalled from a crowded second", crowded_recalled),
    ("recalled message is skipped", recalled_passed_over),
    ("delayed message is sent", sends(DELAY="2")),
    ("delayed message fires", fires(DELAY="2")),
    ("half message is sent", sends(TRAN_MSG="true")),
    ("half message is committed", committed),
    ("half message is rolled back", rolled_back),
)


class CheckedProducer(DirectChannel):
    """A producer that counts the transaction checks that it receives."""

    count = 0

    def push(self, effect: object) -> None:
        """Count the check."""
        self.count += 1


def checked(harness: BenchHarness, halves: int) -> Callable[[], float]:
    """Measure a transaction check of many half messages.

    Returns a function that measures the microseconds per half message; it can be called repeatedly.
    """
    producer = CheckedProducer("producer")
    beat = Heartbeat("producer", [PRODUCERS], [])
    send(harness, halves, TRAN_MSG="true")

    def once() -> float:
        harness.submit(beat, producer)
        before = producer.count
        begin = time.process_time_ns()
        while producer.count == before:
            harness.engine.scheduler.advance_to(harness.now_ms + 1_000)
        spent = time.process_time_ns() - begin
        assert producer.count - before == halves, producer.count
        return spent / 1000 / halves

    return once


def fired_together(harness: BenchHarness, count: int) -> Callable[[], float]:
    """Measure the delivery of many timed messages of one second.

    Returns a function that measures the microseconds per message; it can be called repeatedly.
    """

    def once() -> float:
        send(harness, count, TIMER_DELAY_SEC="5")
        begin = time.process_time_ns()
        harness.engine.scheduler.advance_to(harness.now_ms + 6_000)
        return (time.process_time_ns() - begin) / 1000 / count

    return once


def jump(factor: int, **properties: str) -> float:
    """Return the processor seconds of a jump in which 100,000 messages are delivered."""
    harness = empty_of_parked()
    send(harness, PARKED // factor, **properties)
    return jump_of(harness, MINUTE_MS, PARKED // factor)


def jump_over_slots(factor: int) -> float:
    """Return the processor seconds of a jump over timed messages in 1,000 different seconds."""
    harness = empty_of_parked()
    for slot in range(1, SLOTS + 1):
        send(harness, PARKED // factor // SLOTS, TIMER_DELAY_SEC=str(slot))
    return jump_of(harness, (SLOTS + 1) * 1_000, PARKED // factor)


def jump_of(harness: BenchHarness, by_ms: int, due: int) -> float:
    """Return the processor seconds of a jump; `due` messages have to be in the queue after it."""
    begin = time.process_time_ns()
    harness.engine.scheduler.advance_to(harness.now_ms + by_ms)
    spent = (time.process_time_ns() - begin) / 1e9
    assert harness.engine.brokers[0].store.max_offset("work", 0) == due
    return spent


def jump_over_a_check(factor: int) -> float:
    """Return the processor seconds of a jump over half messages, for each of which a producer receives a check."""
    harness, producer = empty(), CheckedProducer("producer")
    harness.submit(Heartbeat("producer", [PRODUCERS], []), producer)
    send(harness, PARKED // factor, TRAN_MSG="true")
    begin = time.process_time_ns()
    harness.engine.scheduler.advance_to(harness.now_ms + ROUND_MS)
    spent = (time.process_time_ns() - begin) / 1e9
    assert producer.count == PARKED // factor, producer.count
    return spent


def running(messages: int, properties: Callable[[int], dict[str, str]]) -> Emulator:
    """Create an emulator as tests start it, on its own thread and in real time, with these messages."""
    room = {"storeMaxBytes": 4 * 1024**3}
    # Sending a million messages is one call of the loop, which can take half a minute on a busy machine.
    emulator = Emulator(topics=["work:NORMAL:1"], config=room, call_timeout="10m").start()
    emulator.run_on_loop(lambda host: fill(host.engine, messages, properties))
    return emulator


def fill(engine: Engine, messages: int, properties: Callable[[int], dict[str, str]]) -> None:
    """Send all messages at once."""
    now = engine.scheduler.now_ms
    for number in range(messages):
        own = {"UNIQ_KEY": f"k{number}", "PGROUP": PRODUCERS, **properties(number)}
        operation = SendMessage(PRODUCERS, "work", 0, BODY, own, BORN_HOST, now)
        assert isinstance(engine.submit(engine.brokers[0], operation).outcome, SendResult)


def jump_of_a_clock(factor: int) -> float:
    """Return the processor seconds of `Emulator.clock.advance` over timed messages.

    It also waits for clients and writes a journal.
    """
    with running(PARKED // factor, lambda _: {"TIMER_DELAY_SEC": "1800"}) as emulator:
        begin = time.process_time_ns()
        emulator.clock.advance("1h")
        spent = (time.process_time_ns() - begin) / 1e9
        due = emulator.run_on_loop(lambda host: host.engine.brokers[0].store.max_offset("work", 0))
        assert due == PARKED // factor
    return spent


def jumps(factor: int) -> Iterator[tuple[str, float]]:
    """Yield the kinds of messages of a jump, and the seconds of the jump."""
    kinds: tuple[tuple[str, Callable[[], float]], ...] = (
        ("timed messages, all of one second", lambda: jump(factor, TIMER_DELAY_SEC="30")),
        ("timed messages of 1,000 seconds", lambda: jump_over_slots(factor)),
        ("timed messages, by `clock.advance`", lambda: jump_of_a_clock(factor)),
        ("delayed messages of one level", lambda: jump(factor, DELAY="4")),
        ("half messages that are checked", lambda: jump_over_a_check(factor)),
    )
    for what, measured in kinds:
        # As in growth.py: the garbage collector does not visit the data of other emulators.
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        yield what, measured()


def idle(factor: int) -> tuple[int, float]:
    """Measure an idle minute with a million messages that are delayed for hours.

    Returns the number of timers that fire and the ms of processor time.
    """
    harness = empty_of_parked()
    for slot in range(100):
        send(harness, MILLION // 2 // factor // 100, TIMER_DELAY_SEC=str(DAY_MS // 1_000 + slot))
    send(harness, MILLION // 2 // factor, DELAY="18")
    scheduler = harness.engine.scheduler
    minute_ends = harness.now_ms + MINUTE_MS
    due = sum(timer.due_ms <= minute_ends for timer in scheduler.scheduled())
    begin = time.process_time_ns()
    scheduler.advance_to(minute_ends)
    return due, (time.process_time_ns() - begin) / 1e6


def idle_emulator(factor: int) -> float:
    """Return the share of a processor that a running emulator takes while a million messages are delayed for hours.

    Half of them are timed, half delayed. Half messages are not included: as in upstream, a round of checks stores each
    one again every 30 s.
    """

    def waits(number: int) -> dict[str, str]:
        return {"TIMER_DELAY_SEC": str(3_600 + number % 100)} if number % 2 else {"DELAY": "18"}

    with running(MILLION // factor, waits):
        begin_ns, begin = time.process_time_ns(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        return (time.process_time_ns() - begin_ns) / 1e9 / (time.monotonic() - begin)
