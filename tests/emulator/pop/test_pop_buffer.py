"""The merge buffer of pops in virtual time: stored records, offsets, and the acknowledgements that it accepts."""

import json
from dataclasses import replace

import pytest
from engine_world import World, bodies, make_world, messages_of
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import (
    BatchAck,
    BatchAckMessage,
    Notification,
    NotificationResult,
    PeekMessage,
    PopResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from stored import scheduled

TIMER = "rmq_sys_wheel_timer"
LONG = 60_000


@pytest.fixture
def world() -> World:
    return make_world(enable_pop_buffer_merge=True)


def filled(world: World, count: int = 3, topic: str = "A") -> str:
    world.topic(topic)
    for n in range(count):
        world.send(topic, b"%d" % n)
    return topic


def committed(world: World, topic: str = "A", group: str = "G") -> int:
    return world.broker.offsets.query(group, topic, 0)


def stored(world: World, tag: str = "") -> list[dict[str, object]]:
    """Return the bodies of the stored check points and acknowledgements, all of which pass the timer topic."""
    found = []
    for offset in range(world.broker.store.max_offset(TIMER, 0)):
        record = decode(world.broker.store.record(TIMER, 0, offset) or b"")
        if not tag or record.property_map()[props.TAGS] == tag:
            found.append(json.loads(record.body))
    return found


def test_messages_acknowledged_in_the_merge_buffer_store_no_check_point(world: World) -> None:
    """Messages acknowledged in time store neither check point nor acknowledgement; the offset moves within 5 ms."""
    filled(world)
    for message in world.popped("A", invisible_ms=LONG):
        assert committed(world) == 0
        world.ack("A", world.receipt(message))
    world.advance(5)
    assert committed(world) == 3
    assert len(world.broker.pop_buffer) == 0
    world.advance(2 * LONG)
    assert stored(world) == []
    assert world.popped("A") == []


def test_the_merge_buffer_is_off_by_default() -> None:
    """By default a check point is stored at its pop, and the offset moves at once."""
    world = make_world()
    filled(world)
    world.popped("A", invisible_ms=LONG)
    assert len(stored(world, "ck")) == 1
    assert committed(world) == 3


def test_pops_notifications_and_peeks_start_after_buffered_messages(world: World) -> None:
    """The next pop, a notification and a peek start after the popped messages, although the offset waits."""
    filled(world, 4)
    assert bodies(world.popped("A", count=2, invisible_ms=LONG)) == [b"0", b"1"]
    assert bodies(world.popped("A", count=2, invisible_ms=LONG)) == [b"2", b"3"]
    assert committed(world) == 0
    notified = world.ask(NotificationResult, Notification("G", "A", -1, 0, world.now_ms))
    assert not notified.has_msg
    peeked = world.ask(PopResult, PeekMessage("G", "A", -1, 32))
    assert peeked.messages == []


def test_the_group_offset_waits_for_the_first_open_buffered_check_point(world: World) -> None:
    """A later check point that is done moves no offset; when the first one is done the offset passes both."""
    filled(world, 4)
    first = world.popped("A", count=2, invisible_ms=LONG)
    first_receipts = [world.receipt(message) for message in first]
    for message in world.popped("A", count=2, invisible_ms=LONG):
        world.ack("A", world.receipt(message))
    world.advance(100)
    assert committed(world) == 0
    for receipt in first_receipts:
        world.ack("A", receipt)
    world.advance(5)
    assert committed(world) == 4


def test_a_buffered_check_point_is_stored_after_pop_ck_stay_buffer_time(world: World) -> None:
    """popCkStayBufferTime after the pop the check point and one ack per message are stored, and the offset moves.

    The acknowledged message is not redelivered, the others are.
    """
    filled(world)
    messages = world.popped("A", invisible_ms=LONG)
    world.ack("A", world.receipt(messages[1]))
    world.advance(10_000)
    assert (stored(world), committed(world)) == ([], 0)
    world.advance(5)
    (check_point,) = stored(world, "ck")
    assert (check_point["bm"], check_point["d"]) == (0, [0, 1, 2])
    assert [ack["ao"] for ack in stored(world, "ack")] == [1]
    assert committed(world) == 3
    world.advance(LONG)
    assert sorted(bodies(world.popped("A"))) == [b"0", b"2"]


def test_a_buffered_check_point_is_stored_3_s_before_its_invisible_duration_ends(world: World) -> None:
    """popCkStayBufferTimeOut before the invisible duration ends the check point is stored; redelivery is no earlier."""
    filled(world, 1)
    world.popped("A", invisible_ms=8000)
    world.advance(5000)
    assert stored(world) == []
    world.advance(5)
    assert len(stored(world, "ck")) == 1
    world.advance(8995)
    assert bodies(world.popped("A")) == [b"0"]


def test_a_pop_with_a_short_invisible_duration_bypasses_the_merge_buffer(world: World) -> None:
    """Invisible durations below popCkStayBufferTimeOut + 1.5 s are stored at once; exactly that time is buffered."""
    filled(world, 2)
    world.popped("A", count=1, invisible_ms=4499)
    assert len(stored(world, "ck")) == 1
    assert committed(world) == 1
    world.popped("A", count=1, invisible_ms=4500)
    assert len(stored(world, "ck")) == 1
    assert len(world.broker.pop_buffer) == 1


@pytest.mark.parametrize(("wait_ms", "buffered"), [(8500, True), (8501, False)])
def test_an_ack_just_before_its_check_point_leaves_the_buffer_is_stored(
    world: World, wait_ms: int, buffered: bool
) -> None:
    """In the last 1.5 s before the check point leaves the buffer, acknowledgements are stored at once."""
    filled(world, 1)
    (message,) = world.popped("A", invisible_ms=LONG)
    world.advance(wait_ms)
    world.ack("A", world.receipt(message))
    assert (stored(world, "ack") == []) is buffered
    world.advance(3 * LONG)
    assert world.popped("A") == []


@pytest.mark.parametrize(("wait_ms", "buffered"), [(1500, True), (1501, False)])
def test_an_ack_near_the_end_of_the_invisible_duration_is_stored_not_buffered(
    world: World, wait_ms: int, buffered: bool
) -> None:
    """Acknowledgements are also stored in the 1.5 s before popCkStayBufferTimeOut before the end."""
    filled(world, 1)
    (message,) = world.popped("A", invisible_ms=6000)
    world.advance(wait_ms)
    world.ack("A", world.receipt(message))
    assert (stored(world, "ack") == []) is buffered
    world.advance(LONG)
    assert world.popped("A") == []


def test_a_batch_ack_applies_to_the_buffered_check_point(world: World) -> None:
    """A batch acknowledgement applies to the buffered check point with all its offsets."""
    filled(world, 3)
    world.popped("A", invisible_ms=LONG)
    pop = world.last_pop
    ack = BatchAck("G", "A", "0", 0, 0, pop.revive_qid, pop.pop_time, pop.invisible_ms, bit_set(0b111))
    world.engine.execute(world.broker, BatchAckMessage([ack]))
    world.advance(5)
    assert committed(world) == 3
    assert stored(world) == []


def test_an_ack_of_an_offset_that_was_not_popped_is_ignored(world: World) -> None:
    """An acknowledgement of an offset that was not popped succeeds without effect, and is not stored."""
    filled(world, 3)
    (message,) = world.popped("A", count=1, invisible_ms=LONG)
    receipt = world.receipt(message)
    world.ack("A", replace(receipt, queue_offset=2))
    world.advance(5)
    assert (committed(world), stored(world)) == (0, [])


def test_changing_the_invisible_duration_stores_the_new_check_point(world: World) -> None:
    """A change stores the new check point at once and acknowledges the old one in memory."""
    filled(world, 1)
    (message,) = world.popped("A", invisible_ms=LONG)
    changed = world.change("A", world.receipt(message), 20_000)
    assert len(stored(world, "ck")) == 1
    assert stored(world, "ack") == []
    world.advance(5)
    assert committed(world) == 1
    world.ack("A", changed)
    assert len(stored(world, "ack")) == 1
    world.advance(2 * LONG)
    assert world.popped("A") == []


def test_with_batch_ack_the_acks_of_a_check_point_are_stored_as_one_message() -> None:
    """With enablePopBatchAck the acknowledgements of a check point are one bAck, without broker name (observed)."""
    world = make_world(enable_pop_buffer_merge=True, enable_pop_batch_ack=True)
    filled(world)
    messages = world.popped("A", invisible_ms=LONG)
    for message in messages[:2]:
        world.ack("A", world.receipt(message))
    world.advance(10_005)
    (batch,) = stored(world, "bAck")
    assert (batch["ao"], batch["aol"], "bn" in batch) == (0, [0, 1], False)
    assert scheduled(world, "pop buffer") == []
    world.advance(LONG)
    assert bodies(world.popped("A")) == [b"2"]


def test_a_pop_stores_its_check_point_when_the_merge_buffer_is_full() -> None:
    """With more than popCkMaxBufferSize check points in memory the next ones are stored, after those in memory."""
    world = make_world(enable_pop_buffer_merge=True, pop_ck_max_buffer_size=1)
    filled(world, 3)
    receipts = [world.receipt(world.popped("A", count=1, invisible_ms=LONG)[0]) for _ in range(3)]
    assert len(world.broker.pop_buffer) == 2
    assert len(stored(world, "ck")) == 1
    assert committed(world) == 0
    for receipt in receipts[:2]:
        world.ack("A", receipt)
    world.advance(5)
    assert committed(world) == 3


def test_a_pop_stores_its_check_point_when_its_queue_has_too_many_pending_pops() -> None:
    """With popCkOffsetMaxQueueSize pending pops of a queue, its next check point is stored."""
    world = make_world(enable_pop_buffer_merge=True, pop_ck_offset_max_queue_size=2)
    filled(world, 3)
    filled(world, 1, topic="B")
    for topic in ("A", "A", "A", "B"):
        world.popped(topic, count=1, invisible_ms=LONG)
    assert [point["t"] for point in stored(world, "ck")] == ["A"]
    assert len(world.broker.pop_buffer) == 3


def test_skipped_messages_move_the_offset_only_after_buffered_check_points(world: World) -> None:
    """A pop that only skips messages moves the offset after those in memory, not before."""
    filled(world, 1)
    world.send("A", b"other", TAGS="x")
    (message,) = world.popped("A", count=1, invisible_ms=LONG)
    receipt = world.receipt(message)
    assert world.popped("A", expression="y", invisible_ms=LONG) == []
    assert committed(world) == 0
    world.ack("A", receipt)
    world.advance(5)
    assert committed(world) == 2


def test_after_an_offset_reset_buffered_check_points_no_longer_move_the_offset(world: World) -> None:
    """After a reset the queue is read from the new offset, and earlier check points no longer move it."""
    filled(world, 3)
    receipts = [world.receipt(message) for message in world.popped("A", invisible_ms=LONG)]
    world.engine.execute(world.broker, ResetOffset("G", "A", -1, 0, offset=1))
    world.advance(1)
    assert bodies(world.popped("A", invisible_ms=LONG)) == [b"1", b"2"]
    for receipt in receipts:
        world.ack("A", receipt)
    world.advance(100)
    assert committed(world) == 1


def test_a_buffered_check_point_of_a_deleted_topic_stores_no_offset(world: World) -> None:
    """Buffered check points of a deleted topic do not store its offset again."""
    filled(world, 1)
    world.popped("A", invisible_ms=LONG)
    world.engine.execute(world.broker, DeleteTopic("A"))
    world.advance(LONG)
    assert committed(world) == -1
    assert len(world.broker.pop_buffer) == 0


def test_a_check_point_beyond_the_longest_delay_stays_in_the_merge_buffer(world: World) -> None:
    """A check point beyond the longest delay is stored as soon as the timer accepts it."""
    days = 24 * 3_600_000
    filled(world, 1)
    world.popped("A", invisible_ms=4 * days)
    world.advance(20_000)
    assert (stored(world), len(world.broker.pop_buffer)) == ([], 1)
    world.advance(days)
    assert len(stored(world, "ck")) == 1
    world.advance(3 * days)
    assert bodies(world.popped("A")) == [b"0"]


def test_an_acknowledged_pop_leaves_no_merge_buffer_timer(world: World) -> None:
    filled(world, 1)
    (message,) = world.popped("A", invisible_ms=LONG)
    world.ack("A", world.receipt(message))
    world.advance(5)
    assert scheduled(world, "pop buffer") == []


def test_a_pop_that_would_reuse_a_check_point_key_returns_no_messages() -> None:
    """After a reset, a second pop in the same millisecond would reuse a check point key, so it returns no messages."""
    world = make_world(enable_pop_buffer_merge=True)
    world.topic("B")
    for n in range(40):
        world.send("B", b"%d" % n)
    assert len(world.popped("B")) == 32
    world.engine.execute(world.broker, ResetOffset("G", "B", 0, offset=0))
    waiting = world.pop("B", poll_ms=5_000)
    assert waiting.outcome is None
    world.advance(5_000)
    assert len(messages_of(waiting)) == 32


def test_ordered_pops_do_not_use_the_merge_buffer(world: World) -> None:
    """Ordered pops have no check point, and their offset moves with their acknowledgements."""
    filled(world, 2)
    world.popped("A", order=True, invisible_ms=LONG)
    assert len(world.broker.pop_buffer) == 0
    assert committed(world) == 0
