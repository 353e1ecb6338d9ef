"""Requests of administrators about topics, groups, routes and configuration, and topics created by sends."""

import pytest
from engine_harness import EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.config import BrokerConfig, NamesrvConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, MessageQueue, SubscriptionData
from rocketmq_testkit.emulator.operations.cluster import (
    DeleteTopicInNamesrv,
    GetBrokerConfig,
    GetBrokerRuntimeInfo,
    GetKvConfig,
    GetNamesrvConfig,
    GetNamesrvTopicList,
    GetRouteInfo,
    KvResult,
    PutKvConfig,
    RouteResult,
    RuntimeInfoResult,
    SetPermOfBroker,
    TextResult,
    TopicListResult,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.groups import (
    CloneGroupOffset,
    ConsumeStatsResult,
    DeleteGroup,
    GetConsumeStats,
    GetGroup,
    GroupForbiddenResult,
    UpdateGroupForbidden,
)
from rocketmq_testkit.emulator.operations.offsets import (
    UpdateConsumerOffset,
)
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import (
    CreateTopic,
    CreateTopics,
    DeleteTopic,
    GetTopicStats,
    TopicConfig,
    TopicOffset,
    TopicStatsResult,
)


def send_to(harness: EngineHarness, topic: str, queues: int = 4, template: str = "TBW102") -> TopicConfig | None:
    """Send to a topic that does not exist yet; return the configuration of the topic that the send created."""
    operation = SendMessage("PG", topic, -1, b"m", {}, ("10.0.0.1", 1), 0)
    operation.default_topic, operation.default_topic_queue_nums = template, queues
    harness.engine.execute(harness.broker, operation)
    return harness.broker.topics.find(topic)


@pytest.mark.parametrize(
    ("topic", "queues", "template", "created"),
    [
        ("A", 4, "TBW102", 4),
        ("A", 16, "TBW102", 8),
        ("A", 20, "DefaultCluster", 16),
        ("A", 4, "broker-a", 1),
        ("%RETRY%x", 4, "none", 1),
        ("%RETRY%x", 4, "TBW102", 4),
    ],
)
def test_a_send_creates_a_missing_topic_from_its_template(
    harness: EngineHarness, topic: str, queues: int, template: str, *, created: int
) -> None:
    """The topic gets the smaller of the client's and the template's queues, and perm 6 (seen on 5.3.3)."""
    config = send_to(harness, topic, queues, template)
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (created, created, 6)


def test_a_send_to_a_missing_topic_without_valid_template_is_rejected(harness: EngineHarness) -> None:
    """A send to a new topic fails for an unknown template, one without INHERIT, and with auto-creation disabled."""
    harness.topic("plain")
    for template in ("none", "plain"):
        with pytest.raises(EngineError, match=r"topic\[A\] not exist, apply first please!\nSee"):
            send_to(harness, "A", 4, template)
    closed = make_harness(auto_create_topic_enable=False)
    with pytest.raises(EngineError) as refused:
        send_to(closed, "A")
    assert refused.value.code == 17


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        ("a b", 29, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, 29, "The specified topic is longer than topic max length."),
        ("", 29, "The specified topic is blank."),
        ("SCHEDULE_TOPIC_XXXX", 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
        ("RMQ_SYS_TRANS_HALF_TOPIC", 16, "Sending message to topic[RMQ_SYS_TRANS_HALF_TOPIC] is forbidden."),
    ],
)
def test_a_send_to_an_illegal_or_system_topic_is_rejected(
    harness: EngineHarness, topic: str, code: int, text: str
) -> None:
    """A send to an illegal name or to a system topic is rejected with upstream's text."""
    with pytest.raises(EngineError) as refused:
        send_to(harness, topic)
    assert (refused.value.code, refused.value.remark) == (code, text)
    assert send_to(harness, "x" * 127) is not None


