"""ChangeInvisibleDuration of the gRPC proxy."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...clients.receipt_handles import forged, handle_fields
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext
from ...helpers.consumer import attempts, consuming

_BEYOND = 7 << 40


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_of_the_invisible_duration_returns_a_new_handle(t: GrpcContext) -> None:
    """A change returns a new handle of the same message with a new pop time and the new invisible duration."""
    consumer = consuming(t, 2)
    handles = consumer.receive().handles
    response = consumer.change(handles[1], 30)
    t.note("status", response.status, pb.OK)
    before, after = handle_fields(handles[1]), handle_fields(response.receipt_handle)
    t.note("before", {name: before[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.note("after", {name: after[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.note("popped later", int(after["popped"]) >= int(before["popped"]))


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def the_new_handle_of_a_change_keeps_the_log_offset(t: GrpcContext) -> None:
    """The new handle of a change has nine fields ending with the log offset; the handle of upstream has ten."""
    consuming(t, 1)  # so that the log offset of the message is not 0
    consumer = consuming(t, 1)
    handle = consumer.handle()
    response = consumer.change(handle, 30)
    t.note("fields", len(response.receipt_handle.split(" ")))
    t.note("same place", handle_fields(response.receipt_handle)["log"] == handle_fields(handle)["log"])
    again = consumer.change(response.receipt_handle, 30)
    for what, changed in (("a change", response), ("another", again)):
        t.note(f"zero after {what}", [each == "0" for each in changed.receipt_handle.split(" ")[8:]])


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_message_with_a_shortened_invisible_duration_is_redelivered_early(t: GrpcContext) -> None:
    """A message whose long invisible duration is shortened is redelivered soon after the new one."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("changed", consumer.change(handle, 2).status, pb.OK)
    watch = t.stopwatch()
    again = consumer.received_within(seconds=9, await_s=8, deadline=12)
    t.note("again", attempts(again))
    t.note("within", watch.between(2, 10.5))


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def old_and_new_handle_of_a_change_acknowledge_the_message(t: GrpcContext) -> None:
    """After a change the new handle acknowledges the message, and so does the old one."""
    consumer = consuming(t, 2)
    for what, message in zip(("new", "old"), (consumer.take() for _ in range(2)), strict=True):
        old = message.system_properties.receipt_handle
        new = consumer.change(old, 20).receipt_handle
        t.note(what, consumer.ack({"new": new, "old": old}[what]).status, pb.OK)


@grpc_case("AckMessageProcessor.processRequest")
def a_later_message_of_a_batch_is_acknowledged_with_its_new_handle(t: GrpcContext) -> None:
    """A later message of a batch is not redelivered if it is acknowledged with the new handle of a change."""
    consumer = consuming(t, 2)
    handles = consumer.receive().handles
    t.note("first", consumer.ack(handles[0]).status, pb.OK)
    new = consumer.change(handles[1], 3).receipt_handle
    t.note("second", consumer.ack(new).status, pb.OK)
    t.note("start in the new handle", handle_fields(new)["start"])
    t.wait(4)
    t.note("again", attempts(consumer.received_within()))


@grpc_case("GrpcValidator.validateInvisibleTime")
def changes_accept_invisible_durations_from_0_to_12_hours(t: GrpcContext) -> None:
    """An invisible duration from 0 to 12 h is accepted; a rejected change returns no handle."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("-1 s", consumer.change(handle, -1), pb.ILLEGAL_INVISIBLE_TIME)
    t.note("12 h and 1 ms", consumer.change(handle, 43200.001), pb.ILLEGAL_INVISIBLE_TIME)
    for wish in (43200, 5, 0.001, 0, None):
        response = consumer.change(handle, wish)
        t.note(f"{wish} s", [response.status, handle_fields(response.receipt_handle)["invisible"]])


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_to_a_duration_of_0_returns_an_expired_handle(t: GrpcContext) -> None:
    """The new handle of a change to 0 has expired immediately."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    expired = consumer.change(handle, 0).receipt_handle
    t.wait(0.1)
    t.note("changed again", consumer.change(expired, 5), pb.INVALID_RECEIPT_HANDLE)
    t.note("acknowledged", consumer.ack(expired).status, pb.INVALID_RECEIPT_HANDLE)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_is_accepted_after_an_ack_or_for_another_group(t: GrpcContext) -> None:
    """A change is accepted after an acknowledgement, with an old handle, or by another client.

    Another group or broker is also accepted.
    """
    consumer = consuming(t, 1)
    handle = consumer.handle()
    consumer.ack(handle)
    other = t.consumer(t.group(), {consumer.topic: "*"})
    taken: dict[str, Any] = {
        "after the acknowledgement": consumer.change(handle, 60),
        "again": consumer.change(handle, 60),
        "by another client": consumer.with_client(other).change(handle, 60),
        "for another group": consumer.with_group(t.group()).change(handle, 60),
        "for an unknown group": consumer.with_group(t.new("group")).change(handle, 60),
        "unknown broker": consumer.change(forged(handle, broker="nobody"), 60),
        "revive queue 50": consumer.change(forged(handle, revive=50), 60),
        "no message id": consumer.change(handle, 60, message_id=""),
    }
    for what, response in taken.items():
        t.note(what, [response.status, bool(response.receipt_handle)])


