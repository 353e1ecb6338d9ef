"""Peeks: the messages that they return, and the number of messages that they report as the rest."""

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import PeekMessage, PopResult
from stored import filled, stored_bodies

RETRY = "%RETRY%G_A"


def peek(harness: EngineHarness, count: int) -> tuple[list[bytes], int]:
    """Return the bodies of a peek of all queues, and its rest."""
    outcome = harness.ask(PopResult, PeekMessage("G", "A", -1, count))
    return [decode(message.record).body for message in outcome.messages], outcome.rest_num


@pytest.fixture
def harness(harness: EngineHarness) -> EngineHarness:
    """Return a harness with message 0 in the retry topic of group G, and message 1, which the group has not read."""
    filled(harness, 2)
    harness.popped("A", count=1, invisible_ms=1000)
    harness.advance(10_000)
    assert stored_bodies(harness, RETRY) == [b"0"]
    return harness


def test_a_full_peek_counts_the_retry_topic_only_if_it_was_read_first(harness: EngineHarness) -> None:
    """Upstream reads the retry topic last only if there is room (PeekMessageProcessor.processRequest)."""
    found = [peek(harness, 1) for _ in range(100)]
    assert {(bodies[0], rest) for bodies, rest in found} == {(b"0", 2), (b"1", 1)}


def test_a_peek_with_room_counts_both_topics(harness: EngineHarness) -> None:
    found = [peek(harness, 2) for _ in range(100)]
    assert {tuple(bodies) for bodies, _ in found} == {(b"0", b"1"), (b"1", b"0")}
    assert {rest for _, rest in found} == {2}


def test_a_peek_reads_all_queues_of_the_retry_topic(harness: EngineHarness) -> None:
    harness.topic(RETRY, 3)
    harness.send(RETRY, b"in queue 2", queue=2)
    bodies, rest = peek(harness, 32)
    assert (sorted(bodies), rest) == ([b"0", b"1", b"in queue 2"], 3)


def test_the_rest_is_negative_for_a_group_beyond_the_end(harness: EngineHarness) -> None:
    """Upstream subtracts the offset of the group from the end of the queue, whichever is larger."""
    harness.broker.offsets.commit("G", "A", 0, 9)
    harness.broker.offsets.commit("G", RETRY, 0, 1)
    outcome = harness.ask(PopResult, PeekMessage("G", "A", -1, 32))
    assert (outcome.code, outcome.rest_num) == (ResponseCode.PULL_NOT_FOUND, -7)
