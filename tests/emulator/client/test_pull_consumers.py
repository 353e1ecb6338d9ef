"""A broker that rejects pull consumers (rejectPullConsumerEnable)."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData, UnregisterClient
from rocketmq_testkit.emulator.operations.consume import PullResult


@pytest.fixture
def harness() -> EngineHarness:
    made = make_harness(reject_pull_consumer_enable=True)
    made.topic("T")
    return made


def beat(harness: EngineHarness, consume_type: str, *, through_proxy: bool = False) -> None:
    channel = harness.channels.setdefault("c", DirectChannel("c", ("10.0.0.9", 4000)))
    data = ConsumerData("G", consume_type, subscriptions=[SubscriptionData("T", "*")])
    harness.engine.submit(harness.broker, Heartbeat("c", [], [data], through_proxy=through_proxy), channel)


def may_pull(harness: EngineHarness, group: str = "G") -> bool:
    call = harness.pull("T", group=group)
    if isinstance(call.outcome, PullResult):
        return True
    assert refused(call).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    return False


def test_a_consume_actively_client_joins_no_group_and_its_pulls_are_rejected(harness: EngineHarness) -> None:
    """A CONSUME_ACTIVELY client joins no group and creates no retry topic, and its pulls are rejected."""
    beat(harness, "CONSUME_ACTIVELY")
    assert "G" not in harness.broker.clients.consumers
    assert harness.broker.topics.find("%RETRY%G") is None
    assert not may_pull(harness)


def test_a_group_with_consume_passively_members_can_be_pulled_from(harness: EngineHarness) -> None:
    """A group with CONSUME_PASSIVELY members can be pulled from by any client until they leave."""
    beat(harness, "CONSUME_PASSIVELY")
    assert may_pull(harness)
    harness.engine.submit(harness.broker, UnregisterClient("c", None, "G"), harness.channels["c"])
    assert not may_pull(harness)


def test_a_consume_actively_client_of_the_proxy_joins_its_group(harness: EngineHarness) -> None:
    """A CONSUME_ACTIVELY member through the proxy joins the group and can pull, other clients cannot."""
    beat(harness, "CONSUME_ACTIVELY", through_proxy=True)
    assert harness.broker.clients.is_consumer("G", "c")
    assert not may_pull(harness)


@pytest.mark.parametrize("group", ["TOOLS_CONSUMER", "CID_RMQ_SYS_X", "SCHEDULE_CONSUMER"])
def test_tool_groups_and_system_groups_can_always_pull(harness: EngineHarness, group: str) -> None:
    assert may_pull(harness, group)


def test_a_waiting_pull_is_rejected_when_its_group_no_longer_exists(harness: EngineHarness) -> None:
    """A waiting pull is rejected when a message arrives and its group no longer exists."""
    beat(harness, "CONSUME_PASSIVELY")
    waiting = harness.pull("T", suspend_ms=10_000)
    harness.engine.submit(harness.broker, UnregisterClient("c", None, "G"), harness.channels["c"])
    harness.send("T")
    assert refused(waiting).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
