"""Heartbeat and NotifyClientTermination of the gRPC proxy."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...settings import STRICT
from ...worlds.grpc import BAD_GROUPS, Grpc


@grpc_case("ClientActivity.heartbeat")
def a_client_without_settings_is_not_known(t: Grpc) -> None:
    """Heartbeat and NotifyClientTermination without settings are UNRECOGNIZED_CLIENT_TYPE.

    The latter requires a language.
    """
    client, group = t.new("client"), t.group()
    t.see("heartbeat", t.heartbeat(client, group), 40015)
    t.see("heartbeat in an unknown language", t.heartbeat(client, group, x_mq_language="XX"), 40015)
    t.see("heartbeat of a bad group", t.heartbeat(client, "a b"), 40015)
    t.see("farewell", t.leave(client, group), 40015)
    t.see("farewell in an unknown language", t.leave(client, group, x_mq_language="XX"), 50001)
    t.see("farewell of a bad group", t.leave(client, "a b"), 40015)


@grpc_case("ClientActivity.heartbeat")
def a_producer_is_one_by_its_settings(t: Grpc) -> None:
    """A producer's heartbeat is accepted with any client type and group in the request."""
    client = t.producer(t.topic(kind="NORMAL"))
    t.see("as it is", t.heartbeat(client, kind=pb.PRODUCER), 20000)
    t.see("as a consumer", t.heartbeat(client, "a b", kind=pb.PUSH_CONSUMER), 20000)
    t.see("of no type", t.heartbeat(client, "", kind=0), 20000)


@grpc_case("ClientActivity.heartbeat")
def a_consumer_needs_a_group(t: Grpc) -> None:
    """A consumer's heartbeat is rejected if its group is missing or illegal."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("its group", t.heartbeat(client, group), 20000)
    t.see("as a producer", t.heartbeat(client, group, kind=pb.PRODUCER), 20000)
    t.see("no group", t.heartbeat(client), 40003)
    for what, name in BAD_GROUPS.items():
        t.see(what, t.heartbeat(client, name), 40003)


@grpc_case("ClientActivity.registerConsumer")
def a_heartbeat_joins_the_group_that_it_names(t: Grpc) -> None:
    """A consumer whose heartbeat names another group than its settings is a member of both groups."""
    group, other = t.group(), t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("members before", [_members(t, group), _members(t, other)])
    t.see("heartbeat", t.heartbeat(client, other), 20000)
    t.see("members after", [_members(t, group), _members(t, other)])


@grpc_case("ClientActivity.registerConsumer")
def settings_make_a_member(t: Grpc) -> None:
    """A consumer is a member of its group once its settings are answered, before any heartbeat."""
    group, client = t.group(), t.new("client")
    t.open(client, t.subscription(group, {t.topic(kind="NORMAL"): "*"})).next()
    t.see("members", _members(t, group))


@grpc_case("ClientActivity.heartbeat")
def the_language_of_a_known_client(t: Grpc) -> None:
    """Heartbeat and NotifyClientTermination of a client with settings require an x-mq-language of LanguageCode."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    producer = t.producer(t.topic(kind="NORMAL"))
    for language in (None, "XX"):
        t.see(f"heartbeat of a consumer, {language}", t.heartbeat(client, group, x_mq_language=language), 50001)
        t.see(f"heartbeat of a producer, {language}", t.heartbeat(producer, x_mq_language=language), 50001)
        t.see(f"farewell, {language}", t.leave(client, group, x_mq_language=language), 50001)
    t.see("heartbeat in OTHER", t.heartbeat(client, group, x_mq_language="OTHER"), 20000)


@grpc_case("ClientActivity.notifyClientTermination")
def a_client_that_leaves_is_forgotten(t: Grpc) -> None:
    """After NotifyClientTermination a client is removed from its group and has no settings any more."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("members before", _members(t, group))
    t.see("farewell", t.leave(client, group), 20000)
    t.see("members after", _members(t, group))
    t.see("heartbeat", t.heartbeat(client, group), 40015)
    t.see("second farewell", t.leave(client, group), 40015)


@grpc_case("ClientActivity.notifyClientTermination")
def a_refused_farewell_forgets_too(t: Grpc) -> None:
    """NotifyClientTermination with an illegal group is rejected but still removes the client."""
    topic = t.topic(kind="NORMAL")
    for what, name in {"missing": None, **BAD_GROUPS}.items():
        group = t.group()
        client = t.consumer(group, {topic: "*"})
        t.see(what, t.leave(client, name), 40003)
        t.see(f"{what}, heartbeat", t.heartbeat(client, group), 40015)
        t.see(f"{what}, members", _members(t, group))


@grpc_case("ClientActivity.notifyClientTermination")
def a_producer_leaves_without_a_group(t: Grpc) -> None:
    """A producer's NotifyClientTermination requires no group."""
    client = t.producer(t.topic(kind="NORMAL"))
    t.see("farewell", t.leave(client), 20000)
    t.see("heartbeat", t.heartbeat(client, kind=pb.PRODUCER), 40015)


