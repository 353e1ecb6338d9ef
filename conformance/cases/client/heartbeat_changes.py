"""Changing heartbeats, batched change notifications, and expiry of silent clients."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import consumer_data, subscription
from ...clients.remoting_topics import topic_request
from ...context.remoting import RemotingContext, connection_state
from ...helpers.settings import CHANGED_KEYS, shared_settings
from ..topic.topics import create

EXPIRED_SECONDS = 13


def _clients(t: RemotingContext, group: str) -> Any:
    response = t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return response.json["consumerIdList"] if response.code == 0 else response.code


def _changed(t: RemotingContext, client: str, group: str, topic: str, *, fingerprint: int, to: RemotingClient) -> str:
    beat = t.heartbeat(client, groups={group: {topic: "*"}}, to=to, heartbeatFingerprint=fingerprint)
    return beat["IS_SUB_CHANGE"]


def change_notifications(t: RemotingContext, connection: RemotingClient) -> list[Any]:
    """Return the notifications of group changes received since the last call."""
    pushes = t.pushed(connection)
    return [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


@remoting_case("ClientManageProcessor.heartBeatV2")
def a_fingerprint_is_compared_within_a_group(t: RemotingContext) -> None:
    """A fingerprint is compared with that of the group's last heartbeat from any client, even after all have left."""
    topic, group = t.topic(), t.group()
    first, second, client = t.connect(), t.connect(), t.new("client")
    t.note("without one", _changed(t, client, group, topic, fingerprint=0, to=first))
    t.note("with one then", _changed(t, client, group, topic, fingerprint=5, to=first))
    t.note("of another client", _changed(t, t.new("client"), group, topic, fingerprint=6, to=second))
    t.note("of the first again", _changed(t, client, group, topic, fingerprint=5, to=first))
    for connection in (first, second):
        t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group}, to=connection)
    t.note("nobody", _clients(t, group))
    t.note("the same as before", _changed(t, client, group, topic, fingerprint=5, to=first))
    t.note("another", _changed(t, client, group, topic, fingerprint=7, to=first))


@remoting_case("ProducerManager.registerProducer")
def a_connection_keeps_its_first_producer(t: RemotingContext) -> None:
    """A heartbeat with another client id over the same connection does not replace a producer."""
    group, connection = t.new("producer group"), t.connect()
    for _ in range(2):
        t.heartbeat(t.new("client"), producers=(group,), to=connection)
    t.note("producers", t.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": group}), 0)


@remoting_case("ConsumerGroupInfo.updateChannel")
def another_client_id_on_a_connection_causes_no_notification(t: RemotingContext) -> None:
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
    t.note("notifications", [change_notifications(t, connection) for connection in connections])
    t.note("clients", sorted(_clients(t, group)))


@remoting_case("ClientManageProcessor.heartBeat, TopicSysFlag.buildSysFlag")
def unit_mode_marks_only_topics_that_the_request_creates(t: RemotingContext) -> None:
    """A heartbeat or send in unit mode marks only the topics that it creates. Routes have the mark."""
    topic, made = t.topic(queues=1), t.new()
    for unit in (True, False):
        group = t.group()
        data = consumer_data(group, subscription(topic, "*"), unitMode=unit)
        t.note(f"heartbeat, {unit}", t.heartbeat(t.new("client"), consumerDataSet=[data]), 0)
        t.note("retry topic", t.config_of(retry_topic(group)).json["topicSysFlag"])
        t.note("route", [each["topicSysFlag"] for each in t.route(retry_topic(group)).json["queueDatas"]])
    t.note("sent", t.send(made, unitMode=True).code)
    t.note("topic", t.config_of(made).json["topicSysFlag"])
    t.send(made, unitMode=False)
    t.note("topic later", t.config_of(made).json["topicSysFlag"])
    back = retry_topic(t.group())
    t.note("sent to a retry topic", t.send(back, unitMode=True).code)
    t.note("that topic", t.config_of(back).json["topicSysFlag"])


@remoting_case("RouteInfoManager.getUnitTopics, RouteInfoManager.getHasUnitSubUnUnitTopicList")
def the_name_server_lists_topics_by_unit_flags(t: RemotingContext) -> None:
    """The name server lists unit topics, topics with unit subscriptions, and the latter without the former."""
    topics = {flag: t.new() for flag in range(4)}
    for flag, topic in topics.items():
        t.note(f"made with {flag}", create(t, topic, readQueueNums=1, writeQueueNums=1, topicSysFlag=flag), 0)
    for code in (
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    ):
        response = t.request(code, to=t.namesrv)
        listed = set(response.json["topicList"]) if response.code == 0 else set()
        t.note(code.name, [response.code, [flag for flag, topic in topics.items() if topic in listed]])


@remoting_case("TopicConfigManager.createTopicInSendMessageBackMethod")
def the_last_heartbeat_says_whether_a_retry_topic_is_ordered(t: RemotingContext) -> None:
    """A group's retry topic is ordered if a topic of the group's last heartbeat is ordered."""
    plain, group = t.topic(queues=1), t.group()
    ordered = t.new()
    t.note("made", t.request(*topic_request(ordered, queues=1, order=True)).code)
    for label, topic in (("plain", plain), ("ordered", ordered), ("plain again", plain)):
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
        t.note(label, t.config_of(retry_topic(group)).json["order"])


@remoting_case(
    "DefaultConsumerIdsChangeListener.notifyConsumerChange",
    settings=shared_settings(CHANGED_KEYS, "realTimeNotifyConsumerChange"),
)
def without_realtime_notification_group_changes_are_combined(t: RemotingContext) -> None:
    """With realTimeNotifyConsumerChange=false several changes of a group cause one later notification."""
    topic, group = t.topic(), t.group()
    connections = [t.connect() for _ in range(3)]
    for connection in connections:
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1, to=connection)
    t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": "c", "consumerGroup": group}, to=connections[2])
    t.wait(0.7)
    t.note("at once", [change_notifications(t, connection) for connection in connections])
    t.until(lambda: connection_state(connections[0]) == "open" and connections[0].server_requests, 50)
    t.wait(0.7)
    t.note("later", [change_notifications(t, connection) for connection in connections])


@remoting_case("ConsumerManager.scanNotActiveChannel", settings={"channelExpiredTimeout": "2000"})
def a_silent_client_loses_its_connection(t: RemotingContext) -> None:
    """A client without heartbeats expires, and the broker closes its connection even if it is in use."""
    topic, group = t.topic(), t.group()
    silent, beating = t.connect(), t.connect()
    first, second = t.new("client"), t.new("client")
    t.heartbeat(first, groups={group: {topic: "*"}}, version=1, to=silent)
    for _ in range(EXPIRED_SECONDS):
        t.heartbeat(second, groups={group: {topic: "*"}}, version=1, to=beating)
        connection_state(silent)
        t.wait(1)
    t.note("clients", _clients(t, group))
    t.note("connections", [connection_state(silent), connection_state(beating)])
    t.note("notifications", len(change_notifications(t, beating)))
