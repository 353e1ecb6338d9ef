"""The merge buffer of pops in virtual time: stored records, offsets, and the acknowledgements that it accepts."""

import json
from dataclasses import replace

import pytest
from engine_harness import EngineHarness, bodies, make_harness, messages_of
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
def harness() -> EngineHarness:
    return make_harness(enable_pop_buffer_merge=True)


def filled(harness: EngineHarness, count: int = 3, topic: str = "A") -> str:
    harness.topic(topic)
    for n in range(count):
        harness.send(topic, b"%d" % n)
    return topic


def committed(harness: EngineHarness, topic: str = "A", group: str = "G") -> int:
    return harness.broker.offsets.query(group, topic, 0)


def stored(harness: EngineHarness, tag: str = "") -> list[dict[str, object]]:
    """Return the bodies of the stored check points and acknowledgements, all of which pass the timer topic."""
    found = []
    for offset in range(harness.broker.store.max_offset(TIMER, 0)):
        record = decode(harness.broker.store.record(TIMER, 0, offset) or b"")
        if not tag or record.property_map()[props.TAGS] == tag:
            found.append(json.loads(record.body))
    return found


def test_messages_acknowledged_in_the_merge_buffer_store_no_check_point(harness: EngineHarness) -> None:
    """Messages acknowledged in time store neither check point nor acknowledgement; the offset moves within 5 ms."""
    filled(harness)
    for message in harness.popped("A", invisible_ms=LONG):
        assert committed(harness) == 0
        harness.ack("A", harness.receipt(message))
    harness.advance(5)
    assert committed(harness) == 3
    assert len(harness.broker.pop_buffer) == 0
    harness.advance(2 * LONG)
    assert stored(harness) == []
    assert harness.popped("A") == []


def test_the_merge_buffer_is_off_by_default() -> None:
    """By default a check point is stored at its pop, and the offset moves at once."""
    harness = make_harness()
    filled(harness)
    harness.popped("A", invisible_ms=LONG)
    assert len(stored(harness, "ck")) == 1
    assert committed(harness) == 3


def test_pops_notifications_and_peeks_start_after_buffered_messages(harness: EngineHarness) -> None:
    """The next pop, a notification and a peek start after the popped messages, although the offset waits."""
    filled(harness, 4)
    assert bodies(harness.popped("A", count=2, invisible_ms=LONG)) == [b"0", b"1"]
    assert bodies(harness.popped("A", count=2, invisible_ms=LONG)) == [b"2", b"3"]
    assert committed(harness) == 0
    notified = harness.ask(NotificationResult, Notification("G", "A", -1, 0, harness.now_ms))
    assert not notified.has_msg
    peeked = harness.ask(PopResult, PeekMessage("G", "A", -1, 32))
    assert peeked.messages == []


def test_the_group_offset_waits_for_the_first_open_buffered_check_point(harness: EngineHarness) -> None:
    """A later check point that is done moves no offset; when the first one is done the offset passes both."""
    filled(harness, 4)
    first = harness.popped("A", count=2, invisible_ms=LONG)
    first_receipts = [harness.receipt(message) for message in first]
    for message in harness.popped("A", count=2, invisible_ms=LONG):
        harness.ack("A", harness.receipt(message))
    harness.advance(100)
    assert committed(harness) == 0
    for receipt in first_receipts:
        harness.ack("A", receipt)
    harness.advance(5)
    assert committed(harness) == 4


def test_a_buffered_check_point_is_stored_after_pop_ck_stay_buffer_time(harness: EngineHarness) -> None:
    """popCkStayBufferTime after the pop the check point and one ack per message are stored, and the offset moves.

    The acknowledged message is not redelivered, the others are.
    """
    filled(harness)
    messages = harness.popped("A", invisible_ms=LONG)
    harness.ack("A", harness.receipt(messages[1]))
    harness.advance(10_000)
    assert (stored(harness), committed(harness)) == ([], 0)
    harness.advance(5)
    (check_point,) = stored(harness, "ck")
    assert (check_point["bm"], check_point["d"]) == (0, [0, 1, 2])
    assert [ack["ao"] for ack in stored(harness, "ack")] == [1]
    assert committed(harness) == 3
    harness.advance(LONG)
    assert sorted(bodies(harness.popped("A"))) == [b"0", b"2"]


def test_a_buffered_check_point_is_stored_3_s_before_its_invisible_duration_ends(harness: EngineHarness) -> None:
    """popCkStayBufferTimeOut before the invisible duration ends the check point is stored; redelivery is no earlier."""
    filled(harness, 1)
    harness.popped("A", invisible_ms=8000)
    harness.advance(5000)
    assert stored(harness) == []
    harness.advance(5)
    assert len(stored(harness, "ck")) == 1
    harness.advance(8995)
    assert bodies(harness.popped("A")) == [b"0"]


