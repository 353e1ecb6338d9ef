"""AckMessage of the gRPC proxy."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ..case import grpc_case
from ..worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc
from ..worlds.grpc_answer import forged

_BEYOND = 7 << 40


@grpc_case("AckMessageActivity.ackMessage")
def messages_are_acknowledged(t: Grpc) -> None:
    """Each entry of an acknowledgement has a status of its own, with the id and the handle as they were sent."""
    topic, group, client = _ready(t, 3)
    first, second, third = t.receive(topic, group, client=client, await_s=5, deadline=10).handles
    t.see("one", t.ack(topic, group, ("id 1", first), client=client), 20000)
    t.see("two", t.ack(topic, group, ("id 2", second), ("id 3", third), client=client), 20000)


@grpc_case("AckMessageProcessor.processRequest")
def an_acknowledged_message_stays_away(t: Grpc) -> None:
    """A message that is acknowledged does not come back when its time is over, one that is not does."""
    topic, group, client = _ready(t, 2)
    handles = t.receive(topic, group, client=client, invisible_s=10, await_s=5, deadline=10).handles
    t.see("acknowledged", t.ack(topic, group, ("id", handles[0]), client=client).status, 20000)
    t.wait(11)
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(5)
    again = pending()
    t.see("again", [[each.body, each.system_properties.delivery_attempt] for each in again.messages])


@grpc_case("AckMessageProcessor.processRequest")
def acknowledging_again_is_fine(t: Grpc) -> None:
    """A handle may be acknowledged again, twice in one request, and by any client that has an id."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    t.see("first", t.ack(topic, group, ("id", handle), client=client).status, 20000)
    t.see("again", t.ack(topic, group, ("id", handle), client=client).status, 20000)
    t.see("twice at once", t.ack(topic, group, ("id", handle), ("id", handle), client=client).status, 20000)
    other = t.consumer(t.group(), {topic: "*"})
    t.see("by another client", t.ack(topic, group, ("id", handle), client=other).status, 20000)
    t.see("by an unknown client", t.ack(topic, group, ("id", handle), client=t.new("client")).status, 20000)
    t.see("without an id", t.ack(topic, group, ("", handle), client=client).status, 20000)


@grpc_case("AckMessageActivity.ackMessage")
def handles_that_are_taken_though_wrong(t: Grpc) -> None:
    """Handles with another broker, digit, start, revive queue or pop time are taken, and so is a shorter one."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
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
        t.see(what, [each.status for each in t.ack(topic, group, ("id", wrong), client=client).entries])


@grpc_case("AckMessageActivity.ackMessage")
def groups_that_do_not_fit(t: Grpc) -> None:
    """An acknowledgement for another group than the one that received, or an unknown one, is taken."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    t.see("another group", t.ack(topic, t.group(), ("id", handle), client=client).status, 20000)
    t.see("unknown group", t.ack(topic, t.new("group"), ("id", handle), client=client).status, 20000)


@grpc_case("ReceiptHandle.decode")
def handles_that_are_none(t: Grpc) -> None:
    """A text that is no handle is INTERNAL_SERVER_ERROR for its entry, with what is wrong about it."""
    topic, group, client = _ready(t)
    handle = forged(t.take(topic, group, client=client).system_properties.receipt_handle, revive=0, log=0)
    for what, wrong in (
        ("empty", ""),
        ("garbage", "garbage"),
        ("7 fields", " ".join(handle.split(" ")[:7])),
        ("start", forged(handle, start="x")),
        ("pop time", forged(handle, popped="y")),
        ("queue", forged(handle, queue="1.5")),
        ("offset too large", forged(handle, offset=10**30)),
    ):
        t.see(what, t.ack(topic, group, ("id", wrong), client=client), 50001)


@grpc_case("AckMessageProcessor.processRequest")
def handles_that_name_nothing(t: Grpc) -> None:
    """A handle of a queue, an offset or a topic that does not exist is refused by the broker."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    for what, wrong in (
        ("queue 99", forged(handle, queue=99)),
        ("offset beyond the end", forged(handle, offset=_BEYOND)),
        ("offset -1", forged(handle, offset=-1)),
        ("digit of a retry topic", forged(handle, digit=1)),
    ):
        t.see(what, [each.status for each in t.ack(topic, group, ("id", wrong), client=client).entries])
    t.see("another topic", t.ack(t.topic(kind="NORMAL"), group, ("id", handle), client=client).entries[0].status)
    t.see("unknown topic", t.ack(t.new(), group, ("id", handle), client=client).entries[0].status)


@grpc_case("ConsumerProcessor.ackMessage")
def a_handle_expires(t: Grpc) -> None:
    """A handle whose invisible time is over is INVALID_RECEIPT_HANDLE."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    past = t.now_ms() - 100_000
    t.see("time over", t.ack(topic, group, ("id", forged(handle, popped=past)), client=client), 40013)
    t.see("no time", t.ack(topic, group, ("id", forged(handle, invisible=0)), client=client), 40013)
    t.see("the true one", t.ack(topic, group, ("id", handle), client=client).status, 20000)


@grpc_case("AckMessageActivity.ackMessage")
def entries_have_different_results(t: Grpc) -> None:
    """Where entries differ the whole has MULTIPLE_RESULTS, where all fail alike it has their code."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    old = forged(handle, popped=t.now_ms() - 100_000)
    t.see("good and old", t.ack(topic, group, ("id", handle), ("id", old), client=client), 30000)
    t.see("old and old", t.ack(topic, group, ("id", old), ("id", old), client=client).status, 40013)
    t.see("old and garbage", t.ack(topic, group, ("id", old), ("id", "garbage"), client=client).status, 30000)


@grpc_case("AckMessageActivity.ackMessage")
def an_acknowledgement_of_nothing(t: Grpc) -> None:
    """An acknowledgement without entries is an internal error."""
    topic, group, client = _ready(t, 0)
    t.see("nothing", t.ack(topic, group, client=client), 50001)


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """Names that no topic or group may have are refused without entries, the topic's first."""
    topic, group, client = _ready(t)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", t.ack(name, group, ("id", handle), client=client), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", t.ack(topic, name, ("id", handle), client=client), 40003)
    t.see("both", t.ack("a b", "a b", client=client), 40002)
    t.see("nothing", t.call("AckMessage", sv.AckMessageRequest(), client=client), 40002)
    t.see("no client id", t.ack("a b", "a b", client=None), 40017)


@grpc_case("AckMessageActivity.ackMessage")
def messages_of_a_retry_topic_are_acknowledged(t: Grpc) -> None:
    """A message that came a second time is acknowledged by the new handle, whose digit names the retry topic."""
    topic, group, client = _ready(t)
    first = t.take(topic, group, client=client, invisible_s=10)
    t.wait(11)
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(5)
    again = pending()
    t.see("again", again)
    t.see("by the new handle", t.ack(topic, group, ("id", again.handles[0]), client=client), 20000)
    old = t.ack(topic, group, ("id", first.system_properties.receipt_handle), client=client)
    t.see("by the old handle", old, 40013)


def _ready(t: Grpc, count: int = 1) -> tuple[str, str, str]:
    """Topic with so many messages, group, and a consumer."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"}, kind=pb.SIMPLE_CONSUMER)
    t.sent(topic, count)
    return topic, group, client