def test_a_send_beyond_the_last_queue_is_rejected_and_a_negative_id_is_random(harness: EngineHarness) -> None:
    """A queue id beyond the topic is rejected with the topic's description; a negative one selects a random queue."""
    harness.topic("A", 4)
    with pytest.raises(EngineError) as refused:
        harness.send("A", queue=4)
    assert refused.value.remark == (
        "request queueId[4] is illegal, TopicConfig [topicName=A, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, attributes={}] Producer: 127.0.0.1:0"
    )
    assert {harness.send("A", queue=-1).queue_id for _ in range(50)} == {0, 1, 2, 3}


def create(harness: EngineHarness, topic: str, **attributes: str) -> TopicConfig:
    signed = {name.replace("__", ".").replace("add_", "+").replace("del_", "-"): v for name, v in attributes.items()}
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig(topic, 4, 4), signed or None))
    return harness.broker.topics.get(topic)


def test_topic_attributes_are_added_kept_changed_and_deleted(harness: EngineHarness) -> None:
    """Attributes are added with `+`; an update without attributes keeps them; FIFO may become DELAY."""
    assert create(harness, "A", add_message__type="FIFO").attributes == {"message.type": "FIFO"}
    assert create(harness, "A").attributes == {"message.type": "FIFO"}
    assert create(harness, "A", add_message__type="DELAY").attributes == {"message.type": "DELAY"}
    assert create(harness, "A", del_message__type="").attributes == {}


def test_one_topic_update_deletes_an_attribute_and_adds_another(harness: EngineHarness) -> None:
    """One update deletes an attribute and adds another, in either order."""
    create(harness, "A", add_message__type="FIFO")
    assert create(harness, "A", del_message__type="", add_reserve__time="5").attributes == {"reserve.time": "5"}
    assert create(harness, "A", add_message__type="DELAY", del_reserve__time="").attributes == {"message.type": "DELAY"}


@pytest.mark.parametrize(
    ("attributes", "code", "text"),
    [
        ({"message__type": "FIFO"}, 1, "only add attribute is supported while creating topic. key: essage.type"),
        ({"add_reserve__time": "soon"}, 1, 'For input string: "soon"'),
        ({"add_reserve__time": "-2"}, 1, "value is not in range(-1, 9223372036854775807)"),
        ({"add_foo": "1"}, 1, "unsupported key: foo"),
        ({"add_message__type": "NONE"}, 1, "value is not in set: ["),
        ({"del_message__type": ""}, 1, "only add attribute is supported while creating topic. key: message.type"),
        ({"add_message__type": "MIXED"}, 29, "MIXED message type is not supported."),
    ],
)
def test_a_topic_with_an_invalid_attribute_is_rejected_and_not_created(
    harness: EngineHarness, attributes: dict[str, str], code: int, text: str
) -> None:
    """An invalid attribute is rejected with upstream's code and text, and the topic is not created."""
    with pytest.raises(EngineError) as refused:
        create(harness, "A", **attributes)
    assert refused.value.code == code
    assert text in (refused.value.remark or "")
    assert harness.broker.topics.find("A") is None


def test_creating_or_deleting_a_system_topic_is_rejected(harness: EngineHarness) -> None:
    for operation in (CreateTopic(TopicConfig("TBW102")), DeleteTopic("SELF_TEST_TOPIC")):
        with pytest.raises(EngineError, match="is conflict with system topic"):
            harness.engine.execute(harness.broker, operation)


def test_a_broker_creates_its_system_topics_at_start(harness: EngineHarness) -> None:
    """The broker creates its system topics at start with upstream's queues and permissions."""
    table = harness.broker.topics.table
    found = {name: (config.write_queue_nums, config.perm) for name, config in table.items()}
    assert found == {
        "SELF_TEST_TOPIC": (1, 6),
        "TBW102": (8, 7),
        "BenchmarkTest": (1024, 6),
        "DefaultCluster": (16, 7),
        "broker-a": (1, 7),
        "OFFSET_MOVED_EVENT": (1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 6),
        "DefaultCluster_REPLY_TOPIC": (1, 6),
        "rmq_sys_REVIVE_LOG_DefaultCluster": (8, 6),
        "rmq_sys_SYNC_BROKER_MEMBER_broker-a": (1, 1),
        "RMQ_SYS_TRANS_HALF_TOPIC": (1, 6),
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 6),
        "rmq_sys_wheel_timer": (1, 6),
    }


