"""ReceiveMessage of the gRPC proxy: limits, long polling, rejections and auto renewal."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...settings import STRICT
from ...worlds.consumer import Consumer, attempts, consumer_of, consuming
from ...worlds.grpc import BAD_GROUPS, BAD_TOPICS, Grpc


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_receive_ends_in_time(t: Grpc) -> None:
    """A receive without messages returns MESSAGE_NOT_FOUND when its long polling time ends."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    t.see("answer", consumer.received_within(5.1), 40401)
    t.see("after", watch.between(4.9, 6))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_sent_message_is_received(t: Grpc) -> None:
    """A receive returns a sent message, which is then acknowledged."""
    consumer = consuming(t)
    t.see("sent", t.send(consumer.message(tag="A", keys=["k"])), 20000)
    received = t.see("received", consumer.receive(), 20000)
    t.see("acknowledged", consumer.ack(received.handles[0]), 20000)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_short_poll_takes_five_seconds(t: Grpc) -> None:
    """A receive with a long polling time below 5 s, or 0, is held for 5 s."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    pending = [consumer.start_receive(await_s=wish) for wish in (0, 1)]
    t.wait(5.2)
    t.see("answers", [each().status for each in pending])
    t.see("after", watch.between(4.9, 6.5))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_poll_ends_before_its_deadline(t: Grpc) -> None:
    """A receive with a long polling time beyond its deadline returns just before the deadline."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=20, deadline=8)
    t.wait(8)
    answer = pending()
    # # The response comes about 30 ms before the deadline, which a busy client may miss.
    late = answer.failure is not None and answer.failure.grpc == "DEADLINE_EXCEEDED"
    t.see("answer", "nothing new" if late or answer.code == pb.MESSAGE_NOT_FOUND else answer)
    t.see("after", watch.between(7.8, 9.9))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_poll_without_a_wish_follows_the_settings(t: Grpc) -> None:
    """A receive without a long polling time is held for its deadline minus half of the settings' request timeout."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    t.see("answer", consumer.received_within(8.7, await_s=None), 40401)
    t.see("after", watch.between(8.3, 9.9))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def the_time_out_of_the_settings_shortens_a_poll(t: Grpc) -> None:
    """A longer request timeout in the settings shortens the hold of a receive without a long polling time."""
    consumer = consuming(t)
    settings = t.subscription(consumer.group, {consumer.topic: "*"})
    settings.request_timeout.seconds = 8
    client = t.new("client")
    t.open(client, settings).command()
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=None, deadline=10)
    t.see("a time-out of 8 s", consumer.by(client).received_within(6.1, await_s=None, deadline=10), 40401)
    t.see("after", watch.between(5.9, 7.3))
    t.wait(7.6 - watch.seconds)
    t.sent(consumer.topic)
    t.see("a time-out of 3 s", pending().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_poll_takes_twenty_seconds_at_most(t: Grpc) -> None:
    """A receive is held for at most 20 s, even with a longer long polling time and deadline."""
    for wish in (None, 30):
        consumer = consuming(t)
        watch = t.stopwatch()
        t.see(f"{wish} s", consumer.received_within(20.1, await_s=wish, deadline=40), 40401)
        t.see(f"{wish} s: after", watch.between(19.9, 21.8))
        pending = consumer.start_receive(await_s=wish, deadline=40)
        t.wait(18.5)
        t.sent(consumer.topic)
        t.see(f"{wish} s: a late message", pending().bodies)


@grpc_case("PopMessageProcessor.processRequest")
def an_arriving_message_ends_a_poll(t: Grpc) -> None:
    """A held receive returns as soon as a message arrives."""
    consumer = consuming(t)
    pending = consumer.start_receive()
    t.wait(1)
    watch = t.stopwatch()
    t.sent(consumer.topic)
    t.see("received", pending().bodies)
    t.see("after", watch.between(0, 2))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_deadline_that_is_too_short(t: Grpc) -> None:
    """A receive with a deadline below 5 s is ILLEGAL_POLLING_TIME at once and takes no message."""
    consumer = consuming(t, 1)
    t.see("4.9 s", consumer.receive(deadline=4.9), 40018)
    t.see("4 s", consumer.receive(deadline=4), 40018)
    t.see("3 s, no wish", consumer.receive(await_s=None, deadline=3), 40018)
    for version in (None, "4.9", "5.0.2", "5.0.10"):
        answer = consumer.receive(deadline=4, x_mq_client_version=version)
        t.see(f"version {version}", answer, 40000)
    for version in ("5.0.3", "abc"):
        answer = consumer.receive(deadline=4, x_mq_client_version=version)
        t.see(f"version {version}", answer, 40018)
    t.see("taken", consumer.receive().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_needs_a_deadline(t: Grpc) -> None:
    """A receive without a deadline is INTERNAL_SERVER_ERROR."""
    consumer = consuming(t, queues=4)
    t.see("with a wish", consumer.receive(deadline=None), 50001)
    t.see("without", consumer.receive(await_s=None, deadline=None), 50001)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def batch_sizes(t: Grpc) -> None:
    """A receive for 0 messages is held although there are some. One for fewer is rejected, and one for many gets 32."""
    consumer = consuming(t, 40)
    t.see("-1", consumer.receive(max_messages=-1), 50001)
    t.see("0", consumer.receive_nothing(max_messages=0), 40401)
    t.see("2", consumer.receive(max_messages=2).bodies)
    t.see("100", len(consumer.receive(max_messages=100).messages))
    t.see("33", len(consumer.receive(max_messages=33).messages))


@grpc_case("GrpcValidator.validateInvisibleTime")
def invisible_times_have_bounds(t: Grpc) -> None:
    """An invisible duration from 10 s to 12 h is accepted; any other is ILLEGAL_INVISIBLE_TIME."""
    consumer = consuming(t, 2)
    for wish in (None, 0, -1, 9.999, 43200.001):
        t.see(f"{wish} s", consumer.receive(invisible_s=wish), 40011)
    for wish in (10, 43200):
        answer = consumer.receive(invisible_s=wish, max_messages=1)
        t.see(f"{wish} s", answer.handles)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def renewed_messages_have_a_time_of_their_own(t: Grpc) -> None:
    """With auto_renew the request's invisible duration is ignored, and the handle is valid for 60 s."""
    consumer = consuming(t, 2, client_type=pb.PUSH_CONSUMER)
    for wish in (None, 3):
        answer = consumer.receive(invisible_s=wish, auto_renew=True, max_messages=1)
        t.see(f"{wish} s", answer.handles)


