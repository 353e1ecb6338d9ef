"""Half messages, and their commit or rollback by the producer."""

from typing import Any

from rocketmq_testkit.emulator.message.names import HALF_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import STRICT, with_keys
from ...worlds.pops import PopGroup
from ...worlds.remoting import Remoting, replies_to
from ...worlds.transactions import COMMIT, ROLLBACK, UNKNOWN, shown, transacting
from ..pop.peek import peek

FAR = 1 << 40
"""A log offset beyond the end of any log."""


def _delivered(t: Remoting, topic: str, count: int = 1) -> list[ReceivedMessage]:
    return t.stored(topic, count, seconds=5).messages


@remoting_case("EndTransactionProcessor.processRequest")
def a_half_message_is_hidden_until_its_commit(t: Remoting) -> None:
    """A half message cannot be pulled. When its producer commits it, the broker stores it in its topic."""
    producers, group = transacting(t, queues=2), t.group()
    sent = producers.half(queue=1, tag="A", keys="k", properties={"color": "red"})
    t.see("half", sent.without("queueOffset"), 0)
    t.wait(0.3)
    t.see("before", t.pull(producers.topic, group, 1), 19)
    t.see("commit", producers.end(sent, COMMIT), 0)
    t.see("after", t.stored(producers.topic, queue=1, seconds=5), 0)


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_does_not_count(t: Remoting) -> None:
    """A half message does not count in the offsets and statistics of its topic, and is neither popped nor peeked."""
    producers, group = transacting(t), t.group()
    sent = producers.half(keys="k")
    t.wait(0.3)
    queue = {"topic": producers.topic, "queueId": 0}
    t.see("end of the queue", t.ask(RequestCode.GET_MAX_OFFSET, queue), 0)
    t.see("found by time", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**queue, "timestamp": 0}), 0)
    t.see("statistics", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": producers.topic}).json["offsetTable"])
    t.see("popped", t.pop(producers.topic, group), 210)
    t.see("peeked", peek(PopGroup(t, producers.topic, group)), 19)
    producers.end(sent, COMMIT)
    t.until(lambda: t.max_offset(producers.topic) == 1, 5)
    t.see("popped after its commit", t.pop(producers.topic, group).bodies)


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_lies_in_a_topic_of_its_own(t: Remoting) -> None:
    """A half message is stored in RMQ_SYS_TRANS_HALF_TOPIC with its real topic and queue as properties."""
    producers = transacting(t, queues=2)
    sent = producers.half(queue=1, tag="A")
    t.see("stored as", shown(t.view(sent.place).messages[0]))


@remoting_case("EndTransactionProcessor.endMessageTransaction")
def a_committed_message_names_its_half_message(t: Remoting) -> None:
    """The response to a half message has its half topic offset.

    The committed message has the log offset of the half message.
    """
    producers = transacting(t)
    sent = producers.half()
    half = t.message_at(HALF_TOPIC, 0, int(sent["queueOffset"]))
    t.see("half message at the place that was told", half.physical_offset == sent.place)
    t.see("half message names", half.prepared_transaction_offset)
    producers.end(sent, COMMIT)
    [committed] = _delivered(t, producers.topic)
    t.see("committed message names the half message", committed.prepared_transaction_offset == sent.place)


@remoting_case("EndTransactionProcessor.processRequest")
def a_rolled_back_message_is_never_seen(t: Remoting) -> None:
    """A half message that its producer rolls back is not stored in its topic."""
    producers = transacting(t)
    sent = producers.half()
    t.see("rollback", producers.end(sent, ROLLBACK), 0)
    t.wait(0.5)
    t.see("after", t.pull(producers.topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.processRequest")
def a_commit_always_stores(t: Remoting) -> None:
    """Every commit of a half message stores it, even a second one or one after a rollback."""
    producers = transacting(t)
    sent = producers.half("twice")
    for _ in range(2):
        t.see("commit", producers.end(sent, COMMIT), 0)
    t.see("rollback after it", producers.end(sent, ROLLBACK), 0)
    other = producers.half("rolled back")
    producers.end(other, ROLLBACK)
    t.see("commit after a rollback", producers.end(other, COMMIT), 0)
    t.see("stored", [message.body for message in _delivered(t, producers.topic, 3)])


@remoting_case("EndTransactionProcessor.processRequest")
def an_unknown_end_gets_no_answer(t: Remoting) -> None:
    """An end with the type unknown gets no response."""
    producers = transacting(t)
    sent = producers.half()
    connections = {check: t.connect() for check in (False, True)}
    for check, connection in connections.items():
        fields = producers.end_fields(sent, UNKNOWN, fromTransactionCheck=check)
        opaque = connection.submit(RequestCode.END_TRANSACTION, fields)
    for check, reply in replies_to(connections, opaque, 1).items():
        t.see(f"from a check: {check}", reply)


@remoting_case("EndTransactionRequestHeader.checkFields")
def an_end_is_commit_or_rollback(t: Remoting) -> None:
    """An end with an invalid type or without its fields is rejected."""
    producers = transacting(t)
    sent = producers.half()
    for value in (4, 5, -1):
        t.see(f"value {value}", producers.end(sent, value), 1)
    names = {"topic": producers.topic, "producerGroup": producers.name}
    t.see("without fields", t.ask(RequestCode.END_TRANSACTION, names), 1)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_must_fit_its_half_message(t: Remoting) -> None:
    """An end with another producer group, a wrong offset or one beyond the log is rejected, and nothing is stored."""
    producers = transacting(t)
    sent = producers.half()
    for value in (COMMIT, ROLLBACK):
        t.see("another group", producers.end(sent, value, producerGroup=t.new("producer group")), 1)
        t.see("another place in the half topic", producers.end(sent, value, tranStateTableOffset=FAR), 1)
        t.see("beyond the log", producers.end(sent, value, commitLogOffset=FAR), 1)
        inside = sent.place + 4
        t.see("inside a record", producers.end(sent, value, commitLogOffset=inside), 1)
    t.see("stored", t.pull(producers.topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def only_half_messages_can_be_ended(t: Remoting) -> None:
    """The end of a message that is not a half message is rejected."""
    producers = transacting(t)
    [sent] = t.sent(producers.topic)
    t.see("commit", producers.end(sent, COMMIT).code)
    [tagged] = t.sent(producers.topic, 1, properties={"PGROUP": producers.name})
    t.see("commit of one with a producer group", producers.end(tagged, COMMIT).code)


@remoting_case("EndTransactionProcessor.processRequest")
def topic_and_ids_of_an_end_do_not_matter(t: Remoting) -> None:
    """An end identifies its half message by offsets; topic, message id and transaction id may be wrong or missing."""
    producers = transacting(t)
    wrong: dict[str, Any] = {"topic": t.new(), "msgId": "none", "transactionId": "none"}
    for fields in (wrong, dict.fromkeys(wrong)):
        sent = producers.half()
        t.see("commit", producers.end(sent, COMMIT, **fields), 0)
    t.see("stored", len(_delivered(t, producers.topic, 2)))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_with_a_delay_loses_its_topic(t: Remoting) -> None:
    """A half message with a delay level is delayed for the half topic and loses its own. A commit does not store it."""
    producers = transacting(t)
    sent = producers.half(properties={"DELAY": "1"})
    t.see("half", sent.without("queueOffset"), 0)
    t.see("stored as", shown(t.view(sent.place).messages[0]))
    t.see("commit", producers.end(sent, COMMIT))
    t.wait(2.5)
    t.see("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_commit_wakes_a_held_pull(t: Remoting) -> None:
    """A half message does not wake a held pull on its queue; its commit does."""
    producers, group = transacting(t), t.group()
    pull = t.start_pull(producers.topic, group, suspend_ms=15_000)
    sent = producers.half()
    t.wait(0.5)
    t.see("held", pull.arrived())
    watch = t.stopwatch()
    producers.end(sent, COMMIT)
    t.see("answer", t.until(pull.arrived, 15), 0)
    t.see("after", watch.between(0, 2))


@remoting_case("QueryMessageProcessor.queryMessage")
def keys_are_found_after_the_commit(t: Remoting) -> None:
    """A key query finds a half message in its topic after the commit."""
    producers = transacting(t)
    sent = producers.half(keys="k")
    t.wait(0.3)
    t.see("before", t.query(producers.topic, "k").code)
    producers.end(sent, COMMIT)
    t.until(lambda: t.query(producers.topic, "k").code == 0, 5)
    t.see("after", t.query(producers.topic, "k").bodies)


@remoting_case("SendMessageProcessor.sendMessage", settings=with_keys(STRICT, "rejectTransactionMessage"))
def a_broker_may_refuse_transactions(t: Remoting) -> None:
    """With rejectTransactionMessage half messages are rejected and other messages are accepted."""
    producers = transacting(t)
    t.see("half", producers.half(), 16)
    t.see("whole", t.send(producers.topic), 0)
