"""Recalls, replies and transaction ends whose messages cannot be stored."""

from rocketmq_testkit.emulator.message.names import reply_topic
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting, short_names
from ...worlds.transactions import COMMIT, transacting
from ..schedule.recall import handle, recall
from .request_reply import answer_of, asker

TOO_LONG = "x" * 33_000
"""Longer than the 32,767 bytes that the properties of a message may have."""


@remoting_case("RecallMessageProcessor.handlePutMessageResult")
def a_recall_whose_mark_cannot_be_stored(t: Remoting) -> None:
    """A recall with a forged handle whose delete marker would be too large returns an error without details."""
    topic = t.topic(queues=1)
    parts = ("v1", topic, t.broker_name, t.now_ms() + 20_000)
    t.see("long id", recall(t, topic, handle(*parts, TOO_LONG)), 1)
    t.see("short id", recall(t, topic, handle(*parts, "id")), 0)


@remoting_case("ReplyMessageProcessor.handlePutMessageResult")
def a_reply_that_cannot_be_stored_is_passed_on(t: Remoting) -> None:
    """A reply that is too large to be stored is still pushed to the requester, and its sender gets SUCCESS."""
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
    """A reply that is too large to be stored, for an unknown client, returns an error because of the client."""
    properties = {"REPLY_TO_CLIENT": "nobody", "more": TOO_LONG}
    fields = short_names(t.send_fields(reply_topic(t.cluster), properties=properties))
    t.see("answer", t.ask(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply"), 1)


@remoting_case("EndTransactionProcessor.sendFinalMessage, AdminBrokerProcessor.resumeCheckHalfMessage")
def a_message_that_nobody_looked_at_cannot_be_stored_again(t: Remoting) -> None:
    """A delay above the limit is not checked within a batch.

    It is rejected when its message is committed or put back as half message.
    """
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
