"""The limit on popped messages in flight, in virtual time."""

import pytest
from engine_harness import EngineHarness, bodies, make_harness, messages_of
from rocketmq_testkit.emulator.operations.groups import DeleteGroup
from rocketmq_testkit.emulator.operations.topics import DeleteTopic


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness(enable_pop_message_threshold=True, pop_inflight_message_threshold=2)
    harness.topic("A")
    for n in range(9):
        harness.send("A", b"%d" % n)
    return harness


def test_a_queue_above_the_in_flight_limit_returns_no_messages(harness: EngineHarness) -> None:
    """A queue with more messages in flight than the limit returns none and reports its messages as the rest."""
    assert len(harness.popped("A", count=3)) == 3
    assert harness.popped("A", count=3) == []
    assert harness.last_pop.rest_num == 6


def test_acks_down_to_the_in_flight_limit_unblock_the_queue(harness: EngineHarness) -> None:
    """At the limit a queue delivers again. As upstream, a repeated acknowledgement lowers the count again."""
    messages = harness.popped("A", count=4)
    receipt = harness.receipt(messages[0])
    harness.ack("A", receipt)
    assert harness.popped("A") == []
    harness.ack("A", receipt)
    assert bodies(harness.popped("A", count=1)) == [b"4"]


def test_a_pop_waiting_for_a_blocked_queue_is_woken_by_the_unblocking_ack(harness: EngineHarness) -> None:
    """A pop that waits for a blocked queue is woken by the acknowledgement that brings it back to the limit."""
    messages = harness.popped("A", count=4)
    receipts = [harness.receipt(message) for message in messages]
    waiting = harness.pop("A", count=1, poll_ms=20_000)
    harness.ack("A", receipts[0])
    assert waiting.outcome is None
    harness.ack("A", receipts[1])
    assert bodies(messages_of(waiting)) == [b"4"]


def test_a_message_in_the_retry_topic_is_no_longer_in_flight(harness: EngineHarness) -> None:
    """A message moved to the retry topic is no longer in flight, so its queue delivers again."""
    harness.popped("A", count=3, invisible_ms=1000)
    assert harness.popped("A", count=3) == []
    harness.advance(10_000)
    assert len(harness.popped("A", count=9)) == 9


def test_messages_in_flight_of_one_group_do_not_block_another_group(harness: EngineHarness) -> None:
    harness.popped("A", count=3)
    assert len(harness.popped("A", count=3, group="H")) == 3


def test_a_recreated_topic_has_no_messages_in_flight(harness: EngineHarness) -> None:
    harness.popped("A", count=3)
    harness.engine.submit(harness.broker, DeleteTopic("A"))
    harness.topic("A")
    harness.send("A", b"new")
    assert bodies(harness.popped("A")) == [b"new"]


@pytest.mark.parametrize("clean", [False, True])
def test_only_the_deletion_of_a_group_with_its_offsets_resets_its_messages_in_flight(
    harness: EngineHarness, clean: bool
) -> None:
    """Source: AdminBrokerProcessor.deleteSubscriptionGroup (5.3.3)."""
    harness.popped("A", count=3)
    harness.engine.submit(harness.broker, DeleteGroup("G", clean))
    assert bool(harness.popped("A", count=9)) is clean


def test_an_ordered_batch_above_the_in_flight_limit_is_not_redelivered_on_expiry(harness: EngineHarness) -> None:
    """An ordered batch above the limit is not redelivered when it expires, but when enough of it is acknowledged."""
    first, *_ = harness.popped("A", count=3, invisible_ms=1000, order=True)
    receipt = harness.receipt(first)
    harness.advance(1000)
    assert harness.popped("A", count=3, order=True) == []
    harness.ack("A", receipt)
    assert bodies(harness.popped("A", count=3, order=True)) == [b"1", b"2", b"3"]
