"""POP_MESSAGE: delivery, invisibility, filters and order of popped messages."""

import itertools

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import popping


@remoting_case("PopMessageProcessor.processRequest")
def a_popped_message_is_hidden(t: RemotingContext) -> None:
    """A message returned by one pop is not returned by the next."""
    group = popping(t, 2)
    first = t.note("first pop", group.pop(max_messages=1), 0)
    t.note("second pop", group.pop(), 0)
    t.note("third pop", group.pop(), 210)
    [handle] = group.handles_of(first)
    t.note("handle", handle)
    t.note("acknowledged", group.ack(handle, 0), 0)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def groups_pop_independently(t: RemotingContext) -> None:
    """A message popped by one group is still available to another group."""
    one = popping(t)
    other = one.with_group(t.group())
    one.fill(2)
    t.note("one", one.pop(), 0)
    t.note("other", other.pop(), 0)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_one_queue_reads_only_that_queue(t: RemotingContext) -> None:
    """A pop of one queue reads only that queue, and its rest number counts only that queue."""
    group = popping(t, queues=2)
    group.fill(2, queue=0)
    group.fill(3, queue=1)
    t.note("one of queue 1", group.pop(queue=1, max_messages=1), 0)
    t.note("the rest of queue 1", group.pop(queue=1), 0)
    t.note("queue 1 again", group.pop(queue=1), 210)
    t.note("queue 0", group.pop(queue=0), 0)


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_of_all_queues_reads_them_in_ascending_order_from_a_random_start(t: RemotingContext) -> None:
    """A pop of all queues reads each queue once, in ascending order from a random start, wrapping around at the end."""
    group = popping(t, 2, queues=4)
    response = group.pop()
    queues = [message.queue_id for message in response.messages]
    t.note("code", response.code)
    t.note("queues as seen from the first", [(queue - queues[0]) % 4 for queue in queues])
    starts = [part.split(" ") for part in response["startOffsetInfo"].split(";")]
    t.note("starts in the order of the messages", [int(queue) for _, queue, _ in starts] == queues[::2])
    t.note("starts", sorted(starts))
    t.note("offsets", sorted(response["msgOffsetInfo"].split(";")))
    t.note("rest", response["restNum"])


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_fills_up_from_the_next_queue(t: RemotingContext) -> None:
    """A pop for more messages than one queue has continues with the next queue. Its rest number counts all queues."""
    group = popping(t, 3, queues=4)
    for number, wanted in enumerate((5, 7, 5)):
        response = group.pop(max_messages=wanted)
        queues = [message.queue_id for message in response.messages]
        t.note(f"pop {number + 1}", {"messages": len(queues), "rest": response["restNum"]})
        if number == 0:  # the other pops start at a random queue
            t.note("all of a queue, then of the next", [(queue - queues[0]) % 4 for queue in queues])
    t.note("nothing is left", group.pop(), 210)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def messages_of_a_pop_are_in_offset_order(t: RemotingContext) -> None:
    """Messages of a queue are returned in offset order. Each handle names the pop's start offset and its own offset."""
    group = popping(t, 5)
    group.pop(max_messages=1)
    response = t.note("three", group.pop(max_messages=3), 0)
    t.note("handles", group.handles_of(response))


@remoting_case("PopMessageProcessor.processRequest")
def at_most_32_messages_are_handed_out(t: RemotingContext) -> None:
    """A pop for 32 messages returns 32 of 40, and the next pop returns the other 8."""
    group = popping(t, 40)
    first = group.pop(max_messages=32)
    t.note("first", [first.code, first["msgOffsetInfo"], first["restNum"]])
    second = group.pop(max_messages=32)
    t.note("second", [second.code, second["msgOffsetInfo"], second["restNum"]])


