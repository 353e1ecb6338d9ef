"""The limit on popped messages in flight, in virtual time."""

import pytest
from engine_world import World, bodies, make_world, messages_of
from rocketmq_testkit.emulator.operations.topics import DeleteTopic


@pytest.fixture
def world() -> World:
    world = make_world(enable_pop_message_threshold=True, pop_inflight_message_threshold=2)
    world.topic("A")
    for n in range(9):
        world.send("A", b"%d" % n)
    return world


def test_a_queue_above_the_in_flight_limit_returns_no_messages(world: World) -> None:
    """A queue with more messages in flight than the limit returns none and reports its messages as the rest."""
    assert len(world.popped("A", count=3)) == 3
    assert world.popped("A", count=3) == []
    assert world.last_pop.rest_num == 6


def test_acks_down_to_the_in_flight_limit_unblock_the_queue(world: World) -> None:
    """At the limit a queue delivers again. As upstream, a repeated acknowledgement lowers the count again."""
    messages = world.popped("A", count=4)
    receipt = world.receipt(messages[0])
    world.ack("A", receipt)
    assert world.popped("A") == []
    world.ack("A", receipt)
    assert bodies(world.popped("A", count=1)) == [b"4"]


def test_a_pop_waiting_for_a_blocked_queue_is_woken_by_the_unblocking_ack(world: World) -> None:
    """A pop that waits for a blocked queue is woken by the acknowledgement that brings it back to the limit."""
    messages = world.popped("A", count=4)
    receipts = [world.receipt(message) for message in messages]
    waiting = world.pop("A", count=1, poll_ms=20_000)
    world.ack("A", receipts[0])
    assert waiting.outcome is None
    world.ack("A", receipts[1])
    assert bodies(messages_of(waiting)) == [b"4"]


def test_a_message_in_the_retry_topic_is_no_longer_in_flight(world: World) -> None:
    """A message moved to the retry topic is no longer in flight, so its queue delivers again."""
    world.popped("A", count=3, invisible_ms=1000)
    assert world.popped("A", count=3) == []
    world.advance(10_000)
    assert len(world.popped("A", count=9)) == 9


def test_messages_in_flight_of_one_group_do_not_block_another_group(world: World) -> None:
    world.popped("A", count=3)
    assert len(world.popped("A", count=3, group="H")) == 3


def test_a_recreated_topic_has_no_messages_in_flight(world: World) -> None:
    world.popped("A", count=3)
    world.engine.submit(world.broker, DeleteTopic("A"))
    world.topic("A")
    world.send("A", b"new")
    assert bodies(world.popped("A")) == [b"new"]


def test_an_ordered_batch_above_the_in_flight_limit_is_not_redelivered_on_expiry(world: World) -> None:
    """An ordered batch above the limit is not redelivered when it expires, but when enough of it is acknowledged."""
    first, *_ = world.popped("A", count=3, invisible_ms=1000, order=True)
    receipt = world.receipt(first)
    world.advance(1000)
    assert world.popped("A", count=3, order=True) == []
    world.ack("A", receipt)
    assert bodies(world.popped("A", count=3, order=True)) == [b"1", b"2", b"3"]