def test_deleting_a_topic_deletes_its_queues_offsets_and_pop_retry_topics(harness: EngineHarness) -> None:
    """Deleting a topic deletes its queues, offsets and pop retry topics; created again it starts at offset 0."""
    harness.topic("A")
    harness.send("A")
    harness.popped("A", invisible_ms=1000)
    harness.advance(10_000)
    assert harness.broker.topics.find("%RETRY%G_A") is not None
    harness.engine.execute(harness.broker, DeleteTopic("A"))
    harness.engine.execute(harness.broker, DeleteTopic("unknown"))
    assert harness.broker.topics.find("%RETRY%G_A") is None
    assert harness.broker.offsets.query("G", "A", 0) == -1
    harness.topic("A")
    assert harness.send("A").queue_offset == 0


def test_topic_and_consume_stats_return_offsets_by_queue(harness: EngineHarness) -> None:
    """Topic stats have the offsets of each queue, consume stats the offsets of a group in each queue."""
    harness.topic("A", 2)
    for _ in range(3):
        harness.send("A", queue=1)
    now = harness.now_ms
    stats = harness.engine.execute(harness.broker, GetTopicStats("A"))
    assert isinstance(stats, TopicStatsResult)
    assert stats.offsets == {0: TopicOffset(0, 0, 0), 1: TopicOffset(0, 3, now)}
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("A", 4, 2, 6)))
    stats = harness.engine.execute(harness.broker, GetTopicStats("A"))
    assert isinstance(stats, TopicStatsResult)
    assert list(stats.offsets) == [0, 1, 2, 3]
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(harness.broker, GetTopicStats("none"))
    assert (refused.value.code, refused.value.remark) == (17, "topic[none] not exist")
    harness.engine.execute(harness.broker, GetGroup("G"))
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", 1, 2))
    progress = harness.engine.execute(harness.broker, GetConsumeStats("G"))
    assert isinstance(progress, ConsumeStatsResult)
    row = progress.offsets[MessageQueue("A", "broker-a", 1)]
    assert (row.broker_offset, row.consumer_offset, row.last_timestamp) == (3, 2, now)
    empty = harness.engine.execute(harness.broker, GetConsumeStats("nobody"))
    assert isinstance(empty, ConsumeStatsResult)
    assert empty.offsets == {}


def topics_with_progress(
    harness: EngineHarness, topic: str | None = None, topics: list[str] | None = None
) -> list[str]:
    """Return the topics in the consume stats of group G."""
    found = harness.ask(ConsumeStatsResult, GetConsumeStats("G", topic, topics or []))
    return sorted({queue.topic for queue in found.offsets})


def test_consume_stats_skip_an_unknown_topic(harness: EngineHarness) -> None:
    """Consume stats skip an unknown topic and include the topics after it in the list."""
    harness.engine.execute(harness.broker, GetGroup("G"))
    for topic in ("A", "C"):
        harness.topic(topic)
    assert topics_with_progress(harness, topics=["A", "none", "C"]) == ["A", "C"]


def test_consume_stats_of_an_online_group_omit_unsubscribed_topics(harness: EngineHarness) -> None:
    """An online group's stats omit topics without subscription; topics listed in the request are always included."""
    harness.engine.execute(harness.broker, GetGroup("G"))
    for topic in ("left", "read", "new"):
        harness.topic(topic)
    for topic in ("left", "read"):
        harness.engine.execute(harness.broker, UpdateConsumerOffset("G", topic, 0, 0))
    assert topics_with_progress(harness) == ["left", "read"]
    harness.heartbeat("c", topics={"read": "*", "new": "*"})
    assert topics_with_progress(harness) == ["read"]
    assert topics_with_progress(harness, "left") == []
    assert topics_with_progress(harness, "read", ["left", "new"]) == ["left", "new"]
    harness.pull("left")
    assert topics_with_progress(harness) == ["left", "read"]


