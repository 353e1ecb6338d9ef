"""Heartbeat and NotifyClientTermination of the gRPC proxy."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import BAD_GROUPS, GrpcContext
from ...helpers.settings import NO_AUTO_CREATE


@grpc_case("ClientActivity.heartbeat")
def heartbeat_and_termination_without_settings_are_rejected(t: GrpcContext) -> None:
    """Heartbeat and NotifyClientTermination without settings return UNRECOGNIZED_CLIENT_TYPE.

    The latter requires a language.
    """
    client, group = t.new("client"), t.group()
    t.note("heartbeat", t.heartbeat(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)
    t.note(
        "heartbeat in an unknown language", t.heartbeat(client, group, x_mq_language="XX"), pb.UNRECOGNIZED_CLIENT_TYPE
    )
    t.note("heartbeat of a bad group", t.heartbeat(client, "a b"), pb.UNRECOGNIZED_CLIENT_TYPE)
    t.note("farewell", t.leave(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)
    t.note("farewell in an unknown language", t.leave(client, group, x_mq_language="XX"), pb.INTERNAL_SERVER_ERROR)
    t.note("farewell of a bad group", t.leave(client, "a b"), pb.UNRECOGNIZED_CLIENT_TYPE)


@grpc_case("ClientActivity.heartbeat")
def a_producers_heartbeat_is_accepted_with_any_type_and_group(t: GrpcContext) -> None:
    """A producer's heartbeat is accepted with any client type and group in the request."""
    client = t.producer(t.topic(kind="NORMAL"))
    t.note("as it is", t.heartbeat(client, kind=pb.PRODUCER), pb.OK)
    t.note("as a consumer", t.heartbeat(client, "a b", kind=pb.PUSH_CONSUMER), pb.OK)
    t.note("of no type", t.heartbeat(client, "", kind=0), pb.OK)


@grpc_case("ClientActivity.heartbeat")
def a_consumers_heartbeat_requires_a_legal_group(t: GrpcContext) -> None:
    """A consumer's heartbeat is rejected if its group is missing or illegal."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.note("its group", t.heartbeat(client, group), pb.OK)
    t.note("as a producer", t.heartbeat(client, group, kind=pb.PRODUCER), pb.OK)
    t.note("no group", t.heartbeat(client), pb.ILLEGAL_CONSUMER_GROUP)
    for what, name in BAD_GROUPS.items():
        t.note(what, t.heartbeat(client, name), pb.ILLEGAL_CONSUMER_GROUP)


@grpc_case("ClientActivity.registerConsumer")
def a_heartbeat_for_another_group_makes_a_client_a_member_of_both(t: GrpcContext) -> None:
    """A consumer whose heartbeat names another group than its settings is a member of both groups."""
    group, other = t.group(), t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.note("members before", [_members(t, group), _members(t, other)])
    t.note("heartbeat", t.heartbeat(client, other), pb.OK)
    t.note("members after", [_members(t, group), _members(t, other)])


@grpc_case("ClientActivity.registerConsumer")
def a_consumer_is_a_member_of_its_group_before_any_heartbeat(t: GrpcContext) -> None:
    """A consumer is a member of its group once its settings are answered, before any heartbeat."""
    group, client = t.group(), t.new("client")
    t.open(client, t.subscription(group, {t.topic(kind="NORMAL"): "*"})).next()
    t.note("members", _members(t, group))


@grpc_case("ClientActivity.heartbeat")
def a_known_clients_heartbeat_requires_a_valid_language(t: GrpcContext) -> None:
    """Heartbeat and NotifyClientTermination of a client with settings require an x-mq-language of LanguageCode."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    producer = t.producer(t.topic(kind="NORMAL"))
    for language in (None, "XX"):
        t.note(
            f"heartbeat of a consumer, {language}",
            t.heartbeat(client, group, x_mq_language=language),
            pb.INTERNAL_SERVER_ERROR,
        )
        t.note(
            f"heartbeat of a producer, {language}",
            t.heartbeat(producer, x_mq_language=language),
            pb.INTERNAL_SERVER_ERROR,
        )
        t.note(f"farewell, {language}", t.leave(client, group, x_mq_language=language), pb.INTERNAL_SERVER_ERROR)
    t.note("heartbeat in OTHER", t.heartbeat(client, group, x_mq_language="OTHER"), pb.OK)


