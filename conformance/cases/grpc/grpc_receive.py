"""ReceiveMessage of the gRPC proxy: limits, long polling, rejections and auto renewal."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext
from ...helpers.consumer import GrpcConsumer, attempts, consumer_of, consuming
from ...helpers.settings import NO_AUTO_CREATE


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_without_messages_ends_with_its_long_polling_time(t: GrpcContext) -> None:
    """A receive without messages returns MESSAGE_NOT_FOUND when its long polling time ends."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    t.note("response", consumer.received_within(seconds=5.1), pb.MESSAGE_NOT_FOUND)
    t.note("after", watch.between(4.9, 6))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_sent_message_is_received(t: GrpcContext) -> None:
    """A receive returns a sent message, which is then acknowledged."""
    consumer = consuming(t)
    t.note("sent", t.send(consumer.message(tag="A", keys=["k"])), pb.OK)
    received = t.note("received", consumer.receive(), pb.OK)
    t.note("acknowledged", consumer.ack(received.handles[0]), pb.OK)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_is_held_for_at_least_5_seconds(t: GrpcContext) -> None:
    """A receive with a long polling time below 5 s, or 0, waits for 5 s."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    pending = [consumer.start_receive(await_s=wish) for wish in (0, 1)]
    t.wait(5.2)
    t.note("responses", [each().status for each in pending])
    t.note("after", watch.between(4.9, 6.5))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_held_receive_returns_before_its_deadline(t: GrpcContext) -> None:
    """A receive with a long polling time beyond its deadline returns just before the deadline."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=20, deadline=8)
    t.wait(8)
    response = pending()
    # The response comes about 30 ms before the deadline, which a busy client may miss.
    late = response.failure is not None and response.failure.grpc == "DEADLINE_EXCEEDED"
    t.note("response", "nothing new" if late or response.code == pb.MESSAGE_NOT_FOUND else response)
    t.note("after", watch.between(7.8, 9.9))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_default_long_polling_time_follows_deadline_and_request_timeout(t: GrpcContext) -> None:
    """A receive without a long polling time waits for its deadline minus half of the settings' request timeout."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    t.note("response", consumer.received_within(seconds=8.7, await_s=None), pb.MESSAGE_NOT_FOUND)
    t.note("after", watch.between(8.3, 9.9))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_longer_request_timeout_in_the_settings_shortens_a_held_receive(t: GrpcContext) -> None:
    """A longer request timeout in the settings shortens the hold of a receive without a long polling time."""
    consumer = consuming(t)
    settings = t.subscription(consumer.group, {consumer.topic: "*"})
    settings.request_timeout.seconds = 8
    client = t.new("client")
    t.open(client, settings).command()
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=None, deadline=10)
    t.note(
        "a time-out of 8 s",
        consumer.with_client(client).received_within(seconds=6.1, await_s=None, deadline=10),
        pb.MESSAGE_NOT_FOUND,
    )
    t.note("after", watch.between(5.9, 7.3))
    t.wait(7.6 - watch.seconds)
    t.sent(consumer.topic)
    t.note("a time-out of 3 s", pending().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_is_held_for_at_most_20_seconds(t: GrpcContext) -> None:
    """A receive waits for at most 20 s, even with a longer long polling time and deadline."""
    for wish in (None, 30):
        consumer = consuming(t)
        watch = t.stopwatch()
        t.note(f"{wish} s", consumer.received_within(seconds=20.1, await_s=wish, deadline=40), pb.MESSAGE_NOT_FOUND)
        t.note(f"{wish} s: after", watch.between(19.9, 21.8))
        pending = consumer.start_receive(await_s=wish, deadline=40)
        t.wait(18.5)
        t.sent(consumer.topic)
        t.note(f"{wish} s: a late message", pending().bodies)


@grpc_case("PopMessageProcessor.processRequest")
def an_arriving_message_wakes_up_a_held_receive(t: GrpcContext) -> None:
    """A waiting receive returns as soon as a message arrives."""
    consumer = consuming(t)
    pending = consumer.start_receive()
    t.wait(1)
    watch = t.stopwatch()
    t.sent(consumer.topic)
    t.note("received", pending().bodies)
    t.note("after", watch.between(0, 2))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_with_a_deadline_below_5_seconds_is_rejected(t: GrpcContext) -> None:
    """A receive with a deadline below 5 s returns ILLEGAL_POLLING_TIME at once and takes no message.

    Clients without a version, or with one below 5.0.3, do not know that code and get BAD_REQUEST. Upstream compares
    versions as text.
    """
    consumer = consuming(t, 1)
    t.note("4.9 s", consumer.receive(deadline=4.9), pb.ILLEGAL_POLLING_TIME)
    t.note("4 s", consumer.receive(deadline=4), pb.ILLEGAL_POLLING_TIME)
    t.note("3 s, no wish", consumer.receive(await_s=None, deadline=3), pb.ILLEGAL_POLLING_TIME)
    for version in (None, "4.9", "5.0.2", "5.0.10"):
        response = consumer.receive(deadline=4, x_mq_client_version=version)
        t.note(f"version {version}", response, pb.BAD_REQUEST)
    for version in ("5.0.3", "abc"):
        response = consumer.receive(deadline=4, x_mq_client_version=version)
        t.note(f"version {version}", response, pb.ILLEGAL_POLLING_TIME)
    t.note("taken", consumer.receive().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_needs_a_deadline(t: GrpcContext) -> None:
    """A receive without a deadline returns INTERNAL_SERVER_ERROR."""
    consumer = consuming(t, queues=4)
    t.note("with a wish", consumer.receive(deadline=None), pb.INTERNAL_SERVER_ERROR)
    t.note("without", consumer.receive(await_s=None, deadline=None), pb.INTERNAL_SERVER_ERROR)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_returns_at_most_32_messages(t: GrpcContext) -> None:
    """A receive for 0 messages waits although there are some; a negative number is rejected, a large one returns 32."""
    consumer = consuming(t, 40)
    t.note("-1", consumer.receive(max_messages=-1), pb.INTERNAL_SERVER_ERROR)
    t.note("0", consumer.receive_nothing(max_messages=0), pb.MESSAGE_NOT_FOUND)
    t.note("2", consumer.receive(max_messages=2).bodies)
    t.note("100", len(consumer.receive(max_messages=100).messages))
    t.note("33", len(consumer.receive(max_messages=33).messages))


@grpc_case("GrpcValidator.validateInvisibleTime")
def receives_accept_invisible_durations_from_10_s_to_12_h(t: GrpcContext) -> None:
    """An invisible duration from 10 s to 12 h is accepted; any other is rejected with ILLEGAL_INVISIBLE_TIME."""
    consumer = consuming(t, 2)
    for wish in (None, 0, -1, 9.999, 43200.001):
        t.note(f"{wish} s", consumer.receive(invisible_s=wish), pb.ILLEGAL_INVISIBLE_TIME)
    for wish in (10, 43200):
        response = consumer.receive(invisible_s=wish, max_messages=1)
        t.note(f"{wish} s", response.handles)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def auto_renew_ignores_the_requested_invisible_duration(t: GrpcContext) -> None:
    """With auto_renew the request's invisible duration is ignored, and the handle is valid for 60 s."""
    consumer = consuming(t, 2, client_type=pb.PUSH_CONSUMER)
    for wish in (None, 3):
        response = consumer.receive(invisible_s=wish, auto_renew=True, max_messages=1)
        t.note(f"{wish} s", response.handles)


