"""Subscriptions of gRPC consumer groups, as brokers list them."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...json_text import dumps
from ...worlds.grpc import Grpc


def _subscribed(t: Grpc, group: str) -> Any:
    """Return the topics and expressions that the broker lists for a group."""
    answer = t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
    if answer.code:
        return answer.code
    return {topic: data["subString"] for topic, data in sorted(answer.json["subscriptionTable"].items())}


@grpc_case("ClientActivity.heartbeat, ConsumerManager.registerConsumer")
def settings_say_what_a_group_subscribes_to(t: Grpc) -> None:
    """The last settings of any client of a group define its subscriptions; a heartbeat changes nothing."""
    topic, other, group = t.topic(kind="NORMAL"), t.topic(kind="NORMAL"), t.group()
    first = t.consumer(group, {topic: "A"})
    t.see("first", _subscribed(t, group))
    second = t.consumer(group, {topic: "B", other: "*"})
    t.see("second", _subscribed(t, group))
    for client in (first, second):
        t.see("heartbeat", t.heartbeat(client, group), 20000)
        t.see("then", _subscribed(t, group))
    t.open(first, t.subscription(group, {topic: "A"})).command()
    t.see("settings of the first again", _subscribed(t, group))


@grpc_case("ClientActivity.heartbeat, ConsumerManager.registerConsumer")
def a_group_known_by_a_heartbeat_subscribes_to_nothing(t: Grpc) -> None:
    """A group that a client names only in its heartbeat has a member and no subscription."""
    topic, group, other = t.topic(kind="NORMAL"), t.group(), t.group()
    client = t.consumer(group, {topic: "*"})
    t.see("heartbeat", t.heartbeat(client, other), 20000)
    t.see("its own", _subscribed(t, group))
    t.see("the other", _subscribed(t, other))


@grpc_case("ClientActivity.notifyClientTermination")
def what_a_client_subscribed_to_outlives_it(t: Grpc) -> None:
    """When a client leaves, its subscriptions remain while the group has another client."""
    topic, other, group = t.topic(kind="NORMAL"), t.topic(kind="NORMAL"), t.group()
    stays = t.consumer(group, {topic: "A"})
    leaves = t.consumer(group, {other: "B"})
    t.see("left", t.leave(leaves, group), 20000)
    t.see("then", _subscribed(t, group))
    t.see("left too", t.leave(stays, group), 20000)
    t.see("nobody", _subscribed(t, group))


@grpc_case("ClientActivity.telemetry, GrpcChannelManager.createChannel")
def a_client_that_opens_a_new_stream_is_the_same_member(t: Grpc) -> None:
    """A client that lost its stream and opens another one is listed once."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(), t.new("client")
    settings = t.subscription(group, {topic: "*"})
    first = t.open(client, settings)
    first.command()
    first.cancel()
    t.wait(1)
    t.see("without a stream", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.open(client, settings).command()
    t.see("with another", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 0)
    t.see("heartbeat", t.heartbeat(client, group), 20000)


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def a_changed_group_is_told_with_the_next_settings(t: Grpc) -> None:
    """A client gets changes of its group's configuration only in the response to its next settings."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(retryMaxTimes=3), t.new("client")
    settings = t.subscription(group, {topic: "*"})
    stream = t.open(client, settings)
    t.see("attempts", stream.command().settings.backoff_policy.max_attempts)
    t.group(name=group, retryMaxTimes=7, consumeMessageOrderly=True)
    t.see("heartbeat", t.heartbeat(client, group), 20000)
    other = t.open(client, settings).command().settings
    t.see("on another stream", [other.backoff_policy.max_attempts, other.subscription.fifo])


@grpc_case("ConsumerManager.registerConsumer, DefaultConsumerIdsChangeListener.handle")
def remoting_consumers_hear_of_grpc_ones(t: Grpc) -> None:
    """A remoting consumer is notified when a gRPC consumer joins or leaves its group."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    connection = t.connect()
    beat = {
        "clientID": t.new("client"),
        "producerDataSet": [],
        "consumerDataSet": [
            {
                "groupName": group,
                "consumeType": "CONSUME_PASSIVELY",
                "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                "unitMode": False,
                "subscriptionDataSet": [{"topic": topic, "subString": "*", "subVersion": 1}],
            }
        ],
    }
    t.ask(RequestCode.HEART_BEAT, None, dumps(beat), to=connection)

    def told() -> list[Any]:
        t.wait(0.7)
        pushes = t.pushed(connection)
        return [push.ext_fields for push in pushes if push.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]

    t.see("itself", told())
    client = t.consumer(group, {topic: "*"})
    t.see("one joins", told())
    members = t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}).json["consumerIdList"]
    t.see("members", len(members))
    t.leave(client, group)
    t.see("it leaves", told())
