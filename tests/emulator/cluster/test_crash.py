"""Crash and restart of a broker: lost state and repeated messages."""

from typing import Any

import pytest
from engine_harness import EngineHarness, bodies, make_harness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.operations.clients import (
    Heartbeat,
    LockBatchMq,
    LockBatchResult,
    MessageQueue,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.consume import PopMessage
from rocketmq_testkit.emulator.operations.groups import SetMessageRequestMode
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from stored import committed, filled, stored_bodies

RETRY = "%RETRY%G_A"
FIRST_WRITE_MS = 10_000


def max_offset(harness: EngineHarness, topic: str = "A") -> int:
    return harness.broker.store.max_offset(topic, 0)


def crash_process(harness: EngineHarness) -> None:
    harness.engine.crash(power_loss=False)


# offsets


def test_a_crash_restores_offsets_to_their_last_write(harness: EngineHarness) -> None:
    """After a crash the messages popped since the last write of offsets are delivered again, acknowledged or not.

    Unacknowledged messages are also redelivered when their invisible duration ends, because their check points were
    stored. The real broker does both.
    """
    filled(harness, 4)
    harness.advance(FIRST_WRITE_MS - 1)
    harness.popped("A", count=1)
    harness.advance(1)
    messages = harness.popped("A", count=2)
    harness.ack("A", harness.receipt(messages[0]))
    crash_process(harness)
    assert committed(harness) == 1
    assert bodies(harness.popped("A", invisible_ms=3_600_000)) == [b"1", b"2", b"3"]
    harness.advance(20_000)
    assert sorted(bodies(harness.popped("A"))) == [b"0", b"2"]


def test_offsets_written_before_a_crash_stay(harness: EngineHarness) -> None:
    """Messages popped before the last write of offsets are not delivered again; unacknowledged ones are redelivered."""
    filled(harness, 2)
    messages = harness.popped("A")
    harness.ack("A", harness.receipt(messages[0]))
    harness.advance(FIRST_WRITE_MS)
    crash_process(harness)
    assert committed(harness) == 2
    assert harness.popped("A") == []
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"1"]


def test_offsets_are_written_10_s_after_the_start_and_then_every_5_s(harness: EngineHarness) -> None:
    filled(harness, 4)

    def survives(wait_ms: int) -> bool:
        before = committed(harness)
        harness.popped("A", count=1, invisible_ms=3_600_000)
        harness.advance(wait_ms)
        crash_process(harness)
        return committed(harness) > before

    assert not survives(9_999)
    assert survives(10_000)
    harness.advance(10_000)
    assert not survives(4_999)
    harness.advance(10_000)
    assert survives(5_000)


def test_after_a_crash_a_group_that_was_never_written_starts_as_new(harness: EngineHarness) -> None:
    """A group whose offset was never written starts like a new group after a crash."""
    filled(harness, 3)
    harness.popped("A")
    crash_process(harness)
    assert committed(harness) == -1
    assert len(harness.popped("A")) == 3


def test_a_crash_deletes_pending_offset_resets(harness: EngineHarness) -> None:
    """A crash deletes pending offset resets, which are in no file; the group continues at its last offset."""
    filled(harness, 4)
    harness.popped("A")
    harness.advance(FIRST_WRITE_MS)
    harness.engine.execute(harness.broker, ResetOffset("G", "A", -1, 0, offset=1))
    crash_process(harness)
    assert committed(harness) == 4
    assert harness.popped("A") == []


def test_messages_revived_since_the_last_write_are_revived_again_after_a_crash(harness: EngineHarness) -> None:
    """A message revived since the last write is revived again after a crash, once more for each crash."""
    filled(harness, 1)
    harness.popped("A", invisible_ms=11_000)
    harness.advance(14_500)
    assert max_offset(harness, RETRY) == 1
    for copies in (2, 3):
        crash_process(harness)
        harness.advance(9_000)
        assert max_offset(harness, RETRY) == copies
    harness.advance(1_000)
    crash_process(harness)
    harness.advance(10_000)
    assert max_offset(harness, RETRY) == 3


def test_acks_read_before_a_crash_are_read_again_after_it(harness: EngineHarness) -> None:
    """Check points and acknowledgements read before a crash are read again after it."""
    filled(harness, 2)
    messages = harness.popped("A", invisible_ms=14_000)
    harness.ack("A", harness.receipt(messages[1]))
    harness.advance(14_500)
    crash_process(harness)
    harness.advance(10_000)
    assert bodies(harness.popped("A")) == [b"0"]


# the merge buffer


