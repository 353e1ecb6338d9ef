"""Messages that wait, a lot of them: what they cost those that come after, what a jump over them costs, and nothing.

The rows of `bench/growth.py` about timed, delayed and half messages. The full emulator holds 100,000 of each.
"""

import time
from collections.abc import Callable, Iterator

from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.engine import DirectChannel
from world import BODY, World, empty

PARKED = 100_000
MILLION = 1_000_000
DAY_MS = 86_400_000
NEVER_CHECKED_MS = 10 * DAY_MS
JUMP_GOAL_S = 2.0
MINUTE_MS = 60_000
PRODUCERS = "P"


def send(world: World, count: int, **properties: str) -> list[ops.SendResult]:
    """Send messages with these properties."""
    now, found = world.now_ms, []
    for number in range(count):
        own = {"UNIQ_KEY": f"k{number}", "PGROUP": PRODUCERS, **properties}
        outcome = world.submit(ops.SendMessage(PRODUCERS, "work", 0, BODY, own, ("10.0.0.1", 1), now)).outcome
        assert isinstance(outcome, ops.SendResult), outcome
        found.append(outcome)
    return found


def empty_of_parked() -> World:
    """An emulator whose transaction checks do not come between other steps."""
    world = empty()
    world.engine.brokers[0].config.transaction_check_interval = NEVER_CHECKED_MS
    return world


def full_of_parked(factor: int) -> World:
    """The same with messages that wait for hours: timed ones in 1,000 slots, delayed ones, and half messages."""
    world = empty_of_parked()
    for slot in range(1_000):
        send(world, PARKED // factor // 1_000, TIMER_DELAY_SEC=str(DAY_MS // 1_000 + slot))
    send(world, PARKED // factor, DELAY="18")
    send(world, PARKED // factor, TRAN_MSG="true")
    return world


Work = Callable[[], None]


def timed_sent(world: World, count: int) -> Work:
    """Timed messages come in."""
    return lambda: void(send(world, count, TIMER_DELAY_SEC="5"))


def timed_fires(world: World, count: int) -> Work:
    """Timed messages become due."""
    send(world, count, TIMER_DELAY_SEC="5")
    return lambda: world.engine.scheduler.advance_to(world.now_ms + 6_000)


def timed_recalled(world: World, count: int) -> Work:
    """Timed messages are taken back by their handles."""
    handles = [sent.recall_handle for sent in send(world, count, TIMER_DELAY_SEC="5")]

    def work() -> None:
        for handle in handles:
            assert handle is not None
            outcome = world.submit(ops.RecallMessage("work", handle)).outcome
            assert isinstance(outcome, ops.RecallResult), outcome

    return work


def recalled_passed_over(world: World, count: int) -> Work:
    """Messages that were taken back become due."""
    timed_recalled(world, count)()
    return lambda: world.engine.scheduler.advance_to(world.now_ms + 6_000)


def delayed_sent(world: World, count: int) -> Work:
    """Messages with a delay level come in."""
    return lambda: void(send(world, count, DELAY="2"))


def delayed_fires(world: World, count: int) -> Work:
    """Messages with a delay level become due."""
    send(world, count, DELAY="2")
    return lambda: world.engine.scheduler.advance_to(world.now_ms + 6_000)


def half_sent(world: World, count: int) -> Work:
    """Half messages come in."""
    return lambda: void(send(world, count, TRAN_MSG="true"))


def committed(world: World, count: int) -> Work:
    """Half messages are committed."""
    halves = send(world, count, TRAN_MSG="true")

    def work() -> None:
        for half in halves:
            operation = ops.EndTransaction(PRODUCERS, half.queue_offset, half.physical_offset, 8, False, half.msg_id)
            assert isinstance(world.submit(operation).outcome, ops.Done)

    return work


def void(_: object) -> None:
    """Nothing of it is wanted."""


ROWS: tuple[tuple[str, Callable[[World, int], Work]], ...] = (
    ("timed message is sent", timed_sent),
    ("timed message fires", timed_fires),
    ("timed message is recalled", timed_recalled),
    ("recalled message is passed over", recalled_passed_over),
    ("delayed message is sent", delayed_sent),
    ("delayed message fires", delayed_fires),
    ("half message is sent", half_sent),
    ("half message is committed", committed),
)


class Asked(DirectChannel):
    """A producer that counts how often it is asked."""

    count = 0

    def push(self, effect: object) -> None:
        """Count."""
        self.count += 1


def checked(world: World, halves: int) -> Callable[[], float]:
    """A transaction check that asks a producer about so many half messages; microseconds for each, time after time."""
    producer = Asked("producer")
    beat = ops.Heartbeat("producer", [PRODUCERS], [])
    send(world, halves, TRAN_MSG="true")

    def once() -> float:
        world.submit(beat, producer)
        before = producer.count
        begin = time.process_time_ns()
        while producer.count == before:
            world.engine.scheduler.advance_to(world.now_ms + 1_000)
        spent = time.process_time_ns() - begin
        assert producer.count - before == halves, producer.count
        return spent / 1000 / halves

    return once


def jump(factor: int, **properties: str) -> float:
    """Seconds of processor time for a jump over 100,000 messages that become due in it."""
    world = empty_of_parked()
    send(world, PARKED // factor, **properties)
    begin = time.process_time_ns()
    world.engine.scheduler.advance_to(world.now_ms + MINUTE_MS)
    spent = (time.process_time_ns() - begin) / 1e9
    assert world.engine.brokers[0].store.max_offset("work", 0) == PARKED // factor
    return spent


def jumps(factor: int) -> Iterator[tuple[str, float]]:
    """What is jumped over, and the seconds that it takes."""
    yield "timed messages, all of one second", jump(factor, TIMER_DELAY_SEC="30")
    yield "delayed messages of one level", jump(factor, DELAY="4")


def idle(factor: int) -> tuple[int, float]:
    """A minute with a million messages parked for hours: how many timers run in it, and ms of processor time."""
    world = empty_of_parked()
    for slot in range(100):
        send(world, MILLION // 2 // factor // 100, TIMER_DELAY_SEC=str(DAY_MS // 1_000 + slot))
    send(world, MILLION // 2 // factor, DELAY="18")
    scheduler = world.engine.scheduler
    minute_ends = world.now_ms + MINUTE_MS
    due = sum(timer.due_ms <= minute_ends for timer in scheduler.scheduled())
    begin = time.process_time_ns()
    scheduler.advance_to(minute_ends)
    return due, (time.process_time_ns() - begin) / 1e6