@grpc_case("ClientActivity.notifyClientTermination")
def a_client_of_two_groups_leaves(t: Grpc) -> None:
    """NotifyClientTermination of a client in two groups removes it from the group that the request names."""
    group, other = t.group(), t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("heartbeat", t.heartbeat(client, other), 20000)
    t.see("farewell", t.leave(client, group), 20000)
    t.see("members", [_members(t, group), _members(t, other)])


@grpc_case("ClientActivity.heartbeat")
def a_client_outlives_its_stream(t: Grpc) -> None:
    """A client whose telemetry stream was cancelled keeps its settings, and its heartbeats are accepted."""
    group, client = t.group(), t.new("client")
    stream = t.open(client, t.subscription(group, {t.topic(kind="NORMAL"): "*"}))
    stream.next()
    t.see("before", t.heartbeat(client, group), 20000)
    stream.cancel()
    t.wait(1)
    t.see("after", t.heartbeat(client, group), 20000)
    t.wait(10)
    t.see("later", t.heartbeat(client, group), 20000)


@grpc_case("GrpcMessagingApplication.validateContext")
def a_client_id_is_needed(t: Grpc) -> None:
    """Heartbeat and NotifyClientTermination without a client id are CLIENT_ID_REQUIRED, before any other check."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        t.see(f"heartbeat, {what}", t.heartbeat(client, "a b"), 40017)
        t.see(f"farewell, {what}", t.leave(client, "a b"), 40017)


@grpc_case("ClientActivity.registerConsumer", settings=STRICT)
def an_unknown_group_may_have_members(t: Grpc) -> None:
    """A consumer of an unknown group is accepted even if the broker does not create groups automatically."""
    group = t.new("group")
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("heartbeat", t.heartbeat(client, group), 20000)
    t.see("members", _members(t, group))


@grpc_case("ConsumerManager.getConsumerGroupInfo")
def the_broker_shows_a_members_connection(t: Grpc) -> None:
    """The broker lists a gRPC consumer like any other, with language, version, group and subscriptions."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.consumer(group, {topic: "A || B"})
    t.see("connection", t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}), 0)


@grpc_case("ClientActivity.parseClientVersion")
def a_version_is_a_name(t: Grpc) -> None:
    """The broker lists a client's version if x-mq-client-version is a version name such as V5_3_0, in any letter case.

    For any other value it lists the proxy's own version.
    """
    topic = t.topic(kind="NORMAL")
    for version in ("V4_9_7", "v5_1_0_snapshot", "V3_0_0_ALPHA1", "HIGHER_VERSION", "5.2.0", "V6_0_0", "", None):
        group, client = t.group(), t.new("client")
        t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version=version).command()
        answer = t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        t.see(f"consumer, {version}", [each["version"] for each in answer.json["connectionSet"]])
    client = t.new("client")
    t.open(client, t.publishing(topic), x_mq_client_version="V4_0_0").command()
    answer = t.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": topic})
    t.see("producer", [each["version"] for each in answer.json["connectionSet"]])


@grpc_case("ClientActivity.parseClientVersion")
def the_first_version_of_a_client_counts(t: Grpc) -> None:
    """A client that later sends another version is listed with its first one until it terminates."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(), t.new("client")

    def shown() -> list[int]:
        answer = t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        return [each["version"] for each in answer.json["connectionSet"]]

    t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version="V4_9_7").command()
    t.see("heartbeat", t.heartbeat(client, group, x_mq_client_version="V4_9_8"), 20000)
    t.see("after a heartbeat", shown())
    t.leave(client, group)
    t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version="V4_9_8").command()
    t.see("come again", shown())


@grpc_case("ConsumerManager.getConsumerGroupInfo")
def consume_types_of_members(t: Grpc) -> None:
    """The broker lists a push consumer as passive and a simple consumer as active."""
    topic = t.topic(kind="NORMAL")
    for name, kind in (("push", pb.PUSH_CONSUMER), ("simple", pb.SIMPLE_CONSUMER)):
        group = t.group()
        t.consumer(group, {topic: "*"}, kind=kind)
        answer = t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        t.see(name, {field: answer.json[field] for field in ("consumeType", "messageModel", "consumeFromWhere")})


@grpc_case("ClientActivity.heartbeat")
def an_empty_request_of_a_consumer(t: Grpc) -> None:
    """An empty heartbeat or NotifyClientTermination of a consumer is rejected because the group is missing."""
    client = t.consumer(t.group(), {t.topic(kind="NORMAL"): "*"})
    t.see("heartbeat", t.call("Heartbeat", sv.HeartbeatRequest(), client=client), 40003)
    t.see("farewell", t.call("NotifyClientTermination", sv.NotifyClientTerminationRequest(), client=client), 40003)


def _members(t: Grpc, group: str) -> Any:
    answer = t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return answer.json["consumerIdList"] if answer.code == 0 else answer


@grpc_case("ClientActivity.registerConsumer")
def a_member_has_no_retry_topic(t: Grpc) -> None:
    """The heartbeat of a gRPC consumer creates no retry topic, unlike that of a remoting client."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"}, kind=pb.PUSH_CONSUMER)
    t.see("heartbeat", t.heartbeat(client, group, pb.PUSH_CONSUMER), 20000)
    topic = retry_topic(group)
    t.see("route", t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=t.namesrv), 17)
    t.see("configuration", t.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": topic}), 17)