@grpc_case("ClientActivity.notifyClientTermination")
def a_terminated_client_loses_its_membership_and_settings(t: GrpcContext) -> None:
    """After NotifyClientTermination a client is removed from its group and has no settings any more."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.note("members before", _members(t, group))
    t.note("farewell", t.leave(client, group), pb.OK)
    t.note("members after", _members(t, group))
    t.note("heartbeat", t.heartbeat(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)
    t.note("second farewell", t.leave(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)


@grpc_case("ClientActivity.notifyClientTermination")
def a_rejected_termination_still_removes_the_client(t: GrpcContext) -> None:
    """NotifyClientTermination with an illegal group is rejected but still removes the client."""
    topic = t.topic(kind="NORMAL")
    for what, name in {"missing": None, **BAD_GROUPS}.items():
        group = t.group()
        client = t.consumer(group, {topic: "*"})
        t.note(what, t.leave(client, name), pb.ILLEGAL_CONSUMER_GROUP)
        t.note(f"{what}, heartbeat", t.heartbeat(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)
        t.note(f"{what}, members", _members(t, group))


@grpc_case("ClientActivity.notifyClientTermination")
def a_producers_termination_requires_no_group(t: GrpcContext) -> None:
    """A producer's NotifyClientTermination requires no group."""
    client = t.producer(t.topic(kind="NORMAL"))
    t.note("farewell", t.leave(client), pb.OK)
    t.note("heartbeat", t.heartbeat(client, kind=pb.PRODUCER), pb.UNRECOGNIZED_CLIENT_TYPE)


@grpc_case("ClientActivity.notifyClientTermination")
def a_termination_removes_a_client_of_two_groups_from_the_named_one(t: GrpcContext) -> None:
    """NotifyClientTermination of a client in two groups removes it from the group that the request names."""
    group, other = t.group(), t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.note("heartbeat", t.heartbeat(client, other), pb.OK)
    t.note("farewell", t.leave(client, group), pb.OK)
    t.note("members", [_members(t, group), _members(t, other)])


@grpc_case("ClientActivity.heartbeat")
def a_client_keeps_its_settings_after_its_stream_is_cancelled(t: GrpcContext) -> None:
    """A client whose telemetry stream was cancelled keeps its settings, and its heartbeats are accepted."""
    group, client = t.group(), t.new("client")
    stream = t.open(client, t.subscription(group, {t.topic(kind="NORMAL"): "*"}))
    stream.next()
    t.note("before", t.heartbeat(client, group), pb.OK)
    stream.cancel()
    t.wait(1)
    t.note("after", t.heartbeat(client, group), pb.OK)
    t.wait(10)
    t.note("later", t.heartbeat(client, group), pb.OK)


@grpc_case("GrpcMessagingApplication.validateContext")
def heartbeat_and_termination_require_a_client_id(t: GrpcContext) -> None:
    """Heartbeat and NotifyClientTermination without a client id return CLIENT_ID_REQUIRED, before any other check."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        t.note(f"heartbeat, {what}", t.heartbeat(client, "a b"), pb.CLIENT_ID_REQUIRED)
        t.note(f"farewell, {what}", t.leave(client, "a b"), pb.CLIENT_ID_REQUIRED)


@grpc_case("ClientActivity.registerConsumer", settings=NO_AUTO_CREATE)
def a_consumer_may_join_an_unknown_group_without_auto_creation(t: GrpcContext) -> None:
    """A consumer of an unknown group is accepted even if the broker does not create groups automatically."""
    group = t.new("group")
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.note("heartbeat", t.heartbeat(client, group), pb.OK)
    t.note("members", _members(t, group))


@grpc_case("ConsumerManager.getConsumerGroupInfo")
def the_broker_lists_the_connection_of_a_grpc_consumer(t: GrpcContext) -> None:
    """The broker lists a gRPC consumer like any other, with language, version, group and subscriptions."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.consumer(group, {topic: "A || B"})
    t.note("connection", t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}), 0)


