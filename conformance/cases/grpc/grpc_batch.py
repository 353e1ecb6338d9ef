"""SendMessage with several messages through the gRPC proxy."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, consuming


@grpc_case("SendMessageActivity.convertToSendMessageResponse")
def a_batch_response_has_one_entry(t: GrpcContext) -> None:
    """The response to a batch has one entry.

    Its message id is broker-generated, its transaction id is the first message's id.
    """
    topic = t.topic(kind="NORMAL", queues=1)
    t.note("first", t.send(t.message(topic), t.message(topic)), pb.OK)
    t.note("second", t.send(t.message(topic), t.message(topic)), pb.OK)
    t.note("a hundred", t.send(*[t.message(topic) for _ in range(100)]).entries[0].offset)


@grpc_case("SendMessageActivity.buildMessage")
def messages_of_a_batch_get_the_id_and_properties_of_the_first(t: GrpcContext) -> None:
    """All messages of a batch are stored with the first one's id, and with its user properties added to their own."""
    consumer = consuming(t)
    first = consumer.message("one", properties={"a": "1", "both": "first"}, tag="A", keys=["k1"])
    second = consumer.message("two", properties={"b": "2", "both": "second"}, tag="B", keys=["k2"])
    t.note("sent", t.send(first, second, consumer.message("three")), pb.OK)
    t.note("received", consumer.receive(), pb.OK)


@grpc_case("SendMessageActivity.buildMessage")
def a_batch_with_two_topics_or_namespaces_is_rejected(t: GrpcContext) -> None:
    """A batch with messages of two topics or two namespaces returns MESSAGE_CORRUPTED."""
    topic, other = t.topic(kind="NORMAL"), t.topic(kind="NORMAL")
    t.note("two topics", t.send(t.message(topic), t.message(other)), pb.MESSAGE_CORRUPTED)
    elsewhere = t.message(topic)
    elsewhere.topic.resource_namespace = "ns"
    t.note("two namespaces", t.send(t.message(topic), elsewhere), pb.MESSAGE_CORRUPTED)
    t.note("a bad second topic", t.send(t.message(topic), t.message("a b")), pb.MESSAGE_CORRUPTED)


@grpc_case("SendMessageActivity.buildMessage")
def the_first_invalid_message_of_a_batch_determines_the_error(t: GrpcContext) -> None:
    """The first invalid message of a batch determines the error, and no message of the batch is stored."""
    topic, other = t.topic(kind="NORMAL", queues=1), t.topic(kind="NORMAL")
    t.note("empty, then other topic", t.send(t.message(topic, b""), t.message(other)), pb.MESSAGE_BODY_EMPTY)
    t.note(
        "other topic, then empty",
        t.send(t.message(topic), t.message(other), t.message(topic, b"")),
        pb.MESSAGE_CORRUPTED,
    )
    t.note("second has a bad tag", t.send(t.message(topic), t.message(topic, tag="|")), pb.ILLEGAL_MESSAGE_TAG)
    t.note("second has no id", t.send(t.message(topic), t.message(topic, message_id="")), pb.ILLEGAL_MESSAGE_ID)
    t.note("stored", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)


@grpc_case("SendMessageActivity.sendMessage")
def only_the_type_of_a_batchs_first_message_is_checked(t: GrpcContext) -> None:
    """Only the type of a batch's first message is compared with the topic's type."""
    topic = t.topic(kind="NORMAL")
    ordered = t.message(topic, message_group="g", message_type=pb.FIFO)
    t.note("normal, then FIFO", t.send(t.message(topic), ordered).status, pb.OK)
    t.note("FIFO, then normal", t.send(ordered, t.message(topic)), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("SendMessageActivity.buildMessage")
def fifo_and_delay_messages_can_be_batched_but_not_half_messages(t: GrpcContext) -> None:
    """FIFO and delay messages can be sent as a batch; half messages cannot."""
    fifo, timed, half = t.topic(kind="FIFO"), t.topic(kind="DELAY"), t.topic(kind="TRANSACTION")
    for what, groups in (("one message group", ("g", "g")), ("two message groups", ("g", "h"))):
        t.note(what, t.send(*[t.message(fifo, message_group=each, message_type=pb.FIFO) for each in groups]).status)
    at = t.now_ms() + 60_000
    response = t.send(*[t.message(timed, deliver_ms=at, message_type=pb.DELAY) for _ in range(2)])
    t.note("timed", [response.status, len(response.entries), any(each.recall_handle for each in response.entries)])
    t.note(
        "half messages",
        t.send(*[t.message(half, message_type=pb.TRANSACTION) for _ in range(2)]),
        pb.INTERNAL_SERVER_ERROR,
    )


@grpc_case("MessageExtEncoder.encode")
def a_batch_of_more_than_4_mib_is_rejected(t: GrpcContext) -> None:
    """A batch of more than 4 MiB in total is rejected, even if each message is smaller."""
    topic = t.topic(kind="NORMAL")
    t.note("3 of 2 MB", t.send(*[t.message(topic, bytes(2_000_000)) for _ in range(3)]), pb.INTERNAL_SERVER_ERROR)


@grpc_case("PopMessageProcessor.processRequest")
def messages_of_a_batch_are_received_by_tag(t: GrpcContext) -> None:
    """A message of a batch keeps its own tag and is received by it."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "B"})
    t.note("sent", t.send(t.message(topic, "one", tag="A"), t.message(topic, "two", tag="B")).status, pb.OK)
    received = GrpcConsumer(t, topic, group, client).received_within(expression="B")
    t.note("received", [[message.body, message.system_properties.tag] for message in received.messages])


@grpc_case("HookUtils.handleScheduleMessage")
def a_delivery_time_of_the_first_message_delays_the_whole_batch(t: GrpcContext) -> None:
    """If the first message of a batch has a delivery time, all messages are delivered at that time."""
    consumer = consuming(t, kind="DELAY")
    at = t.now_ms() + 2000
    first = consumer.message("one", deliver_ms=at, message_type=pb.DELAY)
    t.note("sent", t.send(first, consumer.message("two")).status, pb.OK)
    t.note("stored at once", t.request(RequestCode.GET_MAX_OFFSET, {"topic": consumer.topic, "queueId": 0}), 0)
    t.wait(4)
    t.note("stored later", t.request(RequestCode.GET_MAX_OFFSET, {"topic": consumer.topic, "queueId": 0}), 0)
    received: list[tuple[bytes, str]] = []
    for _ in range(2):
        if len(received) < 2:
            response = consumer.receive()
            received += [
                (each.body, pb.MessageType.Name(each.system_properties.message_type)) for each in response.messages
            ]
    t.note("received, in any order", sorted(received))


@grpc_case("HookUtils.handleScheduleMessage")
def a_delivery_time_of_a_later_batch_message_has_no_effect(t: GrpcContext) -> None:
    """A delivery time of another than the first message of a batch is stored but has no effect."""
    consumer = consuming(t)
    second = consumer.message("two", deliver_ms=t.now_ms() + 60_000, message_type=pb.DELAY)
    t.note("sent", t.send(consumer.message("one"), second), pb.OK)
    received = consumer.receive()
    t.note("received", received, pb.OK)
