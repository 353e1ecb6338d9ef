"""Two masters with one name server: routes, queues, permissions, and a stopped broker."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_members import assignment_request
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...deployment.target import Capability

SECOND = {"beside.brokerName": "broker-b"}
RESTART = {Capability.ADMIN, Capability.RESTART}


def by_broker(answer: Answer) -> dict[str, Any]:
    """Return a route's queues and addresses by broker name, because its lists have no order."""
    route = answer.json
    return {
        "queues": {each["brokerName"]: each for each in route["queueDatas"]},
        "brokers": {each["brokerName"]: each for each in route["brokerDatas"]},
    }


def see_clusters(t: Remoting) -> None:
    """Record the name server's clusters and brokers."""
    cluster = t.ask(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json
    t.see("brokers", cluster["brokerAddrTable"])
    t.see("clusters", {name: sorted(names) for name, names in cluster["clusterAddrTable"].items()})
    system = t.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, to=t.namesrv).json
    t.see("system topics", sorted(system["topicList"]))


def topics_of(t: Remoting, cluster: str) -> list[str]:
    """Return the topics that the name server lists for a cluster."""
    answer = t.ask(RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, to=t.namesrv)
    return list(answer.json["topicList"])


def _on_both(t: Remoting, *, queues: int = 1) -> str:
    return t.topic(name=t.topic(queues=queues), queues=queues, to=t.beside)


@remoting_case("RouteInfoManager.pickupTopicRouteData", settings=SECOND)
def a_route_names_all_brokers_that_have_the_topic(t: Remoting) -> None:
    """A route names all brokers of a topic, each with its own queue numbers and permission."""
    topic = t.topic(queues=2)
    t.see("on one", by_broker(t.route(topic)))
    t.topic(name=topic, queues=3, perm=4, to=t.beside)
    t.see("on both", by_broker(t.route(topic)))
    t.see("on the other", by_broker(t.route(t.topic(queues=1, to=t.beside))))


@remoting_case("RouteInfoManager.getAllClusterInfo", settings=SECOND)
def all_brokers_are_told(t: Remoting) -> None:
    """The cluster info and the topic lists cover all brokers."""
    see_clusters(t)
    topic = t.topic(queues=1, to=t.beside)
    found = topics_of(t, t.cluster)
    t.see("topics of the cluster", [name in found for name in (topic, t.broker_name, "broker-b")])


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=SECOND)
def a_topic_that_a_send_creates_is_on_that_broker(t: Remoting) -> None:
    """A send creates a topic only on its broker. Another broker creates it with its own first send."""
    topic = t.new()
    t.see("sent to the second", t.send(topic, to=t.beside), 0)
    t.see("route", by_broker(t.route(topic)))
    t.see("sent to the first", t.send(topic), 0)
    t.see("route then", by_broker(t.route(topic)))


@remoting_case("DefaultMessageStore.getMessage", settings=SECOND)
def each_broker_has_queues_of_its_own(t: Remoting) -> None:
    """Queue offsets and group offsets are separate on each broker."""
    topic, group = _on_both(t), t.group()
    t.sent(topic, 2)
    t.see("sent to the second", t.send(topic, "other", to=t.beside)["queueOffset"])
    t.see("at the first", t.until(lambda: t.pull(topic, group)).bodies)
    t.until(lambda: t.pull(topic, group, to=t.beside).bodies)
    t.see("at the second", t.pull(topic, group, to=t.beside).bodies)
    t.see("committed", t.commit(topic, group, 2), 0)
    asked = {"consumerGroup": group, "topic": topic, "queueId": 0, "setZeroIfNotFound": "false"}
    t.see("at the first, committed", t.ask(RequestCode.QUERY_CONSUMER_OFFSET, asked), 0)
    t.see("at the second, committed", t.ask(RequestCode.QUERY_CONSUMER_OFFSET, asked, to=t.beside), 22)


@remoting_case("RouteInfoManager.unRegisterBroker", needs=RESTART, settings=SECOND, alone=True)
def a_broker_that_stops_is_out_of_all_routes(t: Remoting) -> None:
    """A stopped broker is removed from all routes at once, and a topic that only it had has no route.

    After its restart its topics are back and writable, even if they were wiped. Before that, only changed and new
    topics are writable. The other broker is not affected.
    """
    topics, only = [_on_both(t) for _ in range(2)], t.topic(queues=1)
    wiped = t.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": t.broker_name}, to=t.namesrv)
    t.see("wiped", wiped.code)
    t.see("sent all the same", t.send(topics[0]), 0)
    t.topic(name=topics[1], queues=2)
    topics.append(_on_both(t))
    for label, topic in zip(("a topic", "changed", "new"), topics, strict=True):
        t.see(label, by_broker(t.route(topic)))
    with t.away():
        t.see("away", by_broker(t.route(topics[0])))
        t.see("only there", t.route(only), 17)
        t.see("brokers", sorted(t.ask(RequestCode.GET_BROKER_CLUSTER_INFO, to=t.namesrv).json["brokerAddrTable"]))
    t.see("back", by_broker(t.route(topics[0])))
    t.see("only there, back", by_broker(t.route(only)))


@remoting_case("TopicRouteInfoManager.getTopicSubscribeInfo", settings=SECOND)
def a_broker_shares_out_the_queues_of_all(t: Remoting) -> None:
    """A broker assigns queues of every broker to a client, except those without read permission."""
    group, clients = t.group(), {t.new("client"): t.connect() for _ in range(2)}
    for label, perm in (("both", 6), ("one that may be read", 2)):
        topic = t.topic(queues=2)
        t.topic(name=topic, queues=1, perm=perm, to=t.beside)
        until_on_both(t, topic)
        for client, connection in clients.items():
            t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
        for model in ("CLUSTERING", "BROADCASTING"):
            t.see(f"{label}, {model}", [share_of(t, client, group, topic, model) for client in clients])


def until_on_both(t: Remoting, topic: str) -> None:
    """Return when the topic's route names both brokers."""
    t.require(t.until(lambda: len(t.route(topic).json["queueDatas"]) == 2), f"the route of {topic} has not both")


def share_of(t: Remoting, client: str, group: str, topic: str, model: str) -> list[tuple[str, int]]:
    """Return the broker names and queue ids assigned to a client."""
    assigned = t.ask(*assignment_request(topic, group, client, model=model)).json["messageQueueAssignments"]
    return sorted((each["messageQueue"]["brokerName"], each["messageQueue"]["queueId"]) for each in assigned)
