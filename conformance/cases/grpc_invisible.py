"""ChangeInvisibleDuration of the gRPC proxy."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ..case import grpc_case
from ..worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc
from ..worlds.grpc_answer import forged, handle_fields

_BEYOND = 7 << 40


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_gives_a_new_handle(t: Grpc) -> None:
    """A change answers a handle of the same message with a new pop time and the new invisible time."""
    topic, group, client = _ready(t, 2)
    handles = t.receive(topic, group, client=client, await_s=5, deadline=10).handles
    answer = t.change(topic, group, handles[1], 30, client=client)
    t.see("status", answer.status, 20000)
    before, after = handle_fields(handles[1]), handle_fields(answer.receipt_handle)
    t.see("before", {name: before[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.see("after", {name: after[name] for name in ("invisible", "digit", "broker", "queue", "offset")})
    t.see("popped later", int(after["popped"]) >= int(before["popped"]))


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def the_new_handle_keeps_the_place_in_the_log(t: Grpc) -> None:
    """The handle of a change has nine fields, the last of which is where the message is stored; upstream's has ten."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    answer = t.change(topic, group, handle, 30, client=client)
    t.see("fields", len(answer.receipt_handle.split(" ")))
    t.see("same place", handle_fields(answer.receipt_handle)["log"] == handle_fields(handle)["log"])


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def a_changed_message_comes_when_its_new_time_is_over(t: Grpc) -> None:
    """A message that was hidden for long comes back soon after its time was made short."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    t.see("changed", t.change(topic, group, handle, 2, client=client).status, 20000)
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, await_s=8, deadline=12)
    t.wait(9)
    again = pending()
    t.see("again", [[each.body, each.system_properties.delivery_attempt] for each in again.messages])
    t.see("within", watch.between(2, 10.5))


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def the_new_handle_acknowledges(t: Grpc) -> None:
    """The handle of a change acknowledges the message, and the older one does as well."""
    topic, group, client = _ready(t, 2)
    for what, message in zip(("new", "old"), (t.take(topic, group, client=client) for _ in range(2)), strict=True):
        old = message.system_properties.receipt_handle
        new = t.change(topic, group, old, 20, client=client).receipt_handle
        t.see(what, t.ack(topic, group, ("id", {"new": new, "old": old}[what]), client=client).status, 20000)


@grpc_case("AckMessageProcessor.processRequest")
def the_new_handle_of_a_later_message_acknowledges(t: Grpc) -> None:
    """A message that was not the first of its batch stays away when it is acknowledged by the handle of its change."""
    topic, group, client = _ready(t, 2)
    handles = t.receive(topic, group, client=client, await_s=5, deadline=10).handles
    t.see("first", t.ack(topic, group, ("id", handles[0]), client=client).status, 20000)
    new = t.change(topic, group, handles[1], 3, client=client).receipt_handle
    t.see("second", t.ack(topic, group, ("id", new), client=client).status, 20000)
    t.see("start in the new handle", handle_fields(new)["start"])
    t.wait(4)
    again = t.receive_nothing(topic, group, client=client)
    t.see("again", [[each.body, each.system_properties.delivery_attempt] for each in again.messages])


@grpc_case("GrpcValidator.validateInvisibleTime")
def invisible_times_have_bounds(t: Grpc) -> None:
    """A message may be hidden from nothing to 12 h; a refused change answers no handle."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    t.see("-1 s", t.change(topic, group, handle, -1, client=client), 40011)
    t.see("12 h and 1 ms", t.change(topic, group, handle, 43200.001, client=client), 40011)
    for wish in (43200, 5, 0.001, 0, None):
        answer = t.change(topic, group, handle, wish, client=client)
        t.see(f"{wish} s", [answer.status, handle_fields(answer.receipt_handle)["invisible"]])


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_to_nothing_gives_an_expired_handle(t: Grpc) -> None:
    """The handle of a change to no time at all is expired as soon as it is there."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    expired = t.change(topic, group, handle, 0, client=client).receipt_handle
    t.wait(0.1)
    t.see("changed again", t.change(topic, group, expired, 5, client=client), 40013)
    t.see("acknowledged", t.ack(topic, group, ("id", expired), client=client).status, 40013)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def changes_that_are_taken_though_wrong(t: Grpc) -> None:
    """A change after the acknowledgement, by an old handle, another client, for another group or broker is taken."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    t.ack(topic, group, ("id", handle), client=client)
    other = t.consumer(t.group(), {topic: "*"})
    taken: dict[str, Any] = {
        "after the acknowledgement": t.change(topic, group, handle, 60, client=client),
        "again": t.change(topic, group, handle, 60, client=client),
        "by another client": t.change(topic, group, handle, 60, client=other),
        "for another group": t.change(topic, t.group(), handle, 60, client=client),
        "for an unknown group": t.change(topic, t.new("group"), handle, 60, client=client),
        "unknown broker": t.change(topic, group, forged(handle, broker="nobody"), 60, client=client),
        "revive queue 50": t.change(topic, group, forged(handle, revive=50), 60, client=client),
        "no message id": t.change(topic, group, handle, 60, message_id="", client=client),
    }
    for what, answer in taken.items():
        t.see(what, [answer.status, bool(answer.receipt_handle)])