@grpc_case("ClientActivity.parseClientVersion")
def the_broker_lists_a_client_version_given_as_a_version_name(t: GrpcContext) -> None:
    """The broker lists a client's version if x-mq-client-version is a version name such as V5_3_0, in any letter case.

    For any other value it lists the proxy's own version.
    """
    topic = t.topic(kind="NORMAL")
    for version in ("V4_9_7", "v5_1_0_snapshot", "V3_0_0_ALPHA1", "HIGHER_VERSION", "5.2.0", "V6_0_0", "", None):
        group, client = t.group(), t.new("client")
        t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version=version).command()
        response = t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        t.note(f"consumer, {version}", [each["version"] for each in response.json["connectionSet"]])
    client = t.new("client")
    t.open(client, t.publishing(topic), x_mq_client_version="V4_0_0").command()
    response = t.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": topic})
    t.note("producer", [each["version"] for each in response.json["connectionSet"]])


@grpc_case("ClientActivity.parseClientVersion")
def a_client_is_listed_with_its_first_version_until_termination(t: GrpcContext) -> None:
    """A client that later sends another version is listed with its first one until it terminates."""
    topic, group, client = t.topic(kind="NORMAL"), t.group(), t.new("client")

    def shown() -> list[int]:
        response = t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        return [each["version"] for each in response.json["connectionSet"]]

    t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version="V4_9_7").command()
    t.note("heartbeat", t.heartbeat(client, group, x_mq_client_version="V4_9_8"), pb.OK)
    t.note("after a heartbeat", shown())
    t.leave(client, group)
    t.open(client, t.subscription(group, {topic: "*"}), x_mq_client_version="V4_9_8").command()
    t.note("come again", shown())


@grpc_case("ConsumerManager.getConsumerGroupInfo")
def push_consumers_are_listed_as_passive_and_simple_ones_as_active(t: GrpcContext) -> None:
    """The broker lists a push consumer as passive and a simple consumer as active."""
    topic = t.topic(kind="NORMAL")
    for name, kind in (("push", pb.PUSH_CONSUMER), ("simple", pb.SIMPLE_CONSUMER)):
        group = t.group()
        t.consumer(group, {topic: "*"}, kind=kind)
        response = t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        t.note(name, {field: response.json[field] for field in ("consumeType", "messageModel", "consumeFromWhere")})


@grpc_case("ClientActivity.heartbeat")
def an_empty_heartbeat_or_termination_of_a_consumer_is_rejected(t: GrpcContext) -> None:
    """An empty heartbeat or NotifyClientTermination of a consumer is rejected because the group is missing."""
    client = t.consumer(t.group(), {t.topic(kind="NORMAL"): "*"})
    t.note("heartbeat", t.call("Heartbeat", sv.HeartbeatRequest(), client=client), pb.ILLEGAL_CONSUMER_GROUP)
    t.note(
        "farewell",
        t.call("NotifyClientTermination", sv.NotifyClientTerminationRequest(), client=client),
        pb.ILLEGAL_CONSUMER_GROUP,
    )


def _members(t: GrpcContext, group: str) -> Any:
    response = t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return response.json["consumerIdList"] if response.code == 0 else response


@grpc_case("ClientActivity.registerConsumer")
def a_grpc_heartbeat_creates_no_retry_topic(t: GrpcContext) -> None:
    """The heartbeat of a gRPC consumer creates no retry topic, unlike that of a remoting client."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"}, kind=pb.PUSH_CONSUMER)
    t.note("heartbeat", t.heartbeat(client, group, pb.PUSH_CONSUMER), pb.OK)
    topic = retry_topic(group)
    t.note("route", t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=t.namesrv), 17)
    t.note("configuration", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic}), 17)
