"""ReceiveMessage of the gRPC proxy: bounds, polling, refusals and what is given back."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ..case import grpc_case
from ..worlds.grpc import BAD_GROUPS, BAD_TOPICS, STRICT, Grpc


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_receive_ends_in_time(t: Grpc) -> None:
    """A receive that finds nothing ends with MESSAGE_NOT_FOUND when its long polling time is over."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(5.1)
    t.see("answer", pending(), 40401)
    t.see("after", watch.between(4.9, 6))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_sent_message_is_received(t: Grpc) -> None:
    """A receive hands out what was sent, and an acknowledgement ends it."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.see("sent", t.send(t.message(topic, tag="A", keys=["k"])), 20000)
    received = t.see("received", t.receive(topic, group, client=client, await_s=5, deadline=10), 20000)
    t.see("acknowledged", t.ack(topic, group, ("id", received.handles[0]), client=client), 20000)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_short_poll_takes_five_seconds(t: Grpc) -> None:
    """A receive that asks to wait less than 5 s, or not at all, waits 5 s."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    watch = t.stopwatch()
    pending = [t.start_receive(topic, group, client=client, await_s=wish, deadline=10) for wish in (0, 1)]
    t.wait(5.2)
    t.see("answers", [each().status for each in pending])
    t.see("after", watch.between(4.9, 6.5))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_poll_ends_before_its_deadline(t: Grpc) -> None:
    """A receive that asks to wait longer than its deadline leaves is answered just before that."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, await_s=20, deadline=8)
    t.wait(8)
    answer = pending()
    # The answer comes some 30 ms before the deadline: on a busy machine the client does not wait for it.
    late = answer.failure is not None and answer.failure.grpc == "DEADLINE_EXCEEDED"
    t.see("answer", "nothing new" if late or answer.code == pb.MESSAGE_NOT_FOUND else answer)
    t.see("after", watch.between(7.8, 9.9))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_poll_without_a_wish_follows_the_settings(t: Grpc) -> None:
    """A receive that does not say how long takes its deadline less half of the request time-out of the settings."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, deadline=10)
    t.wait(8.7)
    t.see("answer", pending(), 40401)
    t.see("after", watch.between(8.3, 9.9))


@grpc_case("PopMessageProcessor.processRequest")
def an_arriving_message_ends_a_poll(t: Grpc) -> None:
    """A receive that waits is answered as soon as a message arrives."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(1)
    watch = t.stopwatch()
    t.sent(topic)
    t.see("received", pending().bodies)
    t.see("after", watch.between(0, 2))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_deadline_that_is_too_short(t: Grpc) -> None:
    """A deadline under 5 s is ILLEGAL_POLLING_TIME at once, even where messages wait, and takes none of them."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.sent(topic)
    t.see("4 s", t.receive(topic, group, client=client, await_s=5, deadline=4), 40018)
    t.see("3 s, no wish", t.receive(topic, group, client=client, deadline=3), 40018)
    for version in (None, "4.9", "5.0.2", "5.0.10"):
        answer = t.receive(topic, group, client=client, await_s=5, deadline=4, x_mq_client_version=version)
        t.see(f"version {version}", answer, 40000)
    for version in ("5.0.3", "abc"):
        answer = t.receive(topic, group, client=client, await_s=5, deadline=4, x_mq_client_version=version)
        t.see(f"version {version}", answer, 40018)
    t.see("taken", t.receive(topic, group, client=client, await_s=5, deadline=10).bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_needs_a_deadline(t: Grpc) -> None:
    """A receive without a deadline is an internal error of the proxy."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    t.see("with a wish", t.receive(topic, group, client=client, await_s=5), 50001)
    t.see("without", t.receive(topic, group, client=client), 50001)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def batch_sizes(t: Grpc) -> None:
    """A receive for no message waits although there are some, one for less is refused, one for many gets 32."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.sent(topic, 40)
    t.see("-1", t.receive(topic, group, client=client, max_messages=-1, await_s=5, deadline=10), 50001)
    t.see("0", t.receive_nothing(topic, group, client=client, max_messages=0), 40401)
    t.see("2", t.receive(topic, group, client=client, max_messages=2, await_s=5, deadline=10).bodies)
    t.see("100", len(t.receive(topic, group, client=client, max_messages=100, await_s=5, deadline=10).messages))
    t.see("33", len(t.receive(topic, group, client=client, max_messages=33, await_s=5, deadline=10).messages))


@grpc_case("GrpcValidator.validateInvisibleTime")
def invisible_times_have_bounds(t: Grpc) -> None:
    """Messages are hidden from 10 s to 12 h; anything else is ILLEGAL_INVISIBLE_TIME."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.sent(topic, 2)
    for wish in (None, 0, -1, 9.999, 43200.001):
        t.see(f"{wish} s", t.receive(topic, group, client=client, invisible_s=wish, await_s=5, deadline=10), 40011)
    for wish in (10, 43200):
        answer = t.receive(topic, group, client=client, invisible_s=wish, max_messages=1, await_s=5, deadline=10)
        t.see(f"{wish} s", answer.handles)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def renewed_messages_have_a_time_of_their_own(t: Grpc) -> None:
    """With auto_renew the invisible time of the request is not looked at: the handle has a minute."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"}, kind=pb.PUSH_CONSUMER)
    t.sent(topic, 2)
    for wish in (None, 3):
        answer = t.receive(
            topic, group, client=client, invisible_s=wish, auto_renew=True, max_messages=1, await_s=5, deadline=10
        )
        t.see(f"{wish} s", answer.handles)


