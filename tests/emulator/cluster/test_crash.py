"""Crash and restart of a broker: lost state and repeated messages."""

from typing import Any

import pytest
from engine_world import World, bodies, make_world
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


def max_offset(world: World, topic: str = "A") -> int:
    return world.broker.store.max_offset(topic, 0)


def crash_process(world: World) -> None:
    world.engine.crash(power_loss=False)


# offsets


def test_a_crash_restores_offsets_to_their_last_write(world: World) -> None:
    """After a crash the messages popped since the last write of offsets are delivered again, acknowledged or not.

    Unacknowledged messages are also redelivered when their invisible duration ends, because their check points were
    stored. The real broker does both.
    """
    filled(world, 4)
    world.advance(FIRST_WRITE_MS - 1)
    world.popped("A", count=1)
    world.advance(1)
    messages = world.popped("A", count=2)
    world.ack("A", world.receipt(messages[0]))
    crash_process(world)
    assert committed(world) == 1
    assert bodies(world.popped("A", invisible_ms=3_600_000)) == [b"1", b"2", b"3"]
    world.advance(20_000)
    assert sorted(bodies(world.popped("A"))) == [b"0", b"2"]


def test_offsets_written_before_a_crash_stay(world: World) -> None:
    """Messages popped before the last write of offsets are not delivered again; unacknowledged ones are redelivered."""
    filled(world, 2)
    messages = world.popped("A")
    world.ack("A", world.receipt(messages[0]))
    world.advance(FIRST_WRITE_MS)
    crash_process(world)
    assert committed(world) == 2
    assert world.popped("A") == []
    world.advance(10_000)
    assert bodies(world.popped("A")) == [b"1"]


def test_offsets_are_written_10_s_after_the_start_and_then_every_5_s(world: World) -> None:
    filled(world, 4)

    def survives(wait_ms: int) -> bool:
        before = committed(world)
        world.popped("A", count=1, invisible_ms=3_600_000)
        world.advance(wait_ms)
        crash_process(world)
        return committed(world) > before

    assert not survives(9_999)
    assert survives(10_000)
    world.advance(10_000)
    assert not survives(4_999)
    world.advance(10_000)
    assert survives(5_000)


def test_after_a_crash_a_group_that_was_never_written_starts_as_new(world: World) -> None:
    """A group whose offset was never written starts like a new group after a crash."""
    filled(world, 3)
    world.popped("A")
    crash_process(world)
    assert committed(world) == -1
    assert len(world.popped("A")) == 3


def test_a_crash_deletes_pending_offset_resets(world: World) -> None:
    """A crash deletes pending offset resets, which are in no file; the group continues at its last offset."""
    filled(world, 4)
    world.popped("A")
    world.advance(FIRST_WRITE_MS)
    world.engine.execute(world.broker, ResetOffset("G", "A", -1, 0, offset=1))
    crash_process(world)
    assert committed(world) == 4
    assert world.popped("A") == []


def test_messages_revived_since_the_last_write_are_revived_again_after_a_crash(world: World) -> None:
    """A message revived since the last write is revived again after a crash, once more for each crash."""
    filled(world, 1)
    world.popped("A", invisible_ms=11_000)
    world.advance(14_500)
    assert max_offset(world, RETRY) == 1
    for copies in (2, 3):
        crash_process(world)
        world.advance(9_000)
        assert max_offset(world, RETRY) == copies
    world.advance(1_000)
    crash_process(world)
    world.advance(10_000)
    assert max_offset(world, RETRY) == 3


def test_acks_read_before_a_crash_are_read_again_after_it(world: World) -> None:
    """Check points and acknowledgements read before a crash are read again after it."""
    filled(world, 2)
    messages = world.popped("A", invisible_ms=14_000)
    world.ack("A", world.receipt(messages[1]))
    world.advance(14_500)
    crash_process(world)
    world.advance(10_000)
    assert bodies(world.popped("A")) == [b"0"]


# the merge buffer


def test_after_a_crash_the_messages_of_the_merge_buffer_are_delivered_again() -> None:
    """After the merge buffer is lost, all messages from the first unacknowledged one on are delivered once again."""
    world = make_world(enable_pop_buffer_merge=True)
    filled(world, 6)
    (first,) = world.popped("A", count=1, invisible_ms=60_000)
    world.ack("A", world.receipt(first))
    world.advance(FIRST_WRITE_MS)
    messages = world.popped("A", count=4, invisible_ms=60_000)
    for message in messages[:2]:
        world.ack("A", world.receipt(message))
    crash_process(world)
    assert committed(world) == 1
    assert bodies(world.popped("A", invisible_ms=60_000)) == [b"1", b"2", b"3", b"4", b"5"]
    assert max_offset(world, RETRY) == 0
    world.advance(70_000)
    assert sorted(bodies(world.popped("A"))) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_check_point_that_left_the_merge_buffer_survives_a_crash() -> None:
    """A check point leaves the buffer ten seconds after its pop; then a crash does not affect it."""
    world = make_world(enable_pop_buffer_merge=True)
    filled(world, 2)
    messages = world.popped("A", invisible_ms=30_000)
    world.ack("A", world.receipt(messages[0]))
    world.advance(15_000)
    crash_process(world)
    assert world.popped("A") == []
    world.advance(20_000)
    assert bodies(world.popped("A")) == [b"1"]


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
    world = make_world(**keys)
    world.topic("A")
    world.send("A", b"x" * bytes_sent)
    world.advance(wait_ms)
    world.engine.crash()
    assert max_offset(world) == kept
    world.send("A", b"next")
    found = world.popped("A")
    assert bodies(found)[-1] == b"next"
    assert [message.queue_offset for message in found] == list(range(kept + 1))


