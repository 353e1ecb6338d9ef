"""Recalls, replies and ends of transactions whose messages cannot be stored."""

from rocketmq_testkit.emulator.message.names import reply_topic
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting, short_names
from ...worlds.transactions import COMMIT, transacting
from ..schedule.recall import handle, recall
from .request_reply import answer_of, asker

TOO_LONG = "x" * 33_000
"""No message has properties of more than 32,767 bytes."""


@remoting_case("RecallMessageProcessor.handlePutMessageResult")
def a_recall_whose_mark_cannot_be_stored(t: Remoting) -> None:
    """A recall whose mark would be too large, by a handle that nobody signs, fails without more words."""
    topic = t.topic(queues=1)
    parts = ("v1", topic, t.broker_name, t.now_ms() + 20_000)
    t.see("long id", recall(t, topic, handle(*parts, TOO_LONG)), 1)
    t.see("short id", recall(t, topic, handle(*parts, "id")), 0)


@remoting_case("ReplyMessageProcessor.handlePutMessageResult")
def a_reply_that_cannot_be_stored_is_passed_on(t: Remoting) -> None:
    """A reply that is too large to be stored reaches who asked for it, and its sender hears that it did."""
    client, connection = asker(t)
    replier = t.connect()
    for label, more in (("properties", {"more": TOO_LONG}), ("messages within", {"INNER_NUM": "2"})):
        properties = {"REPLY_TO_CLIENT": client, **more}
        fields = short_names(t.send_fields(reply_topic(t.cluster), properties=properties))
        opaque = replier.submit(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply")
        push = connection.next_push(10)
        t.see(f"pushed, {label}", [push.code, push.body, sorted(push.ext_fields or {})])
        connection.answer(push)
        t.see(f"answer, {label}", answer_of(replier, opaque), 0)


@remoting_case("ReplyMessageProcessor.handlePutMessageResult")
def a_reply_to_nobody_that_cannot_be_stored(t: Remoting) -> None:
    """A reply that is too large to be stored, to a client that is not there, fails for want of the client."""
    properties = {"REPLY_TO_CLIENT": "nobody", "more": TOO_LONG}
    fields = short_names(t.send_fields(reply_topic(t.cluster), properties=properties))
    t.see("answer", t.ask(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply"), 1)


@remoting_case("EndTransactionProcessor.sendFinalMessage, AdminBrokerProcessor.resumeCheckHalfMessage")
def a_message_that_nobody_looked_at_cannot_be_stored_again(t: Remoting) -> None:
    """A time too far away, unread in a batch, is refused when its message is committed, or put back as a half one."""
    producers = transacting(t)
    topic = producers.topic
    home = {"PGROUP": producers.name, "REAL_TOPIC": topic, "REAL_QID": "0"}
    parts = [(b"far", {**home, "TIMER_DELAY_SEC": str(10 * 86_400)}), (b"near", home)]
    sent = t.send(topic, batch_body(parts), batch=True)
    far, near = sent["msgId"].split(",")
    t.stored(topic, 2)
    for label, message_id, offset in (("far", far, 0), ("near", near, 1)):
        place = int(message_id[-16:], 16)
        committed = producers.end(sent, COMMIT, tranStateTableOffset=offset, commitLogOffset=place)
        t.see(f"commit, {label}", committed)
        t.see(f"put back, {label}", t.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id}))
    t.see("stored", t.stored(topic, 3).bodies)
