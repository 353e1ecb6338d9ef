"""Subscriptions of gRPC consumer groups, as brokers list them."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.remoting_members import heartbeat_request
from ...context.grpc import GrpcContext


def _subscribed(t: GrpcContext, group: str) -> Any:
    """Return the topics and expressions that the broker lists for a group."""
    response = t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
    if response.code:
        return response.code
    return {topic: data["subString"] for topic, data in sorted(response.json["subscriptionTable"].items())}


@grpc_case("ClientActivity.heartbeat, ConsumerManager.registerConsumer")
def the_last_settings_define_the_subscriptions_of_a_group(t: GrpcContext) -> None:
    """The last settings of any client of a group define its subscriptions; a heartbeat changes nothing."""
    topic, other, group = t.topic(kind="NORMAL"), t.topic(kind="NORMAL"), t.group()
    first = t.consumer(group, {topic: "A"})
    t.note("first", _subscribed(t, group))
    second = t.consumer(group, {topic: "B", other: "*"})
    t.note("second", _subscribed(t, group))
    for client in (first, second):
        t.note("heartbeat", t.heartbeat(client, group), pb.OK)
        t.note("then", _subscribed(t, group))
    t.open(first, t.subscription(group, {topic: "A"})).command()
    t.note("settings of the first again", _subscribed(t, group))


@grpc_case("ClientActivity.heartbeat, ConsumerManager.registerConsumer")
def a_group_named_only_in_a_heartbeat_has_no_subscription(t: GrpcContext) -> None:
    """A group that a client names only in its heartbeat has a member and no subscription."""
    topic, group, other = t.topic(kind="NORMAL"), t.group(), t.group()
    client = t.consumer(group, {topic: "*"})
    t.note("heartbeat", t.heartbeat(client, other), pb.OK)
    t.note("its own", _subscribed(t, group))
    t.note("the other", _subscribed(t, other))


@grpc_case("ClientActivity.notifyClientTermination")
def subscriptions_of_a_terminated_client_remain_with_another_member(t: GrpcContext) -> None:
    """When a client leaves, its subscriptions remain while the group has another client."""
    topic, other, group = t.topic(kind="NORMAL"), t.topic(kind="NORMAL"), t.group()
    stays = t.consumer(group, {topic: "A"})
    leaves = t.consumer(group, {other: "B"})
    t.note("left", t.leave(leaves, group), pb.OK)
    t.note("then", _subscribed(t, group))
    t.note("left too", t.leave(stays, group), pb.OK)
    t.note("nobody", _subscribed(t, group))


@grpc_case("ClientActivity.telemetry, GrpcChannelManager.createChannel")
def a_client_that_reopens_its_stream_is_listed_once(t: GrpcContext) -> None:
    """A client that lost its stream and opens another one is listed once."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(), t.new("client")
    settings = t.subscription(group, {topic: "*"})
    first = t.open(client, settings)
    first.command()
    first.cancel()
    t.wait(1)
    t.note("without a stream", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.open(client, settings).command()
    t.note("with another", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.note("heartbeat", t.heartbeat(client, group), pb.OK)


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def a_changed_group_configuration_is_sent_with_the_next_settings(t: GrpcContext) -> None:
    """A client gets changes of its group's configuration only in the response to its next settings."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(retryMaxTimes=3), t.new("client")
    settings = t.subscription(group, {topic: "*"})
    stream = t.open(client, settings)
    t.note("attempts", stream.command().settings.backoff_policy.max_attempts)
    t.group(name=group, retryMaxTimes=7, consumeMessageOrderly=True)
    t.note("heartbeat", t.heartbeat(client, group), pb.OK)
    other = t.open(client, settings).command().settings
    t.note("on another stream", [other.backoff_policy.max_attempts, other.subscription.fifo])


@grpc_case("ConsumerManager.registerConsumer, DefaultConsumerIdsChangeListener.handle")
def a_remoting_consumer_is_notified_of_grpc_consumer_changes(t: GrpcContext) -> None:
    """A remoting consumer is notified when a gRPC consumer joins or leaves its group."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    connection = t.connect()
    t.request(*heartbeat_request(t.new("client"), groups={group: {topic: "*"}}, version=1), to=connection)

    def notifications() -> list[Any]:
        t.wait(0.7)
        pushes = t.pushed(connection)
        return [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]

    t.note("itself", notifications())
    client = t.consumer(group, {topic: "*"})
    t.note("one joins", notifications())
    members = t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}).json["consumerIdList"]
    t.note("members", len(members))
    t.leave(client, group)
    t.note("it leaves", notifications())