def test_a_process_crash_loses_no_stored_message(world: World) -> None:
    """A crash of the process loses no stored message, because the operating system has the pages."""
    filled(world, 2)
    crash_process(world)
    assert max_offset(world) == 2


def test_the_log_continues_after_a_power_loss_where_it_was_truncated() -> None:
    """After a power loss, records in all segments keep their offsets, and messages stored later are readable."""
    world = make_world(mapped_file_size_commit_log=64 * 1024, max_message_size=8 * 1024)
    world.topic("A")
    for _ in range(50):
        world.advance(250)
        world.send("A", b"x" * 8_000)
    before = max_offset(world)
    world.engine.crash()
    after = max_offset(world)
    assert 0 < before - after <= 2
    for n in range(30):
        world.send("A", b"%d" % n + b"y" * 8_000)
    found = stored_bodies(world, "A")
    assert len(found) == after + 30
    assert found[after][:2] == b"0y"
    assert world.broker.store.log.stored_bytes == sum(
        len(record) for _, record in world.broker.store.log.records_from(0)
    )


# waiting messages


def test_a_timed_message_delivered_within_1_s_of_a_crash_is_delivered_again(world: World) -> None:
    """A timed message delivered in the second before a crash is delivered twice (seen on 5.3.3).

    The timer writes its progress once a second.
    """
    world.topic("A")
    world.send("A", TIMER_DELIVER_MS=str(world.now_ms + 2_000))
    world.advance(2_500)
    assert max_offset(world) == 1
    crash_process(world)
    world.advance(1_000)
    assert max_offset(world) == 2
    world.advance(5_000)
    crash_process(world)
    world.advance(5_000)
    assert max_offset(world) == 2


def test_timed_messages_are_delivered_on_time_after_a_crash(world: World) -> None:
    """After a crash timed messages are delivered at their time, or at once if it has passed."""
    world.topic("A")
    world.send("A", TIMER_DELIVER_MS=str(world.now_ms + 20_000))
    world.advance(10_000)
    crash_process(world)
    world.advance(9_000)
    assert max_offset(world) == 0
    world.advance(2_000)
    assert max_offset(world) == 1


def test_delayed_messages_delivered_since_the_last_write_are_delivered_again(world: World) -> None:
    """Messages delivered by a delay level since the last write (every 10 s) are delivered again (seen on 5.3.3)."""
    world.topic("A")
    world.advance(FIRST_WRITE_MS)
    world.send("A", DELAY="1")
    world.send("A", DELAY="2")
    world.advance(2_000)
    assert max_offset(world) == 1
    crash_process(world)
    world.advance(20_000)
    assert max_offset(world) == 3
    crash_process(world)
    world.advance(20_000)
    assert max_offset(world) == 3


def test_an_ordered_batch_that_was_not_written_is_lost_in_a_crash(world: World) -> None:
    """Ordered batches are written every ten seconds; one popped since then no longer blocks its queue after a crash."""
    filled(world, 2)
    assert len(world.popped("A", order=True, invisible_ms=60_000)) == 2
    crash_process(world)
    messages = world.popped("A", order=True, invisible_ms=60_000)
    assert bodies(messages) == [b"0", b"1"]
    assert world.last_pop.order_count_info == "0 0 0"
    world.advance(10_000)
    crash_process(world)
    assert world.popped("A", order=True) == []
    world.advance(50_000)
    assert bodies(world.popped("A", order=True)) == [b"0", b"1"]
    assert world.last_pop.order_count_info == "0 qo0%0 1;0 qo0%1 1;0 0 1"


def test_ordered_acks_since_the_last_write_are_lost_in_a_crash(world: World) -> None:
    """An ordered acknowledgement since the last write is lost, and its message is redelivered."""
    filled(world, 2)
    messages = world.popped("A", order=True, invisible_ms=30_000)
    world.advance(10_000)
    world.ack("A", world.receipt(messages[0]))
    assert committed(world) == 1
    crash_process(world)
    assert committed(world) == 0
    world.advance(30_000)
    assert bodies(world.popped("A", order=True)) == [b"0", b"1"]