def test_after_a_crash_the_messages_of_the_merge_buffer_are_delivered_again() -> None:
    """After the merge buffer is lost, all messages from the first unacknowledged one on are delivered once again."""
    harness = make_harness(enable_pop_buffer_merge=True)
    filled(harness, 6)
    (first,) = harness.popped("A", count=1, invisible_ms=60_000)
    harness.ack("A", harness.receipt(first))
    harness.advance(FIRST_WRITE_MS)
    messages = harness.popped("A", count=4, invisible_ms=60_000)
    for message in messages[:2]:
        harness.ack("A", harness.receipt(message))
    crash_process(harness)
    assert committed(harness) == 1
    assert bodies(harness.popped("A", invisible_ms=60_000)) == [b"1", b"2", b"3", b"4", b"5"]
    assert max_offset(harness, RETRY) == 0
    harness.advance(70_000)
    assert sorted(bodies(harness.popped("A"))) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_check_point_that_left_the_merge_buffer_survives_a_crash() -> None:
    """A check point leaves the buffer ten seconds after its pop; then a crash does not affect it."""
    harness = make_harness(enable_pop_buffer_merge=True)
    filled(harness, 2)
    messages = harness.popped("A", invisible_ms=30_000)
    harness.ack("A", harness.receipt(messages[0]))
    harness.advance(15_000)
    crash_process(harness)
    assert harness.popped("A") == []
    harness.advance(20_000)
    assert bodies(harness.popped("A")) == [b"1"]


# the store


@pytest.mark.parametrize(
    ("keys", "bytes_sent", "wait_ms", "kept"),
    [
        ({}, 100, 0, 0),
        ({}, 100, 9_999, 0),
        ({}, 100, 10_500, 1),
        ({}, 20_000, 499, 0),
        ({}, 20_000, 500, 1),
        ({"flush_interval_commit_log": 100}, 20_000, 100, 1),
        ({"flush_commit_log_least_pages": 1}, 5_000, 500, 1),
        ({"flush_commit_log_thorough_interval": 2_000}, 100, 2_500, 1),
        ({"flush_disk_type": "SYNC_FLUSH"}, 100, 0, 1),
    ],
)
def test_a_power_loss_loses_only_unflushed_messages(
    keys: dict[str, Any], bytes_sent: int, wait_ms: int, kept: int
) -> None:
    """A power loss loses unflushed messages: four dirty pages are flushed within half a second, fewer within ten.

    With SYNC_FLUSH no message is lost.
    """
    harness = make_harness(**keys)
    harness.topic("A")
    harness.send("A", b"x" * bytes_sent)
    harness.advance(wait_ms)
    harness.engine.crash()
    assert max_offset(harness) == kept
    harness.send("A", b"next")
    found = harness.popped("A")
    assert bodies(found)[-1] == b"next"
    assert [message.queue_offset for message in found] == list(range(kept + 1))


@pytest.mark.parametrize(("sent_at_ms", "wait_ms", "kept"), [(12_000, 7_999, 0), (12_000, 8_000, 1), (29_900, 100, 1)])
def test_thorough_flushes_are_ten_seconds_apart_if_nothing_is_stored_meanwhile(
    sent_at_ms: int, wait_ms: int, kept: int
) -> None:
    """A check flushes a single dirty page at 10 s, 20 s and so on after the start, whether or not messages came."""
    harness = make_harness()
    harness.topic("A")
    harness.advance(sent_at_ms)
    harness.send("A", b"x")
    harness.advance(wait_ms)
    harness.engine.crash()
    assert max_offset(harness) == kept


def test_a_process_crash_loses_no_stored_message(harness: EngineHarness) -> None:
    """A crash of the process loses no stored message, because the operating system has the pages."""
    filled(harness, 2)
    crash_process(harness)
    assert max_offset(harness) == 2


def test_the_log_continues_after_a_power_loss_where_it_was_truncated() -> None:
    """After a power loss, records in all segments keep their offsets, and messages stored later are readable."""
    harness = make_harness(mapped_file_size_commit_log=64 * 1024, max_message_size=8 * 1024)
    harness.topic("A")
    for _ in range(50):
        harness.advance(250)
        harness.send("A", b"x" * 8_000)
    before = max_offset(harness)
    harness.engine.crash()
    after = max_offset(harness)
    assert 0 < before - after <= 2
    for n in range(30):
        harness.send("A", b"%d" % n + b"y" * 8_000)
    found = stored_bodies(harness, "A")
    assert len(found) == after + 30
    assert found[after][:2] == b"0y"
    assert harness.broker.store.log.stored_bytes == sum(
        len(record) for _, record in harness.broker.store.log.records_from(0)
    )


