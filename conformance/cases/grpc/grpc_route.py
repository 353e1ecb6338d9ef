"""QueryRoute of the gRPC proxy."""

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import BAD_TOPICS, GrpcContext
from ...helpers.consumer import consumer_of
from ...helpers.settings import NO_AUTO_CREATE

_CACHED_SECONDS = 40
"""Seconds, more than the 20 s after which upstream's proxy refreshes a cached route."""


@grpc_case("RouteActivity.queryRoute")
def a_route_has_every_queue_of_a_topic(t: GrpcContext) -> None:
    """A route has each queue with its permission, message type and broker address."""
    t.note("route", t.route(t.topic(kind="NORMAL", queues=2)), pb.OK)


@grpc_case("RouteActivity.genMessageQueueFromQueueData")
def queues_accept_the_message_type_of_their_topic(t: GrpcContext) -> None:
    """Queues accept the message type of their topic, which is NORMAL by default."""
    for kind in (None, "NORMAL", "FIFO", "DELAY", "TRANSACTION", "UNSPECIFIED"):
        response = t.route(t.topic(kind=kind, queues=1))
        t.note(str(kind), [list(queue.accept_message_types) for queue in response.message_queues])


@grpc_case("RouteActivity.genMessageQueueFromQueueData")
def queues_have_the_permission_of_their_topic(t: GrpcContext) -> None:
    """Queues have the permission of their topic: read, write, both or neither."""
    for perm in (6, 4, 2, 1, 0):
        response = t.note(f"perm {perm}", t.route(t.topic(kind="NORMAL", perm=perm, queues=2)).status)
        t.require(response is not None, "no status")
        t.note(f"queues of perm {perm}", _queues(t, t.route(t.topic(kind="NORMAL", perm=perm, queues=2))))


@grpc_case("RouteActivity.genMessageQueueFromQueueData")
def a_route_lists_read_only_or_write_only_queues_first(t: GrpcContext) -> None:
    """If the numbers of read and write queues differ, the one-way queues come before the two-way ones."""
    t.note("read 4, write 2", _queues(t, t.route(t.topic(kind="NORMAL", read=4, write=2))))
    t.note("read 2, write 4", _queues(t, t.route(t.topic(kind="NORMAL", read=2, write=4))))


@grpc_case("RouteInfoManager.registerBroker")
def a_topic_deleted_at_its_broker_keeps_its_route(t: GrpcContext) -> None:
    """A topic deleted only on its broker keeps its route, but its queues accept no message type."""
    topic = t.topic(kind="NORMAL", queues=2)
    t.require(t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}).code == 0, "the topic was not deleted")
    t.note("route", t.route(topic), pb.OK)
    t.note("sent", t.send(t.message(topic)))


@grpc_case("GrpcValidator.validateTopic")
def a_route_for_an_illegal_topic_name_is_rejected(t: GrpcContext) -> None:
    """A route for an illegal topic name returns ILLEGAL_TOPIC with a reason for each name."""
    for what, name in BAD_TOPICS.items():
        t.note(what, t.route(name), pb.ILLEGAL_TOPIC)
    t.note("no topic at all", t.call("QueryRoute", sv.QueryRouteRequest()), pb.ILLEGAL_TOPIC)
    t.note("not ASCII", t.route("caf\u00e9"), pb.ILLEGAL_TOPIC)


@grpc_case("GrpcValidator.validateTopic")
def a_route_for_a_system_topic_is_rejected(t: GrpcContext) -> None:
    """A route for a system topic returns ILLEGAL_TOPIC, including the names of the broker and its cluster."""
    for name in (
        names.HALF_TOPIC,
        names.SCHEDULE_TOPIC,
        "rmq_sys_anything",
        names.TIMER_TOPIC,
        names.BENCHMARK_TOPIC,
        names.OFFSET_MOVED_TOPIC,
        names.SELF_TEST_TOPIC,
        t.cluster,
        t.broker_name,
        names.reply_topic(t.cluster),
    ):
        t.note(name, t.route(name), pb.ILLEGAL_TOPIC)


@grpc_case("RouteActivity.queryRoute")
def an_unknown_topic_has_no_route(t: GrpcContext) -> None:
    """A route for an unknown topic returns TOPIC_NOT_FOUND, and the topic is not created."""
    topic = t.new()
    t.note("first", t.route(topic), pb.TOPIC_NOT_FOUND)
    t.note("again", t.route(topic), pb.TOPIC_NOT_FOUND)


@grpc_case("RouteActivity.queryRoute")
def topic_names_of_127_characters_are_accepted_in_a_route_request(t: GrpcContext) -> None:
    """A topic name of 127 characters or with %, | or _ is looked up like any other."""
    longest = t.new("longest")
    t.note("127 characters", t.route(longest + "x" * (127 - len(longest))).status.code)
    t.note("a bar", t.route(f"a|b_{t.new('x')}"), pb.TOPIC_NOT_FOUND)
    t.note("the proxy's own", t.route("DefaultHeartBeatSyncerTopic").status.code)
    for prefix in (names.RETRY_PREFIX, names.DLQ_PREFIX, "%LMQ%"):
        t.note(prefix, t.route(prefix + t.new("group")), pb.TOPIC_NOT_FOUND)


