"""Positions of the transaction check that are outside of their topics, because files or unflushed records are gone."""

import pytest
from engine_world import World, make_world
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
def world() -> World:
    """A broker with rounds every 3 s, and with a topic for the messages."""
    world = make_world(transaction_check_interval=3000, transaction_time_out=1000, transaction_op_batch_interval=100)
    world.topic("T")
    return world


def half(world: World, body: bytes) -> SendResult:
    return world.send("T", body, TRAN_MSG="true", PGROUP="PG")


def commit(world: World, sent: SendResult) -> None:
    world.ask(Done, EndTransaction("PG", sent.queue_offset, sent.physical_offset, COMMIT, False, sent.msg_id))


def producer(world: World) -> DirectChannel:
    channel = DirectChannel("p1", ("10.0.0.1", 5000))
    world.engine.submit(world.broker, Heartbeat("p1", ["PG"], []), channel)
    return channel


def checked(channel: DirectChannel) -> set[bytes]:
    return {decode(each.record).body for each in channel.effects if isinstance(each, CheckTransactionState)}


def move(world: World, topic: str, offset: int) -> None:
    world.ask(Done, UpdateConsumerOffset(GROUP, topic, 0, offset))


def position(world: World, topic: str) -> int:
    return world.broker.offsets.query(GROUP, topic, 0)


def test_a_committed_half_message_after_deleted_ones_is_not_discarded() -> None:
    """A round that skips deleted half messages finds that the first stored one is committed, although it is too old.

    Source: TransactionalMessageServiceImpl.check (5.3.3) corrects the offset, and looks it up in the op messages again.
    """
    world = make_world(
        store_max_bytes=1 << 20,
        max_message_size=1 << 16,
        mapped_file_size_commit_log=1 << 17,
        file_reserved_time=0,
        transaction_check_interval=3000,
        transaction_op_batch_interval=100,
    )
    world.topic("T")
    half(world, b"deleted")
    for _ in range(100):
        world.send("T", bytes(30_000))
    commit(world, half(world, b"committed"))
    half(world, b"open")
    move(world, HALF, 0)
    assert world.broker.store.min_offset(HALF, 0) == 1

    world.advance(3000)

    assert stored_bodies(world, GAVE_UP) == [b"open"]


def test_a_half_position_behind_the_end_moves_to_the_end(world: World) -> None:
    """A round moves its position to the end, and a later half message is checked.

    Source: TransactionalMessageServiceImpl.check, OFFSET_OVERFLOW_BADLY of DefaultMessageStore.getMessage (5.3.3).
    """
    channel = producer(world)
    move(world, HALF, 10)
    half(world, b"skipped")
    world.advance(3000)
    assert position(world, HALF) == 1

    half(world, b"open")
    world.advance(6000)

    assert checked(channel) == {b"open"}


def test_an_op_position_behind_the_end_moves_to_the_end(world: World) -> None:
    """A round moves its op offset to the end, and reads the op messages that are stored later.

    Source: TransactionalMessageServiceImpl.fillOpRemoveMap (5.3.3).
    """
    channel = producer(world)
    move(world, OPS, 10)
    commit(world, half(world, b"unnoticed"))
    world.advance(3000)
    assert position(world, OPS) == 1

    commit(world, half(world, b"noticed"))
    world.advance(6000)

    assert checked(channel) == {b"unnoticed"}


@pytest.mark.parametrize("topic", [HALF, OPS])
def test_the_first_round_after_a_start_moves_a_position_behind_the_end(world: World, topic: str) -> None:
    """The first round after a start moves the position to the end, although no message has arrived since."""
    commit(world, half(world, b"committed"))
    world.advance(9000)
    move(world, topic, 10)

    world.engine.restart()
    world.advance(3000)

    assert position(world, topic) == 1


def test_a_half_message_is_checked_after_a_power_loss_that_lost_earlier_ones() -> None:
    """The file has the position behind a lost half message, and the next half message with its offset is checked."""
    world = make_world(
        transaction_check_interval=3000,
        transaction_time_out=1000,
        flush_commit_log_thorough_interval=60_000,
    )
    world.topic("T")
    world.advance(60_000)
    half(world, b"flushed")
    world.advance(60_000)
    for number in range(9):
        commit(world, half(world, b"lost %d" % number))
    world.advance(20_000)
    before = position(world, HALF)

    world.engine.crash(world.broker)
    end = world.broker.store.max_offset(HALF, 0)
    assert position(world, HALF) == before > end
    world.advance(3000)
    channel = producer(world)
    half(world, b"open")
    world.advance(6000)

    assert checked(channel) == {b"open"}
