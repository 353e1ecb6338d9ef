"""Queues are listed with their offsets, and with committed offset, messages in flight and lag of each group."""

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from pull_operation import pull_of
from rocketmq_testkit.emulator.consumer_lag import queue_lag
from rocketmq_testkit.emulator.inspection.queues import ProgressView
from rocketmq_testkit.emulator.operations.offsets import ResetOffset


def progress(harness: EngineHarness, topic: str = "A", group: str = "G") -> ProgressView:
    found = look(harness).queue(harness.broker.name, topic, 0)
    assert found is not None
    return found.groups[group]


def test_queues_are_listed_with_first_and_end_offset(harness: EngineHarness) -> None:
    harness.topic("A", queues=2)
    harness.send("A", queue=1)
    assert [(queue.queue_id, queue.first, queue.end, queue.readable) for queue in look(harness).queues("A")] == [
        (0, 0, 0, True),
        (1, 0, 1, True),
    ]
    assert look(harness).queues("B") == []
    assert look(harness).queue(harness.broker.name, "A", 2) is None
    assert look(harness).queue("broker-z", "A", 0) is None


def test_first_offset_of_a_queue_is_that_of_its_oldest_stored_message() -> None:
    harness = make_harness(store_max_bytes=1 << 20, max_message_size=1 << 10)
    harness.topic("A")
    while harness.broker.store.log.min_offset == 0:
        harness.send("A", b"x" * 1000)
    (queue,) = look(harness).queues("A")
    kept = look(harness).messages("A")
    assert 0 < queue.first == kept[0].copies[0].place.queue_offset == queue.end - len(kept)
    assert look(harness).lowest_offset(queue.broker, "A", 0) == queue.first


def test_write_only_topic_is_not_readable(harness: EngineHarness) -> None:
    harness.topic("A", perm=2)
    (queue,) = look(harness).queues("A")
    assert not queue.readable


@pytest.mark.parametrize("buffered", [False, True])
def test_progress_of_a_popping_group_has_offset_messages_in_flight_and_lag(buffered: bool) -> None:
    harness = make_harness(enable_pop_buffer_merge=buffered)
    harness.topic("A")
    for _ in range(4):
        harness.send("A")
    popped = harness.popped("A", count=3, invisible_ms=30_000)
    harness.heartbeat("c1", topics={"A": "*"})
    found = progress(harness)
    assert (found.position, found.in_flight, found.lag) == (3, 3, 4)
    assert found.committed == (0 if buffered else 3)
    harness.ack("A", harness.receipt(popped[0]))
    assert progress(harness).in_flight == 2


def test_progress_of_a_pulling_group_has_offset_messages_in_flight_and_lag(harness: EngineHarness) -> None:
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    harness.heartbeat("c1", topics={"A": "*"})
    assert progress(harness) == ProgressView(None, None, 0, progress(harness).delivered, in_flight=0, lag=3)
    pull = pull_of("G", "A", count=2)
    harness.engine.execute(harness.broker, pull, harness.channels["c1"])
    found = progress(harness)
    assert (found.committed, found.position, found.in_flight, found.lag) == (None, 2, 2, 3)
    harness.broker.offsets.commit("G", "A", 0, 2)
    found = progress(harness)
    assert (found.committed, found.position, found.in_flight, found.lag) == (2, 2, 0, 1)


def test_pending_reset_is_listed_beside_the_committed_offset(harness: EngineHarness) -> None:
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    harness.heartbeat("c1", topics={"A": "*"})
    harness.broker.offsets.commit("G", "A", 0, 3)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", 0, 0, offset=1))
    found = progress(harness)
    assert (found.pending_reset, found.position, found.lag) == (1, 1, 2)


def test_position_of_an_ordered_group_is_at_its_batch_in_flight(harness: EngineHarness) -> None:
    harness.topic("A")
    for _ in range(3):
        harness.send("A")
    harness.popped("A", order=True, count=2)
    found = progress(harness)
    assert (found.committed, found.position, found.in_flight, found.lag) == (0, 0, 2, 3)


def test_lag_equals_that_of_the_broker(harness: EngineHarness) -> None:
    harness.topic("A")
    for index in range(6):
        harness.send("A")
        if index % 2:
            popped = harness.popped("A", count=1 + index % 3, group=f"G{index}", order=index == 3)
            harness.ack("A", harness.receipt(popped[0]), f"G{index}")
    (queue,) = look(harness).queues("A")
    assert sorted(queue.groups) == ["G1", "G3", "G5"]
    for group, found in queue.groups.items():
        assert found.lag == queue_lag(harness.broker, group, "A", 0).lag


def test_delivered_is_the_number_of_messages_in_written_responses(harness: EngineHarness) -> None:
    harness.topic("A")
    for _ in range(5):
        harness.send("A")
    harness.heartbeat("c1", topics={"A": "*"})
    harness.pull("A", count=2)
    harness.popped("A", group="P", count=4)
    harness.advance(20_000)
    assert progress(harness).delivered == 2
    assert progress(harness, group="P").delivered == 4
    harness.pull("A", count=2)
    assert progress(harness).delivered == 4  # the same two messages were delivered again


def test_delivered_is_unknown_after_records_were_dropped() -> None:
    harness = make_harness(delivery_record_max_entries=0)
    harness.topic("A")
    harness.send("A")
    harness.popped("A")
    assert progress(harness).delivered is None