def test_a_clone_copies_offsets_of_an_unsubscribed_topic_only_if_offline(harness: EngineHarness) -> None:
    """A clone copies only the source's offsets; topics that an online source does not subscribe to need `offline`."""
    harness.topic("A", 2)
    for group in ("G", "copy"):
        harness.engine.execute(harness.broker, GetGroup(group))
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", 0, 2))
    harness.engine.execute(harness.broker, UpdateConsumerOffset("copy", "A", 1, 1))
    harness.heartbeat("c", topics={"other": "*"})
    offsets = harness.broker.offsets
    for offline, expected in ((False, {1: 1}), (True, {0: 2})):
        harness.engine.execute(harness.broker, CloneGroupOffset("G", "copy", "A", offline))
        assert offsets.committed["copy", "A"] == expected
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", 0, 3))
    assert offsets.query("copy", "A", 0) == 2


def test_a_route_shows_queues_and_write_permission_of_a_known_topic_only(harness: EngineHarness) -> None:
    """A route has brokers and queues, write permission can be removed and restored, an unknown topic has no route."""
    harness.topic("A", 4)
    ns = harness.engine.name_server
    route = harness.engine.execute(ns, GetRouteInfo("A"))
    assert isinstance(route, RouteResult)
    (queue,) = route.queues
    assert (queue.broker_name, queue.read_queue_nums, queue.write_queue_nums, queue.perm) == ("broker-a", 4, 4, 6)
    harness.engine.execute(ns, SetPermOfBroker("broker-a", add=False))
    assert harness.ask(RouteResult, GetRouteInfo("A"), ns).queues[0].perm == 4
    harness.engine.execute(ns, SetPermOfBroker("broker-a", add=True))
    assert harness.ask(RouteResult, GetRouteInfo("A"), ns).queues[0].perm == 6
    for unknown in ("none", None):
        with pytest.raises(EngineError, match=f"No topic route info in name server for the topic: {unknown or 'null'}"):
            harness.engine.execute(ns, GetRouteInfo(unknown))


def test_a_topic_deleted_only_in_the_name_server_returns_after_30_s(harness: EngineHarness) -> None:
    """A topic deleted only in the name server has no route until its broker registers (every 30 s) or changes it."""
    ns = harness.engine.name_server
    harness.topic("A")
    harness.engine.execute(ns, DeleteTopicInNamesrv("A"))
    with pytest.raises(EngineError):
        harness.engine.execute(ns, GetRouteInfo("A"))
    harness.advance(30_000)
    assert isinstance(harness.engine.execute(ns, GetRouteInfo("A")), RouteResult)


def test_a_topic_deleted_in_the_name_server_returns_with_its_own_permission(harness: EngineHarness) -> None:
    """The registration after a deletion in the name server restores the write permission that an administrator removed.

    Source: RouteInfoManager.deleteTopic, which drops the changed queue data (5.3.3).
    """
    ns = harness.engine.name_server
    harness.topic("A")
    harness.engine.execute(ns, SetPermOfBroker("broker-a", add=False))
    harness.engine.execute(ns, DeleteTopicInNamesrv("A"))
    harness.advance(30_000)
    assert harness.ask(RouteResult, GetRouteInfo("A"), ns).queues[0].perm == 6


def test_a_topic_deleted_at_its_broker_keeps_its_route(harness: EngineHarness) -> None:
    """A topic deleted at its broker keeps its route until the name server deletes it or the broker stops."""
    ns = harness.engine.name_server
    for topic in ("A", "B", "C"):
        harness.topic(topic, 3)
        before = harness.engine.execute(ns, GetRouteInfo(topic))
        harness.ask(Done, DeleteTopic(topic))
        harness.advance(75_000)
        after = harness.engine.execute(ns, GetRouteInfo(topic))
        assert isinstance(before, RouteResult)
        assert isinstance(after, RouteResult)
        assert after.queues == before.queues
    listed = harness.engine.execute(ns, GetNamesrvTopicList())
    assert isinstance(listed, TopicListResult)
    assert {"A", "B", "C"} <= set(listed.topics)
    harness.engine.execute(ns, DeleteTopicInNamesrv("A"))
    harness.advance(75_000)
    with pytest.raises(EngineError, match="No topic route info"):
        harness.engine.execute(ns, GetRouteInfo("A"))
    harness.topic("B", 5)
    again = harness.engine.execute(ns, GetRouteInfo("B"))
    assert isinstance(again, RouteResult)
    assert [queue.read_queue_nums for queue in again.queues] == [5]
    harness.engine.restart()
    with pytest.raises(EngineError, match="No topic route info"):
        harness.engine.execute(ns, GetRouteInfo("C"))


