"""Two clusters with one name server: separate and shared data."""

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting
from .several_brokers import by_broker, see_clusters, share_of, topics_of, until_on_both

WEST = {"beside.brokerName": "broker-w", "beside.brokerClusterName": "west"}


@remoting_case("RouteInfoManager.getAllClusterInfo", settings=WEST)
def each_broker_is_told_with_its_cluster(t: Remoting) -> None:
    """The cluster info has the cluster of each broker and the brokers of each cluster."""
    see_clusters(t)


@remoting_case("RouteInfoManager.getTopicsByCluster", settings=WEST)
def a_cluster_has_the_topics_of_its_brokers(t: Remoting) -> None:
    """A topic on brokers of both clusters is listed for both; an unknown cluster has no topics."""
    here, there = t.topic(queues=1), t.topic(queues=1, to=t.beside)
    both = t.topic(name=t.topic(queues=1), queues=1, to=t.beside)
    until_on_both(t, both)
    for label, cluster in (("first", t.cluster), ("west", "west"), ("unknown", t.new("cluster"))):
        found = topics_of(t, cluster)
        t.see(label, [name in found for name in (here, there, both, "west", t.cluster, AUTO_CREATE_TOPIC)])


@remoting_case("RouteInfoManager.pickupTopicRouteData", settings=WEST)
def a_route_goes_over_clusters(t: Remoting) -> None:
    """A route names brokers of both clusters. The topic named like a cluster exists on that cluster's brokers."""
    both = t.topic(name=t.topic(queues=1), queues=2, to=t.beside)
    until_on_both(t, both)
    for label, topic in (("topic", both), ("template", AUTO_CREATE_TOPIC), ("west", "west"), ("first", t.cluster)):
        t.see(label, by_broker(t.route(topic)))


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=WEST)
def a_cluster_is_a_template_for_its_brokers(t: Remoting) -> None:
    """A send with a cluster as template topic creates a topic only on a broker of that cluster."""
    t.see("at a broker of it", t.send(t.new(), defaultTopic="west", to=t.beside).code)
    t.see("at another", t.send(t.new(), defaultTopic="west"))


@remoting_case("SendMessageProcessor.sendMessage", settings=WEST)
def a_message_has_the_cluster_of_its_broker(t: Remoting) -> None:
    """A stored message has the cluster of its broker as property CLUSTER."""
    topic = t.topic(queues=1, to=t.beside)
    t.send(topic, to=t.beside)
    group = t.group()
    t.until(lambda: t.pull(topic, group, to=t.beside).messages)
    [message] = t.pull(topic, group, to=t.beside).messages
    t.see("cluster", message.properties["CLUSTER"])


@remoting_case("RouteInfoManager.operateWritePermOfBroker", settings=WEST, alone=True)
def write_permission_is_wiped_by_broker(t: Remoting) -> None:
    """Wiping the write permission of a broker does not affect the topic on the other cluster."""
    both = t.topic(name=t.topic(queues=1), queues=1, to=t.beside)
    until_on_both(t, both)
    for label, code in (("wiped", "WIPE"), ("given back", "ADD")):
        request = RequestCode[f"{code}_WRITE_PERM_OF_BROKER"]
        t.see(label, t.ask(request, {"brokerName": "broker-w"}, to=t.namesrv).code)
        t.see(f"{label}, route", by_broker(t.route(both)))


@remoting_case("QueryAssignmentProcessor.queryAssignment", settings=WEST)
def queues_of_both_clusters_are_shared_out(t: Remoting) -> None:
    """A broker assigns queues of both clusters to a client."""
    group, clients = t.group(), {t.new("client"): t.connect() for _ in range(2)}
    topic = t.topic(name=t.topic(queues=2), queues=2, to=t.beside)
    until_on_both(t, topic)
    for client, connection in clients.items():
        t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    t.see("shares", [share_of(t, client, group, topic, "CLUSTERING") for client in clients])
