"""QueryAssignment of the gRPC proxy."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...settings import STRICT
from ...worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc


@grpc_case("RouteActivity.queryAssignment")
def a_broker_is_assigned_as_a_whole(t: Grpc) -> None:
    """A group that consumes in any order is assigned one message queue per broker, which stands for all queues."""
    topic = t.topic(kind="NORMAL", queues=4)
    t.see("group", t.assignment(topic, t.group()), 20000)
    t.see("unknown group", _queues(t.assignment(topic, t.new("group"))))
    t.see("group that may not consume", _queues(t.assignment(topic, t.group(consumeEnable=False))))


@grpc_case("RouteActivity.queryAssignment")
def queues_are_assigned_one_by_one_for_order(t: Grpc) -> None:
    """A group that consumes in order is assigned every readable queue."""
    group = t.group(consumeMessageOrderly=True)
    t.see("4 queues", _queues(t.assignment(t.topic(kind="FIFO", queues=4), group)))
    t.see("read 2, write 4", _queues(t.assignment(t.topic(kind="FIFO", read=2, write=4), group)))
    t.see("read 4, write 2", _queues(t.assignment(t.topic(kind="FIFO", read=4, write=2), group)))


@grpc_case("RouteActivity.queryAssignment")
def permissions_of_assigned_queues(t: Grpc) -> None:
    """A read-only topic is assigned with READ permission; a topic without read permission is FORBIDDEN."""
    group = t.group()
    t.see("read only", _queues(t.assignment(t.topic(kind="NORMAL", perm=4), group)))
    t.see("write only", t.assignment(t.topic(kind="NORMAL", perm=2), group), 40300)
    t.see("neither", t.assignment(t.topic(kind="NORMAL", perm=0), group), 40300)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """An assignment with an illegal topic or group name is rejected. The topic is checked first."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", t.assignment(name, group), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", t.assignment(topic, name), 40003)
    t.see("both", t.assignment("a b", "a b"), 40002)
    t.see("nothing", t.call("QueryAssignment", sv.QueryAssignmentRequest()), 40002)


@grpc_case("Validators.checkGroup")
def long_group_names_pass(t: Grpc) -> None:
    """An assignment accepts a group name of 255 characters."""
    topic = t.topic(kind="NORMAL")
    t.see("121 characters", _queues(t.assignment(topic, "g" * 121)))
    t.see("255 characters", _queues(t.assignment(topic, "g" * 255)))


@grpc_case("RouteActivity.queryAssignment")
def an_unknown_topic_has_no_assignment(t: Grpc) -> None:
    """An assignment for an unknown topic is TOPIC_NOT_FOUND."""
    t.see("unknown", t.assignment(t.new(), t.group()), 40402)
    t.see("unknown retry topic", t.assignment(retry_topic(t.new("group")), t.group()), 40402)


@grpc_case("RouteActivity.queryAssignment", settings=STRICT)
def unknown_groups_are_assigned_where_none_are_made(t: Grpc) -> None:
    """An unknown group gets an assignment even if the broker does not create groups automatically."""
    t.see("unknown group", _queues(t.assignment(t.topic(kind="NORMAL"), t.new("group"))))


@grpc_case("RouteActivity.convertToAddressList")
def endpoints_of_the_request_need_a_scheme(t: Grpc) -> None:
    """An assignment whose endpoints have addresses but no scheme is rejected; one without endpoints is accepted."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.see("no scheme", t.assignment(topic, group, pb.Endpoints(addresses=t.endpoints().addresses)), 50001)
    request = sv.QueryAssignmentRequest(topic=pb.Resource(name=topic), group=pb.Resource(name=group))
    t.see("no endpoints", t.call("QueryAssignment", request), 20000)


@grpc_case("GrpcMessagingApplication.validateContext")
def headers_of_the_client(t: Grpc) -> None:
    """An assignment requires a client id; the language may be unknown."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.see("no client id", t.assignment(topic, group, client=None), 40017)
    t.see("blank client id, bad names", t.assignment("a b", "a b", client=" "), 40017)
    t.see("unknown language", t.assignment(topic, group, x_mq_language="KLINGON").status, 20000)


def _queues(answer: sv.QueryAssignmentResponse) -> list[str]:
    queues = [each.message_queue for each in answer.assignments]
    return [f"{queue.id} {pb.Permission.Name(queue.permission)}" for queue in queues] or [answer.status.message]
