"""Two clusters with one name server: topics, routes, permissions and assignments of one cluster or of both."""

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from .several_brokers import assigned_queues, by_broker, note_clusters, topics_of, wait_until_on_both

WEST = {"second-broker.brokerName": "broker-w", "second-broker.brokerClusterName": "west"}


@remoting_case("RouteInfoManager.getAllClusterInfo", settings=WEST)
def the_cluster_info_lists_each_broker_with_its_cluster(t: RemotingContext) -> None:
    """The cluster info has the cluster of each broker and the brokers of each cluster."""
    note_clusters(t)


@remoting_case("RouteInfoManager.getTopicsByCluster", settings=WEST)
def a_cluster_has_the_topics_of_its_brokers(t: RemotingContext) -> None:
    """A topic on brokers of both clusters is listed for both; an unknown cluster has no topics."""
    here, there = t.topic(queues=1), t.topic(queues=1, to=t.second_broker)
    both = t.topic(name=t.topic(queues=1), queues=1, to=t.second_broker)
    wait_until_on_both(t, both)
    for label, cluster in (("first", t.cluster), ("west", "west"), ("unknown", t.new("cluster"))):
        found = topics_of(t, cluster)
        t.note(label, [name in found for name in (here, there, both, "west", t.cluster, AUTO_CREATE_TOPIC)])


@remoting_case("RouteInfoManager.pickupTopicRouteData", settings=WEST)
def a_route_spans_brokers_of_several_clusters(t: RemotingContext) -> None:
    """A route names brokers of both clusters. The topic named like a cluster exists on that cluster's brokers."""
    both = t.topic(name=t.topic(queues=1), queues=2, to=t.second_broker)
    wait_until_on_both(t, both)
    for label, topic in (("topic", both), ("template", AUTO_CREATE_TOPIC), ("west", "west"), ("first", t.cluster)):
        t.note(label, by_broker(t.route(topic)))


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod", settings=WEST)
def a_cluster_name_is_a_template_topic_only_on_its_brokers(t: RemotingContext) -> None:
    """A send with a cluster as template topic creates a topic only on a broker of that cluster."""
    t.note("at a broker of it", t.send(t.new(), defaultTopic="west", to=t.second_broker).code)
    t.note("at another", t.send(t.new(), defaultTopic="west"))


@remoting_case("SendMessageProcessor.sendMessage", settings=WEST)
def a_message_has_the_cluster_of_its_broker(t: RemotingContext) -> None:
    """A stored message has the cluster of its broker as property CLUSTER."""
    topic = t.topic(queues=1, to=t.second_broker)
    t.send(topic, to=t.second_broker)
    group = t.group()
    t.until(lambda: t.pull(topic, group, to=t.second_broker).messages)
    [message] = t.pull(topic, group, to=t.second_broker).messages
    t.note("cluster", message.properties["CLUSTER"])


@remoting_case("RouteInfoManager.operateWritePermOfBroker", settings=WEST, alone=True)
def wiping_write_permission_affects_only_the_named_broker(t: RemotingContext) -> None:
    """Wiping the write permission of a broker does not affect the topic on the other cluster."""
    both = t.topic(name=t.topic(queues=1), queues=1, to=t.second_broker)
    wait_until_on_both(t, both)
    for label, code in (("wiped", "WIPE"), ("given back", "ADD")):
        request = RequestCode[f"{code}_WRITE_PERM_OF_BROKER"]
        t.note(label, t.request(request, {"brokerName": "broker-w"}, to=t.namesrv).code)
        t.note(f"{label}, route", by_broker(t.route(both)))


@remoting_case("QueryAssignmentProcessor.queryAssignment", settings=WEST)
def a_client_is_assigned_queues_of_both_clusters(t: RemotingContext) -> None:
    """A broker assigns queues of both clusters to a client."""
    group, clients = t.group(), {t.new("client"): t.connect() for _ in range(2)}
    topic = t.topic(name=t.topic(queues=2), queues=2, to=t.second_broker)
    wait_until_on_both(t, topic)
    for client, connection in clients.items():
        t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    t.note("shares", [assigned_queues(t, client, group, topic, model="CLUSTERING") for client in clients])
