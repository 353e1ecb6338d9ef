"""QueryAssignment of the gRPC proxy."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext
from ...helpers.settings import NO_AUTO_CREATE


@grpc_case("RouteActivity.queryAssignment")
def an_unordered_group_is_assigned_one_queue_per_broker(t: GrpcContext) -> None:
    """A group that consumes in any order is assigned one message queue per broker, which stands for all queues."""
    topic = t.topic(kind="NORMAL", queues=4)
    t.note("group", t.assignment(topic, t.group()), pb.OK)
    t.note("unknown group", _queues(t.assignment(topic, t.new("group"))))
    t.note("group that may not consume", _queues(t.assignment(topic, t.group(consumeEnable=False))))


@grpc_case("RouteActivity.queryAssignment")
def an_ordered_group_is_assigned_every_readable_queue(t: GrpcContext) -> None:
    """A group that consumes in order is assigned every readable queue."""
    group = t.group(consumeMessageOrderly=True)
    t.note("4 queues", _queues(t.assignment(t.topic(kind="FIFO", queues=4), group)))
    t.note("read 2, write 4", _queues(t.assignment(t.topic(kind="FIFO", read=2, write=4), group)))
    t.note("read 4, write 2", _queues(t.assignment(t.topic(kind="FIFO", read=4, write=2), group)))


@grpc_case("RouteActivity.queryAssignment")
def an_assignment_of_an_unreadable_topic_is_forbidden(t: GrpcContext) -> None:
    """A read-only topic is assigned with READ permission; one without read permission returns FORBIDDEN."""
    group = t.group()
    t.note("read only", _queues(t.assignment(t.topic(kind="NORMAL", perm=4), group)))
    t.note("write only", t.assignment(t.topic(kind="NORMAL", perm=2), group), pb.FORBIDDEN)
    t.note("neither", t.assignment(t.topic(kind="NORMAL", perm=0), group), pb.FORBIDDEN)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def an_assignment_for_an_illegal_topic_or_group_is_rejected(t: GrpcContext) -> None:
    """An assignment with an illegal topic or group name is rejected. The topic is checked first."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    for what, name in BAD_TOPICS.items():
        t.note(f"topic {what}", t.assignment(name, group), pb.ILLEGAL_TOPIC)
    for what, name in BAD_GROUPS.items():
        t.note(f"group {what}", t.assignment(topic, name), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("both", t.assignment("a b", "a b"), pb.ILLEGAL_TOPIC)
    t.note("nothing", t.call("QueryAssignment", sv.QueryAssignmentRequest()), pb.ILLEGAL_TOPIC)


@grpc_case("Validators.checkGroup")
def an_assignment_accepts_group_names_of_255_characters(t: GrpcContext) -> None:
    """An assignment accepts a group name of 255 characters."""
    topic = t.topic(kind="NORMAL")
    t.note("121 characters", _queues(t.assignment(topic, "g" * 121)))
    t.note("255 characters", _queues(t.assignment(topic, "g" * 255)))


@grpc_case("RouteActivity.queryAssignment")
def an_unknown_topic_has_no_assignment(t: GrpcContext) -> None:
    """An assignment for an unknown topic returns TOPIC_NOT_FOUND."""
    t.note("unknown", t.assignment(t.new(), t.group()), pb.TOPIC_NOT_FOUND)
    t.note("unknown retry topic", t.assignment(retry_topic(t.new("group")), t.group()), pb.TOPIC_NOT_FOUND)


@grpc_case("RouteActivity.queryAssignment", settings=NO_AUTO_CREATE)
def an_unknown_group_gets_an_assignment_without_auto_creation(t: GrpcContext) -> None:
    """An unknown group gets an assignment even if the broker does not create groups automatically."""
    t.note("unknown group", _queues(t.assignment(t.topic(kind="NORMAL"), t.new("group"))))


@grpc_case("RouteActivity.convertToAddressList")
def endpoints_of_the_request_need_a_scheme(t: GrpcContext) -> None:
    """An assignment whose endpoints have addresses but no scheme is rejected; one without endpoints is accepted."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.note(
        "no scheme",
        t.assignment(topic, group, pb.Endpoints(addresses=t.endpoints().addresses)),
        pb.INTERNAL_SERVER_ERROR,
    )
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name=topic), group=pb.Resource(name=group))
    t.note("no endpoints", t.call("QueryAssignment", request), pb.OK)


@grpc_case("GrpcMessagingApplication.validateContext")
def an_assignment_requires_a_client_id_but_no_known_language(t: GrpcContext) -> None:
    """An assignment requires a client id; the language may be unknown."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.note("no client id", t.assignment(topic, group, client=None), pb.CLIENT_ID_REQUIRED)
    t.note("blank client id, bad names", t.assignment("a b", "a b", client=" "), pb.CLIENT_ID_REQUIRED)
    t.note("unknown language", t.assignment(topic, group, x_mq_language="KLINGON").status, pb.OK)


def _queues(response: sv.QueryAssignmentResponse) -> list[str]:
    queues = [each.message_queue for each in response.assignments]
    return [f"{queue.id} {pb.Permission.Name(queue.permission)}" for queue in queues] or [response.status.message]
