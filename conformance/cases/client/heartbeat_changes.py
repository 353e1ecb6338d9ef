"""Changing heartbeats, batched change notifications, and expiry of silent clients."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...settings import VARIED, with_keys
from ...worlds.remoting import Remoting, fate, subscription
from ..topic.topics import create

EXPIRED_SECONDS = 13


def _clients(t: Remoting, group: str) -> Any:
    answer = t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return answer.json["consumerIdList"] if answer.code == 0 else answer.code


def _changed(t: Remoting, client: str, group: str, topic: str, fingerprint: int, to: RemotingClient) -> str:
    beat = t.heartbeat(client, groups={group: {topic: "*"}}, to=to, heartbeatFingerprint=fingerprint)
    return beat["IS_SUB_CHANGE"]


def _told(t: Remoting, connection: RemotingClient) -> list[Any]:
    """Return the notifications of group changes received since the last call."""
    pushes = t.pushed(connection)
    return [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


@remoting_case("ClientManageProcessor.heartBeatV2")
def a_fingerprint_is_compared_within_a_group(t: Remoting) -> None:
    """A fingerprint is compared with that of the group's last heartbeat from any client, even after all have left."""
    topic, group = t.topic(), t.group()
    first, second, client = t.connect(), t.connect(), t.new("client")
    t.see("without one", _changed(t, client, group, topic, 0, first))
    t.see("with one then", _changed(t, client, group, topic, 5, first))
    t.see("of another client", _changed(t, t.new("client"), group, topic, 6, second))
    t.see("of the first again", _changed(t, client, group, topic, 5, first))
    for connection in (first, second):
        t.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group}, to=connection)
    t.see("nobody", _clients(t, group))
    t.see("the same as before", _changed(t, client, group, topic, 5, first))
    t.see("another", _changed(t, client, group, topic, 7, first))


@remoting_case("ProducerManager.registerProducer")
def a_connection_keeps_its_first_producer(t: Remoting) -> None:
    """A heartbeat with another client id over the same connection does not replace a producer."""
    group, connection = t.new("producer group"), t.connect()
    for _ in range(2):
        t.heartbeat(t.new("client"), producers=(group,), to=connection)
    t.see("producers", t.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": group}), 0)


@remoting_case("ConsumerGroupInfo.updateChannel")
def a_new_client_id_is_told_to_nobody(t: Remoting) -> None:
    """A heartbeat with another client id over the same connection causes no change notification."""
    topic, group = t.topic(), t.group()
    connections = [t.connect(), t.connect()]
    for connection in connections:
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connection)
    t.wait(0.7)
    for connection in connections:
        t.pushed(connection)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connections[0])
    t.wait(0.7)
    t.see("told", [_told(t, connection) for connection in connections])
    t.see("clients", sorted(_clients(t, group)))


@remoting_case("ClientManageProcessor.heartBeat, TopicSysFlag.buildSysFlag")
def a_unit_marks_the_topics_that_it_makes(t: Remoting) -> None:
    """A heartbeat or send in unit mode marks only the topics that it creates. Routes have the mark."""
    topic, made = t.topic(queues=1), t.new()
    for unit in (True, False):
        group = t.group()
        data = {
            "groupName": group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "unitMode": unit,
            "subscriptionDataSet": [subscription(topic, "*")],
        }
        beat = {"clientID": t.new("client"), "producerDataSet": [], "consumerDataSet": [data]}
        t.see(f"heartbeat, {unit}", t.ask(RequestCode.HEART_BEAT, None, dumps(beat)), 0)
        t.see("retry topic", t.config_of(retry_topic(group)).json["topicSysFlag"])
        t.see("route", [each["topicSysFlag"] for each in t.route(retry_topic(group)).json["queueDatas"]])
    t.see("sent", t.send(made, unitMode=True).code)
    t.see("topic", t.config_of(made).json["topicSysFlag"])
    t.send(made, unitMode=False)
    t.see("topic later", t.config_of(made).json["topicSysFlag"])
    back = retry_topic(t.group())
    t.see("sent to a retry topic", t.send(back, unitMode=True).code)
    t.see("that topic", t.config_of(back).json["topicSysFlag"])


@remoting_case("RouteInfoManager.getUnitTopics, RouteInfoManager.getHasUnitSubUnUnitTopicList")
def topics_of_units_are_listed(t: Remoting) -> None:
    """The name server lists unit topics, topics with unit subscriptions, and the latter without the former."""
    topics = {flag: t.new() for flag in range(4)}
    for flag, topic in topics.items():
        t.see(f"made with {flag}", create(t, topic, readQueueNums=1, writeQueueNums=1, topicSysFlag=flag), 0)
    for code in (
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    ):
        answer = t.ask(code, to=t.namesrv)
        listed = set(answer.json["topicList"]) if answer.code == 0 else set()
        t.see(code.name, [answer.code, [flag for flag, topic in topics.items() if topic in listed]])


@remoting_case("TopicConfigManager.createTopicInSendMessageBackMethod")
def the_last_heartbeat_says_whether_a_retry_topic_is_ordered(t: Remoting) -> None:
    """A group's retry topic is ordered if a topic of the group's last heartbeat is ordered."""
    plain, group = t.topic(queues=1), t.group()
    ordered = t.new()
    ext = {
        "topic": ordered,
        "defaultTopic": "TBW102",
        "readQueueNums": 1,
        "writeQueueNums": 1,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": True,
    }
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, ext).code)
    for label, topic in (("plain", plain), ("ordered", ordered), ("plain again", plain)):
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
        t.see(label, t.config_of(retry_topic(group)).json["order"])


@remoting_case(
    "DefaultConsumerIdsChangeListener.notifyConsumerChange", settings=with_keys(VARIED, "realTimeNotifyConsumerChange")
)
def notices_may_be_gathered(t: Remoting) -> None:
    """With realTimeNotifyConsumerChange=false several changes of a group cause one later notification."""
    topic, group = t.topic(), t.group()
    connections = [t.connect() for _ in range(3)]
    for connection in connections:
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connection)
    t.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": "c", "consumerGroup": group}, to=connections[2])
    t.wait(0.7)
    t.see("at once", [_told(t, connection) for connection in connections])
    t.until(lambda: fate(connections[0]) == "open" and connections[0].pushes, 50)
    t.wait(0.7)
    t.see("later", [_told(t, connection) for connection in connections])


@remoting_case("ConsumerManager.scanNotActiveChannel", settings={"channelExpiredTimeout": "2000"})
def a_silent_client_loses_its_connection(t: Remoting) -> None:
    """A client without heartbeats expires, and the broker closes its connection even if it is in use."""
    topic, group = t.topic(), t.group()
    silent, beating = t.connect(), t.connect()
    first, second = t.new("client"), t.new("client")
    t.heartbeat(first, groups={group: {topic: "*"}}, version=1, to=silent)
    for _ in range(EXPIRED_SECONDS):
        t.heartbeat(second, groups={group: {topic: "*"}}, version=1, to=beating)
        fate(silent)
        t.wait(1)
    t.see("clients", _clients(t, group))
    t.see("connections", [fate(silent), fate(beating)])
    t.see("told", len(_told(t, beating)))
