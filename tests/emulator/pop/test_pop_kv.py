"""Pops with KV records instead of check points, in virtual time, with and without the cache of records.

A broker with `popConsumerKVServiceEnable` keeps one record for each message in flight in a key-value store.
"""

import json
from dataclasses import replace

import pytest
from engine_harness import EngineHarness, bodies, make_harness, messages_of, refused
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import (
    BatchAck,
    BatchAckMessage,
    Notification,
    NotificationResult,
    PeekMessage,
    PopResult,
    RollBackPops,
    bit_set,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.topics import DeleteTopic
from stored import committed, filled, scheduled, stored, stored_bodies

TIMER = "rmq_sys_wheel_timer"
RETRY = "%RETRY%G_A"


def kv_harness(**keys: object) -> EngineHarness:
    all_keys: dict[str, object] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}
    return make_harness(1, **(all_keys | keys))


@pytest.fixture
def harness() -> EngineHarness:
    return kv_harness()


@pytest.fixture
def cached() -> EngineHarness:
    return kv_harness(enable_pop_buffer_merge=True)


def max_offset(harness: EngineHarness, topic: str) -> int:
    return harness.broker.store.max_offset(topic, 0)


# records


def test_a_kv_pop_writes_a_record_per_message_instead_of_a_check_point(harness: EngineHarness) -> None:
    """A pop writes one record per message, and no check point; its acknowledgement deletes the record.

    The revive queue in the handle is 0.
    """
    filled(harness)
    messages = harness.popped("A")
    assert (harness.last_pop.revive_qid, len(harness.broker.pop_records)) == (0, 3)
    for message in messages:
        harness.ack("A", harness.receipt(message))
    assert (max_offset(harness, TIMER), len(harness.broker.pop_records)) == (0, 0)
    harness.advance(60_000)
    assert harness.popped("A") == []


@pytest.mark.parametrize(("invisible_ms", "scan_ms"), [(5_000, 5_500), (5_449, 5_500), (5_450, 6_000)])
def test_an_expired_kv_record_is_redelivered_by_the_next_scan(
    harness: EngineHarness, invisible_ms: int, scan_ms: int
) -> None:
    """A scan every 500 ms redelivers records due at least 50 ms before it (observed: 5.4 s for 5 s).

    Check points, in contrast, are redelivered at least 2 s after their time.
    """
    filled(harness, 2)
    messages = harness.popped("A", invisible_ms=invisible_ms)
    harness.ack("A", harness.receipt(messages[0]))
    harness.advance(scan_ms - 1)
    assert max_offset(harness, RETRY) == 0
    harness.advance(1)
    assert stored_bodies(harness, RETRY) == [b"1"]


def test_kv_retry_messages_keep_the_retry_topic_and_carry_no_handle(harness: EngineHarness) -> None:
    """Retry messages keep the retry topic and carry no POP_CK (seen on 5.3.3).

    The topic digit of their receipt handles is 1, that of a v1 retry topic.
    """
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    harness.advance(2000)
    (message,) = harness.popped("A")
    record = decode(message.record)
    assert (record.topic, message.topic_digit, message.reconsume_times) == (RETRY, 1, 1)
    assert "POP_CK" not in record.property_map()
    assert "1ST_POP_TIME" in record.property_map()
    assert harness.last_pop.start_offset_info == "1 0 0"
    harness.ack("A", harness.receipt(message))
    assert len(harness.broker.pop_records) == 0


def test_pop_response_return_actual_retry_topic_adds_the_handle() -> None:
    """popResponseReturnActualRetryTopic adds POP_CK and keeps the topic; the handle acknowledges the message."""
    harness = kv_harness(pop_response_return_actual_retry_topic=True)
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    harness.advance(2000)
    (message,) = harness.popped("A")
    record = decode(message.record)
    assert record.topic == RETRY
    assert record.property_map()["POP_CK"].split(" ")[3:] == ["0", "1", "broker-a", "0", "0"]


