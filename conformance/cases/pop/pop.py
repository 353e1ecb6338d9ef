"""POP_MESSAGE: delivery, invisibility, filters and order of popped messages."""

import itertools

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting


@remoting_case("PopMessageProcessor.processRequest")
def a_popped_message_is_hidden(t: Remoting) -> None:
    """A message returned by one pop is not returned by the next."""
    group = popping(t, 2)
    first = t.see("first pop", group.pop(max_messages=1), 0)
    t.see("second pop", group.pop(), 0)
    t.see("third pop", group.pop(), 210)
    [handle] = group.handles_of(first)
    t.see("handle", handle)
    t.see("acknowledged", group.ack(handle, 0), 0)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def groups_pop_independently(t: Remoting) -> None:
    """A message popped by one group is still available to another group."""
    one = popping(t)
    other = one.among(t.group())
    one.fill(2)
    t.see("one", one.pop(), 0)
    t.see("other", other.pop(), 0)


@remoting_case("PopMessageProcessor.processRequest")
def a_queue_is_popped_alone(t: Remoting) -> None:
    """A pop of one queue reads only that queue, and its rest number counts only that queue."""
    group = popping(t, queues=2)
    group.fill(2, queue=0)
    group.fill(3, queue=1)
    t.see("one of queue 1", group.pop(queue=1, max_messages=1), 0)
    t.see("the rest of queue 1", group.pop(queue=1), 0)
    t.see("queue 1 again", group.pop(queue=1), 210)
    t.see("queue 0", group.pop(queue=0), 0)


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def queues_are_read_upwards_from_any(t: Remoting) -> None:
    """A pop of all queues reads each queue once, in ascending order from a random start, wrapping around at the end."""
    group = popping(t, 2, queues=4)
    answer = group.pop()
    queues = [message.queue_id for message in answer.messages]
    t.see("code", answer.code)
    t.see("queues as seen from the first", [(queue - queues[0]) % 4 for queue in queues])
    starts = [part.split(" ") for part in answer["startOffsetInfo"].split(";")]
    t.see("starts in the order of the messages", [int(queue) for _, queue, _ in starts] == queues[::2])
    t.see("starts", sorted(starts))
    t.see("offsets", sorted(answer["msgOffsetInfo"].split(";")))
    t.see("rest", answer["restNum"])


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_fills_up_from_the_next_queue(t: Remoting) -> None:
    """A pop for more messages than one queue has continues with the next queue. Its rest number counts all queues."""
    group = popping(t, 3, queues=4)
    for number, wanted in enumerate((5, 7, 5)):
        answer = group.pop(max_messages=wanted)
        queues = [message.queue_id for message in answer.messages]
        t.see(f"pop {number + 1}", {"messages": len(queues), "rest": answer["restNum"]})
        if number == 0:  # the other pops start at a random queue
            t.see("all of a queue, then of the next", [(queue - queues[0]) % 4 for queue in queues])
    t.see("nothing is left", group.pop(), 210)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def a_batch_keeps_its_order(t: Remoting) -> None:
    """Messages of a queue are returned in offset order. Each handle names the pop's start offset and its own offset."""
    group = popping(t, 5)
    group.pop(max_messages=1)
    answer = t.see("three", group.pop(max_messages=3), 0)
    t.see("handles", group.handles_of(answer))


@remoting_case("PopMessageProcessor.processRequest")
def at_most_32_messages_are_handed_out(t: Remoting) -> None:
    """A pop for 32 messages returns 32 of 40, and the next pop returns the other 8."""
    group = popping(t, 40)
    first = group.pop(max_messages=32)
    t.see("first", [first.code, first["msgOffsetInfo"], first["restNum"]])
    second = group.pop(max_messages=32)
    t.see("second", [second.code, second["msgOffsetInfo"], second["restNum"]])


