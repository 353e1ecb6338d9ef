"""Heartbeats: registration of clients, the data kept about them, and their unregistration."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import consumer_data, subscription
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext


def _clients(t: RemotingContext, group: str) -> DecodedResponse:
    return t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


def _connections(t: RemotingContext, group: str) -> DecodedResponse:
    return t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})


def _producers(t: RemotingContext, group: str) -> DecodedResponse:
    return t.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": group})


def unregister(t: RemotingContext, client: str | None, **groups: str | None) -> DecodedResponse:
    return t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": client, **groups})


def _consumer(group: str, topics: dict[str, str], **members: Any) -> dict[str, Any]:
    """Return a ConsumerData object; `members` replace its JSON members."""
    return consumer_data(group, *(subscription(topic, each) for topic, each in topics.items()), **members)


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_registers_a_consumer(t: RemotingContext) -> None:
    """After its heartbeat a consumer is listed with its connection and its group's subscriptions."""
    topic, group, client = t.topic(), t.group(), t.new("client")
    t.note("heartbeat", t.heartbeat(client, groups={group: {topic: "A||B"}}, version=7), 0)
    t.note("the same again", t.heartbeat(client, groups={group: {topic: "A||B"}}, version=7), 0)
    t.note("clients", _clients(t, group), 0)
    t.note("connections", _connections(t, group), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_creates_the_group_and_its_retry_topic(t: RemotingContext) -> None:
    """The heartbeat of an unknown group creates the group and its retry topic."""
    topic, group = t.topic(), t.new("group")
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.note("retry topic", t.config_of(retry_topic(group)), 0)
    t.note("group", t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"][group])
    t.note("route", t.route(retry_topic(group)), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_retry_topic_has_retry_queue_nums_queues(t: RemotingContext) -> None:
    """The retry topic created by a heartbeat has retryQueueNums queues."""
    topic, group = t.topic(), t.group(retryQueueNums=3)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.note("retry topic", t.config_of(retry_topic(group)), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_registers_a_producer_in_each_of_its_groups(t: RemotingContext) -> None:
    """After its heartbeat a producer is listed in each of its groups."""
    first, second = t.new("producer group"), t.new("producer group")
    t.note("before", _producers(t, first), 1)
    t.note("heartbeat", t.heartbeat(t.new("client"), producers=(first, second)), 0)
    t.note("first group", _producers(t, first), 0)
    t.note("second group", _producers(t, second), 0)


@remoting_case("AdminBrokerProcessor.getAllProducerInfo")
def all_producers_can_be_listed(t: RemotingContext) -> None:
    """GET_ALL_PRODUCER_INFO lists the producers that sent heartbeats."""
    group = t.new("producer group")
    t.heartbeat(t.new("client"), producers=(group,))
    entries = t.request(RequestCode.GET_ALL_PRODUCER_INFO, {}).json["data"][group]
    hidden = ("lastUpdateTimestamp", "remoteIP")
    t.note("listed", [{name: value for name, value in entry.items() if name not in hidden} for entry in entries])


@remoting_case("ProducerManager.getProducerTable", alone=True)
def the_producer_list_is_empty_without_registered_producers(t: RemotingContext) -> None:
    """GET_ALL_PRODUCER_INFO returns an empty list before the first producer registers and after the last one leaves."""
    t.note("before", t.request(RequestCode.GET_ALL_PRODUCER_INFO, {}), 0)
    group, client = t.new("producer group"), t.new("client")
    t.heartbeat(client, producers=(group,))
    t.note("groups", list(t.request(RequestCode.GET_ALL_PRODUCER_INFO, {}).json["data"]))
    unregister(t, client, producerGroup=group)
    t.note("after", t.request(RequestCode.GET_ALL_PRODUCER_INFO, {}), 0)


@remoting_case("ConsumerManager.registerConsumer")
def a_client_list_has_one_entry_per_connection(t: RemotingContext) -> None:
    """A group's client list has one entry for each connection that sent a heartbeat."""
    topic, group = t.topic(), t.group()
    clients = [t.new("client") for _ in range(3)]
    for client in (*clients, clients[0]):
        t.heartbeat(client, groups={group: {topic: "*"}}, to=t.connect())
    found = _clients(t, group).json["consumerIdList"]
    t.note("clients", sorted(found, key=lambda each: (clients.index(each), each)))


@remoting_case("ConsumerGroupInfo.updateChannel")
def another_client_id_on_a_connection_replaces_the_first_consumer(t: RemotingContext) -> None:
    """A heartbeat with another client id over the same connection replaces the first client."""
    topic, group = t.topic(), t.group()
    for _ in range(2):
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.note("clients", _clients(t, group), 0)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def the_last_heartbeat_decides_the_subscribed_topics_of_a_group(t: RemotingContext) -> None:
    """If consumers of one group subscribe to different topics, the last heartbeat decides for all."""
    both, one, group = t.topic(), t.topic(), t.group()
    t.heartbeat(t.new("client"), groups={group: {both: "*", one: "*"}}, version=1)
    t.note("pulled", t.pull(one, group, sysFlag=0, expression=None), 19)
    t.heartbeat(t.new("client"), groups={group: {both: "*"}}, version=2, to=t.connect())
    t.note("pulled after another heartbeat", t.pull(one, group, sysFlag=0, expression=None), 24)


@remoting_case("ConsumerGroupInfo.updateSubscription")
def an_older_subscription_does_not_replace_a_newer_one(t: RemotingContext) -> None:
    """A heartbeat with an older version of a subscription does not replace the newer one."""
    topic, group = t.topic(), t.group()
    for version, expression in ((5, "new"), (3, "old"), (6, "newest")):
        t.heartbeat(t.new("client"), groups={group: {topic: expression}}, version=version, to=t.connect())
        table = _connections(t, group).json["subscriptionTable"]
        t.note(f"after version {version}", table[topic])


@remoting_case("ClientManageProcessor.heartBeat")
def the_last_heartbeat_decides_consume_type_and_message_model(t: RemotingContext) -> None:
    """The last heartbeat of a group decides its consume type and message model."""
    topic, group = t.topic(), t.group()
    for kind, model in (("CONSUME_ACTIVELY", "BROADCASTING"), ("CONSUME_POP", "CLUSTERING")):
        t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, type=kind, model=model)
        shown = _connections(t, group).json
        t.note(kind, {name: shown[name] for name in ("consumeType", "messageModel", "consumeFromWhere")})


@remoting_case("ClientManageProcessor.heartBeatV2")
def a_fingerprint_shows_changed_subscriptions(t: RemotingContext) -> None:
    """The response to a heartbeat reports a subscription change if its fingerprint differs from the previous one."""
    topic, group, client = t.topic(), t.group(), t.new("client")
    for fingerprint in (12345, 12345, 777, 777):
        beat = t.heartbeat(client, groups={group: {topic: "*"}}, heartbeatFingerprint=fingerprint)
        t.note(f"fingerprint {fingerprint}", beat, 0)
    t.note("fingerprint 0", t.heartbeat(client, groups={group: {topic: "*"}}, heartbeatFingerprint=0), 0)


@remoting_case("ClientManageProcessor.heartBeatV2")
def a_heartbeat_without_subscriptions_keeps_the_previous_ones(t: RemotingContext) -> None:
    """A heartbeat with the same fingerprint but without subscriptions keeps the previous subscriptions."""
    topic, group, client = t.topic(), t.group(), t.new("client")
    t.heartbeat(client, groups={group: {topic: "A"}}, heartbeatFingerprint=12345, version=1)
    beat = t.heartbeat(client, consumerDataSet=[_consumer(group, {})], heartbeatFingerprint=12345, withoutSub=True)
    t.note("heartbeat", beat, 0)
    t.note("clients", _clients(t, group), 0)
    t.note("subscriptions", sorted(_connections(t, group).json["subscriptionTable"]))


@remoting_case("ClientManageProcessor.heartBeatV2")
def a_first_heartbeat_without_subscriptions_reports_a_change(t: RemotingContext) -> None:
    """A heartbeat without subscriptions from an unknown client gets the response that they changed."""
    group, client = t.group(), t.new("client")
    beat = t.heartbeat(client, consumerDataSet=[_consumer(group, {})], heartbeatFingerprint=99, withoutSub=True)
    t.note("heartbeat", beat, 0)
    t.note("clients", _clients(t, group))


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_needs_a_body(t: RemotingContext) -> None:
    """A heartbeat without a body or with invalid JSON returns an error; missing fields are accepted."""
    t.note("nothing", t.request(RequestCode.HEART_BEAT), 1)
    t.note("garbage", t.request(RequestCode.HEART_BEAT, None, b"garbage"), 1)
    t.note("an empty object", t.request(RequestCode.HEART_BEAT, None, b"{}"))
    t.note("an empty client id", t.heartbeat("", producers=(t.new("producer group"),)), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_does_not_create_a_group_with_an_illegal_name(t: RemotingContext) -> None:
    """A heartbeat of an unknown group with an illegal name succeeds but registers no client."""
    group = f"{t.new('group')} with blanks"
    t.note("heartbeat", t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}}), 0)
    t.note("clients", _clients(t, group), 1)


@remoting_case("ClientManageProcessor.heartBeat, SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_heartbeat_registers_in_an_existing_group_with_an_illegal_name(t: RemotingContext) -> None:
    """A group with an illegal name created by an administrator gets clients and a retry topic with a route."""
    group, client, connection = t.group(name=f"{t.new('group')} with blanks!"), t.new("client"), t.connect()
    t.note("heartbeat", t.heartbeat(client, groups={group: {t.topic(): "*"}}, to=connection), 0)
    t.note("clients", _clients(t, group), 0)
    pushes = t.until(lambda: t.pushed(connection), 5)
    t.note(
        "notifications", [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    )
    t.note("retry topic", t.config_of(retry_topic(group)), 0)
    t.note("its route", t.until(lambda: t.route(retry_topic(group))), 0)


@remoting_case("ClientManageProcessor.unregisterClient")
def an_unregistered_client_leaves_only_the_named_groups(t: RemotingContext) -> None:
    """A client that unregisters leaves the groups that it names."""
    topic, group, other, client = t.topic(), t.group(), t.group(), t.new("client")
    producers = t.new("producer group")
    t.heartbeat(client, groups={group: {topic: "*"}, other: {topic: "*"}}, producers=(producers,))
    t.note("leaves a consumer group", unregister(t, client, consumerGroup=group), 0)
    t.note("the group", _clients(t, group), 1)
    t.note("another group", _clients(t, other), 0)
    t.note("leaves a producer group", unregister(t, client, producerGroup=producers), 0)
    t.note("the producer group", _producers(t, producers), 1)


@remoting_case("ClientManageProcessor.unregisterClient")
def unregistering_an_unknown_client_succeeds(t: RemotingContext) -> None:
    """Unregistering an unknown client, from an unknown group or without any field, succeeds."""
    t.note("unknown client", unregister(t, t.new("client"), consumerGroup=t.group()), 0)
    t.note("unknown group", unregister(t, t.new("client"), consumerGroup=t.new("group")), 0)
    t.note("no fields", t.request(RequestCode.UNREGISTER_CLIENT, {}), 0)


@remoting_case("ClientHousekeepingService.onChannelClose")
def a_closed_connection_unregisters_its_clients(t: RemotingContext) -> None:
    """When a connection closes, its clients leave all their groups."""
    topic, group, producers = t.topic(), t.group(), t.new("producer group")
    connection = t.connect()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, producers=(producers,), to=connection)
    t.note("before", _clients(t, group), 0)
    t.disconnect(connection)
    t.until(lambda: _clients(t, group).code == 1, 5)
    t.note("consumers", _clients(t, group), 1)
    t.until(lambda: _producers(t, producers).code == 1, 5)
    t.note("producers", _producers(t, producers), 1)


@remoting_case("AdminBrokerProcessor.getConsumerConnectionList")
def a_connection_list_of_an_offline_group_is_rejected(t: RemotingContext) -> None:
    """A connection list of a group without clients returns an error."""
    t.note("consumers", _connections(t, t.group()), 206)
    t.note("producers", _producers(t, t.new("producer group")), 1)


@remoting_case("AdminBrokerProcessor.getConsumerConnectionList")
def a_client_is_listed_with_language_and_version_of_its_heartbeat(t: RemotingContext) -> None:
    """A client is listed with the language and version in its heartbeat's header."""
    topic, group = t.topic(), t.group()
    connection = t.connect(language="CPP", version=63)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, to=connection)
    t.note("connections", _connections(t, group).json["connectionSet"])
