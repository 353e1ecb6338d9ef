"""ReceiveMessage of the gRPC proxy: filters by tag and SQL92."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.remoting_consumption import pull_fields
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, consumer_of, consuming, consuming_in_order


@grpc_case("FilterAPI.build")
def a_receive_without_a_filter_returns_all_messages(t: GrpcContext) -> None:
    """A receive without a filter or filter type, or with an empty tag expression, returns all messages.

    So does an unknown filter type.
    """
    topic = t.topic(kind="NORMAL", queues=1)
    t.send(t.message(topic, "a", tag="A"), t.message(topic, "none"))
    consumer = consumer_of(t, topic, t.group())
    for what, expression, kind in (
        ("star", "*", pb.TAG),
        ("empty", "", pb.TAG),
        ("type 0", "*", 0),
        ("type 9", "*", 9),
    ):
        t.note(what, consumer.with_group(t.group()).receive(expression=expression, filter_type=kind).bodies)
    request = t.receive_request(topic, t.group(), await_s=5)
    request.ClearField("filter_expression")
    t.note("none", t.start_receiving(request, client=consumer.client, deadline=10)().bodies)


@grpc_case("FilterAPI.buildSubscriptionData, ExpressionMessageFilter.isMatchedByConsumeQueue")
def a_receive_by_tags_returns_only_matching_messages(t: GrpcContext) -> None:
    """A receive with a tag expression returns the messages that have one of the tags."""
    topic = t.topic(kind="NORMAL", queues=1)
    for tag in ("A", "B", "C"):
        t.send(t.message(topic, tag, tag=tag))
    t.sent(topic)
    consumer = consumer_of(t, topic, t.group())
    for expression in ("A", "A || C", "A||B||", " B "):
        t.note(repr(expression), consumer.with_group(t.group()).receive(expression=expression).bodies)


@grpc_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def a_receive_by_a_tag_without_messages_returns_not_found(t: GrpcContext) -> None:
    """A receive with a tag that no message has, or with blanks, waits and returns MESSAGE_NOT_FOUND."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.send(t.message(topic, tag="A"))
    consumer = consumer_of(t, topic, t.group())
    pending = [consumer.with_group(t.group()).start_receive(expression=expression) for expression in ("B", "  ", "a")]
    t.wait(5.2)
    for what, each in zip(("another tag", "blanks", "another case"), pending, strict=True):
        t.note(what, each(), pb.MESSAGE_NOT_FOUND)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def a_message_whose_tag_only_shares_the_hash_is_acknowledged(t: GrpcContext) -> None:
    """A message whose tag differs but has the same hash is not returned but acknowledged permanently."""
    consumer = consuming(t)
    t.send(consumer.message("wrong", tag="BB"))
    response = consumer.receive_nothing(expression="Aa")
    t.note("response", response, pb.MESSAGE_NOT_FOUND)
    t.send(consumer.message("right", tag="Aa"))
    t.note("right", consumer.receive(expression="Aa").bodies)


@grpc_case("FilterAPI.build")
def a_tag_expression_of_bars_or_an_empty_sql_is_rejected(t: GrpcContext) -> None:
    """A tag expression of bars and an empty SQL expression are rejected with ILLEGAL_FILTER_EXPRESSION."""
    consumer = consuming(t, queues=4)
    t.note("TAG ||", consumer.receive(expression="||"), pb.ILLEGAL_FILTER_EXPRESSION)
    t.note("SQL, empty", consumer.receive(expression="", filter_type=pb.SQL), pb.ILLEGAL_FILTER_EXPRESSION)


@grpc_case("PopMessageProcessor.processRequest")
def an_unparsable_sql_expression_is_an_internal_error(t: GrpcContext) -> None:
    """An SQL expression that the broker cannot parse returns INTERNAL_SERVER_ERROR with the broker's message."""
    consumer = consuming(t, queues=4)
    for expression in (" ", "a >", "*", "a > 'x'", "a between 5 and 1", "a = 0.0"):
        response = consumer.receive(expression=expression, filter_type=pb.SQL)
        t.note(repr(expression), response, pb.INTERNAL_SERVER_ERROR)


@grpc_case("SelectorParser.parse")
def a_receive_by_sql_returns_only_matching_messages(t: GrpcContext) -> None:
    """A receive with an SQL expression returns the messages whose properties match it."""
    topic = t.topic(kind="NORMAL", queues=1)
    for number in range(4):
        t.send(t.message(topic, f"m{number}", tag="AB"[number % 2], properties={"n": str(number), "s": f"x{number}"}))
    t.send(t.message(topic, "none"))
    consumer = consumer_of(t, topic, t.group())
    for expression in (
        "n > 1",
        "n between 1 and 2",
        "s = 'x0' OR n = 3",
        "n IS NULL",
        "TAGS = 'A' AND n IS NOT NULL",
        "s IN ('x1', 'x2')",
        "NOT (n > 1)",
        "s CONTAINS 'x'",
        "s STARTSWITH 'x' AND n < 1",
        "n = 1 foo",
        "TRUE",
    ):
        t.note(expression, consumer.with_group(t.group()).receive(expression=expression, filter_type=pb.SQL).bodies)