@pytest.mark.parametrize("deleted_ms", [0, 1, 29_999, 30_000, 71_000])
def test_a_topic_deleted_in_the_name_server_returns_with_the_next_registration(
    harness: EngineHarness, deleted_ms: int
) -> None:
    """A topic deleted in the name server reappears at the next multiple of 30 s from the start."""
    ns = harness.engine.name_server
    harness.topic("A")
    harness.advance(deleted_ms)
    harness.engine.execute(ns, DeleteTopicInNamesrv("A"))
    harness.advance(30_000 - deleted_ms % 30_000 - 1)
    with pytest.raises(EngineError, match="No topic route info in name server for the topic: A"):
        harness.engine.execute(ns, GetRouteInfo("A"))
    harness.advance(1)
    assert isinstance(harness.engine.execute(ns, GetRouteInfo("A")), RouteResult)


def test_the_name_server_returns_topics_system_topics_and_kv_pairs(harness: EngineHarness) -> None:
    """The name server lists all topics, the system topics, and key-value pairs."""
    ns = harness.engine.name_server
    harness.topic("A")
    everything = harness.engine.execute(ns, GetNamesrvTopicList())
    assert isinstance(everything, TopicListResult)
    assert {"A", "TBW102"} <= set(everything.topics)
    system = harness.engine.execute(ns, GetNamesrvTopicList(system=True))
    assert isinstance(system, TopicListResult)
    assert system.topics == ["DefaultCluster", "broker-a"]
    harness.engine.execute(ns, PutKvConfig("ORDER_TOPIC_CONFIG", "A", "broker-a:4"))
    assert harness.ask(KvResult, GetKvConfig("ORDER_TOPIC_CONFIG", "A"), ns).value == "broker-a:4"
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(ns, GetKvConfig("ORDER_TOPIC_CONFIG", "B"))
    assert refused.value.code == 22


def test_a_broker_configuration_update_is_applied_or_rejected_as_a_whole(harness: EngineHarness) -> None:
    """Keys are returned as text and changed at run time; with an unknown key nothing changes, and the error names the
    nearest key."""
    text = harness.engine.execute(harness.broker, GetBrokerConfig())
    assert isinstance(text, TextResult)
    assert "popPollingSize=1024\n" in text.text
    harness.engine.execute(harness.broker, UpdateBrokerConfig({"popPollingSize": "7"}))
    assert harness.broker.config.pop_polling_size == 7
    for properties, complaint in (
        ({"popPollingSize": "9", "popPolingSize": "8"}, "did you mean popPollingSize"),
        ({"popPollingSize": "many"}, "expected a whole number"),
        ({"popFromRetryProbability": "101"}, "expected a value from 0 to 100"),
    ):
        with pytest.raises(EngineError, match=complaint):
            harness.engine.execute(harness.broker, UpdateBrokerConfig(properties))
    assert harness.broker.config.pop_polling_size == 7


def test_without_system_topic_validation_the_template_topic_can_be_changed(harness: EngineHarness) -> None:
    """With validateSystemTopicWhenUpdateTopic=false the template topic can be changed and deleted."""
    harness.ask(Done, UpdateBrokerConfig({"validateSystemTopicWhenUpdateTopic": "false"}))
    harness.ask(Done, CreateTopic(TopicConfig("TBW102", 16, 16, 7)))
    made = send_to(harness, "A", 16)
    assert made is not None
    assert (made.read_queue_nums, made.write_queue_nums) == (16, 16)
    harness.ask(Done, DeleteTopic("TBW102"))
    with pytest.raises(EngineError, match="topic\\[B\\] not exist"):
        send_to(harness, "B")


