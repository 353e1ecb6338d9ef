"""Names with a namespace: remoting clients use a prefix, gRPC clients a separate field."""

from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consumer_of


@remoting_case("NamespaceUtil.wrapNamespace, TopicValidator.validateTopic")
def a_namespace_prefix_separates_topics_and_groups(t: RemotingContext) -> None:
    """Topics and groups of a namespace have it as a prefix and differ from those without."""
    space, plain, group = t.new("namespace"), t.topic(queues=1), t.group()
    topic, inside = t.topic(name=f"{space}%{plain}", queues=1), t.group(name=f"{space}%{group}")
    t.note("route", [each["writeQueueNums"] for each in t.route(topic).json["queueDatas"]])
    t.sent(topic, 2)
    t.note("pulled", [each.body for each in t.pull(topic, inside).messages])
    t.note("pulled without", t.pull(plain, group).code)
    t.commit(topic, inside, 1)
    t.note("committed", t.committed(topic, inside), 0)
    t.note("of the plain group", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"])


@remoting_case("NamespaceUtil.wrapNamespace, MixAll.getRetryTopic")
def the_retry_or_dlq_prefix_precedes_the_namespace(t: RemotingContext) -> None:
    """Retry topics and dead letter queues of a namespace have their prefix before the namespace."""
    space = t.new("namespace")
    topic, group = t.topic(name=f"{space}%{t.new()}", queues=1), t.group(name=f"{space}%{t.new('group')}")
    client = t.new("client")
    t.note("heartbeat", t.heartbeat(client, groups={group: {topic: "*"}}), 0)
    t.note("clients", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.note("retry topic", t.config_of(retry_topic(group)), 0)
    [sent] = t.sent(topic)
    back = {"offset": int(sent["msgId"][-16:], 16), "group": group, "delayLevel": -1, "originTopic": topic}
    t.note("given up", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, back), 0)
    end = {"topic": dlq_topic(group), "queueId": 0}
    t.until(lambda: t.request(RequestCode.GET_MAX_OFFSET, end)["offset"] != "0")
    t.note("dead letters", t.request(RequestCode.GET_MAX_OFFSET, end), 0)


@grpc_case("GrpcConverter.buildResource")
def a_namespace_prefix_is_returned_as_a_separate_grpc_field(t: GrpcContext) -> None:
    """A gRPC consumer receives the namespace prefix of a topic as a separate field."""
    space = t.new("namespace")
    name = t.new()
    topic = t.topic(name=f"{space}%{name}", kind="NORMAL", queues=1)
    t.note("sent", t.send(t.message(topic, "whole name")).status.code)
    consumer = consumer_of(t, topic, t.group())
    t.note("topic", consumer.take().topic)


@grpc_case("SendMessageActivity.sendMessage, ReceiveMessageActivity.receiveMessage")
def the_resource_namespace_field_is_ignored(t: GrpcContext) -> None:
    """The namespace field of topics and groups is ignored by sends, receives, heartbeats and settings."""
    space, topic, group = t.new("namespace"), t.topic(kind="NORMAL", queues=1), t.group()
    message = t.message(topic, "of a namespace")
    message.topic.resource_namespace = space
    t.note("sent", t.send(message).status.code)
    t.note("stored", [each.body for each in t.messages_of(topic, t.group())])
    client = t.new("client")
    settings = t.subscription(group, {topic: "*"})
    settings.subscription.group.resource_namespace = space
    settings.subscription.subscriptions[0].topic.resource_namespace = space
    stream = t.open(client, settings)
    t.note("settings", stream.command().settings.subscription.group)
    beat = sv.HeartbeatRequest(
        group=pb.Resource(name=group, resource_namespace=space),
        client_type=pb.SIMPLE_CONSUMER,
    )
    t.note("heartbeat", t.call("Heartbeat", beat, client=client).status.code)
    t.note("members", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    request = t.receive_request(topic, group, await_s=5)
    request.group.resource_namespace = space
    request.message_queue.topic.resource_namespace = space
    received = t.start_receiving(request, client=client, deadline=10)()
    t.note("received", received.bodies)
    t.note("topic", received.messages[0].topic)


@grpc_case("ContextInitPipeline.execute")
def the_header_x_mq_namespace_is_ignored(t: GrpcContext) -> None:
    """The header x-mq-namespace is ignored: a message goes to the topic that its send names."""
    space, topic = t.new("namespace"), t.topic(kind="NORMAL", queues=1)
    t.note("sent", t.send(t.message(topic, "of a client"), x_mq_namespace=space).status.code)
    t.note("stored", [each.body for each in t.messages_of(topic, t.group())])