@grpc_case("ConsumerProcessor.changeInvisibleTime")
def an_expired_handle_cannot_be_changed(t: Grpc) -> None:
    """A handle whose time is over is INVALID_RECEIPT_HANDLE, and no handle is answered."""
    topic, group, client = _ready(t)
    handle = forged(_handle(t, topic, group, client), popped=t.now_ms() - 100_000)
    t.see("answer", t.change(topic, group, handle, 10, client=client), 40013)


@grpc_case("ReceiptHandle.decode")
def handles_that_are_none(t: Grpc) -> None:
    """A text that is no handle is INTERNAL_SERVER_ERROR."""
    topic, group, client = _ready(t, 0)
    for text in ("", "garbage", "1 2 3 4 5 6 7", "x 2 3 4 5 6 7 8 9"):
        t.see(repr(text), t.change(topic, group, text, 10, client=client), 50001)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def handles_that_name_nothing(t: Grpc) -> None:
    """A handle of a queue, an offset or a topic that does not exist is refused by the broker."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    for what, wrong in (
        ("queue 99", forged(handle, queue=99)),
        ("offset at the end", forged(handle, offset=1)),
        ("offset beyond the end", forged(handle, offset=_BEYOND)),
        ("digit of a retry topic", forged(handle, digit=1)),
    ):
        t.see(what, t.change(topic, group, wrong, 10, client=client), 50001)
    t.see("another topic", t.change(t.topic(kind="NORMAL"), group, handle, 10, client=client), 50001)
    t.see("unknown topic", t.change(t.new(), group, handle, 10, client=client), 50001)


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_client_without_a_stream(t: Grpc) -> None:
    """A change by a client that has no telemetry stream: the real proxy fails."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    t.see("answer", t.change(topic, group, handle, 10, client=t.new("client")).status)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """Names that no topic or group may have are refused, the topic's first."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", t.change(name, group, handle, 10, client=client), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", t.change(topic, name, handle, 10, client=client), 40003)
    t.see("names before times", t.change(topic, "a b", handle, -1, client=client), 40003)
    t.see("times before handles", t.change(topic, group, "garbage", -1, client=client), 40011)
    t.see("nothing", t.call("ChangeInvisibleDuration", sv.ChangeInvisibleDurationRequest(), client=client), 40002)
    t.see("no client id", t.change("a b", "a b", handle, 10, client=None), 40017)


@grpc_case("ChangeInvisibleTimeProcessor.processRequest")
def every_change_brings_the_message_once(t: Grpc) -> None:
    """Each change of a message by its first handle makes a redelivery of its own."""
    topic, group, client = _ready(t)
    handle = _handle(t, topic, group, client)
    for _ in range(2):
        t.change(topic, group, handle, 1, client=client)
    t.wait(6)
    bodies: list[bytes] = []
    for _ in range(2):
        pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
        t.wait(0.5)
        if len(bodies) < 2:
            bodies += pending().bodies
    t.see("bodies", bodies)


def _ready(t: Grpc, count: int = 1) -> tuple[str, str, str]:
    """Topic with so many messages, group, and a consumer."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"}, kind=pb.SIMPLE_CONSUMER)
    t.sent(topic, count)
    return topic, group, client


def _handle(t: Grpc, topic: str, group: str, client: str) -> str:
    return t.take(topic, group, client=client).system_properties.receipt_handle
