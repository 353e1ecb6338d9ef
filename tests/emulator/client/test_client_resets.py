"""Offset resets that the broker only sends to consumers, which move their offsets themselves."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import ResetConsumerOffset
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, ResetOffsetResult

NOW = 491


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness(use_server_side_reset_offset=False)
    harness.topic("T", 2)
    for queue in (0, 1):
        for _ in range(3):
            harness.send("T", queue=queue)
        harness.broker.offsets.commit("G", "T", queue, 2)
    return harness


def consumer(harness: EngineHarness, version: int = NOW) -> DirectChannel:
    """Register an online consumer of group G; return its channel."""
    channel = DirectChannel(f"c{version}")
    harness.engine.submit(harness.broker, Heartbeat("c", [], [ConsumerData("G")], version=version), channel)
    channel.effects.clear()
    return channel


def reset(
    harness: EngineHarness, timestamp: int, *, force: bool = True, topic: str = "T", group: str = "G"
) -> DirectCall:
    return harness.engine.submit(harness.broker, ResetOffset(group, topic, timestamp, force=force))


def test_a_client_side_reset_is_pushed_to_consumers_for_all_queues(harness: EngineHarness) -> None:
    """A reset is pushed to consumers for all queues, and the committed offsets stay."""
    channel = consumer(harness)
    call = reset(harness, 0)
    assert call.outcome == ResetOffsetResult("T", "broker-a", {0: 0, 1: 0})
    assert channel.effects == [ResetConsumerOffset("G", "T", 0, "broker-a", offsets={0: 0, 1: 0})]
    assert harness.broker.offsets.query("G", "T", 0) == 2


@pytest.mark.parametrize(("timestamp", "force", "offset"), [(-1, False, 2), (-1, True, 3), (0, False, 0), (0, True, 0)])
def test_only_a_forced_client_side_reset_moves_an_offset_forward(
    harness: EngineHarness, timestamp: int, force: bool, offset: int
) -> None:
    """Only a forced reset moves an offset forward; any reset moves it backward."""
    consumer(harness)
    outcome = reset(harness, timestamp, force=force).outcome
    assert isinstance(outcome, ResetOffsetResult)
    assert outcome.offsets == {0: offset, 1: offset}


def test_an_invalid_client_side_reset_is_rejected_and_not_pushed(harness: EngineHarness) -> None:
    """Invalid resets are rejected, with the checks in upstream's order, and none is pushed to a consumer."""
    assert refused(reset(harness, 0, topic="U")).code is ResponseCode.TOPIC_NOT_EXIST
    assert refused(reset(harness, 0, group="H")).remark == "THe consumer group <H> not exist"
    assert refused(reset(harness, 0)).code is ResponseCode.CONSUMER_NOT_ONLINE
    channel = consumer(harness, 27)
    assert refused(reset(harness, 0)).code is ResponseCode.SYSTEM_ERROR
    assert channel.effects == []