@grpc_case("LocalTopicRouteService.getCurrentMessageQueueView")
def a_topic_created_after_a_rejected_route_request_has_a_route(t: GrpcContext) -> None:
    """A route is found once its topic is created; upstream's proxy caches the rejection for 20 s."""
    topic = t.new()
    t.note("before", t.route(topic), pb.TOPIC_NOT_FOUND)
    t.topic(name=topic, kind="NORMAL", queues=1)
    t.note("at once", t.route(topic).status.code)
    t.note("sent at once", t.send(t.message(topic)).status.code)


@grpc_case("TopicRouteService.getAllMessageQueueView")
def a_topic_with_a_rejected_route_is_usable_once_created(t: GrpcContext) -> None:
    """A topic whose route was rejected can be sent to and received from once it is created, and finally has a route."""
    topic = t.new()
    t.note("before", t.route(topic), pb.TOPIC_NOT_FOUND)
    consumer = consumer_of(t, t.topic(name=topic, kind="NORMAL", queues=1), t.group())
    t.note("sent", t.send(consumer.message()).status, pb.OK)
    t.note("received", consumer.receive().bodies)
    t.note("route in the end", t.until(lambda: t.route(topic).status.code == pb.OK, _CACHED_SECONDS))


@grpc_case("TopicRouteService.getAllMessageQueueView")
def a_deleted_topic_loses_its_route_in_the_end(t: GrpcContext) -> None:
    """The route of a deleted topic is rejected like that of an unknown one within half a minute."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.note("before", t.route(topic).status, pb.OK)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    t.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, to=t.namesrv)
    t.until(lambda: t.route(topic).status.code != pb.OK, _CACHED_SECONDS)
    t.note("after", t.route(topic), pb.TOPIC_NOT_FOUND)


@grpc_case("TopicRouteService.getAllMessageQueueView")
def a_deleted_topic_has_no_route(t: GrpcContext) -> None:
    """A deleted topic has no route; upstream's proxy returns the cached one for a while."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.note("before", t.route(topic).status.code)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    t.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, to=t.namesrv)
    t.note("after", t.route(topic).status.code)
    t.note("sent", t.send(t.message(topic)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("RouteActivity.queryRoute")
def a_dead_letter_topic_has_a_route(t: GrpcContext) -> None:
    """The dead letter queue of a group has a route once it exists."""
    group = t.group()
    t.note("route", _queues(t, t.route(t.topic(name=names.dlq_topic(group), queues=1))))


@grpc_case("RouteActivity.queryRoute")
def a_route_returns_the_namespace_of_its_request(t: GrpcContext) -> None:
    """The namespace of a route request is ignored in the lookup and returned with each queue."""
    topic = t.topic(kind="NORMAL", queues=2)
    request = sv.QueryRouteRequest(topic=pb.Resource(name=topic, resource_namespace="ns"), endpoints=t.endpoints())
    t.note("route", t.call("QueryRoute", request), pb.OK)


@grpc_case("RouteActivity.convertToAddressList")
def endpoints_of_the_request_need_a_scheme(t: GrpcContext) -> None:
    """A route request with addresses but no scheme is rejected. Otherwise the response has the proxy's own address."""
    topic = t.topic(kind="NORMAL", queues=1)
    addresses = list(t.endpoints().addresses)
    t.note("no scheme", t.route(topic, pb.Endpoints(addresses=addresses)), pb.INTERNAL_SERVER_ERROR)
    t.note("host names", t.route(topic, pb.Endpoints(scheme=pb.DOMAIN_NAME, addresses=addresses)), pb.OK)
    t.note("no endpoints", t.call("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name=topic))), pb.OK)


@grpc_case("GrpcMessagingApplication.validateContext")
def a_route_request_requires_only_a_client_id_header(t: GrpcContext) -> None:
    """A route requires a client id, but neither a language nor a version nor a deadline."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.note("no client id", t.route(topic, client=None), pb.CLIENT_ID_REQUIRED)
    t.note("empty client id", t.route(topic, client=""), pb.CLIENT_ID_REQUIRED)
    t.note("blank client id, bad topic", t.route("a b", client=" "), pb.CLIENT_ID_REQUIRED)
    t.note("no language", t.route(topic, x_mq_language=None).status, pb.OK)
    t.note("unknown language", t.route(topic, x_mq_language="KLINGON").status, pb.OK)
    t.note("no version", t.route(topic, x_mq_client_version=None).status, pb.OK)
    t.note("no deadline", t.route(topic, deadline=None).status, pb.OK)


@grpc_case("RouteActivity.queryRoute", settings=NO_AUTO_CREATE)
def an_unknown_topic_has_no_route_without_auto_creation(t: GrpcContext) -> None:
    """A broker that does not create topics automatically rejects a route for an unknown topic in the same way."""
    t.note("unknown", t.route(t.new()), pb.TOPIC_NOT_FOUND)
    t.note("known", _queues(t, t.route(t.topic(queues=1))))


def _queues(t: GrpcContext, response: sv.QueryRouteResponse) -> list[str]:
    t.require(response.status.code == pb.OK, f"no route: {response}")
    return [f"{queue.id} {pb.Permission.Name(queue.permission)}" for queue in response.message_queues]