def test_a_pop_with_a_short_invisible_duration_bypasses_the_merge_buffer(harness: EngineHarness) -> None:
    """Invisible durations below popCkStayBufferTimeOut + 1.5 s are stored at once; exactly that time is buffered."""
    filled(harness, 2)
    harness.popped("A", count=1, invisible_ms=4499)
    assert len(stored(harness, "ck")) == 1
    assert committed(harness) == 1
    harness.popped("A", count=1, invisible_ms=4500)
    assert len(stored(harness, "ck")) == 1
    assert len(harness.broker.pop_buffer) == 1


@pytest.mark.parametrize(("wait_ms", "buffered"), [(8500, True), (8501, False)])
def test_an_ack_just_before_its_check_point_leaves_the_buffer_is_stored(
    harness: EngineHarness, wait_ms: int, buffered: bool
) -> None:
    """In the last 1.5 s before the check point leaves the buffer, acknowledgements are stored at once."""
    filled(harness, 1)
    (message,) = harness.popped("A", invisible_ms=LONG)
    harness.advance(wait_ms)
    harness.ack("A", harness.receipt(message))
    assert (stored(harness, "ack") == []) is buffered
    harness.advance(3 * LONG)
    assert harness.popped("A") == []


@pytest.mark.parametrize(("wait_ms", "buffered"), [(1500, True), (1501, False)])
def test_an_ack_near_the_end_of_the_invisible_duration_is_stored_not_buffered(
    harness: EngineHarness, wait_ms: int, buffered: bool
) -> None:
    """Acknowledgements are also stored in the 1.5 s before popCkStayBufferTimeOut before the end."""
    filled(harness, 1)
    (message,) = harness.popped("A", invisible_ms=6000)
    harness.advance(wait_ms)
    harness.ack("A", harness.receipt(message))
    assert (stored(harness, "ack") == []) is buffered
    harness.advance(LONG)
    assert harness.popped("A") == []


def test_a_batch_ack_applies_to_the_buffered_check_point(harness: EngineHarness) -> None:
    """A batch acknowledgement applies to the buffered check point with all its offsets."""
    filled(harness, 3)
    harness.popped("A", invisible_ms=LONG)
    pop = harness.last_pop
    ack = BatchAck("G", "A", "0", 0, 0, pop.revive_qid, pop.pop_time, pop.invisible_ms, bit_set(0b111))
    harness.engine.execute(harness.broker, BatchAckMessage([ack]))
    harness.advance(5)
    assert committed(harness) == 3
    assert stored(harness) == []


def test_an_ack_of_an_offset_that_was_not_popped_is_ignored(harness: EngineHarness) -> None:
    """An acknowledgement of an offset that was not popped succeeds without effect, and is not stored."""
    filled(harness, 3)
    (message,) = harness.popped("A", count=1, invisible_ms=LONG)
    receipt = harness.receipt(message)
    harness.ack("A", replace(receipt, queue_offset=2))
    harness.advance(5)
    assert (committed(harness), stored(harness)) == (0, [])


def test_changing_the_invisible_duration_stores_the_new_check_point(harness: EngineHarness) -> None:
    """A change stores the new check point at once and acknowledges the old one in memory."""
    filled(harness, 1)
    (message,) = harness.popped("A", invisible_ms=LONG)
    changed = harness.change("A", harness.receipt(message), 20_000)
    assert len(stored(harness, "ck")) == 1
    assert stored(harness, "ack") == []
    harness.advance(5)
    assert committed(harness) == 1
    harness.ack("A", changed)
    assert len(stored(harness, "ack")) == 1
    harness.advance(2 * LONG)
    assert harness.popped("A") == []


def test_with_batch_ack_the_acks_of_a_check_point_are_stored_as_one_message() -> None:
    """With enablePopBatchAck the acknowledgements of a check point are one bAck, without broker name (observed)."""
    harness = make_harness(enable_pop_buffer_merge=True, enable_pop_batch_ack=True)
    filled(harness)
    messages = harness.popped("A", invisible_ms=LONG)
    for message in messages[:2]:
        harness.ack("A", harness.receipt(message))
    harness.advance(10_005)
    (batch,) = stored(harness, "bAck")
    assert (batch["ao"], batch["aol"], "bn" in batch) == (0, [0, 1], False)
    assert scheduled(harness, "pop buffer") == []
    harness.advance(LONG)
    assert bodies(harness.popped("A")) == [b"2"]