@pytest.mark.parametrize(
    "bad", [TopicConfig("B", 16_385, 1), TopicConfig("B", 1, 16_385), TopicConfig("a b", 1, 1)], ids=repr
)
def test_a_list_of_topics_with_an_invalid_one_creates_none(harness: EngineHarness, bad: TopicConfig) -> None:
    """No topic of the list is created if one has an invalid name or more queues than topicQueueNumsMax."""
    with pytest.raises(EngineError) as caught:
        harness.engine.execute(harness.broker, CreateTopics([CreateTopic(TopicConfig("A", 1, 1)), CreateTopic(bad)]))
    assert caught.value.code is ResponseCode.INVALID_PARAMETER
    assert harness.broker.topics.find("A") is None


def test_a_name_server_configuration_update_is_applied_or_rejected_as_a_whole(harness: EngineHarness) -> None:
    """Name server keys are changed at run time; an unknown key changes nothing, and the error names the nearest."""
    node = harness.engine.name_server
    assert "enableTopicList=true\n" in harness.ask(TextResult, GetNamesrvConfig(), node).text
    harness.ask(Done, UpdateNamesrvConfig({"enableTopicList": "false"}), node)
    assert not node.config.enable_topic_list
    for properties, complaint in (
        ({"enableTopicList": "true", "enableTopikList": "true"}, "did you mean enableTopicList"),
        ({"enableTopicList": "perhaps"}, "expected true or false"),
        ({"enableTopicList": "true", "kvConfigPath": "/x"}, "Can not update config in black list"),
    ):
        with pytest.raises(EngineError, match=complaint):
            harness.ask(Done, UpdateNamesrvConfig(properties), node)
    assert not node.config.enable_topic_list


@pytest.mark.parametrize("at", ["broker", "name server"])
def test_keys_of_config_black_list_cannot_be_changed(at: str) -> None:
    """The keys of configBlackList, separated by semicolons, cannot be changed, nor can the default ones."""
    known = {"broker": "configBlackList=maxMessageSize;traceOn\n", "name server": "configBlackList=enableTopicList\n"}
    namesrv = NamesrvConfig(config_black_list="enableTopicList")
    engine = Engine(brokers=[BrokerConfig(config_black_list="maxMessageSize;traceOn")], namesrv=namesrv)
    node = engine.brokers[0] if at == "broker" else engine.name_server
    tell = GetBrokerConfig() if at == "broker" else GetNamesrvConfig()
    update = UpdateBrokerConfig if at == "broker" else UpdateNamesrvConfig
    before = engine.execute(node, tell)
    assert isinstance(before, TextResult)
    assert known[at] in before.text
    fixed = ["maxMessageSize", "traceOn", "brokerConfigPath"] if at == "broker" else ["enableTopicList", "kvConfigPath"]
    for name in fixed:
        with pytest.raises(EngineError, match=r"Can not update config in black list\."):
            engine.execute(node, update({name: "false"}))
    assert engine.execute(node, tell) == before


