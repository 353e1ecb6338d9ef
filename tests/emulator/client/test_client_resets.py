"""Offset resets that the broker only sends to consumers, which move their offsets themselves."""

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import ResetConsumerOffset
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, ResetOffsetResult

NOW = 491


@pytest.fixture
def world() -> World:
    world = make_world(use_server_side_reset_offset=False)
    world.topic("T", 2)
    for queue in (0, 1):
        for _ in range(3):
            world.send("T", queue=queue)
        world.broker.offsets.commit("G", "T", queue, 2)
    return world


def consumer(world: World, version: int = NOW) -> DirectChannel:
    """Register an online consumer of group G; return its channel."""
    channel = DirectChannel(f"c{version}")
    world.engine.submit(world.broker, Heartbeat("c", [], [ConsumerData("G")], version=version), channel)
    channel.effects.clear()
    return channel


def reset(world: World, timestamp: int, *, force: bool = True, topic: str = "T", group: str = "G") -> DirectCall:
    return world.engine.submit(world.broker, ResetOffset(group, topic, timestamp, force=force))


def test_a_client_side_reset_is_pushed_to_consumers_for_all_queues(world: World) -> None:
    """A reset is pushed to consumers for all queues, and the committed offsets stay."""
    channel = consumer(world)
    call = reset(world, 0)
    assert call.outcome == ResetOffsetResult("T", "broker-a", {0: 0, 1: 0})
    assert channel.effects == [ResetConsumerOffset("G", "T", 0, "broker-a", offsets={0: 0, 1: 0})]
    assert world.broker.offsets.query("G", "T", 0) == 2


@pytest.mark.parametrize(("timestamp", "force", "offset"), [(-1, False, 2), (-1, True, 3), (0, False, 0), (0, True, 0)])
def test_only_a_forced_client_side_reset_moves_an_offset_forward(
    world: World, timestamp: int, force: bool, offset: int
) -> None:
    """Only a forced reset moves an offset forward; any reset moves it backward."""
    consumer(world)
    outcome = reset(world, timestamp, force=force).outcome
    assert isinstance(outcome, ResetOffsetResult)
    assert outcome.offsets == {0: offset, 1: offset}


def test_an_invalid_client_side_reset_is_rejected_and_not_pushed(world: World) -> None:
    """Invalid resets are rejected, with the checks in upstream's order, and none is pushed to a consumer."""
    assert refused(reset(world, 0, topic="U")).code is ResponseCode.TOPIC_NOT_EXIST
    assert refused(reset(world, 0, group="H")).remark == "THe consumer group <H> not exist"
    assert refused(reset(world, 0)).code is ResponseCode.CONSUMER_NOT_ONLINE
    channel = consumer(world, 27)
    assert refused(reset(world, 0)).code is ResponseCode.SYSTEM_ERROR
    assert channel.effects == []