@remoting_case("DefaultMessageStore.isTheBatchFull")
def a_read_ends_at_256_kib(t: Remoting) -> None:
    """A pop returns at most 256 KiB of a queue, regardless of the number of messages requested."""
    group = popping(t)
    for _ in range(10):
        group.send(b"x" * 60_000)
    t.until(lambda: t.max_offset(group.topic) == 10)
    taken = 0
    for number in range(3):
        answer = group.pop()
        t.see(f"pop {number + 1}", [answer.code, len(answer.messages), answer["restNum"]])
        taken += len(answer.messages)
        group.reaches(taken)  # until then the queue is locked, and a pop skips it


@remoting_case("PopBufferMergeService.addCkJustOffset")
def the_offset_moves_with_the_pop(t: Remoting) -> None:
    """The group's offset advances when messages are popped, not when they are acknowledged."""
    group = popping(t, 3)
    t.see("before", group.committed(setZeroIfNotFound=False), 22)
    answer = group.pop(max_messages=2)
    t.see("after the pop", group.reaches(2), 0)
    group.ack_all(answer)
    t.see("after the acknowledgements", group.reaches(2), 0)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def a_commit_moves_the_place_of_pops(t: Remoting) -> None:
    """Pops continue at the group's committed offset, even if a client set it back to messages in flight."""
    group = popping(t, 4)
    group.take(3)
    t.see("set back", group.commit(1), 0)
    t.see("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_at_once_share_the_messages(t: Remoting) -> None:
    """Concurrent pops of several connections together return every message exactly once."""
    group = popping(t, 40)
    pops = [group.start_pop(max_messages=5, poll_ms=5000, to=t.connect()) for _ in range(8)]
    t.wait(0.5)
    found = [text for each in pops for text in each().bodies]
    t.see("messages", len(found))
    t.see("different ones", len(set(found)))


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def a_tag_selects(t: Remoting) -> None:
    """A pop with a tag returns only messages of that tag. The skipped messages are never popped by the group."""
    group = popping(t)
    for tag in ("A", "B", None, "A"):
        group.fill(tag=tag)
    t.see("popped", group.pop(expression="A"), 0)
    t.see("everything", group.pop(), 210)
    t.see("committed", group.reaches(4), 0)


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def several_tags_select(t: Remoting) -> None:
    """Tags joined by `||` select the messages of any of these tags."""
    group = popping(t)
    for tag in ("A", "B", "C"):
        group.fill(tag=tag)
    t.see("popped", [message.tag for message in group.pop(expression="A || C").messages])


@remoting_case("ExpressionMessageFilter.isMatchedByConsumeQueue")
def what_no_tag_matches_is_passed_over(t: Remoting) -> None:
    """A pop that finds only other tags returns no message, and the group's offset still advances past them."""
    group = popping(t)
    group.fill(3, tag="B")
    t.see("popped", group.pop(expression="A"), 210)
    t.see("committed", group.reaches(3), 0)


@remoting_case("ExpressionMessageFilter.isMatchedByCommitLog")
def a_sql_expression_selects(t: Remoting) -> None:
    """A pop with an SQL92 expression returns the messages whose properties match."""
    group = popping(t)
    for number in range(4):
        group.fill(properties={"a": str(number)})
    t.see("popped", group.pop(expression="a > 1", type="SQL92"), 0)
    t.see("everything", group.pop(), 210)


@remoting_case("PopMessageProcessor.processRequest")
def no_expression_selects_everything(t: Remoting) -> None:
    """A pop without an expression, with an empty one or without a type returns every message."""
    topic = t.topic(queues=1)
    t.sent(topic, 2, tag="A")
    t.see("no expression", t.pop(topic, t.group(), expression=None).bodies)
    t.see("neither expression nor type", t.pop(topic, t.group(), expression=None, type=None).bodies)
    t.see("empty expression", t.pop(topic, t.group(), expression="").bodies)
    t.see("no type", t.pop(topic, t.group(), expression="A", type=None).bodies)


@remoting_case("FilterAPI.build")
def an_empty_type_matches_no_tag(t: Remoting) -> None:
    """With an empty expression type the broker treats the expression as tags but leaves the tag set empty.

    No message matches.
    """
    group = popping(t)
    group.fill(2, tag="A")
    t.see("popped", group.pop(expression="A", type=""), 210)
    t.see("star", group.among(t.group()).pop(expression="*", type="").bodies)


@remoting_case("PopMessageProcessor.processRequest")
def an_unusable_sql_expression_finds_nothing(t: Remoting) -> None:
    """A pop with an SQL92 expression of a bare property and another word is accepted and returns nothing."""
    group = popping(t, 2)
    t.see("popped", group.pop(expression="a betwixt", type="SQL92"), 210)
    t.see("committed", group.reaches(2))
    t.see("everything", group.pop())


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_needs_no_heartbeat(t: Remoting) -> None:
    """A group that never sent a heartbeat can pop. Afterwards it has neither a connection nor a retry topic."""
    topic, group = t.topic(queues=1), t.new("group")
    t.sent(topic)
    t.see("popped", t.pop(topic, group).bodies)
    t.see("connections", t.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}), 206)
    t.see("route of its retry topic", t.route(retry_topic(group)), 17)


