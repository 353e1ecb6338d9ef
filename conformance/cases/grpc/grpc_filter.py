"""ReceiveMessage of the gRPC proxy: which messages a filter lets through."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...worlds.consumer import Consumer, consumer_of, consuming, consuming_in_order
from ...worlds.grpc import Grpc


@grpc_case("FilterAPI.build")
def a_receive_without_a_filter_takes_all(t: Grpc) -> None:
    """No filter, one without a type or with an unknown one, and an empty tag expression let everything through."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.send(t.message(topic, "a", tag="A"), t.message(topic, "none"))
    consumer = consumer_of(t, topic, t.group())
    for what, expression, kind in (
        ("star", "*", pb.TAG),
        ("empty", "", pb.TAG),
        ("type 0", "*", 0),
        ("type 9", "*", 9),
    ):
        t.see(what, consumer.among(t.group()).receive(expression=expression, filter_type=kind).bodies)
    request = t.receive_request(topic, t.group(), await_s=5)
    request.ClearField("filter_expression")
    t.see("none", t.start_receiving(request, client=consumer.client, deadline=10)().bodies)


@grpc_case("FilterAPI.buildSubscriptionData, ExpressionMessageFilter.isMatchedByConsumeQueue")
def tags_select_messages(t: Grpc) -> None:
    """A receive by tags takes the messages that have one of them."""
    topic = t.topic(kind="NORMAL", queues=1)
    for tag in ("A", "B", "C"):
        t.send(t.message(topic, tag, tag=tag))
    t.sent(topic)
    consumer = consumer_of(t, topic, t.group())
    for expression in ("A", "A || C", "A||B||", " B "):
        t.see(repr(expression), consumer.among(t.group()).receive(expression=expression).bodies)


@grpc_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def tags_that_match_nothing(t: Grpc) -> None:
    """A receive by a tag that no message has, or by blanks, waits and finds nothing."""
    topic = t.topic(kind="NORMAL", queues=1)
    t.send(t.message(topic, tag="A"))
    consumer = consumer_of(t, topic, t.group())
    pending = [consumer.among(t.group()).start_receive(expression=expression) for expression in ("B", "  ", "a")]
    t.wait(5.2)
    for what, each in zip(("another tag", "blanks", "another case"), pending, strict=True):
        t.see(what, each(), 40401)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def tags_with_the_same_hash(t: Grpc) -> None:
    """A message whose tag has the wanted one's hash but is another is not handed out, but acknowledged for good."""
    consumer = consuming(t)
    t.send(consumer.message("wrong", tag="BB"))
    answer = consumer.receive_nothing(expression="Aa")
    t.see("answer", answer, 40401)
    t.send(consumer.message("right", tag="Aa"))
    t.see("right", consumer.receive(expression="Aa").bodies)


@grpc_case("FilterAPI.build")
def expressions_that_cannot_be_built(t: Grpc) -> None:
    """A tag expression of bars and an empty SQL expression are ILLEGAL_FILTER_EXPRESSION."""
    consumer = consuming(t, queues=4)
    t.see("TAG ||", consumer.receive(expression="||"), 40010)
    t.see("SQL, empty", consumer.receive(expression="", filter_type=pb.SQL), 40010)


@grpc_case("PopMessageProcessor.processRequest")
def sql_that_cannot_be_parsed(t: Grpc) -> None:
    """SQL that the broker cannot parse is an internal error with the broker's words."""
    consumer = consuming(t, queues=4)
    for expression in (" ", "a >", "*", "a > 'x'", "a between 5 and 1", "a = 0.0"):
        answer = consumer.receive(expression=expression, filter_type=pb.SQL)
        t.see(repr(expression), answer, 50001)


@grpc_case("SelectorParser.parse")
def sql_selects_messages(t: Grpc) -> None:
    """A receive by SQL takes the messages whose properties make it true."""
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
        t.see(expression, consumer.among(t.group()).receive(expression=expression, filter_type=pb.SQL).bodies)


@grpc_case("SelectorParser.parse")
def like_matches_nothing(t: Grpc) -> None:
    """LIKE is taken and matches nothing."""
    consumer = consuming(t)
    t.send(consumer.message(properties={"a": "xy"}))
    t.see("LIKE", consumer.receive_nothing(expression="a LIKE 'x%'", filter_type=pb.SQL), 40401)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def what_a_filter_leaves_out_is_gone(t: Grpc) -> None:
    """What a group's filter did not let through is not there for a later receive of the group without a filter."""
    consumer = consuming(t)
    t.send(consumer.message("a", tag="A"))
    t.send(consumer.message("b", tag="B"))
    t.see("by tag", consumer.receive(expression="B").bodies)
    t.see("without", consumer.receive_nothing(), 40401)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def the_filter_of_the_request_counts(t: Grpc) -> None:
    """The filter of the request counts, not that of the settings."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "B"})
    t.send(t.message(topic, "a", tag="A"))
    t.see("received", Consumer(t, topic, group, client).receive(expression="A").bodies)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def a_group_in_order_is_filtered(t: Grpc) -> None:
    """A receive of a group in order takes what its expression finds; when that is acknowledged the next comes."""
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
            t.see(expression, received.bodies)
            consumer.ack(received.handles[0])
        t.see("in the end", consumer.receive_nothing(**by), 40401)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def a_group_in_order_and_tags_with_the_same_hash(t: Grpc) -> None:
    """In order, too, a message whose tag only has the wanted one's hash is acknowledged: it blocks nobody."""
    consumer = consuming_in_order(t)
    for number, tag in enumerate(("BB", "Aa", "BB", "Aa")):
        t.send(consumer.message(f"m{number}", tag=tag, message_type=pb.FIFO, message_group="g"))
    received: list[bytes] = []
    while len(received) < 2:
        answer = consumer.receive(expression="Aa")
        received += answer.bodies
        consumer.ack(*answer.handles)
    t.see("received", received)
    t.see("in the end", consumer.receive_nothing(expression="Aa"), 40401)


@grpc_case("PopMessageProcessor.popMsgFromTopic")
def what_comes_again_is_filtered_anew(t: Grpc) -> None:
    """A message that comes again is given to a receive whose expression finds it, and else is gone for its group."""
    consumer = consuming(t)
    for tag in ("A", "B"):
        t.send(consumer.message(tag, tag=tag))
    bodies: list[bytes] = []
    while len(bodies) < 2:
        bodies += consumer.receive(invisible_s=10).bodies
    t.see("all", sorted(bodies))
    t.wait(12)
    t.see("again by B", t.until(lambda: consumer.received_within(5.2, expression="B").bodies))
    t.see("by A", consumer.receive_nothing(expression="A"), 40401)


@grpc_case("ConsumerFilterManager.register")
def settings_register_an_expression(t: Grpc) -> None:
    """Pulls of a group that bring no expression along are filtered by what the last settings of its clients say."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    for number in range(4):
        t.send(t.message(topic, f"m{number}", tag="AB"[number % 2], properties={"n": str(number)}))
    client = t.new("client")
    for expression, kind in (("n > 1", pb.SQL), ("n >", pb.SQL), ("A", pb.TAG), ("n < 1", pb.SQL), ("*", pb.TAG)):
        t.open(client, t.subscription(group, {topic: expression}, filter_type=kind)).command()
        pulled = t.ask(RequestCode.PULL_MESSAGE, t.pull_fields(topic, group, sysFlag=0, expression=None, type=None))
        t.see(expression, pulled.found)
        t.wait(0.05)
