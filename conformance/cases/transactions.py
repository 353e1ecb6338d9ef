"""Transactions: half messages, and their end by the producer."""

from typing import Any

from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request_code import RequestCode

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import PopGroup
from ..worlds.remoting import Remoting, reply_to
from ..worlds.transactions import COMMIT, ROLLBACK, UNKNOWN, end, end_fields, half, shown
from .peek import peek

FAR = 1 << 40
"""A place that no log reaches."""


def _delivered(t: Remoting, topic: str, count: int = 1) -> list[ReceivedMessage]:
    return t.stored(topic, count, seconds=5).messages


@remoting_case("EndTransactionProcessor.processRequest")
def a_half_message_is_hidden_until_its_commit(t: Remoting) -> None:
    """A half message cannot be pulled; when its producer commits it, it is stored in its topic."""
    topic, producer, group = t.topic(queues=2), t.new("producer group"), t.group()
    sent = half(t, topic, producer, queue=1, tag="A", keys="k", properties={"color": "red"})
    t.see("half", sent.without("queueOffset"), 0)
    t.wait(0.3)
    t.see("before", t.pull(topic, group, 1), 19)
    t.see("commit", end(t, sent, producer, COMMIT), 0)
    t.see("after", t.stored(topic, queue=1, seconds=5), 0)


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_does_not_count(t: Remoting) -> None:
    """A half message is in no offset and no statistics of its topic, and neither popped nor peeked at."""
    topic, producer, group = t.topic(queues=1), t.new("producer group"), t.group()
    sent = half(t, topic, producer, keys="k")
    t.wait(0.3)
    queue = {"topic": topic, "queueId": 0}
    t.see("end of the queue", t.ask(RequestCode.GET_MAX_OFFSET, queue), 0)
    t.see("found by time", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**queue, "timestamp": 0}), 0)
    t.see("statistics", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["offsetTable"])
    t.see("popped", t.pop(topic, group), 210)
    t.see("peeked", peek(PopGroup(t, topic, group)), 19)
    end(t, sent, producer, COMMIT)
    t.until(lambda: t.ask(RequestCode.GET_MAX_OFFSET, queue)["offset"] == "1", 5)
    t.see("popped after its commit", [message.body for message in t.pop(topic, group).messages])


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_lies_in_a_topic_of_its_own(t: Remoting) -> None:
    """A half message is stored in RMQ_SYS_TRANS_HALF_TOPIC and remembers its own topic and queue."""
    topic, producer = t.topic(queues=2), t.new("producer group")
    sent = half(t, topic, producer, queue=1, tag="A")
    view = t.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": int(sent["msgId"][-16:], 16)})
    t.see("stored as", shown(view.messages[0]))


@remoting_case("EndTransactionProcessor.processRequest")
def a_rolled_back_message_is_never_seen(t: Remoting) -> None:
    """A half message that its producer rolls back is not stored in its topic."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    t.see("rollback", end(t, sent, producer, ROLLBACK), 0)
    t.wait(0.5)
    t.see("after", t.pull(topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.processRequest")
def a_commit_always_stores(t: Remoting) -> None:
    """Each commit of a half message stores it: a second one, and one after a rollback."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer, "twice")
    for _ in range(2):
        t.see("commit", end(t, sent, producer, COMMIT), 0)
    t.see("rollback after it", end(t, sent, producer, ROLLBACK), 0)
    other = half(t, topic, producer, "rolled back")
    end(t, other, producer, ROLLBACK)
    t.see("commit after a rollback", end(t, other, producer, COMMIT), 0)
    t.see("stored", [message.body for message in _delivered(t, topic, 3)])