@grpc_case("SelectorParser.parse")
def an_sql_expression_with_like_is_accepted_but_never_matches(t: GrpcContext) -> None:
    """An SQL expression with LIKE is accepted and matches nothing."""
    consumer = consuming(t)
    t.send(consumer.message(properties={"a": "xy"}))
    t.note("LIKE", consumer.receive_nothing(expression="a LIKE 'x%'", filter_type=pb.SQL), pb.MESSAGE_NOT_FOUND)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def a_message_skipped_by_a_filter_is_not_received_later(t: GrpcContext) -> None:
    """A message that a group's filter skipped is not returned by a later receive of the group without a filter."""
    consumer = consuming(t)
    t.send(consumer.message("a", tag="A"))
    t.send(consumer.message("b", tag="B"))
    t.note("by tag", consumer.receive(expression="B").bodies)
    t.note("without", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def the_filter_of_a_receive_overrides_the_settings(t: GrpcContext) -> None:
    """A receive uses the filter of its request, not the one in the client's settings."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "B"})
    t.send(t.message(topic, "a", tag="A"))
    t.note("received", GrpcConsumer(t, topic, group, client).receive(expression="A").bodies)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def an_ordered_group_receives_only_matching_messages(t: GrpcContext) -> None:
    """An ordered group receives the matching messages one by one, each after the previous one's acknowledgement."""
    for expression, kind, count in (
        ("A", pb.TAG, 3),
        ("n > 0 AND TAGS = 'A'", pb.SQL, 2),
        ("n = 1 OR n = 2", pb.SQL, 2),
    ):
        consumer = consuming_in_order(t)
        for number in range(5):
            more = {"message_type": pb.FIFO, "message_group": "g", "tag": "AB"[number % 2]}
            t.send(consumer.message(f"m{number}", properties={"n": str(number)}, **more))
        by = {"expression": expression, "filter_type": kind, "max_messages": 1}
        for _ in range(count):
            received = consumer.receive(**by)
            t.note(expression, received.bodies)
            consumer.ack(received.handles[0])
        t.note("in the end", consumer.receive_nothing(**by), pb.MESSAGE_NOT_FOUND)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def a_tag_of_equal_hash_does_not_block_an_ordered_group(t: GrpcContext) -> None:
    """An ordered group also acknowledges a message whose tag only has the same hash, so that it blocks nothing."""
    consumer = consuming_in_order(t)
    for number, tag in enumerate(("BB", "Aa", "BB", "Aa")):
        t.send(consumer.message(f"m{number}", tag=tag, message_type=pb.FIFO, message_group="g"))
    received: list[bytes] = []
    while len(received) < 2:
        response = consumer.receive(expression="Aa")
        received += response.bodies
        consumer.ack(*response.handles)
    t.note("received", received)
    t.note("in the end", consumer.receive_nothing(expression="Aa"), pb.MESSAGE_NOT_FOUND)


@grpc_case("PopMessageProcessor.popMsgFromTopic")
def a_redelivered_message_skipped_by_a_filter_is_lost_to_the_group(t: GrpcContext) -> None:
    """A redelivered message is returned only if the receive's filter matches; otherwise the group loses it."""
    consumer = consuming(t)
    for tag in ("A", "B"):
        t.send(consumer.message(tag, tag=tag))
    bodies: list[bytes] = []
    while len(bodies) < 2:
        bodies += consumer.receive(invisible_s=10).bodies
    t.note("all", sorted(bodies))
    t.wait(12)
    t.note("again by B", t.until(lambda: consumer.received_within(expression="B").bodies))
    t.note("by A", consumer.receive_nothing(expression="A"), pb.MESSAGE_NOT_FOUND)


@grpc_case("ConsumerFilterManager.register")
def pulls_without_an_expression_use_the_groups_grpc_settings(t: GrpcContext) -> None:
    """Pulls of a group without an expression are filtered by the last settings of the group's gRPC clients."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    for number in range(4):
        t.send(t.message(topic, f"m{number}", tag="AB"[number % 2], properties={"n": str(number)}))
    client = t.new("client")
    for expression, kind in (("n > 1", pb.SQL), ("n >", pb.SQL), ("A", pb.TAG), ("n < 1", pb.SQL), ("*", pb.TAG)):
        t.open(client, t.subscription(group, {topic: expression}, filter_type=kind)).command()
        pulled = t.request(RequestCode.PULL_MESSAGE, pull_fields(topic, group, sysFlag=0, expression=None, type=None))
        t.note(expression, pulled.found)
        t.wait(0.05)
