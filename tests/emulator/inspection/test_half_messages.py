"""Half messages are listed with the number of their checks and the exact time of the next one."""

import pytest
from engine_world import World, make_world
from inspected import look
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.inspection.half_messages import HalfView
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendResult


def send_half(world: World, **properties: str) -> SendResult:
    """Send a half message of producer group P to topic A."""
    return world.send("A", b"half", queue=0, TRAN_MSG="true", PGROUP="P", **properties)


def roll_back(world: World, half_message: SendResult) -> None:
    """Roll a half message back."""
    how, place = 12, (half_message.queue_offset, half_message.physical_offset)
    world.engine.execute(world.broker, EndTransaction("P", *place, how, False, half_message.msg_id))


def half(world: World) -> HalfView:
    (found,) = look(world).half_messages()
    return found


def test_half_message_is_listed_with_the_number_of_its_checks_and_the_time_of_the_next(world: World) -> None:
    world.topic("A")
    send_half(world, UNIQ_KEY="h")
    found = half(world)
    assert (found.message_id, found.topic, found.producer_group) == ("h", "A", "P")
    assert (found.checks, found.checks_max, found.born_at_ms) == (0, 15, world.now_ms)
    born_at_ms = world.now_ms
    for checks in (1, 2):
        next_ms = half(world).next_check_ms
        assert next_ms is not None
        world.advance(next_ms - world.now_ms - 1)
        assert half(world).checks == checks - 1
        world.advance(1)
        assert half(world).checks == checks
    assert half(world).born_at_ms == born_at_ms


@pytest.mark.parametrize("immunity_s", [5, 45, 60, 100])
def test_next_check_is_the_first_one_after_the_end_of_the_immunity(world: World, immunity_s: int) -> None:
    """Rounds that skip an immune message count as checks in upstream, although no producer gets one."""
    world.topic("A")
    producer = DirectChannel("p")
    world.engine.submit(world.broker, Heartbeat("p", ["P"], []), producer)
    world.advance(1_234)
    send_half(world, CHECK_IMMUNITY_TIME_IN_SECONDS=str(immunity_s))
    next_ms = half(world).next_check_ms
    assert next_ms is not None
    while world.now_ms + 20_000 < next_ms:
        world.advance(20_000)
        world.engine.submit(world.broker, Heartbeat("p", ["P"], []), producer)
    world.advance(next_ms - world.now_ms - 1)
    assert producer.effects == []
    world.advance(1)
    assert [type(effect) for effect in producer.effects] == [CheckTransactionState]


def test_message_that_is_discarded_within_its_immunity_has_no_next_check() -> None:
    world = make_world(transaction_check_max=2)
    world.topic("A")
    send_half(world, CHECK_IMMUNITY_TIME_IN_SECONDS="1000")
    assert half(world).next_check_ms is None
    world.advance(120_000)
    assert [copy.state for copy in look(world).copies("A")] == [CopyState.DISCARDED]


def test_next_check_is_later_in_a_round_that_reads_op_messages(world: World) -> None:
    world.topic("A")
    decided = send_half(world)
    send_half(world)
    roll_back(world, decided)
    next_ms = half(world).next_check_ms
    assert next_ms is not None
    world.advance(next_ms - world.now_ms - 1)
    assert half(world).checks == 0
    world.advance(1)
    assert half(world).checks == 1


def test_next_check_is_at_the_start_of_a_round_without_new_op_messages(world: World) -> None:
    """Earlier rounds have read all op messages, so the round begins with the check."""
    world.topic("A")
    roll_back(world, send_half(world))
    world.advance(300_000)
    send_half(world)
    next_ms = half(world).next_check_ms
    assert next_ms is not None
    world.advance(next_ms - world.now_ms - 1)
    assert half(world).checks == 0
    world.advance(1)
    assert half(world).checks == 1


def test_message_after_its_last_check_has_no_next_check() -> None:
    world = make_world(transaction_check_max=1)
    world.topic("A")
    send_half(world)
    next_ms = half(world).next_check_ms
    assert next_ms is not None
    world.advance(next_ms - world.now_ms)
    assert (half(world).checks, half(world).next_check_ms) == (1, None)
    world.advance(60_000)
    assert look(world).half_messages() == []


def test_rolled_back_half_message_is_not_listed(world: World) -> None:
    world.topic("A")
    sent = send_half(world)
    roll_back(world, sent)
    assert look(world).half_messages() == []