def test_a_pop_stores_its_check_point_when_the_merge_buffer_is_full() -> None:
    """With more than popCkMaxBufferSize check points in memory the next ones are stored, after those in memory."""
    harness = make_harness(enable_pop_buffer_merge=True, pop_ck_max_buffer_size=1)
    filled(harness, 3)
    receipts = [harness.receipt(harness.popped("A", count=1, invisible_ms=LONG)[0]) for _ in range(3)]
    assert len(harness.broker.pop_buffer) == 2
    assert len(stored(harness, "ck")) == 1
    assert committed(harness) == 0
    for receipt in receipts[:2]:
        harness.ack("A", receipt)
    harness.advance(5)
    assert committed(harness) == 3


def test_a_pop_stores_its_check_point_when_its_queue_has_too_many_pending_pops() -> None:
    """With popCkOffsetMaxQueueSize pending pops of a queue, its next check point is stored."""
    harness = make_harness(enable_pop_buffer_merge=True, pop_ck_offset_max_queue_size=2)
    filled(harness, 3)
    filled(harness, 1, topic="B")
    for topic in ("A", "A", "A", "B"):
        harness.popped(topic, count=1, invisible_ms=LONG)
    assert [point["t"] for point in stored(harness, "ck")] == ["A"]
    assert len(harness.broker.pop_buffer) == 3


def test_skipped_messages_move_the_offset_only_after_buffered_check_points(harness: EngineHarness) -> None:
    """A pop that only skips messages moves the offset after those in memory, not before."""
    filled(harness, 1)
    harness.send("A", b"other", TAGS="x")
    (message,) = harness.popped("A", count=1, invisible_ms=LONG)
    receipt = harness.receipt(message)
    assert harness.popped("A", expression="y", invisible_ms=LONG) == []
    assert committed(harness) == 0
    harness.ack("A", receipt)
    harness.advance(5)
    assert committed(harness) == 2


def test_after_an_offset_reset_buffered_check_points_no_longer_move_the_offset(harness: EngineHarness) -> None:
    """After a reset the queue is read from the new offset, and earlier check points no longer move it."""
    filled(harness, 3)
    receipts = [harness.receipt(message) for message in harness.popped("A", invisible_ms=LONG)]
    harness.engine.execute(harness.broker, ResetOffset("G", "A", -1, 0, offset=1))
    harness.advance(1)
    assert bodies(harness.popped("A", invisible_ms=LONG)) == [b"1", b"2"]
    for receipt in receipts:
        harness.ack("A", receipt)
    harness.advance(100)
    assert committed(harness) == 1


def test_a_buffered_check_point_of_a_deleted_topic_stores_no_offset(harness: EngineHarness) -> None:
    """Buffered check points of a deleted topic do not store its offset again."""
    filled(harness, 1)
    harness.popped("A", invisible_ms=LONG)
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    harness.advance(LONG)
    assert committed(harness) == -1
    assert len(harness.broker.pop_buffer) == 0


def test_a_check_point_beyond_the_longest_delay_stays_in_the_merge_buffer(harness: EngineHarness) -> None:
    """A check point beyond the longest delay is stored as soon as the timer accepts it."""
    days = 24 * 3_600_000
    filled(harness, 1)
    harness.popped("A", invisible_ms=4 * days)
    harness.advance(20_000)
    assert (stored(harness), len(harness.broker.pop_buffer)) == ([], 1)
    harness.advance(days)
    assert len(stored(harness, "ck")) == 1
    harness.advance(3 * days)
    assert bodies(harness.popped("A")) == [b"0"]


def test_an_acknowledged_pop_leaves_no_merge_buffer_timer(harness: EngineHarness) -> None:
    filled(harness, 1)
    (message,) = harness.popped("A", invisible_ms=LONG)
    harness.ack("A", harness.receipt(message))
    harness.advance(5)
    assert scheduled(harness, "pop buffer") == []


def test_a_pop_that_would_reuse_a_check_point_key_returns_no_messages() -> None:
    """After a reset, a second pop in the same millisecond would reuse a check point key, so it returns no messages."""
    harness = make_harness(enable_pop_buffer_merge=True)
    harness.topic("B")
    for n in range(40):
        harness.send("B", b"%d" % n)
    assert len(harness.popped("B")) == 32
    harness.engine.execute(harness.broker, ResetOffset("G", "B", 0, offset=0))
    waiting = harness.pop("B", poll_ms=5_000)
    assert waiting.outcome is None
    harness.advance(5_000)
    assert len(messages_of(waiting)) == 32


def test_ordered_pops_do_not_use_the_merge_buffer(harness: EngineHarness) -> None:
    """Ordered pops have no check point, and their offset moves with their acknowledgements."""
    filled(harness, 2)
    harness.popped("A", order=True, invisible_ms=LONG)
    assert len(harness.broker.pop_buffer) == 0
    assert committed(harness) == 0