def test_every_fifth_kv_pop_reads_the_retry_topic_first(harness: EngineHarness) -> None:
    """The first pop of a group and topic reads the retry topic first, and every fifth after it; others read it last."""
    filled(harness, 10)
    harness.popped("A", count=2, invisible_ms=1000)
    harness.advance(2000)
    assert max_offset(harness, RETRY) == 2
    digits = [harness.popped("A", count=1)[0].topic_digit for _ in range(6)]
    assert digits == [0, 0, 0, 0, 1, 0]


def test_each_kv_pop_starts_one_queue_further(harness: EngineHarness) -> None:
    """Each pop starts one queue further.

    The rest includes queues that the pop did not read, from the group's offset there, or -1 if it has none (observed).
    """
    filled(harness, 16, 4)
    harness.topic("A", 4)
    seen = [([m.queue_id for m in harness.popped("A", count=3)], harness.last_pop.rest_num) for _ in range(5)]
    assert seen == [([0, 0, 0], 16), ([1, 1, 1], 15), ([2, 2, 2], 14), ([3, 3, 3], 13), ([0, 1, 2], 4)]


def test_the_group_offset_of_a_kv_pop_is_one_read_behind(harness: EngineHarness) -> None:
    """The group's offset is one read behind, while the pop itself continues where it read to (observed)."""
    filled(harness, 4)
    assert (bodies(harness.popped("A", count=2)), committed(harness)) == ([b"0", b"1"], 0)
    assert (bodies(harness.popped("A", count=2)), committed(harness)) == ([b"2", b"3"], 2)
    assert (harness.popped("A"), committed(harness)) == ([], 4)
    assert harness.broker.offsets.query("G", RETRY, 0) == 0


def test_a_kv_notification_starts_after_the_last_read_a_peek_at_the_offset(harness: EngineHarness) -> None:
    """A notification starts after the last read, a peek at the committed offset (seen on 5.3.3)."""
    filled(harness, 2)
    harness.popped("A", count=2)
    assert not harness.ask(NotificationResult, Notification("G", "A", -1, 0, harness.now_ms)).has_msg
    assert len(harness.ask(PopResult, PeekMessage("G", "A", 0, 32)).messages) == 2


def test_each_set_bit_of_a_batch_ack_deletes_one_kv_record(harness: EngineHarness) -> None:
    filled(harness)
    harness.popped("A", invisible_ms=3000)
    pop = harness.last_pop
    ack = BatchAck("G", "A", "0", 0, 0, 0, pop.pop_time, pop.invisible_ms, bit_set(0b101))
    harness.engine.execute(harness.broker, BatchAckMessage([ack]))
    harness.advance(4000)
    assert stored_bodies(harness, RETRY) == [b"1"]


def test_an_ack_with_another_pop_time_or_invisible_duration_deletes_no_kv_record(harness: EngineHarness) -> None:
    """A handle with another pop time or invisible duration succeeds without effect."""
    filled(harness, 1)
    receipt = harness.receipt(harness.popped("A", invisible_ms=3000)[0])
    for wrong in (
        replace(receipt, pop_time=receipt.pop_time - 1),
        replace(receipt, invisible_ms=3001),
        replace(receipt, queue_offset=1),
    ):
        assert not isinstance(harness.ack("A", wrong).outcome, EngineError)
    assert len(harness.broker.pop_records) == 1


def test_changing_the_invisible_duration_replaces_the_kv_record(harness: EngineHarness) -> None:
    """A change to a later, an earlier or the present time replaces the record; the old handle has no effect."""
    filled(harness, 3)
    later, sooner, now = (harness.receipt(message) for message in harness.popped("A", invisible_ms=10_000))
    harness.advance(1000)
    harness.change("A", later, 20_000)
    harness.change("A", sooner, 3_000)
    harness.change("A", now, 0)
    harness.ack("A", later)
    harness.advance(500)
    assert stored_bodies(harness, RETRY) == [b"2"]
    harness.advance(3_000)
    assert stored_bodies(harness, RETRY) == [b"2", b"1"]
    harness.advance(20_000)
    assert stored_bodies(harness, RETRY) == [b"2", b"1", b"0"]


