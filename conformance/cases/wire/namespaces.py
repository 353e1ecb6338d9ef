"""Names with a namespace: remoting clients use a prefix, gRPC clients a separate field."""

from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...worlds.consumer import consumer_of
from ...worlds.grpc import Grpc
from ...worlds.remoting import Remoting


@remoting_case("NamespaceUtil.wrapNamespace, TopicValidator.validateTopic")
def a_namespace_is_part_of_a_name(t: Remoting) -> None:
    """Topics and groups of a namespace have it as a prefix and differ from those without."""
    space, plain, group = t.new("namespace"), t.topic(queues=1), t.group()
    topic, inside = t.topic(name=f"{space}%{plain}", queues=1), t.group(name=f"{space}%{group}")
    t.see("route", [each["writeQueueNums"] for each in t.route(topic).json["queueDatas"]])
    t.sent(topic, 2)
    t.see("pulled", [each.body for each in t.pull(topic, inside).messages])
    t.see("pulled without", t.pull(plain, group).code)
    t.commit(topic, inside, 1)
    t.see("committed", t.committed(topic, inside), 0)
    t.see("of the plain group", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])


@remoting_case("NamespaceUtil.wrapNamespace, MixAll.getRetryTopic")
def retries_of_a_namespace_are_its_own(t: Remoting) -> None:
    """Retry and dead letter topics of a namespace have their prefix before the namespace."""
    space = t.new("namespace")
    topic, group = t.topic(name=f"{space}%{t.new()}", queues=1), t.group(name=f"{space}%{t.new('group')}")
    client = t.new("client")
    t.see("heartbeat", t.heartbeat(client, groups={group: {topic: "*"}}), 0)
    t.see("clients", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.see("retry topic", t.config_of(retry_topic(group)), 0)
    [sent] = t.sent(topic)
    back = {"offset": int(sent["msgId"][-16:], 16), "group": group, "delayLevel": -1, "originTopic": topic}
    t.see("given up", t.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back), 0)
    end = {"topic": dlq_topic(group), "queueId": 0}
    t.until(lambda: t.ask(RequestCode.GET_MAX_OFFSET, end)["offset"] != "0")
    t.see("dead letters", t.ask(RequestCode.GET_MAX_OFFSET, end), 0)


@grpc_case("GrpcConverter.buildResource")
def a_namespace_of_a_stored_name_is_shown_beside_it(t: Grpc) -> None:
    """A gRPC consumer receives the namespace prefix of a topic as a separate field."""
    space = t.new("namespace")
    name = t.new()
    topic = t.topic(name=f"{space}%{name}", kind="NORMAL", queues=1)
    t.see("sent", t.send(t.message(topic, "whole name")).status.code)
    consumer = consumer_of(t, topic, t.group())
    t.see("topic", consumer.take().topic)


@grpc_case("SendMessageActivity.sendMessage, ReceiveMessageActivity.receiveMessage")
def a_namespace_beside_a_name_plays_no_part(t: Grpc) -> None:
    """The namespace field of topics and groups is ignored by sends, receives, heartbeats and settings."""
    space, topic, group = t.new("namespace"), t.topic(kind="NORMAL", queues=1), t.group()
    message = t.message(topic, "of a namespace")
    message.topic.resource_namespace = space
    t.see("sent", t.send(message).status.code)
    t.see("stored", [each.body for each in t.messages_of(topic, t.group())])
    client = t.new("client")
    settings = t.subscription(group, {topic: "*"})
    settings.subscription.group.resource_namespace = space
    settings.subscription.subscriptions[0].topic.resource_namespace = space
    stream = t.open(client, settings)
    t.see("settings", stream.command().settings.subscription.group)
    beat = sv.HeartbeatRequest(
        group=pb.Resource(name=group, resource_namespace=space),
        client_type=pb.SIMPLE_CONSUMER,
    )
    t.see("heartbeat", t.call("Heartbeat", beat, client=client).status.code)
    t.see("members", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    request = t.receive_request(topic, group, await_s=5)
    request.group.resource_namespace = space
    request.message_queue.topic.resource_namespace = space
    received = t.start_receiving(request, client=client, deadline=10)()
    t.see("received", received.bodies)
    t.see("topic", received.messages[0].topic)


@grpc_case("ContextInitPipeline.execute")
def a_namespace_of_a_client_plays_no_part(t: Grpc) -> None:
    """The header x-mq-namespace is ignored: a client sends to the topics that it names."""
    space, topic = t.new("namespace"), t.topic(kind="NORMAL", queues=1)
    t.see("sent", t.send(t.message(topic, "of a client"), x_mq_namespace=space).status.code)
    t.see("stored", [each.body for each in t.messages_of(topic, t.group())])