@grpc_case("ClientActivity.notifyClientTermination")
def renewed_messages_come_back_when_the_client_leaves(t: Grpc) -> None:
    """Messages received with auto_renew become visible a few seconds after the client's NotifyClientTermination."""
    consumer = consuming(t, client_type=pb.PUSH_CONSUMER)
    other = t.consumer(consumer.group, {consumer.topic: "*"}, kind=pb.PUSH_CONSUMER)
    t.sent(consumer.topic, 1)
    t.see("taken", consumer.receive(auto_renew=True).bodies)
    t.see("left", t.leave(consumer.client, consumer.group), 20000)
    t.wait(5)
    again = consumer.by(other).receive(auto_renew=True)
    t.see("again", attempts(again))


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def bad_names_are_refused(t: Grpc) -> None:
    """A receive with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = consuming(t, queues=4)
    for what, name in BAD_TOPICS.items():
        t.see(f"topic {what}", consumer.at(name).receive(), 40002)
    for what, name in BAD_GROUPS.items():
        t.see(f"group {what}", consumer.among(name).receive(), 40003)
    t.see("both", consumer.at("a b").among("a b").receive(), 40002)


@grpc_case("LocalTopicRouteService.toTopicRouteData")
def an_unknown_topic_is_an_internal_error(t: Grpc) -> None:
    """A receive from an unknown topic fails inside the proxy."""
    consumer = consuming(t, queues=4)
    t.see("unknown", consumer.at(t.new()).receive(), 50001)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def faults_are_found_in_order(t: Grpc) -> None:
    """The proxy checks deadline, topic, group, invisible duration and filter in this order."""
    consumer = consuming(t, queues=4)
    stranger = consumer.among("a b")
    t.see("deadline", stranger.at("a b").receive(invisible_s=1, expression="||", deadline=4), 40018)
    t.see("topic", stranger.at("a b").receive(invisible_s=1, expression="||"), 40002)
    t.see("group", stranger.receive(invisible_s=1, expression="||"), 40003)
    t.see("invisible time", consumer.receive(invisible_s=1, expression="||"), 40011)
    t.see("filter", consumer.receive(expression="||"), 40010)
    t.see("filter before size", consumer.receive(expression="||", max_messages=-1))


@grpc_case("ReceiveMessageQueueSelector.select")
def the_queue_of_the_request_does_not_matter(t: Grpc) -> None:
    """A receive takes messages from any queue, even if its request names another queue or broker."""
    consumer = consuming(t, 5)
    for number in (99, -7):
        answer = consumer.receive(queue_id=number, max_messages=1)
        t.see(f"queue {number}", answer.bodies)
    for name in ("nobody", "", None):
        broker = None if name is None else pb.Broker(name=name)
        queue = pb.MessageQueue(topic=pb.Resource(name=consumer.topic), id=-1, broker=broker)
        request = t.receive_request(consumer.topic, consumer.group, max_messages=1, await_s=5)
        request.message_queue.CopyFrom(queue)
        t.see(f"broker {name!r}", t.start_receiving(request, client=consumer.client, deadline=10)().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_topic_that_cannot_be_read(t: Grpc) -> None:
    """A receive from a topic without readable queues is FORBIDDEN."""
    group = t.group()
    for perm in (2, 0):
        t.see(f"perm {perm}", consumer_of(t, t.topic(kind="NORMAL", perm=perm), group).receive(), 40300)


@grpc_case("PopMessageProcessor.processRequest")
def a_group_that_may_not_consume(t: Grpc) -> None:
    """A receive for a group with consumeEnable=false is rejected by the broker."""
    t.see("answer", consuming(t, queues=4, consumeEnable=False).receive(), 50001)


@grpc_case("PopMessageProcessor.processRequest", settings=STRICT)
def an_unknown_group_where_none_are_made(t: Grpc) -> None:
    """A receive for an unknown group is rejected by a broker that does not create groups automatically."""
    t.see("answer", consumer_of(t, t.topic(kind="NORMAL"), t.new("group")).receive(), 50001)


@grpc_case("PopLongPollingService.polling", settings=STRICT)
def too_many_polls(t: Grpc) -> None:
    """If a group has more held receives than the broker allows, further ones are TOO_MANY_REQUESTS at once."""
    consumer = consuming(t)
    pending = []
    for _ in range(5):
        pending.append(consumer.start_receive())
        t.wait(0.2)
    t.wait(5)
    # # The proxy may forward some of them to the broker in another order.
    t.see("answers", sorted(each().code for each in pending))
    t.see("the last", pending[-1](), 42900)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_client_without_settings(t: Grpc) -> None:
    """A receive of a client without settings fails in upstream's proxy before any check."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    t.sent(topic)
    unknown = Consumer(t, topic, group, t.new("client"))
    t.see("answer", unknown.receive())
    t.see("bad names", unknown.at("a b").among("a b").receive(expression="||").status)


