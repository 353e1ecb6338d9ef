"""Positions of the transaction check that are outside of their topics, because files or unflushed records are gone."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendResult
from stored import stored_bodies

GROUP = "CID_RMQ_SYS_TRANS"
HALF, OPS, GAVE_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
COMMIT = 8


@pytest.fixture
def harness() -> EngineHarness:
    """A broker with rounds every 3 s, and with a topic for the messages."""
    harness = make_harness(
        transaction_check_interval=3000, transaction_time_out=1000, transaction_op_batch_interval=100
    )
    harness.topic("T")
    return harness


def half(harness: EngineHarness, body: bytes) -> SendResult:
    return harness.send("T", body, TRAN_MSG="true", PGROUP="PG")


def commit(harness: EngineHarness, sent: SendResult) -> None:
    harness.ask(Done, EndTransaction("PG", sent.queue_offset, sent.physical_offset, COMMIT, False, sent.msg_id))


def producer(harness: EngineHarness) -> DirectChannel:
    channel = DirectChannel("p1", ("10.0.0.1", 5000))
    harness.engine.submit(harness.broker, Heartbeat("p1", ["PG"], []), channel)
    return channel


def checked(channel: DirectChannel) -> set[bytes]:
    return {decode(each.record).body for each in channel.effects if isinstance(each, CheckTransactionState)}


def move(harness: EngineHarness, topic: str, offset: int) -> None:
    harness.ask(Done, UpdateConsumerOffset(GROUP, topic, 0, offset))


def position(harness: EngineHarness, topic: str) -> int:
    return harness.broker.offsets.query(GROUP, topic, 0)


def test_a_committed_half_message_after_deleted_ones_is_not_discarded() -> None:
    """A round that skips deleted half messages finds that the first stored one is committed, although it is too old.

    Source: TransactionalMessageServiceImpl.check (5.3.3) corrects the offset, and looks it up in the op messages again.
    """
    harness = make_harness(
        store_max_bytes=1 << 20,
        max_message_size=1 << 16,
        mapped_file_size_commit_log=1 << 17,
        file_reserved_time=0,
        transaction_check_interval=3000,
        transaction_op_batch_interval=100,
    )
    harness.topic("T")
    half(harness, b"deleted")
    for _ in range(100):
        harness.send("T", bytes(30_000))
    commit(harness, half(harness, b"committed"))
    half(harness, b"open")
    move(harness, HALF, 0)
    assert harness.broker.store.min_offset(HALF, 0) == 1

    harness.advance(3000)

    assert stored_bodies(harness, GAVE_UP) == [b"open"]


def test_a_half_position_behind_the_end_moves_to_the_end(harness: EngineHarness) -> None:
    """A round moves its position to the end, and a later half message is checked.

    Source: TransactionalMessageServiceImpl.check, OFFSET_OVERFLOW_BADLY of DefaultMessageStore.getMessage (5.3.3).
    """
    channel = producer(harness)
    move(harness, HALF, 10)
    half(harness, b"skipped")
    harness.advance(3000)
    assert position(harness, HALF) == 1

    half(harness, b"open")
    harness.advance(6000)

    assert checked(channel) == {b"open"}


def test_an_op_position_behind_the_end_moves_to_the_end(harness: EngineHarness) -> None:
    """A round moves its op offset to the end, and reads the op messages that are stored later.

    Source: TransactionalMessageServiceImpl.fillOpRemoveMap (5.3.3).
    """
    channel = producer(harness)
    move(harness, OPS, 10)
    commit(harness, half(harness, b"unnoticed"))
    harness.advance(3000)
    assert position(harness, OPS) == 1

    commit(harness, half(harness, b"noticed"))
    harness.advance(6000)

    assert checked(channel) == {b"unnoticed"}


@pytest.mark.parametrize("topic", [HALF, OPS])
def test_the_first_round_after_a_start_moves_a_position_behind_the_end(harness: EngineHarness, topic: str) -> None:
    """The first round after a start moves the position to the end, although no message has arrived since."""
    commit(harness, half(harness, b"committed"))
    harness.advance(9000)
    move(harness, topic, 10)

    harness.engine.restart()
    harness.advance(3000)

    assert position(harness, topic) == 1


def test_a_half_message_is_checked_after_a_power_loss_that_lost_earlier_ones() -> None:
    """The file has the position behind a lost half message, and the next half message with its offset is checked."""
    harness = make_harness(
        transaction_check_interval=3000,
        transaction_time_out=1000,
        flush_commit_log_thorough_interval=60_000,
    )
    harness.topic("T")
    harness.advance(60_000)
    half(harness, b"flushed")
    harness.advance(60_000)
    for number in range(9):
        commit(harness, half(harness, b"lost %d" % number))
    harness.advance(20_000)
    before = position(harness, HALF)

    harness.engine.crash(harness.broker)
    end = harness.broker.store.max_offset(HALF, 0)
    assert position(harness, HALF) == before > end
    harness.advance(3000)
    channel = producer(harness)
    half(harness, b"open")
    harness.advance(6000)

    assert checked(channel) == {b"open"}
