"""Requests and replies between clients: a reply goes through the broker to the client that asked."""

from collections.abc import Callable
from typing import Unpack

from rocketmq_testkit.emulator.message.names import reply_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ...case import remoting_case
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting, reply_to, short_names
from ...worlds.send_fields import SendFields


def asker(t: Remoting) -> tuple[str, RemotingClient]:
    """A client that is known as a producer: its id and its connection."""
    client, connection = t.new("client"), t.connect()
    t.heartbeat(client, producers=["PG"], to=connection)
    return client, connection


def fields_of(t: Remoting, client: str | None, **more: Unpack[SendFields]) -> dict[str, object]:
    """The fields of a reply to a client."""
    properties = {"MSG_TYPE": "reply", "CORRELATION_ID": "c-1", "TTL": "3000", "TAGS": "A"}
    if client is not None:
        properties["REPLY_TO_CLIENT"] = client
    fields: SendFields = {**more, "properties": properties}
    return t.send_fields(reply_topic(t.cluster), **fields)


def start(t: Remoting, client: str | None, connection: RemotingClient, **more: Unpack[SendFields]) -> int:
    """Send a reply without waiting for its answer; returns its opaque."""
    fields = short_names(fields_of(t, client, **more))
    return connection.submit(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply")


def shown(push: RemotingCommand) -> dict[str, object]:
    """What was pushed."""
    ext = dict(push.ext_fields or {})
    properties = dict(pair.split("\x01") for pair in ext.pop("properties", "").split("\x02") if pair)
    properties = {name: properties[name] for name in sorted(properties)}
    return {"code": push.code, "flag": push.flag, "ext": ext, "properties": properties, "body": push.body}


def placeless(answer: Answer | str) -> Answer | str:
    """The answer to a reply, without its place in the reply topic, which all share."""
    return answer.without("queueOffset") if isinstance(answer, Answer) else answer


def answer_of(connection: RemotingClient, opaque: int) -> Answer | str:
    """The answer to a reply by its opaque, without its place."""
    return placeless(reply_to(connection, opaque, 15))


def pushed(t: Remoting) -> tuple[RemotingClient, RemotingCommand, Callable[[], Answer | str]]:
    """A reply on its way: the connection of who asked, what was pushed down it, and the answer to wait for."""
    client, connection = asker(t)
    replier = t.connect()
    opaque = start(t, client, replier)
    return connection, connection.next_push(10), lambda: reply_to(replier, opaque, 15)


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def a_reply_is_pushed_to_who_asked(t: Remoting) -> None:
    """A reply is pushed to the producer that it names; once that has answered, the reply is answered."""
    connection, push, answered = pushed(t)
    t.see("pushed", shown(push))
    connection.answer(push)
    t.see("answered", placeless(answered()))


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_is_stored_too(t: Remoting) -> None:
    """A reply is stored in the reply topic like any message."""
    connection, push, answered = pushed(t)
    connection.answer(push)
    answer = answered()
    assert isinstance(answer, Answer)
    message = t.message_at(reply_topic(t.cluster), 0, int(answer["queueOffset"]))
    t.see("stored", {"body": message.body, "properties": dict(sorted(message.properties.items()))})
    t.see("same id", message.offset_message_id == answer["msgId"])


@remoting_case("ReplyMessageProcessor.parseRequestHeader")
def a_reply_may_have_long_names(t: Remoting) -> None:
    """SEND_REPLY_MESSAGE is the same with long names."""
    client, connection = asker(t)
    replier = t.connect()
    opaque = replier.submit(RequestCode.SEND_REPLY_MESSAGE, fields_of(t, client), b"the reply")
    push = connection.next_push(10)
    t.see("pushed", push.body)
    connection.answer(push)
    t.see("answered", answer_of(replier, opaque))


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def nobody_may_be_there_to_reply_to(t: Remoting) -> None:
    """A reply to a client that is not there, or to nobody, fails."""
    replier = t.connect()
    t.see("unknown client", answer_of(replier, start(t, t.new("client"), replier)))
    t.see("no client", answer_of(replier, start(t, None, replier)))


@remoting_case("ProducerManager.findChannel")
def a_consumer_cannot_be_replied_to(t: Remoting) -> None:
    """Only producers are found by their client id."""
    client, connection, replier = t.new("client"), t.connect(), t.connect()
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    t.see("answered", answer_of(replier, start(t, client, replier)))


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def who_asked_may_refuse_a_reply(t: Remoting) -> None:
    """A reply whose push is answered with an error fails."""
    connection, push, answered = pushed(t)
    connection.answer(push, 1, remark="no such request")
    t.see("answered", placeless(answered()))


@remoting_case("Broker2Client.callClient")
def who_asked_may_not_answer(t: Remoting) -> None:
    """A reply whose push is not answered fails after 10 seconds."""
    watch = t.stopwatch()
    _, _, answered = pushed(t)
    t.wait(10.5)
    t.see("answered", placeless(answered()))
    t.see("after", watch.between(10, 13))


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_is_checked_like_a_message(t: Remoting) -> None:
    """Topic and queue of a reply are checked as those of a send are."""
    client, _ = asker(t)
    replier = t.connect()
    t.see("queue", answer_of(replier, start(t, client, replier, queue=7)))
    fields = {**fields_of(t, client), "topic": "bad name!"}
    t.see("topic", t.ask(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields), b"x"))


@remoting_case("SendMessageProcessor.sendMessage")
def a_request_is_a_message(t: Remoting) -> None:
    """What asks for a reply is an ordinary message whose properties say so."""
    topic = t.topic(queues=1)
    properties = {"CORRELATION_ID": "c-1", "REPLY_TO_CLIENT": "me", "TTL": "3000"}
    t.see("sent", t.send(topic, "question", properties=properties), 0)
    t.see("stored", t.stored(topic), 0)


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_needs_a_body(t: Remoting) -> None:
    """A reply without a body is an error, and nobody is told of it."""
    client, connection = asker(t)
    fields = fields_of(t, client)
    t.see("short names", t.ask(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields)), 1)
    t.see("long names", t.ask(RequestCode.SEND_REPLY_MESSAGE, fields), 1)
    t.see("pushed", len(t.pushed(connection)))