@grpc_case("GrpcMessagingApplication.validateContext")
def a_client_id_is_needed(t: Grpc) -> None:
    """A receive without a client id is CLIENT_ID_REQUIRED, before any other check."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        t.see(what, t.receive("a b", "a b", client=client, deadline=4), 40017)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_client_of_another_kind_receives(t: Grpc) -> None:
    """A client may receive for another group than in its settings, or with the settings of a producer."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.sent(topic)
    for what, client in (
        ("another group", t.consumer(t.group(), {topic: "*"})),
        ("a producer", t.producer(topic)),
    ):
        t.see(what, Consumer(t, topic, t.group(), client).receive().bodies)
    t.see("no language", consumer_of(t, topic, t.group()).receive(x_mq_language=None).bodies)


@grpc_case("PopMessageProcessor.processRequest")
def several_queues_are_received_from(t: Grpc) -> None:
    """One receive returns messages of several queues."""
    consumer = consuming(t, 8, queues=4)
    bodies: list[bytes] = []
    for _ in range(8):
        if len(bodies) < 8:
            bodies += consumer.receive().bodies
    t.see("all", sorted(bodies))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_request(t: Grpc) -> None:
    """An empty receive request is rejected because its topic is missing."""
    client = t.consumer(t.group(), {t.topic(kind="NORMAL"): "*"})
    t.see("answer", t.start_receiving(sv.ReceiveMessageRequest(), client=client, deadline=10)(), 40002)


@grpc_case("GrpcValidator.validateConsumerGroup")
def long_group_names_pass(t: Grpc) -> None:
    """A receive creates the group that it names, with a name of up to 255 characters."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.sent(topic)
    for length in (121, 255):
        consumer = consumer_of(t, topic, t.new("group").ljust(length, "g"))
        received = consumer.receive()
        t.see(f"{length} characters", received.bodies)
        t.see("acknowledged", consumer.ack(received.handles[0]).status, 20000)