def test_a_change_to_the_same_visible_time_keeps_the_new_kv_record(harness: EngineHarness) -> None:
    """A change to the same visible time keeps the new record, which has the key of the old one."""
    filled(harness, 1)
    receipt = harness.receipt(harness.popped("A", invisible_ms=10_000)[0])
    harness.advance(4000)
    harness.change("A", receipt, 6000)
    assert len(harness.broker.pop_records) == 1
    harness.advance(7000)
    assert stored_bodies(harness, RETRY) == [b"0"]


def test_a_kv_record_due_3_s_before_the_last_scan_is_redelivered_after_a_restart(harness: EngineHarness) -> None:
    """A record for a time more than 3 s before the last scan is redelivered only after a restart (seen on 5.3.3)."""
    filled(harness, 2)
    lost, found = (harness.receipt(message) for message in harness.popped("A"))
    harness.advance(10_000)
    harness.change("A", lost, -10_000)
    harness.change("A", found, -2_000)
    harness.advance(60_000)
    assert stored_bodies(harness, RETRY) == [b"1"]
    harness.engine.crash(power_loss=False)
    harness.advance(1000)
    assert stored_bodies(harness, RETRY) == [b"1", b"0"]


@pytest.mark.parametrize("invisible_ms", [-(2**63), 2**63 - 1])
def test_a_kv_record_whose_visible_time_overflows_a_long_is_never_due(
    harness: EngineHarness, invisible_ms: int
) -> None:
    """A record whose visible time overflows a long is never due, even after a restart; its handle acknowledges."""
    filled(harness, 2)
    message, _ = harness.popped("A", invisible_ms=invisible_ms)
    harness.advance(60_000)
    harness.engine.crash(power_loss=False)
    harness.advance(60_000)
    assert stored_bodies(harness, RETRY) == []
    assert len(harness.broker.pop_records) == 2
    harness.ack("A", harness.receipt(message))
    assert len(harness.broker.pop_records) == 1


def test_due_kv_records_are_redelivered_in_key_order(harness: EngineHarness) -> None:
    """Due records are redelivered by visible time, then group, topic, queue and offset, not in pop order."""
    for topic in ("B", "A"):
        filled(harness, 2, topic=topic)
    for topic in ("B", "A"):
        harness.popped(topic, count=2, invisible_ms=1000)
    harness.advance(2000)
    store = harness.broker.store
    places = [decode(record).topic for _, record in store.log.records_from(0)]
    assert places[-4:] == ["%RETRY%G_A", "%RETRY%G_A", "%RETRY%G_B", "%RETRY%G_B"]


def test_a_failed_kv_redelivery_is_retried_with_backoff_and_finally_dropped() -> None:
    """A failed redelivery is retried after 10, 30, 60 s..., at most popReviveMaxAttemptTimes times.

    It fails here because the name of the retry topic is too long.
    """
    harness = kv_harness(pop_revive_max_attempt_times=2)
    group, topic = "G" * 130, "T" * 127
    harness.topic(topic)
    harness.send(topic, b"m")
    assert len(harness.popped(topic, group=group, invisible_ms=1000)) == 1
    (record,) = harness.broker.pop_records.table.values()
    for attempt, invisible_ms in enumerate((11_000, 41_000), 1):
        harness.advance(record.invisible_ms + 600)
        (record,) = harness.broker.pop_records.table.values()
        assert (record.attempts, record.invisible_ms) == (attempt, invisible_ms)
    harness.advance(record.invisible_ms + 600)
    assert len(harness.broker.pop_records) == 0


