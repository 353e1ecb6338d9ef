"""AckMessage of the gRPC proxy."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...clients.receipt_handles import forged
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext
from ...helpers.consumer import attempts, consuming

_BEYOND = 7 << 40


@grpc_case("AckMessageActivity.ackMessage")
def each_entry_of_an_acknowledgement_gets_a_status(t: GrpcContext) -> None:
    """Each entry of an acknowledgement gets its own status, with the message id and handle of the request."""
    consumer = consuming(t, 3)
    first, second, third = consumer.receive().handles
    t.note("one", consumer.ack_entries(("id 1", first)), pb.OK)
    t.note("two", consumer.ack_entries(("id 2", second), ("id 3", third)), pb.OK)


@grpc_case("AckMessageProcessor.processRequest")
def only_unacknowledged_messages_are_redelivered(t: GrpcContext) -> None:
    """An acknowledged message is not redelivered after its invisible duration; an unacknowledged one is."""
    consumer = consuming(t, 2)
    handles = consumer.receive(invisible_s=10).handles
    t.note("acknowledged", consumer.ack(handles[0]).status, pb.OK)
    t.wait(11)
    again = consumer.received_within(seconds=5)
    t.note("again", attempts(again))


@grpc_case("AckMessageProcessor.processRequest")
def a_receipt_handle_can_be_acknowledged_repeatedly(t: GrpcContext) -> None:
    """A handle can be acknowledged twice, also in one request, by any client, and after forwarding its message."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("first", consumer.ack(handle).status, pb.OK)
    t.note("again", consumer.ack(handle).status, pb.OK)
    t.note("twice at once", consumer.ack(handle, handle).status, pb.OK)
    other = t.consumer(t.group(), {consumer.topic: "*"})
    t.note("by another client", consumer.with_client(other).ack(handle).status, pb.OK)
    t.note("by an unknown client", consumer.with_client(t.new("client")).ack(handle).status, pb.OK)
    t.note("without an id", consumer.ack_entries(("", handle)).status, pb.OK)
    t.note("given up", consumer.forward(handle), pb.OK)
    t.note("after it was given up", consumer.ack(handle).status, pb.OK)


@grpc_case("AckMessageActivity.ackMessage")
def an_ack_accepts_handles_with_another_broker_digit_or_pop_time(t: GrpcContext) -> None:
    """A handle with another broker, digit, start, revive queue or pop time, or without the log offset, is accepted."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    later = t.now_ms() + 1000
    for what, wrong in (
        ("broker", forged(handle, broker="nobody")),
        ("digit 9", forged(handle, digit=9)),
        ("start", forged(handle, start=5)),
        ("revive queue 50", forged(handle, revive=50)),
        ("revive queue 999", forged(handle, revive=999)),
        ("pop time", forged(handle, popped=later)),
        ("no log offset", handle.rpartition(" ")[0]),
    ):
        t.note(what, [each.status for each in consumer.ack(wrong).entries])


@grpc_case("AckMessageActivity.ackMessage")
def an_ack_for_another_or_an_unknown_group_is_accepted(t: GrpcContext) -> None:
    """An acknowledgement for another group than the receiving one, or for an unknown group, is accepted."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("another group", consumer.with_group(t.group()).ack(handle).status, pb.OK)
    t.note("unknown group", consumer.with_group(t.new("group")).ack(handle).status, pb.OK)


@grpc_case("ReceiptHandle.decode")
def an_ack_with_a_malformed_handle_is_an_internal_error(t: GrpcContext) -> None:
    """An entry with a malformed handle returns INTERNAL_SERVER_ERROR with a reason."""
    consumer = consuming(t, 1)
    handle = forged(consumer.handle(), revive=0, log=0)
    for what, wrong in (
        ("empty", ""),
        ("garbage", "garbage"),
        ("7 fields", " ".join(handle.split(" ")[:7])),
        ("start", forged(handle, start="x")),
        ("pop time", forged(handle, popped="y")),
        ("queue", forged(handle, queue="1.5")),
        ("offset too large", forged(handle, offset=10**30)),
    ):
        t.note(what, consumer.ack(wrong), pb.INTERNAL_SERVER_ERROR)


