"""Routes and brokers of the name server."""

import re

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, SELF_TEST_TOPIC, reply_topic, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext


@remoting_case("RouteInfoManager.pickupTopicRouteData")
def a_route_names_brokers_and_queues(t: RemotingContext) -> None:
    """A route has the queues of a topic with their permission, and the addresses of the brokers."""
    t.note("both", t.route(t.topic(read=3, write=2)), 0)
    t.note("read only", t.route(t.topic(queues=1, perm=4)), 0)
    t.note("write only", t.route(t.topic(queues=1, perm=2)), 0)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def broker_ids_in_routes_are_unquoted_for_clients_below_version_401(t: RemotingContext) -> None:
    """Clients below version 401 get broker ids in a route as bare numbers, which strict JSON does not allow as keys."""
    topic = t.topic(queues=1)
    for version in (0, 63, 317, 400, 401, 455, 479, 999):
        client = t.connect(t.deployment.access.namesrv, version=version)
        body = t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=client).body
        t.note(f"version {version}", _quoted(body))


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def accept_standard_json_only_quotes_broker_ids_in_a_route(t: RemotingContext) -> None:
    """A client of any version that sends acceptStandardJsonOnly gets broker ids as strings."""
    topic = t.topic(queues=1)
    client = t.connect(t.deployment.access.namesrv, version=317)
    for value in ("true", "false", "TRUE", "1"):
        ext = {"topic": topic, "acceptStandardJsonOnly": value}
        t.note(value, _quoted(t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext, to=client).body))
    new = {"topic": topic, "acceptStandardJsonOnly": "false"}
    t.note("false, new client", _quoted(t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, new, to=t.namesrv).body))


def _quoted(body: bytes) -> str:
    return "quoted" if re.search(rb'\{"0":', body) else "bare" if re.search(rb"\{0:", body) else "neither"


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def an_unknown_topic_has_no_route(t: RemotingContext) -> None:
    """A route for an unknown topic returns TOPIC_NOT_EXIST with a link to the documentation."""
    t.note("unknown", t.route(t.new()), 17)
    t.note("blank", t.route(""), 17)
    t.note("without a name", t.route(None), 17)
    t.note("illegal", t.route("bad name!"), 17)


@remoting_case("RouteInfoManager.pickupTopicRouteData")
def system_topics_of_a_broker_have_routes(t: RemotingContext) -> None:
    """Template, cluster and broker topics have routes, and the first three have the inherit permission."""
    for topic in (AUTO_CREATE_TOPIC, t.cluster, t.broker_name, SELF_TEST_TOPIC, reply_topic(t.cluster)):
        t.note("route", t.route(topic), 0)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_topic_created_by_a_send_has_a_route_when_the_response_arrives(t: RemotingContext) -> None:
    """A topic created by a send has its route when the send's response arrives."""
    topic = t.new()
    t.note("before", t.route(topic), 17)
    t.note("sent", t.send(topic), 0)
    t.note("after", t.route(topic), 0)


@remoting_case("ClientManageProcessor.heartBeat")
def a_heartbeat_creates_the_groups_retry_topic_and_its_route(t: RemotingContext) -> None:
    """A heartbeat creates the retry topic of a group and its route; there is none before."""
    topic, group = t.topic(queues=1), t.group()
    t.note("before", t.route(retry_topic(group)), 17)
    t.note("heartbeat", t.heartbeat("client", groups={group: {topic: "*"}}), 0)
    t.note("after", t.route(retry_topic(group)), 0)


@remoting_case("RouteInfoManager.getAllClusterInfo")
def the_cluster_info_lists_brokers_and_clusters(t: RemotingContext) -> None:
    """The cluster info has all brokers with their addresses, and the clusters with their brokers."""
    t.note("cluster info", t.request(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.getTopicsByCluster")
def new_topics_are_in_the_name_servers_topic_lists(t: RemotingContext) -> None:
    """New topics are in the list of all topics and in their cluster's list; an unknown cluster has none."""
    topic = t.topic(queues=1)
    everything = t.request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, to=t.namesrv).json
    t.note("in the list of all", topic in everything["topicList"])
    of_cluster = t.request(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": t.cluster}, to=t.namesrv).json
    t.note("in that of the cluster", topic in of_cluster["topicList"])
    t.note("unknown cluster", t.request(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": "none"}, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.getSystemTopicList")
def system_topics_of_the_name_server_are_cluster_and_broker_names(t: RemotingContext) -> None:
    """The name server's system topics are the names of clusters and brokers, with one broker's address."""
    response = t.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, to=t.namesrv).json
    t.note("topics", sorted(response["topicList"]))
    t.note("address", response["brokerAddr"])


@remoting_case("RouteInfoManager.wipeWritePermOfBrokerByLock")
def wiping_write_permission_of_an_unknown_broker_has_no_effect(t: RemotingContext) -> None:
    """Wiping or restoring the write permission of an unknown broker has no effect."""
    ext = {"brokerName": "none"}
    t.note("wipe", t.request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext, to=t.namesrv), 0)
    t.note("add", t.request(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext, to=t.namesrv), 0)


@remoting_case("RouteInfoManager.operateWritePermOfBroker", tidy=True)
def wiping_write_permission_affects_routes_but_not_sends(t: RemotingContext) -> None:
    """Wiping a broker's write permission removes the write bit from its routes until it is restored.

    The broker itself still accepts messages.
    """
    topic, readable = t.topic(queues=1), t.topic(queues=1, perm=4)
    ext = {"brokerName": t.broker_name}
    wiped = t.request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext, to=t.namesrv)
    t.note("wiped", [wiped.code, wiped.remark, int(wiped["wipeTopicCount"]) > 10])
    t.note("route", t.route(topic), 0)
    t.note("route of a read only topic", t.route(readable), 0)
    t.note("sent all the same", t.send(topic), 0)
    added = t.request(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext, to=t.namesrv)
    t.note("added", [added.code, added.remark, int(added["addTopicCount"]) > 10])
    t.note("route again", t.route(topic), 0)
    t.note("route of the read only topic again", t.route(readable), 0)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic")
def a_route_has_no_order_configuration_by_default(t: RemotingContext) -> None:
    """The order configuration of a topic is not in its route by default."""
    topic = t.topic(queues=1)
    ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": f"{t.broker_name}:1"}
    t.note("stored", t.request(RequestCode.PUT_KV_CONFIG, ext, to=t.namesrv), 0)
    t.note("route", t.route(topic), 0)
    t.request(RequestCode.DELETE_KV_CONFIG, ext, to=t.namesrv)


@remoting_case("ClientRequestProcessor.getRouteInfoByTopic", tidy=True)
def with_order_message_enable_a_route_has_the_order_configuration(t: RemotingContext) -> None:
    """With orderMessageEnable the route of a topic has its order configuration."""
    topic = t.topic(queues=1)
    ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": f"{t.broker_name}:1"}
    change = b"orderMessageEnable=true\n"
    t.note("configured", t.request(RequestCode.UPDATE_NAMESRV_CONFIG, None, change, to=t.namesrv), 0)
    t.note("stored", t.request(RequestCode.PUT_KV_CONFIG, ext, to=t.namesrv), 0)
    t.note("route", t.route(topic), 0)
    t.note("route of another", t.route(t.topic(queues=1)), 0)
    t.request(RequestCode.DELETE_KV_CONFIG, ext, to=t.namesrv)
    t.request(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=false\n", to=t.namesrv)
