"""Half messages are listed with the number of their checks and the exact time of the next one."""

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.inspection.half_messages import HalfView
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendResult


def send_half(harness: EngineHarness, **properties: str) -> SendResult:
    """Send a half message of producer group P to topic A."""
    return harness.send("A", b"half", queue=0, TRAN_MSG="true", PGROUP="P", **properties)


def roll_back(harness: EngineHarness, half_message: SendResult) -> None:
    """Roll a half message back."""
    how, place = 12, (half_message.queue_offset, half_message.physical_offset)
    harness.engine.execute(harness.broker, EndTransaction("P", *place, how, False, half_message.msg_id))


def half(harness: EngineHarness) -> HalfView:
    (found,) = look(harness).half_messages()
    return found


def test_half_message_is_listed_with_the_number_of_its_checks_and_the_time_of_the_next(harness: EngineHarness) -> None:
    harness.topic("A")
    send_half(harness, UNIQ_KEY="h")
    found = half(harness)
    assert (found.message_id, found.topic, found.producer_group) == ("h", "A", "P")
    assert (found.checks, found.checks_max, found.born_at_ms) == (0, 15, harness.now_ms)
    born_at_ms = harness.now_ms
    for checks in (1, 2):
        next_ms = half(harness).next_check_ms
        assert next_ms is not None
        harness.advance(next_ms - harness.now_ms - 1)
        assert half(harness).checks == checks - 1
        harness.advance(1)
        assert half(harness).checks == checks
    assert half(harness).born_at_ms == born_at_ms


@pytest.mark.parametrize("immunity_s", [5, 45, 60, 100])
def test_next_check_is_the_first_one_after_the_end_of_the_immunity(harness: EngineHarness, immunity_s: int) -> None:
    """Rounds that skip an immune message count as checks in upstream, although no producer gets one."""
    harness.topic("A")
    producer = DirectChannel("p")
    harness.engine.submit(harness.broker, Heartbeat("p", ["P"], []), producer)
    harness.advance(1_234)
    send_half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS=str(immunity_s))
    next_ms = half(harness).next_check_ms
    assert next_ms is not None
    while harness.now_ms + 20_000 < next_ms:
        harness.advance(20_000)
        harness.engine.submit(harness.broker, Heartbeat("p", ["P"], []), producer)
    harness.advance(next_ms - harness.now_ms - 1)
    assert producer.effects == []
    harness.advance(1)
    assert [type(effect) for effect in producer.effects] == [CheckTransactionState]


def test_message_that_is_discarded_within_its_immunity_has_no_next_check() -> None:
    harness = make_harness(transaction_check_max=2)
    harness.topic("A")
    send_half(harness, CHECK_IMMUNITY_TIME_IN_SECONDS="1000")
    assert half(harness).next_check_ms is None
    harness.advance(120_000)
    assert [copy.state for copy in look(harness).copies("A")] == [CopyState.DISCARDED]


def test_next_check_is_later_in_a_round_that_reads_op_messages(harness: EngineHarness) -> None:
    harness.topic("A")
    decided = send_half(harness)
    send_half(harness)
    roll_back(harness, decided)
    next_ms = half(harness).next_check_ms
    assert next_ms is not None
    harness.advance(next_ms - harness.now_ms - 1)
    assert half(harness).checks == 0
    harness.advance(1)
    assert half(harness).checks == 1


def test_next_check_is_at_the_start_of_a_round_without_new_op_messages(harness: EngineHarness) -> None:
    """Earlier rounds have read all op messages, so the round begins with the check."""
    harness.topic("A")
    roll_back(harness, send_half(harness))
    harness.advance(300_000)
    send_half(harness)
    next_ms = half(harness).next_check_ms
    assert next_ms is not None
    harness.advance(next_ms - harness.now_ms - 1)
    assert half(harness).checks == 0
    harness.advance(1)
    assert half(harness).checks == 1


def test_message_after_its_last_check_has_no_next_check() -> None:
    harness = make_harness(transaction_check_max=1)
    harness.topic("A")
    send_half(harness)
    next_ms = half(harness).next_check_ms
    assert next_ms is not None
    harness.advance(next_ms - harness.now_ms)
    assert (half(harness).checks, half(harness).next_check_ms) == (1, None)
    harness.advance(60_000)
    assert look(harness).half_messages() == []


def test_rolled_back_half_message_is_not_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    sent = send_half(harness)
    roll_back(harness, sent)
    assert look(harness).half_messages() == []