@grpc_case("AckMessageProcessor.processRequest")
def an_ack_for_a_missing_queue_offset_or_topic_is_rejected(t: GrpcContext) -> None:
    """A handle that names a queue, an offset or a topic that does not exist is rejected by the broker."""
    consumer = consuming(t, 2)
    handle, second = consumer.receive().handles
    for what, wrong in (
        ("queue 99", forged(handle, queue=99)),
        ("offset beyond the end", forged(handle, offset=_BEYOND)),
        ("offset -1", forged(handle, offset=-1)),
        ("digit of a retry topic", forged(handle, digit=1)),
    ):
        t.note(what, [each.status for each in consumer.ack(wrong).entries])
    empty = consumer.with_topic(t.topic(kind="NORMAL"))
    t.note("another topic", empty.ack(handle).entries[0].status)
    t.note("another topic, which has fewer", empty.ack(second).entries[0].status)
    t.note("unknown topic", consumer.with_topic(t.new()).ack(handle).entries[0].status)


@grpc_case("ConsumerProcessor.ackMessage")
def an_ack_with_an_expired_handle_is_rejected(t: GrpcContext) -> None:
    """A handle whose invisible duration is over is rejected with INVALID_RECEIPT_HANDLE."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    past = t.now_ms() - 100_000
    t.note("time over", consumer.ack(forged(handle, popped=past)), pb.INVALID_RECEIPT_HANDLE)
    t.note("no time", consumer.ack(forged(handle, invisible=0)), pb.INVALID_RECEIPT_HANDLE)
    t.note("the true one", consumer.ack(handle).status, pb.OK)


@grpc_case("AckMessageActivity.ackMessage")
def entries_with_different_results_return_multiple_results(t: GrpcContext) -> None:
    """If entries have different results, the response is MULTIPLE_RESULTS. If all fail alike, it has their code."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    old = forged(handle, popped=t.now_ms() - 100_000)
    t.note("good and old", consumer.ack(handle, old), pb.MULTIPLE_RESULTS)
    t.note("old and old", consumer.ack(old, old).status, pb.INVALID_RECEIPT_HANDLE)
    t.note("old and garbage", consumer.ack(old, "garbage").status, pb.MULTIPLE_RESULTS)


@grpc_case("AckMessageActivity.ackMessage")
def an_ack_without_entries_is_an_internal_error(t: GrpcContext) -> None:
    """An acknowledgement without entries returns INTERNAL_SERVER_ERROR."""
    consumer = consuming(t)
    t.note("nothing", consumer.ack(), pb.INTERNAL_SERVER_ERROR)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def an_ack_with_an_illegal_topic_or_group_is_rejected(t: GrpcContext) -> None:
    """An acknowledgement with an illegal topic or group name is rejected without entries.

    The topic is checked first.
    """
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, name in BAD_TOPICS.items():
        t.note(f"topic {what}", consumer.with_topic(name).ack(handle), pb.ILLEGAL_TOPIC)
    for what, name in BAD_GROUPS.items():
        t.note(f"group {what}", consumer.with_group(name).ack(handle), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("both", consumer.with_topic("a b").with_group("a b").ack(), pb.ILLEGAL_TOPIC)
    t.note("nothing", t.call("AckMessage", sv.AckMessageRequest(), client=consumer.client), pb.ILLEGAL_TOPIC)
    t.note("no client id", t.ack("a b", "a b", client=None), pb.CLIENT_ID_REQUIRED)


@grpc_case("AckMessageActivity.ackMessage")
def a_redelivered_message_is_acknowledged_only_with_its_new_handle(t: GrpcContext) -> None:
    """A redelivered message is acknowledged with its new handle, whose digit names the retry topic.

    The old one has expired.
    """
    consumer = consuming(t, 1)
    first = consumer.take(invisible_s=10)
    t.wait(11)
    again = consumer.received_within(seconds=5)
    t.note("again", again)
    t.note("by the new handle", consumer.ack(again.handles[0]), pb.OK)
    old = consumer.ack(first.system_properties.receipt_handle)
    t.note("by the old handle", old, pb.INVALID_RECEIPT_HANDLE)