@grpc_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_after_the_ack_redelivers_the_message(t: GrpcContext) -> None:
    """A change after the acknowledgement redelivers the message with one more attempt."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("acknowledged", consumer.ack(handle).status, pb.OK)
    t.note("changed", consumer.change(handle, 1).status, pb.OK)
    t.note("again", attempts(consumer.received_at_last()))


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def a_change_with_an_expired_handle_is_rejected(t: GrpcContext) -> None:
    """A change with an expired handle returns INVALID_RECEIPT_HANDLE and no handle."""
    consumer = consuming(t, 1)
    handle = forged(consumer.handle(), popped=t.now_ms() - 100_000)
    t.note("response", consumer.change(handle, 10), pb.INVALID_RECEIPT_HANDLE)


@grpc_case("ReceiptHandle.decode")
def a_change_with_a_malformed_handle_is_an_internal_error(t: GrpcContext) -> None:
    """A change with a malformed handle returns INTERNAL_SERVER_ERROR."""
    consumer = consuming(t)
    for text in ("", "garbage", "1 2 3 4 5 6 7", "x 2 3 4 5 6 7 8 9"):
        t.note(repr(text), consumer.change(text, 10), pb.INTERNAL_SERVER_ERROR)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_change_for_a_missing_queue_offset_or_topic_is_rejected(t: GrpcContext) -> None:
    """A change with a handle of an unknown queue, offset or topic is rejected by the broker."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, wrong in (
        ("queue 99", forged(handle, queue=99)),
        ("offset at the end", forged(handle, offset=1)),
        ("offset beyond the end", forged(handle, offset=_BEYOND)),
        ("digit of a retry topic", forged(handle, digit=1)),
    ):
        t.note(what, consumer.change(wrong, 10), pb.INTERNAL_SERVER_ERROR)
    t.note("another topic", consumer.with_topic(t.topic(kind="NORMAL")).change(handle, 10), pb.INTERNAL_SERVER_ERROR)
    t.note("unknown topic", consumer.with_topic(t.new()).change(handle, 10), pb.INTERNAL_SERVER_ERROR)


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_change_without_a_telemetry_stream_fails(t: GrpcContext) -> None:
    """A change by a client without a telemetry stream fails inside upstream's proxy."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.note("response", consumer.with_client(t.new("client")).change(handle, 10).status)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def a_change_with_an_illegal_topic_or_group_is_rejected(t: GrpcContext) -> None:
    """A change with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, name in BAD_TOPICS.items():
        t.note(f"topic {what}", consumer.with_topic(name).change(handle, 10), pb.ILLEGAL_TOPIC)
    for what, name in BAD_GROUPS.items():
        t.note(f"group {what}", consumer.with_group(name).change(handle, 10), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("names before times", consumer.with_group("a b").change(handle, -1), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("times before handles", consumer.change("garbage", -1), pb.ILLEGAL_INVISIBLE_TIME)
    nothing = sv.ChangeInvisibleDurationRequest()
    t.note("nothing", t.call("ChangeInvisibleDuration", nothing, client=consumer.client), pb.ILLEGAL_TOPIC)
    t.note("no client id", t.change("a b", "a b", handle, 10, client=None), pb.CLIENT_ID_REQUIRED)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def every_change_with_the_first_handle_causes_a_redelivery(t: GrpcContext) -> None:
    """Each change of a message with its first handle causes a redelivery of its own."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for _ in range(2):
        consumer.change(handle, 1)
        t.wait(0.1)  # two changes in one millisecond would share a check point
    t.wait(6)
    bodies: list[bytes] = []
    for _ in range(2):
        pending = consumer.start_receive()
        t.wait(0.5)
        if len(bodies) < 2:
            bodies += pending().bodies
    t.note("bodies", bodies)
