"""Effects of heartbeats, batched notifications of members, and silent clients, in virtual time."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CloseExpiredConnection, NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.clients import (
    ConsumerData,
    GetProducerConnectionList,
    Heartbeat,
    HeartbeatResult,
    ProducerConnectionResult,
    SubscriptionData,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.cluster import GetUnitTopicList, TopicListResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig


def beat(harness: EngineHarness, client: str, fingerprint: int, channel: DirectChannel) -> bool:
    """Send a heartbeat for group G; return True if the response says that subscriptions changed."""
    data = ConsumerData("G", subscriptions=[SubscriptionData("T")])
    call = harness.engine.submit(harness.broker, Heartbeat(client, [], [data], fingerprint), channel)
    assert isinstance(call.outcome, HeartbeatResult)
    return call.outcome.is_sub_change


def test_a_heartbeat_fingerprint_is_compared_within_its_group() -> None:
    """The fingerprint is compared with the last one of any client of the group, even after all clients left.

    A heartbeat without a fingerprint counts as 0.
    """
    harness = make_harness()
    first, second = DirectChannel("1"), DirectChannel("2")
    assert beat(harness, "a", 0, first)
    assert beat(harness, "a", 5, first)
    assert beat(harness, "b", 6, second)
    assert beat(harness, "a", 5, first)
    for channel in (first, second):
        harness.engine.submit(harness.broker, UnregisterClient("a", consumer_group="G"), channel)
    assert not beat(harness, "a", 5, first)
    assert beat(harness, "a", 7, first)


def test_a_producer_connection_keeps_its_first_client_id() -> None:
    harness = make_harness()
    channel = DirectChannel("1")
    for client in ("first", "second"):
        harness.engine.submit(harness.broker, Heartbeat(client, ["P"], []), channel)
    found = harness.ask(ProducerConnectionResult, GetProducerConnectionList("P"))
    assert [each.client_id for each in found.connections] == ["first"]


def test_a_consumer_that_changes_its_client_id_notifies_no_member() -> None:
    """A consumer that changes its client id is listed by the new one, and no member is notified."""
    harness = make_harness()
    channel = DirectChannel("1")
    beat(harness, "first", 0, channel)
    channel.effects.clear()
    beat(harness, "second", 0, channel)
    assert channel.effects == []
    assert harness.broker.clients.consumers["G"].client_ids() == ["second"]


def test_a_retry_topic_keeps_its_unit_flag_and_follows_the_order_flag() -> None:
    """A retry topic keeps the unit flag of its creation, and has the order flag of the last heartbeat."""
    harness = make_harness()
    channel = DirectChannel("1")
    harness.topic("T")
    data = ConsumerData("G", subscriptions=[SubscriptionData("T")], unit_mode=True)
    for ordered, unit in ((False, True), (True, False), (False, False)):
        harness.broker.topics.get("T").order = ordered
        data.unit_mode = unit
        harness.engine.submit(harness.broker, Heartbeat("c", [], [data]), channel)
        retry = harness.broker.topics.get("%RETRY%G")
        assert (retry.topic_sys_flag, retry.order) == (2, ordered)


def test_batched_member_notifications_are_sent_30_s_after_start_then_every_15_s() -> None:
    """Batched notifications are sent 30 s after the start and then every 15 s, one for all changes."""
    harness = make_harness(real_time_notify_consumer_change=False)
    for client in ("a", "b", "c"):
        harness.heartbeat(client, topics={"T": "*"})
    harness.engine.submit(harness.broker, UnregisterClient("c", consumer_group="G"), harness.channels["c"])
    harness.advance(29_999)
    assert all(channel.effects == [] for channel in harness.channels.values())
    harness.advance(1)
    notice = NotifyConsumerIdsChanged("G")
    assert [harness.channels[client].effects for client in "abc"] == [[notice], [notice], []]
    harness.heartbeat("c", topics={"T": "*"})
    harness.advance(14_999)
    assert harness.channels["c"].effects == []
    harness.advance(1)
    assert harness.channels["c"].effects == [notice]


def test_the_connection_of_a_silent_client_is_closed() -> None:
    """The broker closes the connection of a silent consumer or producer once, for all its groups, and no other."""
    harness = make_harness()
    silent, alive = DirectChannel("silent"), DirectChannel("alive")
    groups = [ConsumerData("G"), ConsumerData("H")]
    harness.engine.submit(harness.broker, Heartbeat("silent", ["P"], groups), silent)
    silent.effects.clear()
    for _ in range(13):
        harness.engine.submit(harness.broker, Heartbeat("alive", ["P"], []), alive)
        harness.advance(10_000)
    assert silent.effects == [CloseExpiredConnection()]
    assert alive.effects == []


def test_topics_are_listed_by_the_unit_bits_of_their_system_flags() -> None:
    """Topics are listed by the unit bits of their system flags, if topic lists are enabled."""
    harness = make_harness()
    for flag in range(4):
        harness.engine.execute(harness.broker, CreateTopic(TopicConfig(f"T{flag}", topic_sys_flag=flag)))
    server = harness.engine.name_server

    def listed(has: int, lacks: int = 0) -> list[str]:
        return sorted(harness.ask(TopicListResult, GetUnitTopicList(has, lacks), server).topics)

    assert [listed(1), listed(2), listed(2, 1)] == [["T1", "T3"], ["T2", "T3"], ["T2"]]
    server.config.enable_topic_list = False
    with pytest.raises(EngineError, match="disable"):
        harness.engine.execute(server, GetUnitTopicList(1))
