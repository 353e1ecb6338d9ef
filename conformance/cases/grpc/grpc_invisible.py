"""ChangeInvisibleDuration of the gRPC proxy."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...worlds.consumer import attempts, consuming
from ...worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc
from ...worlds.handles import forged, handle_fields

_BEYOND = 7 << 40


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_gives_a_new_handle(t: Grpc) -> None:
    """A change returns a new handle of the same message with a new pop time and the new invisible duration."""
    consumer = consuming(t, 2)
    handles = consumer.receive().handles
    answer = consumer.change(handles[1], 30)
    t.see("status", answer.status, 20000)
    before, after = handle_fields(handles[1]), handle_fields(answer.receipt_handle)
    t.see("before", {name: before[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.see("after", {name: after[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.see("popped later", int(after["popped"]) >= int(before["popped"]))


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def the_new_handle_keeps_the_place_in_the_log(t: Grpc) -> None:
    """The new handle of a change has nine fields ending with the log offset; the handle of upstream has ten."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    answer = consumer.change(handle, 30)
    t.see("fields", len(answer.receipt_handle.split(" ")))
    t.see("same place", handle_fields(answer.receipt_handle)["log"] == handle_fields(handle)["log"])
    again = consumer.change(answer.receipt_handle, 30)
    for what, changed in (("a change", answer), ("another", again)):
        t.see(f"zero after {what}", [each == "0" for each in changed.receipt_handle.split(" ")[8:]])


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_changed_message_comes_when_its_new_time_is_over(t: Grpc) -> None:
    """A message whose long invisible duration is shortened is redelivered soon after the new one."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.see("changed", consumer.change(handle, 2).status, 20000)
    watch = t.stopwatch()
    again = consumer.received_within(9, await_s=8, deadline=12)
    t.see("again", attempts(again))
    t.see("within", watch.between(2, 10.5))


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def the_new_handle_acknowledges(t: Grpc) -> None:
    """After a change the new handle acknowledges the message, and so does the old one."""
    consumer = consuming(t, 2)
    for what, message in zip(("new", "old"), (consumer.take() for _ in range(2)), strict=True):
        old = message.system_properties.receipt_handle
        new = consumer.change(old, 20).receipt_handle
        t.see(what, consumer.ack({"new": new, "old": old}[what]).status, 20000)


@grpc_case("AckMessageProcessor.processRequest")
def the_new_handle_of_a_later_message_acknowledges(t: Grpc) -> None:
    """A later message of a batch is not redelivered if it is acknowledged with the new handle of a change."""
    consumer = consuming(t, 2)
    handles = consumer.receive().handles
    t.see("first", consumer.ack(handles[0]).status, 20000)
    new = consumer.change(handles[1], 3).receipt_handle
    t.see("second", consumer.ack(new).status, 20000)
    t.see("start in the new handle", handle_fields(new)["start"])
    t.wait(4)
    again = consumer.receive_nothing()
    t.see("again", attempts(again))


@grpc_case("GrpcValidator.validateInvisibleTime")
def invisible_times_have_bounds(t: Grpc) -> None:
    """An invisible duration from 0 to 12 h is accepted; a rejected change returns no handle."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.see("-1 s", consumer.change(handle, -1), 40011)
    t.see("12 h and 1 ms", consumer.change(handle, 43200.001), 40011)
    for wish in (43200, 5, 0.001, 0, None):
        answer = consumer.change(handle, wish)
        t.see(f"{wish} s", [answer.status, handle_fields(answer.receipt_handle)["invisible"]])


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_to_nothing_gives_an_expired_handle(t: Grpc) -> None:
    """The new handle of a change to 0 has expired immediately."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    expired = consumer.change(handle, 0).receipt_handle
    t.wait(0.1)
    t.see("changed again", consumer.change(expired, 5), 40013)
    t.see("acknowledged", consumer.ack(expired).status, 40013)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def changes_that_are_taken_though_wrong(t: Grpc) -> None:
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
        "by another client": consumer.by(other).change(handle, 60),
        "for another group": consumer.among(t.group()).change(handle, 60),
        "for an unknown group": consumer.among(t.new("group")).change(handle, 60),
        "unknown broker": consumer.change(forged(handle, broker="nobody"), 60),
        "revive queue 50": consumer.change(forged(handle, revive=50), 60),
        "no message id": consumer.change(handle, 60, message_id=""),
    }
    for what, answer in taken.items():
        t.see(what, [answer.status, bool(answer.receipt_handle)])


@grpc_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_brings_an_acknowledged_message_back(t: Grpc) -> None:
    """A change after the acknowledgement redelivers the message with one more attempt."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.see("acknowledged", consumer.ack(handle).status, 20000)
    t.see("changed", consumer.change(handle, 1).status, 20000)
    t.see("again", attempts(consumer.received_at_last()))


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def an_expired_handle_cannot_be_changed(t: Grpc) -> None:
    """A change with an expired handle is INVALID_RECEIPT_HANDLE and returns no handle."""
    consumer = consuming(t, 1)
    handle = forged(consumer.handle(), popped=t.now_ms() - 100_000)
    t.see("answer", consumer.change(handle, 10), 40013)


@grpc_case("ReceiptHandle.decode")
def handles_that_are_none(t: Grpc) -> None:
    """A change with a malformed handle is INTERNAL_SERVER_ERROR."""
    consumer = consuming(t)
    for text in ("", "garbage", "1 2 3 4 5 6 7", "x 2 3 4 5 6 7 8 9"):
        t.see(repr(text), consumer.change(text, 10), 50001)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def handles_that_name_nothing(t: Grpc) -> None:
    """A change with a handle of an unknown queue, offset or topic is rejected by the broker."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, wrong in (
        ("queue 99", forged(handle, queue=99)),
        ("offset at the end", forged(handle, offset=1)),
        ("offset beyond the end", forged(handle, offset=_BEYOND)),
        ("digit of a retry topic", forged(handle, digit=1)),
    ):
        t.see(what, consumer.change(wrong, 10), 50001)
    t.see("another topic", consumer.at(t.topic(kind="NORMAL")).change(handle, 10), 50001)
    t.see("unknown topic", consumer.at(t.new()).change(handle, 10), 50001)


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_client_without_a_stream(t: Grpc) -> None:
    """A change by a client without a telemetry stream fails inside upstream's proxy."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    t.see("answer", consumer.by(t.new("client")).change(handle, 10).status)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """A change with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", consumer.at(name).change(handle, 10), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", consumer.among(name).change(handle, 10), 40003)
    t.see("names before times", consumer.among("a b").change(handle, -1), 40003)
    t.see("times before handles", consumer.change("garbage", -1), 40011)
    nothing = sv.ChangeInvisibleDurationRequest()
    t.see("nothing", t.call("ChangeInvisibleDuration", nothing, client=consumer.client), 40002)
    t.see("no client id", t.change("a b", "a b", handle, 10, client=None), 40017)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def every_change_brings_the_message_once(t: Grpc) -> None:
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
    t.see("bodies", bodies)
