"""ForwardMessageToDeadLetterQueue of the gRPC proxy, and messages that reach the dead letter queue automatically."""

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.receipt_handles import forged
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext
from ...helpers.consumer import GrpcConsumer, attempts, consumer_of, consuming


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_forwarded_message_is_stored_in_the_dlq_and_not_redelivered(t: GrpcContext) -> None:
    """A forwarded message is stored in its group's dead letter queue and is not redelivered."""
    consumer = _with_a_message(t)
    handle = consumer.handle(invisible_s=10)
    t.note("forwarded", consumer.forward(handle), pb.OK)
    t.note("dead letters", _dead_letters(consumer))
    t.wait(11)
    t.note("again", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_dlq_message_is_received_with_its_origin_in_properties(t: GrpcContext) -> None:
    """A dead letter is received from its topic like any message, and its properties name its origin."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    t.note("forwarded", consumer.forward(handle), pb.OK)
    t.note("received", _reader_of_dead_letters(consumer).receive(), pb.OK)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_forwarded_redelivered_message_names_the_retry_topic_as_origin(t: GrpcContext) -> None:
    """A redelivered message that is forwarded names the retry topic as its origin and counts the attempt."""
    consumer = _with_a_message(t)
    consumer.change(consumer.handle(), 1)
    again = consumer.received_at_last(seconds=12)
    t.note("again", attempts(again))
    t.note("forwarded", consumer.forward(again.handles[0], attempts=2), pb.OK)
    t.note("dead letters", _dead_letters(consumer))
    t.note("received", _reader_of_dead_letters(consumer).receive(), pb.OK)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def a_forwarded_dlq_message_goes_to_the_dlq_of_the_reading_group(t: GrpcContext) -> None:
    """A dead letter forwarded by its reader goes to the dead letter queue of the reader's group."""
    consumer = _with_a_message(t)
    t.note("forwarded", consumer.forward(consumer.handle()), pb.OK)
    reader = _reader_of_dead_letters(consumer)
    t.note("forwarded again", reader.forward(reader.handle(), attempts=2), pb.OK)
    t.note("dead letters of the reader", _dead_letters(reader))
    t.note("dead letters of the consumer", len(_dead_letters(consumer)))
    t.note("left to the reader", reader.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_failed_dlq_message_is_redelivered_under_the_dlq_topic(t: GrpcContext) -> None:
    """A dead letter that its reader fails is redelivered under the dead letter queue's name, with one more attempt."""
    consumer = _with_a_message(t)
    t.note("forwarded", consumer.forward(consumer.handle()), pb.OK)
    reader = _reader_of_dead_letters(consumer)
    t.note("failed", reader.change(reader.handle(), 1).status, pb.OK)
    t.note("again", reader.received_at_last())


@grpc_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def forwarding_in_a_group_without_retry_queues_drops_the_message(t: GrpcContext) -> None:
    """In a group without retry queues, forwarding returns OK but drops the message.

    A failed message is still redelivered.
    """
    consumer = consuming(t, 2, retryQueueNums=0)
    first, second = consumer.receive().handles
    t.note("forwarded", consumer.forward(first), pb.OK)
    t.note("failed", consumer.change(second, 1).status, pb.OK)
    t.note("again", attempts(consumer.received_at_last()))
    t.note("its dead letter queue", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": dlq_topic(consumer.group)}), 17)


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def forwarding_a_message_twice_stores_two_dlq_messages(t: GrpcContext) -> None:
    """Each forwarding of a message stores another dead letter."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for what in ("first", "second"):
        t.note(what, consumer.forward(handle), pb.OK)
    t.note("dead letters", len(_dead_letters(consumer)))


@grpc_case("ForwardMessageToDLQActivity.forwardMessageToDeadLetterQueue")
def forwarding_accepts_expired_handles_and_unknown_topics_or_groups(t: GrpcContext) -> None:
    """Forwarding accepts an expired handle, another broker's handle, an unknown topic or group, and 0 attempts."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    expired = forged(handle, popped=t.now_ms() - 100_000)
    t.note("expired handle", consumer.forward(expired), pb.OK)
    t.note("unknown broker", consumer.forward(forged(handle, broker="nobody")), pb.OK)
    t.note("unknown topic", consumer.with_topic(t.new()).forward(handle), pb.OK)
    unknown = t.new("group")
    t.note("unknown group", consumer.with_group(unknown).forward(handle), pb.OK)
    t.note("made", unknown in t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"])
    t.note("no attempts", consumer.forward(handle, attempts=0, max_attempts=0), pb.OK)
    t.note("no message id", consumer.forward(handle, message_id=""), pb.OK)


@grpc_case("ReceiptHandle.decode")
def forwarding_with_a_malformed_handle_is_rejected(t: GrpcContext) -> None:
    """A malformed handle returns INTERNAL_SERVER_ERROR, one without the log offset INVALID_RECEIPT_HANDLE."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for text in ("", "garbage"):
        t.note(repr(text), consumer.forward(text), pb.INTERNAL_SERVER_ERROR)
    t.note("8 fields", consumer.forward(handle.rpartition(" ")[0]), pb.INVALID_RECEIPT_HANDLE)
    t.note("no message there", consumer.forward(forged(handle, log=7 << 50)), pb.INTERNAL_SERVER_ERROR)
    t.note(
        "inside a message",
        consumer.forward(forged(handle, log=int(handle.split(" ")[-1]) + 4)),
        pb.INTERNAL_SERVER_ERROR,
    )


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def forwarding_without_a_telemetry_stream_fails(t: GrpcContext) -> None:
    """Forwarding by a client without a telemetry stream fails inside upstream's proxy."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    t.note("response", consumer.with_client(t.new("client")).forward(handle))


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def forwarding_with_an_illegal_topic_or_group_is_rejected(t: GrpcContext) -> None:
    """Forwarding with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = _with_a_message(t)
    handle = consumer.handle()
    for what, name in BAD_TOPICS.items():
        t.note(f"topic {what}", consumer.with_topic(name).forward(handle), pb.ILLEGAL_TOPIC)
    for what, name in BAD_GROUPS.items():
        t.note(f"group {what}", consumer.with_group(name).forward(handle), pb.ILLEGAL_CONSUMER_GROUP)
    empty = sv.ForwardMessageToDeadLetterQueueRequest()
    t.note("nothing", t.call("ForwardMessageToDeadLetterQueue", empty, client=consumer.client), pb.ILLEGAL_TOPIC)
    t.note("no client id", t.forward("a b", "a b", handle, client=None), pb.CLIENT_ID_REQUIRED)


@grpc_case("PopReviveService.reviveRetry")
def a_message_beyond_its_groups_retries_goes_to_the_dlq(t: GrpcContext) -> None:
    """A message that exceeds its group's retries is stored in the dead letter queue instead of being delivered."""
    consumer = consuming(t, 1, retryMaxTimes=1)
    for what in ("first", "second"):
        received = consumer.received_at_last(seconds=12)
        t.note(what, attempts(received))
        for handle in received.handles:
            consumer.change(handle, 1)
    t.note("third", consumer.received_within(seconds=6.2, await_s=6, deadline=12))
    t.note("dead letters", t.until(lambda: _dead_letters(consumer), 5))


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def with_retry_max_times_0_an_unacknowledged_message_goes_to_the_dlq(t: GrpcContext) -> None:
    """With retryMaxTimes=0, the next receive moves an unacknowledged message to the dead letter queue."""
    consumer = consuming(t, 1, retryMaxTimes=0)
    t.note("first", attempts(consumer.receive(invisible_s=10)))
    retry = pop_retry_topic(consumer.topic, consumer.group, v2=False)
    t.require(t.until(lambda: t.max_offset(retry), step=0.5), "the message was not redelivered")
    t.note("again", consumer.received_within(seconds=6.2, await_s=6, deadline=12))
    t.note("dead letters", t.until(lambda: _dead_letters(consumer), 5))
    t.note("received", _reader_of_dead_letters(consumer).receive(), pb.OK)


def _with_a_message(t: GrpcContext) -> GrpcConsumer:
    """Create a consumer whose topic has one message."""
    consumer = consuming(t)
    t.note("sent", t.send(consumer.message("m0", tag="A", keys=["k"], properties={"a": "1"})).status, pb.OK)
    return consumer


def _reader_of_dead_letters(consumer: GrpcConsumer) -> GrpcConsumer:
    """Create a client of a new group that reads the dead letters of the consumer's group."""
    t = consumer.t
    reader = t.group()
    return consumer_of(t, t.topic(name=dlq_topic(consumer.group), queues=1), reader)


def _dead_letters(consumer: GrpcConsumer) -> list[ReceivedMessage]:
    t = consumer.t
    return t.messages_of(dlq_topic(consumer.group), t.new("reader"))
