"""Two masters with one name server: routes, queues, permissions, and a stopped broker."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...deployment.target import Capability

SECOND = {"second-broker.brokerName": "broker-b"}
RESTART = {Capability.ADMIN, Capability.RESTART}


def by_broker(response: DecodedResponse) -> dict[str, Any]:
    """Return a route's queues and addresses by broker name, because its lists have no order."""
    route = response.json
    return {
        "queues": {each["brokerName"]: each for each in route["queueDatas"]},
        "brokers": {each["brokerName"]: each for each in route["brokerDatas"]},
    }


def note_clusters(t: RemotingContext) -> None:
    """Record the name server's clusters and brokers."""
    cluster = t.request(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json
    t.note("brokers", cluster["brokerAddrTable"])
    t.note("clusters", {name: sorted(names) for name, names in cluster["clusterAddrTable"].items()})
    system = t.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, to=t.namesrv).json
    t.note("system topics", sorted(system["topicList"]))


def topics_of(t: RemotingContext, cluster: str) -> list[str]:
    """Return the topics that the name server lists for a cluster."""
    response = t.request(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, to=t.namesrv)
    return list(response.json["topicList"])


def _on_both(t: RemotingContext, *, queues: int = 1) -> str:
    return t.topic(name=t.topic(queues=queues), queues=queues, to=t.second_broker)


@remoting_case("RouteInfoManager.pickupTopicRouteData", settings=SECOND)
def a_route_names_all_brokers_that_have_the_topic(t: RemotingContext) -> None:
    """A route names all brokers of a topic, each with its own queue numbers and permission."""
    topic = t.topic(queues=2)
    t.note("on one", by_broker(t.route(topic)))
    t.topic(name=topic, queues=3, perm=4, to=t.second_broker)
    t.note("on both", by_broker(t.route(topic)))
    t.note("on the other", by_broker(t.route(t.topic(queues=1, to=t.second_broker))))


@remoting_case("RouteInfoManager.getAllClusterInfo", settings=SECOND)
def cluster_info_and_topic_lists_cover_all_brokers(t: RemotingContext) -> None:
    """The cluster info and the topic lists cover all brokers."""
    note_clusters(t)
    topic = t.topic(queues=1, to=t.second_broker)
    found = topics_of(t, t.cluster)
    t.note("topics of the cluster", [name in found for name in (topic, t.broker_name, "broker-b")])


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=SECOND)
def a_send_creates_a_topic_only_on_its_broker(t: RemotingContext) -> None:
    """A send creates a topic only on its broker. Another broker creates it with its own first send."""
    topic = t.new()
    t.note("sent to the second", t.send(topic, to=t.second_broker), 0)
    t.note("route", by_broker(t.route(topic)))
    t.note("sent to the first", t.send(topic), 0)
    t.note("route then", by_broker(t.route(topic)))


@remoting_case("DefaultMessageStore.getMessage", settings=SECOND)
def queue_and_group_offsets_are_separate_on_each_broker(t: RemotingContext) -> None:
    """Queue offsets and group offsets are separate on each broker."""
    topic, group = _on_both(t), t.group()
    t.sent(topic, 2)
    t.note("sent to the second", t.send(topic, "other", to=t.second_broker)["queueOffset"])
    t.note("at the first", t.until(lambda: t.pull(topic, group)).bodies)
    t.until(lambda: t.pull(topic, group, to=t.second_broker).bodies)
    t.note("at the second", t.pull(topic, group, to=t.second_broker).bodies)
    t.note("committed", t.commit(topic, group, 2), 0)
    asked = {"consumerGroup": group, "topic": topic, "queueId": 0, "setZeroIfNotFound": "false"}
    t.note("at the first, committed", t.request(RequestCode.QUERY_CONSUMER_OFFSET, asked), 0)
    t.note("at the second, committed", t.request(RequestCode.QUERY_CONSUMER_OFFSET, asked, to=t.second_broker), 22)


@remoting_case("RouteInfoManager.unRegisterBroker", needs=RESTART, settings=SECOND, alone=True)
def a_stopped_broker_is_removed_from_all_routes(t: RemotingContext) -> None:
    """A stopped broker is removed from all routes at once, and a topic that only it had has no route.

    After its restart its topics are back and writable, even if they were wiped. Before that, only changed and new
    topics are writable. The other broker is not affected.
    """
    topics, only = [_on_both(t) for _ in range(2)], t.topic(queues=1)
    wiped = t.request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": t.broker_name}, to=t.namesrv)
    t.note("wiped", wiped.code)
    t.note("sent all the same", t.send(topics[0]), 0)
    t.topic(name=topics[1], queues=2)
    topics.append(_on_both(t))
    for label, topic in zip(("a topic", "changed", "new"), topics, strict=True):
        t.note(label, by_broker(t.route(topic)))
    with t.stopped():
        t.note("away", by_broker(t.route(topics[0])))
        t.note("only there", t.route(only), 17)
        t.note("brokers", sorted(t.request(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json["brokerAddrTable"]))
    t.note("back", by_broker(t.route(topics[0])))
    t.note("only there, back", by_broker(t.route(only)))


@remoting_case("TopicRouteInfoManager.getTopicSubscribeInfo", settings=SECOND)
def a_broker_assigns_the_readable_queues_of_all_brokers(t: RemotingContext) -> None:
    """A broker assigns queues of every broker to a client, except those without read permission."""
    group, clients = t.group(), {t.new("client"): t.connect() for _ in range(2)}
    for label, perm in (("both", 6), ("one that may be read", 2)):
        topic = t.topic(queues=2)
        t.topic(name=topic, queues=1, perm=perm, to=t.second_broker)
        wait_until_on_both(t, topic)
        for client, connection in clients.items():
            t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
        for model in ("CLUSTERING", "BROADCASTING"):
            t.note(f"{label}, {model}", [assigned_queues(t, client, group, topic, model=model) for client in clients])


def wait_until_on_both(t: RemotingContext, topic: str) -> None:
    """Return when the topic's route names both brokers."""
    t.require(t.until(lambda: len(t.route(topic).json["queueDatas"]) == 2), f"the route of {topic} lacks a broker")


def assigned_queues(t: RemotingContext, client: str, group: str, topic: str, *, model: str) -> list[tuple[str, int]]:
    """Return the broker names and queue ids assigned to a client."""
    assigned = t.request(*assignment_request(topic, group, client, model=model)).json["messageQueueAssignments"]
    return sorted((each["messageQueue"]["brokerName"], each["messageQueue"]["queueId"]) for each in assigned)
