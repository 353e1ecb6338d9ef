"""Groups are listed with their configuration, members and subscriptions, and if members disagree about these."""

from engine_harness import EngineHarness
from inspected import look
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig


def test_unknown_group_does_not_exist(harness: EngineHarness) -> None:
    found = look(harness).group("missing")
    assert not found.exists
    assert (found.members, found.subscriptions, found.disagreements, found.forbidden) == ((), (), (), ())
    assert "missing" not in harness.broker.groups.table


def test_group_is_listed_with_its_configuration(harness: EngineHarness) -> None:
    config = GroupConfig("H", consume_enable=False, retry_max_times=3, consume_message_orderly=True)
    harness.engine.execute(harness.broker, CreateGroup(config))
    harness.broker.groups.forbid("H", "A")
    found = look(harness).group("H")
    assert (found.exists, found.consume_enable, found.orderly, found.retry_max_times) == (True, False, True, 3)
    assert found.forbidden == ("A",)
    assert [group.name for group in look(harness).groups()] == ["H"]


def test_group_consumes_only_if_all_brokers_allow_it() -> None:
    other = BrokerConfig()
    other.broker_name = "broker-b"
    engine = Engine(brokers=[BrokerConfig(), other], seed=1, now_ms=0)
    for broker, enable in zip(engine.brokers, (True, False), strict=True):
        engine.execute(broker, CreateGroup(GroupConfig("H", consume_enable=enable)))
    inspection = Inspection(engine, NoSurroundings())
    assert not inspection.group("H").consume_enable
    engine.execute(engine.brokers[1], CreateGroup(GroupConfig("H")))
    assert inspection.group("H").consume_enable


def test_members_have_client_protocol_and_times(harness: EngineHarness) -> None:
    harness.heartbeat("c1", topics={"A": "a"})
    joined_ms = harness.now_ms
    harness.advance(5_000)
    harness.heartbeat("c1", topics={"A": "a"})
    (member,) = look(harness).group("G").members
    assert (member.client, member.channel, member.protocol, member.kind) == ("c1", "c1", "remoting", "push consumer")
    assert (member.since_ms, member.last_heartbeat_ms) == (joined_ms, harness.now_ms)
    assert [(each.topic, each.expression, each.kind) for each in member.subscriptions] == [("A", "a", "TAG")]
    assert member.consume_from == "CONSUME_FROM_LAST_OFFSET"


def test_members_that_subscribe_differently_disagree(harness: EngineHarness) -> None:
    harness.heartbeat("c1", topics={"A": "a", "B": "*", "C": "*"}, version=1)
    harness.heartbeat("c2", topics={"A": "b", "B": "*"}, version=2)
    found = look(harness).group("G")
    assert found.disagreements == ("A", "C")
    assert {each.topic: each.expression for each in found.subscriptions}["A"] == "b"
    harness.heartbeat("c2", topics={"A": "a", "B": "*", "C": "*"}, version=3)
    assert look(harness).group("G").disagreements == ()


def test_heartbeat_without_subscriptions_keeps_those_of_the_member(harness: EngineHarness) -> None:
    harness.heartbeat("c1", topics={"A": "a"}, fingerprint=7)
    harness.heartbeat("c1", fingerprint=7, without_sub=True)
    (member,) = look(harness).group("G").members
    assert [each.expression for each in member.subscriptions] == ["a"]


def test_subscription_of_a_request_counts_without_members(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.popped("A", group="P", expression="a")
    found = look(harness).group("P")
    assert found.members == ()
    assert {each.topic: each.expression for each in found.subscriptions}["A"] == "a"
