"""Queues are listed with their offsets, and with committed offset, messages in flight and lag of each group."""

import pytest
from engine_world import World, make_world
from inspected import look
from pull_operation import pull_of
from rocketmq_testkit.emulator.consumer_lag import queue_lag
from rocketmq_testkit.emulator.inspection.queues import ProgressView
from rocketmq_testkit.emulator.operations.offsets import ResetOffset


def progress(world: World, topic: str = "A", group: str = "G") -> ProgressView:
    found = look(world).queue(world.broker.name, topic, 0)
    assert found is not None
    return found.groups[group]


def test_queues_are_listed_with_first_and_end_offset(world: World) -> None:
    world.topic("A", queues=2)
    world.send("A", queue=1)
    assert [(queue.queue_id, queue.first, queue.end, queue.readable) for queue in look(world).queues("A")] == [
        (0, 0, 0, True),
        (1, 0, 1, True),
    ]
    assert look(world).queues("B") == []
    assert look(world).queue(world.broker.name, "A", 2) is None
    assert look(world).queue("broker-z", "A", 0) is None


def test_first_offset_of_a_queue_is_that_of_its_oldest_stored_message() -> None:
    world = make_world(store_max_bytes=1 << 20, max_message_size=1 << 10)
    world.topic("A")
    while world.broker.store.log.min_offset == 0:
        world.send("A", b"x" * 1000)
    (queue,) = look(world).queues("A")
    kept = look(world).messages("A")
    assert 0 < queue.first == kept[0].copies[0].place.queue_offset == queue.end - len(kept)
    assert look(world).lowest_offset(queue.broker, "A", 0) == queue.first


def test_write_only_topic_is_not_readable(world: World) -> None:
    world.topic("A", perm=2)
    (queue,) = look(world).queues("A")
    assert not queue.readable


@pytest.mark.parametrize("buffered", [False, True])
def test_progress_of_a_popping_group_has_offset_messages_in_flight_and_lag(buffered: bool) -> None:
    world = make_world(enable_pop_buffer_merge=buffered)
    world.topic("A")
    for _ in range(4):
        world.send("A")
    popped = world.popped("A", count=3, invisible_ms=30_000)
    world.heartbeat("c1", topics={"A": "*"})
    found = progress(world)
    assert (found.position, found.in_flight, found.lag) == (3, 3, 4)
    assert found.committed == (0 if buffered else 3)
    world.ack("A", world.receipt(popped[0]))
    assert progress(world).in_flight == 2


def test_progress_of_a_pulling_group_has_offset_messages_in_flight_and_lag(world: World) -> None:
    world.topic("A")
    for _ in range(3):
        world.send("A")
    world.heartbeat("c1", topics={"A": "*"})
    assert progress(world) == ProgressView(None, None, 0, progress(world).delivered, in_flight=0, lag=3)
    pull = pull_of("G", "A", count=2)
    world.engine.execute(world.broker, pull, world.channels["c1"])
    found = progress(world)
    assert (found.committed, found.position, found.in_flight, found.lag) == (None, 2, 2, 3)
    world.broker.offsets.commit("G", "A", 0, 2)
    found = progress(world)
    assert (found.committed, found.position, found.in_flight, found.lag) == (2, 2, 0, 1)


def test_pending_reset_is_listed_beside_the_committed_offset(world: World) -> None:
    world.topic("A")
    for _ in range(3):
        world.send("A")
    world.heartbeat("c1", topics={"A": "*"})
    world.broker.offsets.commit("G", "A", 0, 3)
    world.engine.execute(world.broker, ResetOffset("G", "A", 0, 0, offset=1))
    found = progress(world)
    assert (found.pending_reset, found.position, found.lag) == (1, 1, 2)


def test_position_of_an_ordered_group_is_at_its_batch_in_flight(world: World) -> None:
    world.topic("A")
    for _ in range(3):
        world.send("A")
    world.popped("A", order=True, count=2)
    found = progress(world)
    assert (found.committed, found.position, found.in_flight, found.lag) == (0, 0, 2, 3)


def test_lag_equals_that_of_the_broker(world: World) -> None:
    world.topic("A")
    for index in range(6):
        world.send("A")
        if index % 2:
            popped = world.popped("A", count=1 + index % 3, group=f"G{index}", order=index == 3)
            world.ack("A", world.receipt(popped[0]), f"G{index}")
    (queue,) = look(world).queues("A")
    assert sorted(queue.groups) == ["G1", "G3", "G5"]
    for group, found in queue.groups.items():
        assert found.lag == queue_lag(world.broker, group, "A", 0).lag


def test_delivered_is_the_number_of_messages_in_written_responses(world: World) -> None:
    world.topic("A")
    for _ in range(5):
        world.send("A")
    world.heartbeat("c1", topics={"A": "*"})
    world.pull("A", count=2)
    world.popped("A", group="P", count=4)
    world.advance(20_000)
    assert progress(world).delivered == 2
    assert progress(world, group="P").delivered == 4
    world.pull("A", count=2)
    assert progress(world).delivered == 4  # the same two messages were delivered again


def test_delivered_is_unknown_after_records_were_dropped() -> None:
    world = make_world(delivery_record_max_entries=0)
    world.topic("A")
    world.send("A")
    world.popped("A")
    assert progress(world).delivered is None
