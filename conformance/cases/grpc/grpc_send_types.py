"""SendMessage of the gRPC proxy: message type and topic type."""

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.settings import NO_AUTO_CREATE


def _messages(t: GrpcContext, topic: str) -> dict[str, pb.Message]:
    soon = t.now_ms() + 60_000
    return {
        "plain": t.message(topic),
        "with a group": t.message(topic, message_type=pb.FIFO, message_group="g"),
        "with a delivery time": t.message(topic, message_type=pb.DELAY, deliver_ms=soon),
        "half": t.message(topic, message_type=pb.TRANSACTION),
    }


def _all_types(t: GrpcContext, kind: str) -> None:
    topic = t.topic(kind=kind)
    for what, message in _messages(t, topic).items():
        t.note(what, t.send(message).status)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_normal_topic_accepts_only_normal_messages(t: GrpcContext) -> None:
    """A NORMAL topic accepts only messages without message group and delivery time."""
    _all_types(t, "NORMAL")


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_fifo_topic_accepts_only_fifo_messages(t: GrpcContext) -> None:
    """A FIFO topic accepts only messages with a message group."""
    _all_types(t, "FIFO")


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_delay_topic_accepts_only_delay_messages(t: GrpcContext) -> None:
    """A DELAY topic accepts only messages with a delivery time."""
    _all_types(t, "DELAY")


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_transaction_topic_accepts_only_half_messages(t: GrpcContext) -> None:
    """A TRANSACTION topic accepts only half messages."""
    _all_types(t, "TRANSACTION")


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def an_unspecified_topic_accepts_no_messages(t: GrpcContext) -> None:
    """An UNSPECIFIED topic accepts no messages of gRPC clients."""
    _all_types(t, "UNSPECIFIED")


@grpc_case("TopicMessageType.parseFromMessageProperty")
def a_message_type_follows_from_the_messages_properties(t: GrpcContext) -> None:
    """A message's type follows from its properties, not from its message_type field, except for half messages."""
    normal, fifo, delay = (t.topic(kind=kind) for kind in ("NORMAL", "FIFO", "DELAY"))
    for kind in (pb.FIFO, pb.DELAY, 0, 6, 99):
        t.note(f"said to be {kind}", t.send(t.message(normal, message_type=kind)).status, pb.OK)
    t.note(
        "DELAY without a time", t.send(t.message(delay, message_type=pb.DELAY)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    )
    t.note(
        "FIFO without a group", t.send(t.message(fifo, message_type=pb.FIFO)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    )
    grouped = t.message(fifo, message_type=pb.NORMAL, message_group="g")
    t.note("NORMAL with a group", t.send(grouped).status, pb.OK)
    past = t.message(normal, deliver_ms=t.now_ms() - 5000)
    t.note("a time that is over", t.send(past), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("TopicMessageType.parseFromMessageProperty")
def a_message_with_delivery_time_and_group_is_a_delay_message(t: GrpcContext) -> None:
    """A message with both a delivery time and a message group counts as a DELAY message."""
    for kind in ("FIFO", "DELAY"):
        topic = t.topic(kind=kind)
        both = t.message(topic, message_type=pb.FIFO, message_group="g", deliver_ms=t.now_ms() + 60_000)
        t.note(kind, t.send(both).status)


@grpc_case("TopicMessageType.parseFromMessageProperty")
def a_half_message_with_delivery_time_or_group_stays_a_half_message(t: GrpcContext) -> None:
    """A half message with a delivery time or a message group counts as a half message."""
    topic = t.topic(kind="TRANSACTION")
    timed = t.message(topic, message_type=pb.TRANSACTION, deliver_ms=t.now_ms() + 60_000)
    t.note("with a delivery time", t.send(timed).status, pb.OK)
    grouped = t.message(topic, message_type=pb.TRANSACTION, message_group="g")
    t.note("with a message group", t.send(grouped).status, pb.OK)


@grpc_case("MetadataService.getTopicMessageType")
def a_changed_topic_type_takes_effect_at_once(t: GrpcContext) -> None:
    """When an administrator changes a topic's type, the next send is checked against the new type."""
    topic = t.topic(kind="NORMAL")
    t.note("before", t.send(t.message(topic)).status, pb.OK)
    t.topic(name=topic, kind="FIFO")
    t.note("normal after", t.send(t.message(topic)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
    t.note("FIFO after", t.send(t.message(topic, message_group="g", message_type=pb.FIFO)).status, pb.OK)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def dead_letter_topics_accept_any_message_type(t: GrpcContext) -> None:
    """The type of messages to dead letter queues is not checked."""
    topic = t.topic(name=dlq_topic(t.new("group")), queues=1)
    for what, message in _messages(t, topic).items():
        t.note(what, t.send(message).status)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def a_send_to_an_unknown_topic_is_rejected_as_unspecified(t: GrpcContext) -> None:
    """The rejection of a send to an unknown topic names UNSPECIFIED as the expected type."""
    topic = t.new()
    for what, message in _messages(t, topic).items():
        t.note(what, t.send(message), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("DefaultTopicMessageTypeValidator.validate", settings=NO_AUTO_CREATE)
def a_send_to_an_unknown_topic_is_rejected_without_auto_creation(t: GrpcContext) -> None:
    """A broker that does not create topics automatically returns the same rejection."""
    t.note("unknown", t.send(t.message(t.new())), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
