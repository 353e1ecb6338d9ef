"""The memory of a fork grows with the messages that are sent to the fork, not with those of its parent."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import Engine

MIB = 1024 * 1024
BODY = bytes(1024)


def filled(messages: int) -> EngineHarness:
    harness = make_harness()
    harness.topic("A", 4)
    send(harness, messages)
    return harness


def send(harness: EngineHarness, messages: int) -> None:
    for number in range(messages):
        harness.send("A", BODY, queue=number % 4)


def allocated(work: Callable[[], object]) -> int:
    """Return the number of bytes that `work` allocates and that are still in use after it."""
    gc.collect()
    tracemalloc.start()
    kept = work()
    gc.collect()
    found = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return found


def fork(harness: EngineHarness) -> EngineHarness:
    engine = Engine(state=harness.engine.fork_state())
    return EngineHarness(engine, engine.brokers[0])


@pytest.mark.parametrize("messages", [1_000, 10_000])
def test_a_fork_of_messages_takes_no_memory_for_them(messages: int) -> None:
    """The parent has up to 11 MiB; the fork, its fork, and reads of all messages take less than 1 MiB."""
    harness = filled(messages)

    def forks() -> list[EngineHarness]:
        child = fork(harness)
        for queue in range(4):
            for offset in range(0, messages // 4, 32):
                child.pull("A", offset, queue=queue)
        child.engine.journal.clear()
        return [child, fork(child)]

    assert allocated(forks) < MIB // 2


def test_the_memory_of_a_fork_grows_with_the_messages_sent_to_it() -> None:
    """1,000 messages of 1 KiB take less than 3 MiB, journal included."""
    child = fork(filled(5_000))
    assert MIB < allocated(lambda: send(child, 1_000)) < 3 * MIB


def test_discarded_forks_leave_no_memory() -> None:
    harness = filled(2_000)
    fork(harness)
    assert allocated(lambda: [fork(harness) for _ in range(20)].clear()) < MIB // 8