@grpc_case("ClientActivity.notifyClientTermination")
def renewed_messages_come_back_when_the_client_leaves(t: Grpc) -> None:
    """What a client took with auto_renew is visible again a few seconds after it has said that it leaves."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"}, kind=pb.PUSH_CONSUMER)
    other = t.consumer(group, {topic: "*"}, kind=pb.PUSH_CONSUMER)
    t.sent(topic, 1)
    t.see("taken", t.receive(topic, group, client=client, auto_renew=True, await_s=5, deadline=10).bodies)
    t.see("left", t.leave(client, group), 20000)
    t.wait(5)
    again = t.receive(topic, group, client=other, auto_renew=True, await_s=5, deadline=10)
    t.see("again", [[each.body, each.system_properties.delivery_attempt] for each in again.messages])


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """Names that no topic or group may have are refused, the topic's first."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", t.receive(name, group, client=client, await_s=5, deadline=10), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", t.receive(topic, name, client=client, await_s=5, deadline=10), 40003)
    t.see("both", t.receive("a b", "a b", client=client, await_s=5, deadline=10), 40002)


@grpc_case("LocalTopicRouteService.toTopicRouteData")
def an_unknown_topic_is_an_internal_error(t: Grpc) -> None:
    """A receive from a topic that nobody has made fails inside the proxy."""
    group = t.group()
    client = t.consumer(group, {t.topic(kind="NORMAL"): "*"})
    t.see("unknown", t.receive(t.new(), group, client=client, await_s=5, deadline=10), 50001)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def faults_are_found_in_order(t: Grpc) -> None:
    """Deadline, topic, group, invisible time and filter are looked at in this order."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    bad: dict[str, Any] = {"invisible_s": 1, "expression": "||", "client": client, "await_s": 5}
    t.see("deadline", t.receive("a b", "a b", deadline=4, **bad), 40018)
    t.see("topic", t.receive("a b", "a b", deadline=10, **bad), 40002)
    t.see("group", t.receive(topic, "a b", deadline=10, **bad), 40003)
    t.see("invisible time", t.receive(topic, group, deadline=10, **bad), 40011)
    t.see("filter", t.receive(topic, group, deadline=10, **{**bad, "invisible_s": 60}), 40010)
    t.see("filter before size", t.receive(topic, group, deadline=10, max_messages=-1, **{**bad, "invisible_s": 60}))


@grpc_case("ReceiveMessageQueueSelector.select")
def the_queue_of_the_request_does_not_matter(t: Grpc) -> None:
    """A receive takes from any queue, whichever queue and broker its request names."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.sent(topic, 4)
    for number in (99, -7):
        answer = t.receive(topic, group, client=client, queue_id=number, max_messages=1, await_s=5, deadline=10)
        t.see(f"queue {number}", answer.bodies)
    for name in ("nobody", ""):
        queue = pb.MessageQueue(topic=pb.Resource(name=topic), id=-1, broker=pb.Broker(name=name))
        request = t.receive_request(topic, group, max_messages=1, await_s=5)
        request.message_queue.CopyFrom(queue)
        t.see(f"broker {name!r}", t.start_receiving(request, client=client, deadline=10)().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_topic_that_cannot_be_read(t: Grpc) -> None:
    """A receive from a topic without a queue to read from is FORBIDDEN."""
    group = t.group()
    for perm in (2, 0):
        topic = t.topic(kind="NORMAL", perm=perm)
        client = t.consumer(group, {topic: "*"})
        t.see(f"perm {perm}", t.receive(topic, group, client=client, await_s=5, deadline=10), 40300)


@grpc_case("PopMessageProcessor.processRequest")
def a_group_that_may_not_consume(t: Grpc) -> None:
    """A receive for a group whose consuming is switched off is refused by the broker."""
    topic, group = t.topic(kind="NORMAL"), t.group(consumeEnable=False)
    client = t.consumer(group, {topic: "*"})
    t.see("answer", t.receive(topic, group, client=client, await_s=5, deadline=10), 50001)


@grpc_case("PopMessageProcessor.processRequest", settings=STRICT)
def an_unknown_group_where_none_are_made(t: Grpc) -> None:
    """Where groups are not made by themselves, a receive for an unknown one is refused by the broker."""
    topic, group = t.topic(kind="NORMAL"), t.new("group")
    client = t.consumer(group, {topic: "*"})
    t.see("answer", t.receive(topic, group, client=client, await_s=5, deadline=10), 50001)


@grpc_case("PopLongPollingService.polling", settings=STRICT)
def too_many_polls(t: Grpc) -> None:
    """Of more polls of a group than the broker holds, the last are TOO_MANY_REQUESTS at once."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    pending = []
    for _ in range(5):
        pending.append(t.start_receive(topic, group, client=client, await_s=5, deadline=10))
        t.wait(0.2)
    t.wait(5)
    t.see("answers", [each().code for each in pending])
    t.see("the last", pending[-1](), 42900)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_client_without_settings(t: Grpc) -> None:
    """A receive of a client whose settings are not known: the real proxy fails before it looks at anything."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    t.sent(topic)
    t.see("answer", t.receive(topic, group, client=t.new("client"), await_s=5, deadline=10))


@grpc_case("AbstractMessingActivity.validateContext")
def a_client_id_is_needed(t: Grpc) -> None:
    """A receive without a client id is CLIENT_ID_REQUIRED, before anything else is looked at."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        t.see(what, t.receive("a b", "a b", client=client, deadline=4), 40017)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_client_of_another_kind_receives(t: Grpc) -> None:
    """A client may receive for another group than its settings name, or with the settings of a producer."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    t.sent(topic)
    for what, client in (
        ("another group", t.consumer(t.group(), {topic: "*"})),
        ("a producer", t.producer(topic)),
    ):
        group = t.group()
        t.see(what, t.receive(topic, group, client=client, await_s=5, deadline=10).bodies)
    client = t.consumer(group := t.group(), {topic: "*"})
    answer = t.receive(topic, group, client=client, await_s=5, deadline=10, x_mq_language=None)
    t.see("no language", answer.bodies)


@grpc_case("PopMessageProcessor.processRequest")
def several_queues_are_received_from(t: Grpc) -> None:
    """One receive takes messages of several queues."""
    topic, group = t.topic(kind="NORMAL", queues=4), t.group()
    client = t.consumer(group, {topic: "*"})
    t.sent(topic, 8)
    bodies: list[bytes] = []
    for _ in range(8):
        if len(bodies) < 8:
            bodies += t.receive(topic, group, client=client, await_s=5, deadline=10).bodies
    t.see("all", sorted(bodies))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_request(t: Grpc) -> None:
    """A receive that says nothing has no topic."""
    client = t.consumer(t.group(), {t.topic(kind="NORMAL"): "*"})
    t.see("answer", t.start_receiving(sv.ReceiveMessageRequest(), client=client, deadline=10)(), 40002)