@grpc_case("ClientActivity.notifyClientTermination")
def auto_renewed_messages_are_redelivered_after_client_termination(t: GrpcContext) -> None:
    """Messages received with auto_renew become visible a few seconds after the client's NotifyClientTermination."""
    consumer = consuming(t, client_type=pb.PUSH_CONSUMER)
    other = t.consumer(consumer.group, {consumer.topic: "*"}, kind=pb.PUSH_CONSUMER)
    t.sent(consumer.topic, 1)
    t.note("taken", consumer.receive(auto_renew=True).bodies)
    t.note("left", t.leave(consumer.client, consumer.group), pb.OK)
    t.wait(5)
    again = consumer.with_client(other).receive(auto_renew=True)
    t.note("again", attempts(again))


@grpc_case("GrpcValidator.validateTopicAndConsumerGroup")
def a_receive_with_an_illegal_topic_or_group_is_rejected(t: GrpcContext) -> None:
    """A receive with an illegal topic or group name is rejected. The topic is checked first."""
    consumer = consuming(t, queues=4)
    for what, name in BAD_TOPICS.items():
        t.note(f"topic {what}", consumer.with_topic(name).receive(), pb.ILLEGAL_TOPIC)
    for what, name in BAD_GROUPS.items():
        t.note(f"group {what}", consumer.with_group(name).receive(), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("both", consumer.with_topic("a b").with_group("a b").receive(), pb.ILLEGAL_TOPIC)


@grpc_case("LocalTopicRouteService.toTopicRouteData")
def a_receive_from_an_unknown_topic_is_an_internal_error(t: GrpcContext) -> None:
    """A receive from an unknown topic fails inside the proxy."""
    consumer = consuming(t, queues=4)
    t.note("unknown", consumer.with_topic(t.new()).receive(), pb.INTERNAL_SERVER_ERROR)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_checks_deadline_topic_group_duration_then_filter(t: GrpcContext) -> None:
    """The proxy checks deadline, topic, group, invisible duration and filter in this order."""
    consumer = consuming(t, queues=4)
    stranger = consumer.with_group("a b")
    t.note(
        "deadline",
        stranger.with_topic("a b").receive(invisible_s=1, expression="||", deadline=4),
        pb.ILLEGAL_POLLING_TIME,
    )
    t.note("topic", stranger.with_topic("a b").receive(invisible_s=1, expression="||"), pb.ILLEGAL_TOPIC)
    t.note("group", stranger.receive(invisible_s=1, expression="||"), pb.ILLEGAL_CONSUMER_GROUP)
    t.note("invisible time", consumer.receive(invisible_s=1, expression="||"), pb.ILLEGAL_INVISIBLE_TIME)
    t.note("filter", consumer.receive(expression="||"), pb.ILLEGAL_FILTER_EXPRESSION)
    t.note("filter before size", consumer.receive(expression="||", max_messages=-1))


@grpc_case("ReceiveMessageQueueSelector.select")
def a_receive_ignores_the_queue_and_broker_of_its_request(t: GrpcContext) -> None:
    """A receive takes messages from any queue, even if its request names another queue or broker."""
    consumer = consuming(t, 5)
    for number in (99, -7):
        response = consumer.receive(queue_id=number, max_messages=1)
        t.note(f"queue {number}", response.bodies)
    for name in ("nobody", "", None):
        broker = None if name is None else pb.Broker(name=name)
        queue = pb.MessageQueue(topic=pb.Resource(name=consumer.topic), id=-1, broker=broker)
        request = t.receive_request(consumer.topic, consumer.group, max_messages=1, await_s=5)
        request.message_queue.CopyFrom(queue)
        t.note(f"broker {name!r}", t.start_receiving(request, client=consumer.client, deadline=10)().bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_from_an_unreadable_topic_is_forbidden(t: GrpcContext) -> None:
    """A receive from a topic without readable queues returns FORBIDDEN."""
    group = t.group()
    for perm in (2, 0):
        t.note(f"perm {perm}", consumer_of(t, t.topic(kind="NORMAL", perm=perm), group).receive(), pb.FORBIDDEN)


@grpc_case("PopMessageProcessor.processRequest")
def a_receive_for_a_group_with_consume_disabled_is_rejected(t: GrpcContext) -> None:
    """A receive for a group with consumeEnable=false is rejected by the broker."""
    t.note("response", consuming(t, queues=4, consumeEnable=False).receive(), pb.INTERNAL_SERVER_ERROR)


@grpc_case("PopMessageProcessor.processRequest", settings=NO_AUTO_CREATE)
def a_receive_for_an_unknown_group_is_rejected_without_auto_creation(t: GrpcContext) -> None:
    """A receive for an unknown group is rejected by a broker that does not create groups automatically."""
    t.note("response", consumer_of(t, t.topic(kind="NORMAL"), t.new("group")).receive(), pb.INTERNAL_SERVER_ERROR)


@grpc_case("PopLongPollingService.polling", settings=NO_AUTO_CREATE)
def more_held_receives_than_allowed_are_too_many_requests(t: GrpcContext) -> None:
    """A receive beyond the number of waiting ones that the broker allows returns TOO_MANY_REQUESTS at once."""
    consumer = consuming(t)
    pending = []
    for _ in range(5):
        pending.append(consumer.start_receive())
        t.wait(0.2)
    t.wait(5)
    # The proxy may forward some of them to the broker in another order.
    t.note("responses", sorted(each().code for each in pending))
    t.note("the last", pending[-1](), pb.TOO_MANY_REQUESTS)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_without_settings_fails(t: GrpcContext) -> None:
    """A receive of a client without settings fails in upstream's proxy before any check."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    t.sent(topic)
    unknown = GrpcConsumer(t, topic, group, t.new("client"))
    t.note("response", unknown.receive())
    t.note("bad names", unknown.with_topic("a b").with_group("a b").receive(expression="||").status)


@grpc_case("GrpcMessagingApplication.validateContext")
def a_receive_requires_a_client_id(t: GrpcContext) -> None:
    """A receive without a client id returns CLIENT_ID_REQUIRED, before any other check."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        t.note(what, t.receive("a b", "a b", client=client, deadline=4), pb.CLIENT_ID_REQUIRED)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_client_may_receive_for_another_group_or_as_a_producer(t: GrpcContext) -> None:
    """A client may receive for another group than in its settings, or with the settings of a producer."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.sent(topic)
    for what, client in (
        ("another group", t.consumer(t.group(), {topic: "*"})),
        ("a producer", t.producer(topic)),
    ):
        t.note(what, GrpcConsumer(t, topic, t.group(), client).receive().bodies)
    t.note("no language", consumer_of(t, topic, t.group()).receive(x_mq_language=None).bodies)


@grpc_case("PopMessageProcessor.processRequest")
def receives_return_the_messages_of_all_queues(t: GrpcContext) -> None:
    """One receive returns messages of several queues."""
    consumer = consuming(t, 8, queues=4)
    bodies: list[bytes] = []
    for _ in range(8):
        if len(bodies) < 8:
            bodies += consumer.receive().bodies
    t.note("all", sorted(bodies))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_receive_request_is_rejected(t: GrpcContext) -> None:
    """An empty receive request is rejected because its topic is missing."""
    client = t.consumer(t.group(), {t.topic(kind="NORMAL"): "*"})
    t.note("response", t.start_receiving(sv.ReceiveMessageRequest(), client=client, deadline=10)(), pb.ILLEGAL_TOPIC)


@grpc_case("GrpcValidator.validateConsumerGroup")
def a_receive_accepts_group_names_of_255_characters(t: GrpcContext) -> None:
    """A receive creates the group that it names, with a name of up to 255 characters."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.sent(topic)
    for length in (121, 255):
        consumer = consumer_of(t, topic, t.new("group").ljust(length, "g"))
        received = consumer.receive()
        t.note(f"{length} characters", received.bodies)
        t.note("acknowledged", consumer.ack(received.handles[0]).status, pb.OK)