@remoting_case("DefaultMessageStore.isTheBatchFull")
def a_pop_returns_at_most_256_kib_of_a_queue(t: RemotingContext) -> None:
    """A pop returns at most 256 KiB of a queue, regardless of the number of messages requested."""
    group = popping(t)
    for _ in range(10):
        group.send(b"x" * 60_000)
    t.until(lambda: t.max_offset(group.topic) == 10)
    taken = 0
    for number in range(3):
        response = group.pop()
        t.note(f"pop {number + 1}", [response.code, len(response.messages), response["restNum"]])
        taken += len(response.messages)
        group.wait_until_committed(taken)  # until then the queue is locked, and a pop skips it


@remoting_case("PopBufferMergeService.addCkJustOffset")
def the_offset_advances_at_the_pop_and_not_at_the_ack(t: RemotingContext) -> None:
    """The group's offset advances when messages are popped, not when they are acknowledged."""
    group = popping(t, 3)
    t.note("before", group.committed(setZeroIfNotFound=False), 22)
    response = group.pop(max_messages=2)
    t.note("after the pop", group.wait_until_committed(2), 0)
    group.ack_all(response)
    t.note("after the acknowledgements", group.wait_until_committed(2), 0)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_continue_at_an_offset_committed_by_a_client(t: RemotingContext) -> None:
    """Pops continue at the group's committed offset, even if a client set it back to messages in flight."""
    group = popping(t, 4)
    group.take(3)
    t.note("set back", group.commit(1), 0)
    t.note("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def concurrent_pops_return_each_message_once(t: RemotingContext) -> None:
    """Concurrent pops of several connections together return every message exactly once."""
    group = popping(t, 40)
    pops = [group.start_pop(max_messages=5, poll_ms=5000, to=t.connect()) for _ in range(8)]
    t.wait(0.5)
    found = [text for each in pops for text in each().bodies]
    t.note("messages", len(found))
    t.note("different ones", len(set(found)))


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def a_pop_with_a_tag_returns_only_messages_of_that_tag(t: RemotingContext) -> None:
    """A pop with a tag returns only messages of that tag. The skipped messages are never popped by the group."""
    group = popping(t)
    for tag in ("A", "B", None, "A"):
        group.fill(tag=tag)
    t.note("popped", group.pop(expression="A"), 0)
    t.note("everything", group.pop(), 210)
    t.note("committed", group.wait_until_committed(4), 0)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def a_pop_with_several_tags_returns_messages_of_each_tag(t: RemotingContext) -> None:
    """Tags joined by `||` select the messages of any of these tags."""
    group = popping(t)
    for tag in ("A", "B", "C"):
        group.fill(tag=tag)
    t.note("popped", [message.tag for message in group.pop(expression="A || C").messages])


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def the_offset_advances_past_messages_with_other_tags(t: RemotingContext) -> None:
    """A pop that finds only other tags returns no message, and the group's offset still advances past them."""
    group = popping(t)
    group.fill(3, tag="B")
    t.note("popped", group.pop(expression="A"), 210)
    t.note("committed", group.wait_until_committed(3), 0)


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_sql_expression_selects_messages_by_properties(t: RemotingContext) -> None:
    """A pop with an SQL92 expression returns the messages whose properties match."""
    group = popping(t)
    for number in range(4):
        group.fill(properties={"a": str(number)})
    t.note("popped", group.pop(expression="a > 1", type="SQL92"), 0)
    t.note("everything", group.pop(), 210)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_without_an_expression_returns_every_message(t: RemotingContext) -> None:
    """A pop without an expression, with an empty one or without a type returns every message."""
    topic = t.topic(queues=1)
    t.sent(topic, 2, tag="A")
    t.note("no expression", t.pop(topic, t.group(), expression=None).bodies)
    t.note("neither expression nor type", t.pop(topic, t.group(), expression=None, type=None).bodies)
    t.note("empty expression", t.pop(topic, t.group(), expression="").bodies)
    t.note("no type", t.pop(topic, t.group(), expression="A", type=None).bodies)


@remoting_case("FilterAPI.build")
def an_empty_expression_type_matches_no_message(t: RemotingContext) -> None:
    """With an empty expression type the broker treats the expression as tags but leaves the tag set empty.

    No message matches.
    """
    group = popping(t)
    group.fill(2, tag="A")
    t.note("popped", group.pop(expression="A", type=""), 210)
    t.note("star", group.with_group(t.group()).pop(expression="*", type="").bodies)


@remoting_case("PopMessageProcessor.processRequest")
def an_unusable_sql_expression_matches_no_message(t: RemotingContext) -> None:
    """A pop with an SQL92 expression of a bare property and another word is accepted and returns nothing."""
    group = popping(t, 2)
    t.note("popped", group.pop(expression="a betwixt", type="SQL92"), 210)
    t.note("committed", group.wait_until_committed(2))
    t.note("everything", group.pop())


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_needs_no_heartbeat(t: RemotingContext) -> None:
    """A group that never sent a heartbeat can pop. Afterwards it has neither a connection nor a retry topic."""
    topic, group = t.topic(queues=1), t.new("group")
    t.sent(topic)
    t.note("popped", t.pop(topic, group).bodies)
    t.note("connections", t.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}), 206)
    t.note("route of its retry topic", t.route(retry_topic(group)), 17)