@pytest.mark.parametrize("crashes", [True, False])
def test_a_transaction_end_without_op_message_is_lost_in_a_crash(world: World, crashes: bool) -> None:
    """A transaction whose end has no op message yet is checked after a crash, even if it was committed.

    Op messages are stored every 3 s.
    """
    world.topic("A")
    half = world.send("A", TRAN_MSG="true", PGROUP="P")
    world.engine.execute(
        world.broker, EndTransaction("P", half.queue_offset, half.physical_offset, 8, False, half.msg_id)
    )
    if crashes:
        crash_process(world)
    assert max_offset(world) == 1
    producer = DirectChannel("p")
    world.engine.submit(world.broker, Heartbeat("p", ["P"], []), producer)
    world.advance(40_000)
    assert [type(effect) for effect in producer.effects] == [CheckTransactionState] * crashes


# graceful restart


def test_a_graceful_restart_loses_and_repeats_nothing(world: World) -> None:
    """A graceful restart writes all files: no message is delivered twice, and waiting messages keep their times."""
    world.topic("T")
    filled(world, 4)
    world.send("T", TIMER_DELIVER_MS=str(world.now_ms + 2_000))
    world.send("T", DELAY="1")
    world.advance(2_500)
    messages = world.popped("A", count=2, invisible_ms=10_000)
    world.ack("A", world.receipt(messages[0]))
    assert len(world.popped("T", order=True, invisible_ms=60_000)) == 2
    world.engine.restart()
    assert (committed(world), max_offset(world, "T")) == (2, 2)
    assert world.popped("T", order=True) == []
    world.advance(15_000)
    assert max_offset(world, "T") == 2
    assert sorted(bodies(world.popped("A"))) == [b"1", b"2", b"3"]


def test_a_graceful_restart_stores_the_merge_buffer() -> None:
    """A graceful restart stores the merge buffer's open check points with their acknowledgements."""
    world = make_world(enable_pop_buffer_merge=True)
    filled(world, 3)
    world.ack("A", world.receipt(world.popped("A", count=1, invisible_ms=60_000)[0]))
    messages = world.popped("A", count=2, invisible_ms=60_000)
    world.ack("A", world.receipt(messages[0]))
    world.engine.restart()
    assert (committed(world), len(world.broker.pop_buffer)) == (3, 0)
    assert world.popped("A") == []
    world.advance(70_000)
    assert bodies(world.popped("A")) == [b"2"]


# connections


def test_requests_that_wait_at_a_crash_get_no_response(world: World) -> None:
    """Requests that wait at a crash get no response, receive no later message, and leave no timer."""
    world.topic("A")
    popping = world.pop("A", poll_ms=20_000)
    pulling = world.pull("A", suspend_ms=20_000)
    crash_process(world)
    assert {timer.kind for timer in world.engine.scheduler.scheduled()} <= {"timer"}
    world.send("A", b"m")
    world.advance(30_000)
    assert (popping.outcome, pulling.outcome) == (None, None)
    assert bodies(world.popped("A")) == [b"m"]


def test_a_crash_deletes_clients_and_queue_locks_but_no_tables(world: World) -> None:
    """A crash deletes clients and queue locks, but no topics, groups or request modes, which are written at once."""
    world.topic("A")
    world.heartbeat("c", topics={"A": "*"})
    queue = MessageQueue("A", "broker-a", 0)
    lock = LockBatchMq("G", "c", [queue])
    other = LockBatchMq("G", "d", [queue])
    assert world.ask(LockBatchResult, lock).queues == [queue]
    assert world.ask(LockBatchResult, other).queues == []
    world.engine.execute(world.broker, SetMessageRequestMode("A", "G", "POP", 4))
    crash_process(world)
    assert world.broker.clients.consumers == {}
    assert world.ask(LockBatchResult, other).queues == [queue]
    assert world.broker.topics.find("A") is not None
    assert world.broker.groups.find("G") is not None
    assert world.broker.handlers[SetMessageRequestMode] is not None


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
        world = make_world(seed=seed, enable_pop_buffer_merge=True)
        world.topic("A", 4)
        for n in range(40):
            world.send("A", b"%d" % n, queue=n % 4)
            world.advance(777)
            world.popped("A", count=3, invisible_ms=7_000)
            if n % 10 == 9:
                world.engine.crash(power_loss=n % 20 == 9)
        return [repr(entry) for entry in world.engine.journal]

    assert journal(3) == journal(3)
    assert journal(3) != journal(4)


def test_unregistering_an_unknown_client_after_a_crash_is_no_error(world: World) -> None:
    """A client that the broker no longer knows after a crash can unregister without an error."""
    world.heartbeat("c", topics={})
    crash_process(world)
    world.engine.execute(world.broker, UnregisterClient("c", "", "G"), world.channels["c"])
