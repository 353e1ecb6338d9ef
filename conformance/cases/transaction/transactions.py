"""Half messages, and their commit or rollback by the producer."""

from typing import Any

from rocketmq_testkit.emulator.message.names import HALF_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext, replies_to
from ...helpers.pops import PopGroup
from ...helpers.settings import NO_AUTO_CREATE, shared_settings
from ...helpers.transactions import COMMIT, ROLLBACK, UNKNOWN, shown, transacting
from ..pop.peek import peek

FAR = 1 << 40
"""A log offset beyond the end of any log."""


def _delivered(t: RemotingContext, topic: str, count: int = 1) -> list[ReceivedMessage]:
    return t.stored(topic, count, seconds=5).messages


@remoting_case("EndTransactionProcessor.processRequest")
def a_half_message_is_hidden_until_its_commit(t: RemotingContext) -> None:
    """A half message cannot be pulled. When its producer commits it, the broker stores it in its topic."""
    producers, group = transacting(t, queues=2), t.group()
    sent = producers.half(queue=1, tag="A", keys="k", properties={"color": "red"})
    t.note("half", sent.without("queueOffset"), 0)
    t.wait(0.3)
    t.note("before", t.pull(producers.topic, group, 1), 19)
    t.note("commit", producers.end(sent, COMMIT), 0)
    t.note("after", t.stored(producers.topic, queue=1, seconds=5), 0)


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_is_not_counted_in_its_topic(t: RemotingContext) -> None:
    """A half message does not count in the offsets and statistics of its topic, and is neither popped nor peeked."""
    producers, group = transacting(t), t.group()
    sent = producers.half(keys="k")
    t.wait(0.3)
    queue = {"topic": producers.topic, "queueId": 0}
    t.note("end of the queue", t.request(RequestCode.GET_MAX_OFFSET, queue), 0)
    t.note("found by time", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**queue, "timestamp": 0}), 0)
    t.note("statistics", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": producers.topic}).json["offsetTable"])
    t.note("popped", t.pop(producers.topic, group), 210)
    t.note("peeked", peek(PopGroup(t, producers.topic, group)), 19)
    producers.end(sent, COMMIT)
    t.until(lambda: t.max_offset(producers.topic) == 1, 5)
    t.note("popped after its commit", t.pop(producers.topic, group).bodies)


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_is_stored_in_the_half_topic(t: RemotingContext) -> None:
    """A half message is stored in RMQ_SYS_TRANS_HALF_TOPIC with its real topic and queue as properties."""
    producers = transacting(t, queues=2)
    sent = producers.half(queue=1, tag="A")
    t.note("stored as", shown(t.view(sent.place).messages[0]))


@remoting_case("EndTransactionProcessor.endMessageTransaction")
def a_committed_message_has_the_log_offset_of_its_half_message(t: RemotingContext) -> None:
    """The response to a half message has its half topic offset.

    The committed message has the log offset of the half message.
    """
    producers = transacting(t)
    sent = producers.half()
    half = t.message_at(HALF_TOPIC, 0, int(sent["queueOffset"]))
    t.note("half message at the returned place", half.physical_offset == sent.place)
    t.note("half message names", half.prepared_transaction_offset)
    producers.end(sent, COMMIT)
    [committed] = _delivered(t, producers.topic)
    t.note("committed message names the half message", committed.prepared_transaction_offset == sent.place)


@remoting_case("EndTransactionProcessor.processRequest")
def a_rolled_back_message_is_never_seen(t: RemotingContext) -> None:
    """A half message that its producer rolls back is not stored in its topic."""
    producers = transacting(t)
    sent = producers.half()
    t.note("rollback", producers.end(sent, ROLLBACK), 0)
    t.wait(0.5)
    t.note("after", t.pull(producers.topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.processRequest")
def every_commit_stores_the_message_even_after_a_rollback(t: RemotingContext) -> None:
    """Every commit of a half message stores it, even a second one or one after a rollback."""
    producers = transacting(t)
    sent = producers.half("twice")
    for _ in range(2):
        t.note("commit", producers.end(sent, COMMIT), 0)
    t.note("rollback after it", producers.end(sent, ROLLBACK), 0)
    other = producers.half("rolled back")
    producers.end(other, ROLLBACK)
    t.note("commit after a rollback", producers.end(other, COMMIT), 0)
    t.note("stored", [message.body for message in _delivered(t, producers.topic, 3)])


@remoting_case("EndTransactionProcessor.processRequest")
def an_end_of_type_unknown_gets_no_response(t: RemotingContext) -> None:
    """An end with the type unknown gets no response."""
    producers = transacting(t)
    sent = producers.half()
    connections = {check: t.connect() for check in (False, True)}
    for check, connection in connections.items():
        fields = producers.end_fields(sent, UNKNOWN, fromTransactionCheck=check)
        opaque = connection.submit(RequestCode.END_TRANSACTION, fields)
    for check, reply in replies_to(connections, opaque, 1).items():
        t.note(f"from a check: {check}", reply)


@remoting_case("EndTransactionRequestHeader.checkFields")
def an_end_with_an_invalid_type_is_rejected(t: RemotingContext) -> None:
    """An end with an invalid type or without its fields is rejected."""
    producers = transacting(t)
    sent = producers.half()
    for value in (4, 5, -1):
        t.note(f"value {value}", producers.end(sent, value), 1)
    names = {"topic": producers.topic, "producerGroup": producers.name}
    t.note("without fields", t.request(RequestCode.END_TRANSACTION, names), 1)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_with_a_wrong_group_or_offset_is_rejected(t: RemotingContext) -> None:
    """An end with another producer group, a wrong offset or one beyond the log is rejected, and nothing is stored."""
    producers = transacting(t)
    sent = producers.half()
    for value in (COMMIT, ROLLBACK):
        t.note("another group", producers.end(sent, value, producerGroup=t.new("producer group")), 1)
        t.note("another place in the half topic", producers.end(sent, value, tranStateTableOffset=FAR), 1)
        t.note("beyond the log", producers.end(sent, value, commitLogOffset=FAR), 1)
        inside = sent.place + 4
        t.note("inside a record", producers.end(sent, value, commitLogOffset=inside), 1)
    t.note("stored", t.pull(producers.topic, t.group()), 19)


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def only_half_messages_can_be_ended(t: RemotingContext) -> None:
    """The end of a message that is not a half message is rejected."""
    producers = transacting(t)
    [sent] = t.sent(producers.topic)
    t.note("commit", producers.end(sent, COMMIT).code)
    [tagged] = t.sent(producers.topic, 1, properties={"PGROUP": producers.name})
    t.note("commit of one with a producer group", producers.end(tagged, COMMIT).code)


@remoting_case("EndTransactionProcessor.processRequest")
def topic_and_ids_of_an_end_do_not_matter(t: RemotingContext) -> None:
    """An end identifies its half message by offsets; topic, message id and transaction id may be wrong or missing."""
    producers = transacting(t)
    wrong: dict[str, Any] = {"topic": t.new(), "msgId": "none", "transactionId": "none"}
    for fields in (wrong, dict.fromkeys(wrong)):
        sent = producers.half()
        t.note("commit", producers.end(sent, COMMIT, **fields), 0)
    t.note("stored", len(_delivered(t, producers.topic, 2)))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_half_message_with_a_delay_level_is_not_stored_by_a_commit(t: RemotingContext) -> None:
    """A half message with a delay level is delayed for the half topic and loses its own. A commit does not store it."""
    producers = transacting(t)
    sent = producers.half(properties={"DELAY": "1"})
    t.note("half", sent.without("queueOffset"), 0)
    t.note("stored as", shown(t.view(sent.place).messages[0]))
    t.note("commit", producers.end(sent, COMMIT))
    t.wait(2.5)
    t.note("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("PullRequestHoldService.notifyMessageArriving")
def a_commit_wakes_a_held_pull(t: RemotingContext) -> None:
    """A half message does not wake a waiting pull on its queue; its commit does."""
    producers, group = transacting(t), t.group()
    pull = t.start_pull(producers.topic, group, suspend_ms=15_000)
    sent = producers.half()
    t.wait(0.5)
    t.note("held", pull.arrived())
    watch = t.stopwatch()
    producers.end(sent, COMMIT)
    t.note("response", t.until(pull.arrived, 15), 0)
    t.note("after", watch.between(0, 2))


@remoting_case("QueryMessageProcessor.queryMessage")
def a_key_query_finds_a_half_message_only_after_its_commit(t: RemotingContext) -> None:
    """A key query finds a half message in its topic after the commit."""
    producers = transacting(t)
    sent = producers.half(keys="k")
    t.wait(0.3)
    t.note("before", t.query(producers.topic, "k").code)
    producers.end(sent, COMMIT)
    t.until(lambda: t.query(producers.topic, "k").code == 0, 5)
    t.note("after", t.query(producers.topic, "k").bodies)


@remoting_case("SendMessageProcessor.sendMessage", settings=shared_settings(NO_AUTO_CREATE, "rejectTransactionMessage"))
def half_messages_are_rejected_with_reject_transaction_message(t: RemotingContext) -> None:
    """With rejectTransactionMessage half messages are rejected and other messages are accepted."""
    producers = transacting(t)
    t.note("half", producers.half(), 16)
    t.note("whole", t.send(producers.topic), 0)