@remoting_case("PopMessageProcessor.processRequest")
def an_attempt_id_has_no_effect_on_unordered_pops(t: RemotingContext) -> None:
    """An unordered pop that repeats an attempt id returns the next messages, not the same ones."""
    group = popping(t, 2)
    t.note("first", group.pop(max_messages=1, attempt_id="a").bodies)
    t.note("second", group.pop(max_messages=1, attempt_id="a").bodies)


@remoting_case("PopMessageProcessor.processRequest")
def each_pop_uses_one_of_8_revive_queues(t: RemotingContext) -> None:
    """Each pop, even an empty one, uses one of 8 revive queues for its check points."""
    group = popping(t, 1)
    numbers = {int(group.pop()["reviveQid"]) for _ in range(64)}
    t.note("all within", sorted(numbers - set(range(8))))
    t.note("several", len(numbers) > 4)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_all_queues_starts_at_a_random_queue(t: RemotingContext) -> None:
    """A pop of all queues starts at a random queue."""
    topic = t.topic(queues=4)
    for queue in range(4):
        t.sent(topic, queue=queue)
    first = {t.pop(topic, t.new("group"), max_messages=1).messages[0].queue_id for _ in range(60)}
    t.note("first queues of 60 groups", sorted(first))


@remoting_case("PopMessageProcessor.processRequest")
def clients_of_a_group_share_the_messages_of_one_queue(t: RemotingContext) -> None:
    """Clients of a group that pop one queue alternately receive one message each, and none has to wait."""
    group = popping(t, 12)
    connections = [t.connect() for _ in range(4)]
    got: list[list[str]] = [[] for _ in connections]
    for _ in range(3):
        for mine, connection in zip(got, connections, strict=True):
            mine += group.pop(max_messages=1, to=connection).bodies
    t.note("messages of each", got)


@remoting_case("PopMessageProcessor.processRequest", settings={"reviveQueueNum": "2"})
def revive_queue_num_sets_the_number_of_revive_queues(t: RemotingContext) -> None:
    """With reviveQueueNum=2, pops, including empty ones, use the revive queues 0 and 1 alternately."""
    group = popping(t, 1)
    numbers = [int(group.pop()["reviveQid"]) for _ in range(6)]
    t.note("revive queues", [numbers.count(0), numbers.count(1)])
    t.note("by turns", all(one != following for one, following in itertools.pairwise(numbers)))


@remoting_case(
    "PopMessageProcessor.isPopShouldStop",
    settings={"enablePopMessageThreshold": "true", "popInflightMessageThreshold": "3"},
)
def too_many_messages_in_flight_stop_a_queue(t: RemotingContext) -> None:
    """With enablePopMessageThreshold a queue returns no messages while more than the threshold are in flight."""
    group = popping(t, 12)
    first = group.pop(max_messages=3)
    t.note("three", first.bodies)
    second = group.pop(max_messages=3)
    t.note("three more", second.bodies)
    t.note("too many are out", group.pop(max_messages=3))
    group.ack_all(first)
    group.ack_all(second)
    t.note("after acknowledgements", group.pop(max_messages=3).bodies)
