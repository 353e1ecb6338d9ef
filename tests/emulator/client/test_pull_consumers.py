"""A broker that rejects pull consumers (rejectPullConsumerEnable)."""

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData, UnregisterClient
from rocketmq_testkit.emulator.operations.consume import PullResult


@pytest.fixture
def world() -> World:
    made = make_world(reject_pull_consumer_enable=True)
    made.topic("T")
    return made


def beat(world: World, consume_type: str, *, through_proxy: bool = False) -> None:
    channel = world.channels.setdefault("c", DirectChannel("c", ("10.0.0.9", 4000)))
    data = ConsumerData("G", consume_type, subscriptions=[SubscriptionData("T", "*")])
    world.engine.submit(world.broker, Heartbeat("c", [], [data], through_proxy=through_proxy), channel)


def may_pull(world: World, group: str = "G") -> bool:
    call = world.pull("T", group=group)
    if isinstance(call.outcome, PullResult):
        return True
    assert refused(call).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    return False


def test_a_consume_actively_client_joins_no_group_and_its_pulls_are_rejected(world: World) -> None:
    """A CONSUME_ACTIVELY client joins no group and creates no retry topic, and its pulls are rejected."""
    beat(world, "CONSUME_ACTIVELY")
    assert "G" not in world.broker.clients.consumers
    assert world.broker.topics.find("%RETRY%G") is None
    assert not may_pull(world)


def test_a_group_with_consume_passively_members_can_be_pulled_from(world: World) -> None:
    """A group with CONSUME_PASSIVELY members can be pulled from by any client until they leave."""
    beat(world, "CONSUME_PASSIVELY")
    assert may_pull(world)
    world.engine.submit(world.broker, UnregisterClient("c", None, "G"), world.channels["c"])
    assert not may_pull(world)


def test_a_consume_actively_client_of_the_proxy_joins_its_group(world: World) -> None:
    """A CONSUME_ACTIVELY member through the proxy joins the group and can pull, other clients cannot."""
    beat(world, "CONSUME_ACTIVELY", through_proxy=True)
    assert world.broker.clients.is_consumer("G", "c")
    assert not may_pull(world)


@pytest.mark.parametrize("group", ["TOOLS_CONSUMER", "CID_RMQ_SYS_X", "SCHEDULE_CONSUMER"])
def test_tool_groups_and_system_groups_can_always_pull(world: World, group: str) -> None:
    assert may_pull(world, group)


def test_a_waiting_pull_is_rejected_when_its_group_no_longer_exists(world: World) -> None:
    """A waiting pull is rejected when a message arrives and its group no longer exists."""
    beat(world, "CONSUME_PASSIVELY")
    waiting = world.pull("T", suspend_ms=10_000)
    world.engine.submit(world.broker, UnregisterClient("c", None, "G"), world.channels["c"])
    world.send("T")
    assert refused(waiting).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