def test_the_kv_record_of_a_message_deleted_with_its_topic_is_dropped(harness: EngineHarness) -> None:
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    harness.advance(5000)
    assert (max_offset(harness, RETRY), len(harness.broker.pop_records)) == (0, 0)


def test_a_kv_pop_reads_both_the_v1_and_the_v2_retry_topic() -> None:
    """With v2 names one pop reads both the v1 and the v2 retry topic, not one of them at random."""
    harness = kv_harness(enable_retry_topic_v2=False)
    filled(harness, 2)
    harness.popped("A", count=1, invisible_ms=1000)
    harness.advance(2000)
    harness.broker.config.enable_retry_topic_v2 = True
    harness.popped("A", queue=0, count=1, invisible_ms=1000)
    harness.advance(2000)
    assert [message.topic_digit for message in harness.popped("A")] == [1, 2]


def test_a_kv_pop_of_one_queue_reads_the_retry_topic_only_every_fifth_time(harness: EngineHarness) -> None:
    """A pop of one queue reads the retry topic only if it is a pop that reads it first."""
    filled(harness, 1)
    harness.popped("A", queue=0, invisible_ms=1000)
    harness.advance(2000)
    found = [len(harness.popped("A", queue=0)) for _ in range(5)]
    assert found == [0, 0, 0, 0, 1]


# order, reset, waiting


def test_an_ordered_kv_pop_writes_no_record_and_its_acks_move_the_offset(harness: EngineHarness) -> None:
    """An ordered pop has one batch at a time, no record, and an offset that moves with acknowledgements (observed)."""
    filled(harness, 3)
    messages = harness.popped("A", order=True, count=2, invisible_ms=4000)
    assert (harness.last_pop.revive_qid, harness.last_pop.order_count_info) == (999, "0 0 0")
    assert (len(harness.broker.pop_records), committed(harness)) == (0, 0)
    receipts = [harness.receipt(message) for message in messages]
    assert harness.popped("A", order=True) == []
    assert harness.last_pop.order_count_info is None
    harness.ack("A", receipts[0])
    assert committed(harness) == 1
    refusal = refused(harness.ack("A", replace(receipts[0], queue_offset=2)))
    assert refusal.code == ResponseCode.MESSAGE_ILLEGAL
    assert str(refusal.remark).startswith("offset is illegal, key:G A 0, old:1, commit:2, next:-1, ")
    harness.advance(4000)
    assert bodies(harness.popped("A", order=True, count=2)) == [b"1", b"2"]
    assert harness.last_pop.order_count_info == "0 qo0%1 1;0 0 0"


def test_after_an_offset_reset_a_kv_pop_reads_from_the_reset_offset(harness: EngineHarness) -> None:
    """After a reset the next pop reads from the reset offset, although the group had read further."""
    filled(harness, 4)
    harness.popped("A", count=4)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", -1, 0, offset=3))
    assert committed(harness) == 3
    assert bodies(harness.popped("A")) == [b"3"]
    assert committed(harness) == 3


def test_a_message_wakes_a_waiting_kv_pop_which_writes_a_record(harness: EngineHarness) -> None:
    """A message wakes a waiting pop, which gets a record like any other."""
    harness.topic("A")
    waiting = harness.pop("A", poll_ms=20_000)
    assert waiting.outcome is None
    harness.send("A", b"m")
    assert bodies(messages_of(waiting)) == [b"m"]
    assert len(harness.broker.pop_records) == 1


def test_a_waiting_kv_pop_reads_the_next_800_messages_only_at_its_deadline(harness: EngineHarness) -> None:
    """A waiting pop reads the next 800 units only at its deadline (observed), unlike with check points."""
    harness.topic("A")
    for _ in range(1000):
        harness.send("A", TAGS="no")
    harness.send("A", b"match", TAGS="yes")
    waiting = harness.pop("A", expression="yes", poll_ms=6000)
    assert waiting.outcome is None
    harness.advance(6000)
    assert bodies(messages_of(waiting)) == [b"match"]