def test_runtime_info_has_the_keys_that_mqadmin_needs_with_current_values(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.send("A")
    info = harness.engine.execute(harness.broker, GetBrokerRuntimeInfo())
    assert isinstance(info, RuntimeInfoResult)
    assert info.table["brokerVersionDesc"] == "V5_3_3"
    assert info.table["msgPutTotalTodayNow"] == "1"
    assert int(info.table["commitLogMaxOffset"]) > 0
    assert info.table["putMessageDistributeTime"].startswith("[<=0ms]:1 [0~10ms]:0 [10~50ms]:0 ")


def test_pulls_of_a_group_from_a_forbidden_topic_are_rejected(harness: EngineHarness) -> None:
    """A group's pulls that use the subscription of its heartbeats are rejected for forbidden topics.

    A request that allows one topic allows all topics of the group, and so does the deletion of the group.
    """
    topics = [harness.topic(name) for name in ("A", "B")]
    subscriptions = [SubscriptionData(topic) for topic in topics]
    harness.engine.execute(harness.broker, Heartbeat("c", [], [ConsumerData("G", subscriptions=subscriptions)]))

    def pulled() -> list[str]:
        pulls = [harness.engine.submit(harness.broker, pull_of("G", topic, expression=None)) for topic in topics]
        return [each.outcome.remark or "" if isinstance(each.outcome, EngineError) else "read" for each in pulls]

    refused = [f"the consumer group[G] is forbidden for topic[{topic}]" for topic in topics]

    def change(topic: str, readable: bool | None) -> bool:
        return harness.ask(GroupForbiddenResult, UpdateGroupForbidden("G", topic, readable)).readable

    assert [change(topic, False) for topic in topics] == [False, False]
    assert (pulled(), change("A", None)) == (refused, False)
    assert change("B", True)
    assert pulled() == ["read", "read"]
    change("A", False)
    harness.engine.execute(harness.broker, DeleteGroup("G"))
    assert change("A", None)


def test_a_broker_that_registers_again_restores_only_its_own_routes(harness: EngineHarness) -> None:
    """A broker that registers again gets its own topics and permissions back; those of other brokers stay changed."""
    configs = [BrokerConfig(broker_name="a"), BrokerConfig(broker_name="b")]
    engine = Engine(brokers=configs)
    ns, (first, second) = engine.name_server, engine.brokers
    for broker in (first, second):
        for topic in ("deleted", "kept"):
            engine.execute(broker, CreateTopic(TopicConfig(topic, 1, 1, 6)))
        engine.execute(ns, SetPermOfBroker(broker.name, add=False))
    engine.execute(ns, DeleteTopicInNamesrv("deleted"))
    engine.stop(first)
    engine.start(first)

    def perms(topic: str) -> dict[str, int]:
        found = engine.execute(ns, GetRouteInfo(topic))
        assert isinstance(found, RouteResult)
        return {queue.broker_name: queue.perm for queue in found.queues}

    assert perms("deleted") == {"a": 6}
    assert perms("kept") == {"a": 6, "b": 4}


def test_a_second_deletion_in_the_name_server_does_not_restore_the_first_topic(harness: EngineHarness) -> None:
    ns = harness.engine.name_server
    for topic in ("A", "B", "C"):
        harness.topic(topic)
    for topic in ("A", "B"):
        harness.engine.execute(ns, DeleteTopicInNamesrv(topic))
    for topic in ("A", "B"):
        with pytest.raises(EngineError):
            harness.engine.execute(ns, GetRouteInfo(topic))
    assert isinstance(harness.engine.execute(ns, GetRouteInfo("C")), RouteResult)


def test_the_pull_offset_in_consume_stats_is_at_least_the_committed_offset(harness: EngineHarness) -> None:
    harness.topic("A", 2)
    harness.engine.execute(harness.broker, GetGroup("G"))
    for queue in (0, 1):
        for _ in range(3):
            harness.send("A", queue=queue)
    harness.pull("A", 0, queue=0)
    for queue, committed in ((0, 2), (1, 1)):
        harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", queue, committed))
    found = harness.ask(ConsumeStatsResult, GetConsumeStats("G", "A")).offsets
    rows = [found[MessageQueue("A", "broker-a", queue)] for queue in (0, 1)]
    assert [(row.consumer_offset, row.pull_offset) for row in rows] == [(2, 3), (1, 1)]


@pytest.mark.parametrize(("of_broker", "of_topic", "of_route"), [(6, 6, 6), (4, 6, 4), (2, 6, 2), (4, 2, 0), (6, 7, 7)])
def test_the_brokers_permission_restricts_topic_permissions_in_routes(
    of_broker: int, of_topic: int, of_route: int
) -> None:
    """A broker with full permission removes no bits from a topic's permission, not even bits beyond read and write."""
    harness = make_harness(broker_permission=of_broker)
    harness.topic("A", perm=of_topic)
    route = harness.ask(RouteResult, GetRouteInfo("A"), harness.engine.name_server)
    assert [queue.perm for queue in route.queues] == [of_route]