@remoting_case("PopMessageProcessor.processRequest")
def an_attempt_id_means_nothing_out_of_order(t: Remoting) -> None:
    """An unordered pop that repeats an attempt id returns the next messages, not the same ones."""
    group = popping(t, 2)
    t.see("first", group.pop(max_messages=1, attempt_id="a").bodies)
    t.see("second", group.pop(max_messages=1, attempt_id="a").bodies)


@remoting_case("PopMessageProcessor.processRequest")
def revive_queues_take_turns(t: Remoting) -> None:
    """Each pop, even an empty one, uses one of 8 revive queues for its check points."""
    group = popping(t, 1)
    numbers = {int(group.pop()["reviveQid"]) for _ in range(64)}
    t.see("all within", sorted(numbers - set(range(8))))
    t.see("several", len(numbers) > 4)


@remoting_case("PopMessageProcessor.processRequest")
def any_queue_may_be_the_first(t: Remoting) -> None:
    """A pop of all queues starts at a random queue."""
    topic = t.topic(queues=4)
    for queue in range(4):
        t.sent(topic, queue=queue)
    first = {t.pop(topic, t.new("group"), max_messages=1).messages[0].queue_id for _ in range(60)}
    t.see("first queues of 60 groups", sorted(first))


@remoting_case("PopMessageProcessor.processRequest")
def connections_share_one_queue(t: Remoting) -> None:
    """Clients of a group that pop one queue alternately receive one message each, and none has to wait."""
    group = popping(t, 12)
    connections = [t.connect() for _ in range(4)]
    got: list[list[str]] = [[] for _ in connections]
    for _ in range(3):
        for mine, connection in zip(got, connections, strict=True):
            mine += group.pop(max_messages=1, to=connection).bodies
    t.see("messages of each", got)


@remoting_case("PopMessageProcessor.processRequest", settings={"reviveQueueNum": "2"})
def the_number_of_revive_queues_is_a_setting(t: Remoting) -> None:
    """With reviveQueueNum=2, pops, including empty ones, use the revive queues 0 and 1 alternately."""
    group = popping(t, 1)
    numbers = [int(group.pop()["reviveQid"]) for _ in range(6)]
    t.see("revive queues", [numbers.count(0), numbers.count(1)])
    t.see("by turns", all(one != following for one, following in itertools.pairwise(numbers)))


@remoting_case(
    "PopMessageProcessor.isPopShouldStop",
    settings={"enablePopMessageThreshold": "true", "popInflightMessageThreshold": "3"},
)
def too_many_messages_in_flight_stop_a_queue(t: Remoting) -> None:
    """With enablePopMessageThreshold a queue returns no messages while more than the threshold are in flight."""
    group = popping(t, 12)
    first = group.pop(max_messages=3)
    t.see("three", first.bodies)
    second = group.pop(max_messages=3)
    t.see("three more", second.bodies)
    t.see("too many are out", group.pop(max_messages=3))
    group.ack_all(first)
    group.ack_all(second)
    t.see("after acknowledgements", group.pop(max_messages=3).bodies)