def test_kv_pops_fail_if_the_kv_service_was_not_initialized_at_the_start() -> None:
    """Without popConsumerKVServiceInit at the start every pop fails; upstream throws a null pointer (observed)."""
    harness = make_harness(pop_consumer_kv_service_enable=True)
    filled(harness, 1)
    refusal = refused(harness.pop("A"))
    assert refusal.code == ResponseCode.SYSTEM_ERROR
    assert "popConsumerKVServiceInit" in str(refusal.remark)


def test_kv_records_are_redelivered_after_the_kv_service_is_disabled(harness: EngineHarness) -> None:
    """If the variant is initialized but disabled, records are still redelivered, and new pops write check points."""
    filled(harness, 2)
    harness.popped("A", count=1, invisible_ms=2000)
    harness.broker.config.pop_consumer_kv_service_enable = False
    assert bodies(harness.popped("A", queue=0, count=1, invisible_ms=60_000)) == [b"0"]
    assert max_offset(harness, TIMER) == 1
    harness.advance(3000)
    assert stored_bodies(harness, RETRY) == [b"0"]


def test_a_rollback_turns_kv_records_into_check_points(harness: EngineHarness) -> None:
    """A rollback turns each record into a check point in the revive queue of its offset (seen on 5.3.3)."""
    filled(harness, 4)
    messages = harness.popped("A", count=3, invisible_ms=15_000)
    receipts = [harness.receipt(message) for message in messages]
    harness.ack("A", receipts[0])
    harness.engine.execute(harness.broker, RollBackPops())
    harness.engine.execute(harness.broker, RollBackPops())
    points = [(record.property_map()["REAL_QID"], json.loads(record.body)) for record in stored(harness, TIMER)]
    assert [(queue, point["so"], point["d"]) for queue, point in points] == [("1", 1, [0]), ("2", 2, [0])]
    assert len(harness.broker.pop_records) == 0
    harness.ack("A", receipts[1])
    harness.advance(20_000)
    assert sorted(stored_bodies(harness, RETRY)) == [b"1", b"2"]


def test_acknowledged_kv_records_leave_no_timer_scheduled(harness: EngineHarness) -> None:
    filled(harness)
    for message in harness.popped("A"):
        harness.ack("A", harness.receipt(message))
    assert scheduled(harness, "pop records") == []


# the cache


def test_the_group_offset_follows_the_kv_cache_once_a_second(cached: EngineHarness) -> None:
    """The offset is the first one in memory; when none is left there it stays until the next pop (seen on 5.3.3)."""
    harness = cached
    filled(harness, 4)
    receipts = [harness.receipt(message) for message in harness.popped("A", count=2, invisible_ms=60_000)]
    receipts += [harness.receipt(message) for message in harness.popped("A", count=2, invisible_ms=60_000)]
    assert (committed(harness), len(harness.broker.pop_records)) == (0, 0)
    harness.ack("A", receipts[0])
    harness.advance(999)
    assert committed(harness) == 0
    harness.advance(1)
    assert committed(harness) == 1
    for receipt in receipts[1:]:
        harness.ack("A", receipt)
    harness.advance(5000)
    assert committed(harness) == 1
    harness.popped("A")
    assert committed(harness) == 4


def test_a_cached_kv_record_is_stored_after_pop_ck_stay_buffer_time(cached: EngineHarness) -> None:
    """popCkStayBufferTime after the pop the record is stored, then redelivered (observed: 14.15 s for 14 s)."""
    harness = cached
    filled(harness, 1)
    harness.popped("A", invisible_ms=14_000)
    harness.advance(9_999)
    assert len(harness.broker.pop_records) == 0
    harness.advance(1)
    assert len(harness.broker.pop_records) == 1
    harness.advance(4_499)
    assert max_offset(harness, RETRY) == 0
    harness.advance(1)
    assert max_offset(harness, RETRY) == 1


