"""Recalls, replies and transaction ends whose messages cannot be stored."""

from rocketmq_testkit.emulator.message.names import reply_topic
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_sends import short_names
from ...context.remoting import RemotingContext
from ...helpers.timers import handle, recall
from ...helpers.transactions import COMMIT, transacting
from .request_reply import register_requester, reply_response

TOO_LONG = "x" * 33_000
"""Longer than the 32,767 bytes that the properties of a message may have."""


@remoting_case("RecallMessageProcessor.handlePutMessageResult")
def a_recall_with_a_too_large_delete_marker_is_refused(t: RemotingContext) -> None:
    """A recall with a forged handle whose delete marker would be too large returns an error without details."""
    topic = t.topic(queues=1)
    parts = ("v1", topic, t.broker_name, t.now_ms() + 20_000)
    t.note("long id", recall(t, topic, handle(*parts, TOO_LONG)), 1)
    t.note("short id", recall(t, topic, handle(*parts, "id")), 0)


@remoting_case("ReplyMessageProcessor.handlePutMessageResult")
def an_unstorable_reply_is_still_pushed_to_the_requester(t: RemotingContext) -> None:
    """A reply that is too large to be stored is still pushed to the requester, and its sender gets SUCCESS."""
    client, connection = register_requester(t)
    replier = t.connect()
    for label, more in (("properties", {"more": TOO_LONG}), ("messages within", {"INNER_NUM": "2"})):
        properties = {"REPLY_TO_CLIENT": client, **more}
        fields = short_names(t.send_fields(reply_topic(t.cluster), properties=properties))
        opaque = replier.submit(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply")
        push = connection.next_server_request(10)
        t.note(f"pushed, {label}", [push.code, push.body, sorted(push.ext_fields or {})])
        connection.respond(push)
        t.note(f"response, {label}", reply_response(replier, opaque), 0)


@remoting_case("ReplyMessageProcessor.handlePutMessageResult")
def an_unstorable_reply_to_an_unknown_client_gets_an_error(t: RemotingContext) -> None:
    """A reply that is too large to be stored, for an unknown client, returns an error because of the client."""
    properties = {"REPLY_TO_CLIENT": "nobody", "more": TOO_LONG}
    fields = short_names(t.send_fields(reply_topic(t.cluster), properties=properties))
    t.note("response", t.request(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply"), 1)


@remoting_case("EndTransactionProcessor.sendFinalMessage, AdminBrokerProcessor.resumeCheckHalfMessage")
def an_excessive_delay_in_a_batched_message_is_refused_at_its_commit(t: RemotingContext) -> None:
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
        t.note(f"commit, {label}", committed)
        t.note(f"put back, {label}", t.request(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id}))
    t.note("stored", t.stored(topic, 3).bodies)
