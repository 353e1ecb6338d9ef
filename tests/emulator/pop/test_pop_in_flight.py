"""The bound of popped messages that are out, in virtual time."""

import pytest
from engine_world import World, bodies, make_world, messages_of
from rocketmq_testkit.emulator.operations import DeleteTopic


@pytest.fixture
def world() -> World:
    world = make_world(enable_pop_message_threshold=True, pop_inflight_message_threshold=2)
    world.topic("A")
    for n in range(9):
        world.send("A", b"%d" % n)
    return world


def test_too_many_out_stop_a_queue(world: World) -> None:
    """A queue stops when more than the bound are out, and counts what it keeps back as the rest."""
    assert len(world.popped("A", count=3)) == 3
    assert world.popped("A", count=3) == []
    assert world.last_pop.rest_num == 6


def test_acknowledgements_let_it_go_on(world: World) -> None:
    """At the bound, not only below it, the queue hands out again; an acknowledgement counts as often as it comes."""
    messages = world.popped("A", count=4)
    receipt = world.receipt(messages[0])
    world.ack("A", receipt)
    assert world.popped("A") == []
    world.ack("A", receipt)
    assert bodies(world.popped("A", count=1)) == [b"4"]


def test_a_pop_that_waits_for_a_stopped_queue_is_woken_when_it_goes_on(world: World) -> None:
    """By the acknowledgement that brings it back to the bound, and not by itself before."""
    messages = world.popped("A", count=4)
    receipts = [world.receipt(message) for message in messages]
    waiting = world.pop("A", count=1, poll_ms=20_000)
    world.ack("A", receipts[0])
    assert waiting.outcome is None
    world.ack("A", receipts[1])
    assert bodies(messages_of(waiting)) == [b"4"]


def test_what_comes_back_is_not_out(world: World) -> None:
    """A message that goes to the retry topic is not out any more, so the queue goes on."""
    world.popped("A", count=3, invisible_ms=1000)
    assert world.popped("A", count=3) == []
    world.advance(10_000)
    assert len(world.popped("A", count=9)) == 9


def test_groups_count_for_themselves(world: World) -> None:
    """What one group has out does not stop another."""
    world.popped("A", count=3)
    assert len(world.popped("A", count=3, group="H")) == 3


def test_a_deleted_topic_is_not_remembered(world: World) -> None:
    """A topic of the same name begins with nothing out."""
    world.popped("A", count=3)
    world.engine.submit(world.broker, DeleteTopic("A"))
    world.topic("A")
    world.send("A", b"new")
    assert bodies(world.popped("A")) == [b"new"]


def test_an_ordered_batch_above_the_bound_stays_out(world: World) -> None:
    """It is not handed out again when its time is over, but when enough of it is acknowledged."""
    first, *_ = world.popped("A", count=3, invisible_ms=1000, order=True)
    receipt = world.receipt(first)
    world.advance(1000)
    assert world.popped("A", count=3, order=True) == []
    world.ack("A", receipt)
    assert bodies(world.popped("A", count=3, order=True)) == [b"1", b"2", b"3"]