def test_a_kv_record_due_before_it_is_stored_is_redelivered_from_the_cache(cached: EngineHarness) -> None:
    """A record that is due earlier is redelivered by the next one-second scan (observed: 5.62 s for 5 s)."""
    harness = cached
    filled(harness, 1)
    harness.advance(300)
    harness.popped("A", invisible_ms=5000)
    harness.advance(5_699)
    assert max_offset(harness, RETRY) == 0
    harness.advance(1)
    assert (max_offset(harness, RETRY), len(harness.broker.pop_records)) == (1, 0)


def test_the_kv_cache_matches_acks_by_offset_alone(cached: EngineHarness) -> None:
    """A handle with another pop time deletes the cached record, too (seen on 5.3.3)."""
    harness = cached
    filled(harness, 1)
    receipt = harness.receipt(harness.popped("A", invisible_ms=3000)[0])
    harness.ack("A", replace(receipt, pop_time=receipt.pop_time - 5))
    harness.advance(10_000)
    assert max_offset(harness, RETRY) == 0


def test_a_pop_stores_its_kv_records_when_the_kv_cache_is_full() -> None:
    """With more than popCkMaxBufferSize records in memory the records of the next pop are stored."""
    harness = kv_harness(enable_pop_buffer_merge=True, pop_ck_max_buffer_size=1)
    filled(harness, 4)
    for stored_records in (0, 0, 1):
        harness.popped("A", count=1, invisible_ms=60_000)
        assert len(harness.broker.pop_records) == stored_records


def test_an_invisible_duration_change_stores_the_new_kv_record_at_once(cached: EngineHarness) -> None:
    """A change stores the new record at once and removes the old one from memory."""
    harness = cached
    filled(harness, 1)
    receipt = harness.receipt(harness.popped("A", invisible_ms=60_000)[0])
    changed = harness.change("A", receipt, 5000)
    assert len(harness.broker.pop_records) == 1
    harness.ack("A", changed)
    assert len(harness.broker.pop_records) == 0
    harness.advance(100_000)
    assert max_offset(harness, RETRY) == 0


def test_an_offset_reset_empties_the_kv_cache(cached: EngineHarness) -> None:
    """After a reset no record in memory is redelivered or holds back the offset."""
    harness = cached
    filled(harness, 3)
    harness.popped("A", invisible_ms=5000)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", -1, 0, offset=2))
    assert bodies(harness.popped("A", invisible_ms=60_000)) == [b"2"]
    harness.advance(8000)
    assert (max_offset(harness, RETRY), committed(harness)) == (0, 2)


def test_an_idle_kv_cache_has_no_timer(cached: EngineHarness) -> None:
    """After the scan that follows the last acknowledgement no timer is scheduled."""
    harness = cached
    filled(harness, 1)
    harness.ack("A", harness.receipt(harness.popped("A")[0]))
    harness.advance(1000)
    assert scheduled(harness, "pop cache") == []


# crashes


def test_a_crash_keeps_kv_records_and_pops_read_the_last_messages_again(harness: EngineHarness) -> None:
    """A crash keeps the records, which are on disk at once; the offset is one read behind (seen on 5.3.3).

    Everything read since then is delivered at once, acknowledged or not; unacknowledged messages are redelivered as
    well.
    """
    filled(harness, 6)
    harness.ack("A", harness.receipt(harness.popped("A", count=1)[0]))
    harness.advance(10_000)
    messages = harness.popped("A", count=4, invisible_ms=20_000)
    for message in messages[:2]:
        harness.ack("A", harness.receipt(message))
    harness.engine.crash(power_loss=False)
    assert bodies(harness.popped("A", invisible_ms=60_000)) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    harness.advance(21_000)
    assert stored_bodies(harness, RETRY) == [b"3", b"4"]