# waiting messages


def test_a_timed_message_delivered_within_1_s_of_a_crash_is_delivered_again(harness: EngineHarness) -> None:
    """A timed message delivered in the second before a crash is delivered twice (seen on 5.3.3).

    The timer writes its progress once a second.
    """
    harness.topic("A")
    harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 2_000))
    harness.advance(2_500)
    assert max_offset(harness) == 1
    crash_process(harness)
    harness.advance(1_000)
    assert max_offset(harness) == 2
    harness.advance(5_000)
    crash_process(harness)
    harness.advance(5_000)
    assert max_offset(harness) == 2


def test_timed_messages_are_delivered_on_time_after_a_crash(harness: EngineHarness) -> None:
    """After a crash timed messages are delivered at their time, or at once if it has passed."""
    harness.topic("A")
    harness.send("A", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    harness.advance(10_000)
    crash_process(harness)
    harness.advance(9_000)
    assert max_offset(harness) == 0
    harness.advance(2_000)
    assert max_offset(harness) == 1


def test_delayed_messages_delivered_since_the_last_write_are_delivered_again(harness: EngineHarness) -> None:
    """Messages delivered by a delay level since the last write (every 10 s) are delivered again (seen on 5.3.3)."""
    harness.topic("A")
    harness.advance(FIRST_WRITE_MS)
    harness.send("A", DELAY="1")
    harness.send("A", DELAY="2")
    harness.advance(2_000)
    assert max_offset(harness) == 1
    crash_process(harness)
    harness.advance(20_000)
    assert max_offset(harness) == 3
    crash_process(harness)
    harness.advance(20_000)
    assert max_offset(harness) == 3


def test_an_ordered_batch_that_was_not_written_is_lost_in_a_crash(harness: EngineHarness) -> None:
    """Ordered batches are written every ten seconds; one popped since then no longer blocks its queue after a crash."""
    filled(harness, 2)
    assert len(harness.popped("A", order=True, invisible_ms=60_000)) == 2
    crash_process(harness)
    messages = harness.popped("A", order=True, invisible_ms=60_000)
    assert bodies(messages) == [b"0", b"1"]
    assert harness.last_pop.order_count_info == "0 0 0"
    harness.advance(10_000)
    crash_process(harness)
    assert harness.popped("A", order=True) == []
    harness.advance(50_000)
    assert bodies(harness.popped("A", order=True)) == [b"0", b"1"]
    assert harness.last_pop.order_count_info == "0 qo0%0 1;0 qo0%1 1;0 0 1"


def test_ordered_acks_since_the_last_write_are_lost_in_a_crash(harness: EngineHarness) -> None:
    """An ordered acknowledgement since the last write is lost, and its message is redelivered."""
    filled(harness, 2)
    messages = harness.popped("A", order=True, invisible_ms=30_000)
    harness.advance(10_000)
    harness.ack("A", harness.receipt(messages[0]))
    assert committed(harness) == 1
    crash_process(harness)
    assert committed(harness) == 0
    harness.advance(30_000)
    assert bodies(harness.popped("A", order=True)) == [b"0", b"1"]


@pytest.mark.parametrize("crashes", [True, False])
def test_a_transaction_end_without_op_message_is_lost_in_a_crash(harness: EngineHarness, crashes: bool) -> None:
    """A transaction whose end has no op message yet is checked after a crash, even if it was committed.

    Op messages are stored every 3 s.
    """
    harness.topic("A")
    half = harness.send("A", TRAN_MSG="true", PGROUP="P")
    harness.engine.execute(
        harness.broker, EndTransaction("P", half.queue_offset, half.physical_offset, 8, False, half.msg_id)
    )
    if crashes:
        crash_process(harness)
    assert max_offset(harness) == 1
    producer = DirectChannel("p")
    harness.engine.submit(harness.broker, Heartbeat("p", ["P"], []), producer)
    harness.advance(40_000)
    assert [type(effect) for effect in producer.effects] == [CheckTransactionState] * crashes


# graceful restart


def test_a_graceful_restart_loses_and_repeats_nothing(harness: EngineHarness) -> None:
    """A graceful restart writes all files: no message is delivered twice, and waiting messages keep their times."""
    harness.topic("T")
    filled(harness, 4)
    harness.send("T", TIMER_DELIVER_MS=str(harness.now_ms + 2_000))
    harness.send("T", DELAY="1")
    harness.advance(2_500)
    messages = harness.popped("A", count=2, invisible_ms=10_000)
    harness.ack("A", harness.receipt(messages[0]))
    assert len(harness.popped("T", order=True, invisible_ms=60_000)) == 2
    harness.engine.restart()
    assert (committed(harness), max_offset(harness, "T")) == (2, 2)
    assert harness.popped("T", order=True) == []
    harness.advance(15_000)
    assert max_offset(harness, "T") == 2
    assert sorted(bodies(harness.popped("A"))) == [b"1", b"2", b"3"]


def test_a_graceful_restart_stores_the_merge_buffer() -> None:
    """A graceful restart stores the merge buffer's open check points with their acknowledgements."""
    harness = make_harness(enable_pop_buffer_merge=True)
    filled(harness, 3)
    harness.ack("A", harness.receipt(harness.popped("A", count=1, invisible_ms=60_000)[0]))
    messages = harness.popped("A", count=2, invisible_ms=60_000)
    harness.ack("A", harness.receipt(messages[0]))
    harness.engine.restart()
    assert (committed(harness), len(harness.broker.pop_buffer)) == (3, 0)
    assert harness.popped("A") == []
    harness.advance(70_000)
    assert bodies(harness.popped("A")) == [b"2"]


# connections


def test_requests_that_wait_at_a_crash_get_no_response(harness: EngineHarness) -> None:
    """Requests that wait at a crash get no response, receive no later message, and leave no timer."""
    harness.topic("A")
    popping = harness.pop("A", poll_ms=20_000)
    pulling = harness.pull("A", suspend_ms=20_000)
    crash_process(harness)
    assert {timer.kind for timer in harness.engine.scheduler.scheduled()} <= {"timer"}
    harness.send("A", b"m")
    harness.advance(30_000)
    assert (popping.outcome, pulling.outcome) == (None, None)
    assert bodies(harness.popped("A")) == [b"m"]


def test_a_crash_deletes_clients_and_queue_locks_but_no_tables(harness: EngineHarness) -> None:
    """A crash deletes clients and queue locks, but no topics, groups or request modes, which are written at once."""
    harness.topic("A")
    harness.heartbeat("c", topics={"A": "*"})
    queue = MessageQueue("A", "broker-a", 0)
    lock = LockBatchMq("G", "c", [queue])
    other = LockBatchMq("G", "d", [queue])
    assert harness.ask(LockBatchResult, lock).queues == [queue]
    assert harness.ask(LockBatchResult, other).queues == []
    harness.engine.execute(harness.broker, SetMessageRequestMode("A", "G", "POP", 4))
    crash_process(harness)
    assert harness.broker.clients.consumers == {}
    assert harness.ask(LockBatchResult, other).queues == [queue]
    assert harness.broker.topics.find("A") is not None
    assert harness.broker.groups.find("G") is not None
    assert harness.broker.handlers[SetMessageRequestMode] is not None


def test_a_crash_cancels_only_the_timers_of_the_crashed_broker() -> None:
    engine = Engine(brokers=[BrokerConfig(broker_name="a"), BrokerConfig(broker_name="b")], now_ms=1_000_000)
    for broker in engine.brokers:
        engine.execute(broker, CreateTopic(TopicConfig("A", 1, 1)))
    waiting = [
        engine.submit(
            broker,
            PopMessage(
                "G",
                "A",
                queue_id=-1,
                max_msg_nums=1,
                invisible_ms=10_000,
                poll_ms=5_000,
                born_ms=engine.scheduler.now_ms,
                exp_type="TAG",
                exp="*",
            ),
        )
        for broker in engine.brokers
    ]
    engine.crash(engine.brokers[0])
    engine.scheduler.advance_to(engine.scheduler.now_ms + 6_000)
    assert [call.outcome is None for call in waiting] == [True, False]


def test_runs_with_crashes_and_the_same_seed_write_the_same_journal() -> None:

    def journal(seed: int) -> list[str]:
        harness = make_harness(seed=seed, enable_pop_buffer_merge=True)
        harness.topic("A", 4)
        for n in range(40):
            harness.send("A", b"%d" % n, queue=n % 4)
            harness.advance(777)
            harness.popped("A", count=3, invisible_ms=7_000)
            if n % 10 == 9:
                harness.engine.crash(power_loss=n % 20 == 9)
        return [repr(entry) for entry in harness.engine.journal]

    assert journal(3) == journal(3)
    assert journal(3) != journal(4)


def test_unregistering_an_unknown_client_after_a_crash_is_no_error(harness: EngineHarness) -> None:
    """A client that the broker no longer knows after a crash can unregister without an error."""
    harness.heartbeat("c", topics={})
    crash_process(harness)
    harness.engine.execute(harness.broker, UnregisterClient("c", "", "G"), harness.channels["c"])
