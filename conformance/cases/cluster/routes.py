"""Routes and brokers of the name server."""

import re

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, SELF_TEST_TOPIC, reply_topic, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting


@remoting_case("RouteInfoManager.pickupTopicRouteData")
def a_route_names_brokers_and_queues(t: Remoting) -> None:
    """A route has the queues of a topic with their permission, and the addresses of the brokers."""
    t.see("both", t.route(t.topic(read=3, write=2)), 0)
    t.see("read only", t.route(t.topic(queues=1, perm=4)), 0)
    t.see("write only", t.route(t.topic(queues=1, perm=2)), 0)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def old_clients_get_bare_numbers(t: Remoting) -> None:
    """Clients below version 401 get broker ids in a route as bare numbers, which strict JSON does not allow as keys."""
    topic = t.topic(queues=1)
    for version in (0, 63, 317, 400, 401, 455, 479, 999):
        client = t.connect(t.place.access.namesrv, version=version)
        body = t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=client).body
        t.see(f"version {version}", _quoted(body))


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def clients_may_ask_for_strict_json(t: Remoting) -> None:
    """A client of any version that sends acceptStandardJsonOnly gets broker ids as strings."""
    topic = t.topic(queues=1)
    client = t.connect(t.place.access.namesrv, version=317)
    for value in ("true", "false", "TRUE", "1"):
        ext = {"topic": topic, "acceptStandardJsonOnly": value}
        t.see(value, _quoted(t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext, to=client).body))
    new = {"topic": topic, "acceptStandardJsonOnly": "false"}
    t.see("false, new client", _quoted(t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, new, to=t.namesrv).body))


def _quoted(body: bytes) -> str:
    return "quoted" if re.search(rb'\{"0":', body) else "bare" if re.search(rb"\{0:", body) else "neither"


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def an_unknown_topic_has_no_route(t: Remoting) -> None:
    """A route for an unknown topic returns TOPIC_NOT_EXIST with a link to the documentation."""
    t.see("unknown", t.route(t.new()), 17)
    t.see("blank", t.route(""), 17)
    t.see("without a name", t.route(None), 17)
    t.see("illegal", t.route("bad name!"), 17)


@remoting_case("RouteInfoManager.pickupTopicRouteData")
def topics_of_the_broker_have_routes(t: Remoting) -> None:
    """Template, cluster and broker topics have routes, and the first three have the inherit permission."""
    for topic in (AUTO_CREATE_TOPIC, t.cluster, t.broker_name, SELF_TEST_TOPIC, reply_topic(t.cluster)):
        t.see("route", t.route(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_topic_has_its_route_when_its_creation_is_answered(t: Remoting) -> None:
    """A topic created by a send has its route when the send's response arrives."""
    topic = t.new()
    t.see("before", t.route(topic), 17)
    t.see("sent", t.send(topic), 0)
    t.see("after", t.route(topic), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_group_has_its_retry_route_after_its_heartbeat(t: Remoting) -> None:
    """A heartbeat creates the retry topic of a group and its route; there is none before."""
    topic, group = t.topic(queues=1), t.group()
    t.see("before", t.route(retry_topic(group)), 17)
    t.see("heartbeat", t.heartbeat("client", groups={group: {topic: "*"}}), 0)
    t.see("after", t.route(retry_topic(group)), 0)


@remoting_case("RouteInfoManager.getAllClusterInfo")
def the_cluster_is_told(t: Remoting) -> None:
    """The cluster info has all brokers with their addresses, and the clusters with their brokers."""
    t.see("cluster info", t.ask(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.getTopicsByCluster")
def topics_are_listed(t: Remoting) -> None:
    """New topics are in the list of all topics and in their cluster's list; an unknown cluster has none."""
    topic = t.topic(queues=1)
    everything = t.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, to=t.namesrv).json
    t.see("in the list of all", topic in everything["topicList"])
    of_cluster = t.ask(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": t.cluster}, to=t.namesrv).json
    t.see("in that of the cluster", topic in of_cluster["topicList"])
    t.see("unknown cluster", t.ask(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": "none"}, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.getSystemTopicList")
def the_name_servers_system_topics(t: Remoting) -> None:
    """The name server's system topics are the names of clusters and brokers, with one broker's address."""
    answer = t.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, to=t.namesrv).json
    t.see("topics", sorted(answer["topicList"]))
    t.see("address", answer["brokerAddr"])


@remoting_case("RouteInfoManager.wipeWritePermOfBrokerByLock")
def an_unknown_broker_has_no_topics_to_wipe(t: Remoting) -> None:
    """Wiping or restoring the write permission of an unknown broker has no effect."""
    ext = {"brokerName": "none"}
    t.see("wipe", t.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext, to=t.namesrv), 0)
    t.see("add", t.ask(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.operateWritePermOfBroker", tidy=True)
def write_permission_can_be_wiped(t: Remoting) -> None:
    """Wiping a broker's write permission removes the write bit from its routes until it is restored.

    The broker itself still accepts messages.
    """
    topic, readable = t.topic(queues=1), t.topic(queues=1, perm=4)
    ext = {"brokerName": t.broker_name}
    wiped = t.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext, to=t.namesrv)
    t.see("wiped", [wiped.code, wiped.remark, int(wiped["wipeTopicCount"]) > 10])
    t.see("route", t.route(topic), 0)
    t.see("route of a read only topic", t.route(readable), 0)
    t.see("sent all the same", t.send(topic), 0)
    added = t.ask(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext, to=t.namesrv)
    t.see("added", [added.code, added.remark, int(added["addTopicCount"]) > 10])
    t.see("route again", t.route(topic), 0)
    t.see("route of the read only topic again", t.route(readable), 0)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def order_configuration_is_not_told(t: Remoting) -> None:
    """The order configuration of a topic is not in its route by default."""
    topic = t.topic(queues=1)
    ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": f"{t.broker_name}:1"}
    t.see("stored", t.ask(RequestCode.PUT_KV_CONFIG, ext, to=t.namesrv), 0)
    t.see("route", t.route(topic), 0)
    t.ask(RequestCode.DELETE_KV_CONFIG, ext, to=t.namesrv)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic", tidy=True)
def order_configuration_can_be_told(t: Remoting) -> None:
    """With orderMessageEnable the route of a topic has its order configuration."""
    topic = t.topic(queues=1)
    ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": f"{t.broker_name}:1"}
    change = b"orderMessageEnable=true\n"
    t.see("configured", t.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, change, to=t.namesrv), 0)
    t.see("stored", t.ask(RequestCode.PUT_KV_CONFIG, ext, to=t.namesrv), 0)
    t.see("route", t.route(topic), 0)
    t.see("route of another", t.route(t.topic(queues=1)), 0)
    t.ask(RequestCode.DELETE_KV_CONFIG, ext, to=t.namesrv)
    t.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=false\n", to=t.namesrv)