@remoting_case("EndTransactionProcessor.processRequest")
def an_unknown_end_gets_no_answer(t: Remoting) -> None:
    """A producer that says that it does not know how its transaction ends gets no answer."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    connection = t.connect()
    for check in (False, True):
        fields = end_fields(sent, producer, UNKNOWN, fromTransactionCheck=check)
        opaque = connection.submit(RequestCode.END_TRANSACTION, fields)
        t.see(f"from a check: {check}", reply_to(connection, opaque, 1))


@remoting_case("EndTransactionRequestHeader.checkFields")
def an_end_is_commit_or_rollback(t: Remoting) -> None:
    """An end that is neither of the three is refused, and so is one without its fields."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    for value in (4, 5, -1):
        t.see(f"value {value}", end(t, sent, producer, value), 1)
    t.see("without fields", t.ask(RequestCode.END_TRANSACTION, {"topic": topic, "producerGroup": producer}), 1)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_must_fit_its_half_message(t: Remoting) -> None:
    """An end by another producer group, at another place or beyond the log is refused, and nothing is stored."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    for value in (COMMIT, ROLLBACK):
        t.see("another group", end(t, sent, t.new("producer group"), value), 1)
        t.see("another place in the half topic", end(t, sent, producer, value, tranStateTableOffset=FAR), 1)
        t.see("beyond the log", end(t, sent, producer, value, commitLogOffset=FAR), 1)
        inside = int(sent["msgId"][-16:], 16) + 4
        t.see("inside a record", end(t, sent, producer, value, commitLogOffset=inside).code)
    t.see("stored", t.pull(topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def only_half_messages_can_be_ended(t: Remoting) -> None:
    """The end of a message that is no half message is refused."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    [sent] = t.sent(topic)
    t.see("commit", end(t, sent, producer, COMMIT).code)
    [tagged] = t.sent(topic, 1, properties={"PGROUP": producer})
    t.see("commit of one with a producer group", end(t, tagged, producer, COMMIT).code)


@remoting_case("EndTransactionProcessor.processRequest")
def topic_and_ids_of_an_end_do_not_matter(t: Remoting) -> None:
    """An end is found by its places; topic, message id and transaction id may be wrong or missing."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    wrong: dict[str, Any] = {"topic": t.new(), "msgId": "none", "transactionId": "none"}
    for fields in (wrong, dict.fromkeys(wrong)):
        sent = half(t, topic, producer)
        t.see("commit", end(t, sent, producer, COMMIT, **fields), 0)
    t.see("stored", len(_delivered(t, topic, 2)))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_with_a_delay_loses_its_topic(t: Remoting) -> None:
    """A half message with a delay level waits for the half topic and forgets its own: a commit does not store it."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer, properties={"DELAY": "1"})
    t.see("half", sent.without("queueOffset"), 0)
    view = t.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": int(sent["msgId"][-16:], 16)})
    t.see("stored as", shown(view.messages[0]))
    t.see("commit", end(t, sent, producer, COMMIT))
    t.wait(2.5)
    t.see("its topic", t.pull(topic, t.group()), 19)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_commit_wakes_a_held_pull(t: Remoting) -> None:
    """A half message does not wake a pull that is held on its queue, its commit does."""
    topic, producer, group = t.topic(queues=1), t.new("producer group"), t.group()
    pull = t.start_pull(topic, group, suspend_ms=15_000)
    sent = half(t, topic, producer)
    t.wait(0.5)
    t.see("held", pull.arrived())
    watch = t.stopwatch()
    end(t, sent, producer, COMMIT)
    t.see("answer", t.until(pull.arrived, 15), 0)
    t.see("after", watch.between(0, 2))


@remoting_case("QueryMessageProcessor.queryMessage")
def keys_are_found_after_the_commit(t: Remoting) -> None:
    """A key of a half message finds it in its topic when it is committed."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer, keys="k")
    t.wait(0.3)

    def look() -> Answer:
        ext = {"topic": topic, "key": "k", "maxNum": 32, "beginTimestamp": 0, "endTimestamp": t.now_ms() + 60_000}
        return t.ask(RequestCode.QUERY_MESSAGE, ext)

    t.see("before", look().code)
    end(t, sent, producer, COMMIT)
    t.until(lambda: look().code == 0, 5)
    t.see("after", [message.body for message in look().messages])


@remoting_case("SendMessageProcessor.sendMessage", settings={"rejectTransactionMessage": "true"})
def a_broker_may_refuse_transactions(t: Remoting) -> None:
    """Where rejectTransactionMessage is on, half messages are refused and others are not."""
    topic = t.topic(queues=1)
    t.see("half", half(t, topic, t.new("producer group")), 16)
    t.see("whole", t.send(topic), 0)