def test_after_a_crash_a_kv_pop_rereads_from_the_first_unacknowledged_message(cached: EngineHarness) -> None:
    """After a crash every message from the first unacknowledged one on is delivered once more, and only once."""
    harness = cached
    filled(harness, 6)
    harness.advance(9_000)
    harness.ack("A", harness.receipt(harness.popped("A", count=1, invisible_ms=60_000)[0]))
    messages = harness.popped("A", count=4, invisible_ms=60_000)
    harness.ack("A", harness.receipt(messages[1]))
    harness.advance(1_000)
    harness.engine.crash(power_loss=False)
    assert bodies(harness.popped("A", invisible_ms=120_000)) == [b"1", b"2", b"3", b"4", b"5"]
    harness.advance(100_000)
    assert max_offset(harness, RETRY) == 0


def test_kv_pops_bypass_the_cache_while_the_merge_buffer_is_disabled(cached: EngineHarness) -> None:
    """While enablePopBufferMerge is off, the records of a pop go to the table at once instead of the cache."""
    filled(cached, 4)
    assert len(cached.popped("A", count=2)) == 2
    assert len(cached.broker.pop_records) == 0
    cached.broker.config.enable_pop_buffer_merge = False
    assert len(cached.popped("A", count=2)) == 2
    assert len(cached.broker.pop_records) == 2


def test_each_ack_removes_one_record_from_the_kv_cache(cached: EngineHarness) -> None:
    filled(cached, 4)
    messages = cached.popped("A")
    consumer = cached.broker.pop_kv_service
    assert consumer is not None
    assert consumer._cache is not None
    left = [len(consumer._cache)]
    for message in messages:
        cached.ack("A", cached.receipt(message))
        left.append(len(consumer._cache))
    assert left == [4, 3, 2, 1, 0]


def test_only_the_retry_message_of_a_mixed_kv_pop_has_a_handle() -> None:
    """A retry message after messages of the topic itself has a handle; those have none."""
    harness = kv_harness(pop_response_return_actual_retry_topic=True)
    filled(harness, 1)
    harness.popped("A", invisible_ms=1000)
    harness.advance(2000)
    harness.send("A", b"new")
    found = [decode(message.record) for message in harness.popped("A")]
    assert [(record.topic, "POP_CK" in record.property_map()) for record in found] == [("A", False), (RETRY, True)]


def test_an_acknowledged_record_does_not_keep_later_ones_in_the_cache(cached: EngineHarness) -> None:
    """popCkStayBufferTime after a pop its records are stored, except those whose messages were acknowledged before."""
    harness = cached
    filled(harness, 3)
    receipts = [harness.receipt(message) for message in harness.popped("A", invisible_ms=60_000)]
    harness.ack("A", receipts[0])
    harness.advance(10_000)
    assert len(harness.broker.pop_records) == 2


def test_an_offset_reset_does_not_change_the_count_of_cached_records_of_other_queues() -> None:
    """After the reset the cache is full again once it has as many records as before."""
    harness = kv_harness(enable_pop_buffer_merge=True, pop_ck_max_buffer_size=3)
    filled(harness, 5)
    harness.topic("B")
    harness.send("B")
    harness.popped("A", count=2, invisible_ms=60_000)
    harness.popped("B", count=1, invisible_ms=60_000)
    harness.engine.execute(harness.broker, ResetOffset("G", "B", -1, 0, offset=0))
    for stored_records in (0, 0, 1):
        harness.popped("A", count=1, invisible_ms=60_000)
        assert len(harness.broker.pop_records) == stored_records


def test_a_message_without_a_record_is_not_redelivered_early(harness: EngineHarness) -> None:
    """The method by which a fault makes a message visible returns False if the message is not in flight."""
    filled(harness, 1)
    records = harness.broker.pop_kv_service
    assert records is not None
    assert not records.redeliver_now("A", "G", 0, 0)
    harness.popped("A")
    assert records.redeliver_now("A", "G", 0, 0)
