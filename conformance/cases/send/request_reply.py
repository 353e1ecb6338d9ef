"""Request and reply between clients: the broker forwards a reply to the requesting client."""

from collections.abc import Callable
from typing import Unpack

from rocketmq_testkit.emulator.message.names import reply_topic
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import short_names
from ...clients.send_fields import SendFields
from ...context.remoting import RemotingContext, reply_to

UNUSUAL_FIELDS: SendFields = {
    "queue": -1,
    "sysFlag": 1,
    "flag": 7,
    "reconsumeTimes": 3,
    "unitMode": True,
    "defaultTopic": "other",
    "defaultTopicQueueNums": 9,
}
"""Fields of a reply's header with other values than those of SDKs."""


def register_requester(t: RemotingContext) -> tuple[str, RemotingClient]:
    """Register a client as a producer; return its client id and connection."""
    client, connection = t.new("client"), t.connect()
    t.heartbeat(client, producers=["PG"], to=connection)
    return client, connection


def fields_of(t: RemotingContext, client: str | None, **more: Unpack[SendFields]) -> dict[str, object]:
    """Return the fields of a reply to a client."""
    properties = {"MSG_TYPE": "reply", "CORRELATION_ID": "c-1", "TTL": "3000", "TAGS": "A"}
    if client is not None:
        properties["REPLY_TO_CLIENT"] = client
    fields: SendFields = {**more, "properties": properties}
    return t.send_fields(reply_topic(t.cluster), **fields)


def start(t: RemotingContext, client: str | None, connection: RemotingClient, **more: Unpack[SendFields]) -> int:
    """Send a reply without waiting for the response, and return its opaque."""
    fields = short_names(fields_of(t, client, **more))
    return connection.submit(RequestCode.SEND_REPLY_MESSAGE_V2, fields, b"the reply")


def pushed_fields(push: RemotingCommand) -> dict[str, object]:
    """Return the content of a request that the broker pushed to a client."""
    ext = dict(push.ext_fields or {})
    properties = dict(pair.split("\x01") for pair in ext.pop("properties", "").split("\x02") if pair)
    properties = {name: properties[name] for name in sorted(properties)}
    return {"code": push.code, "flag": push.flag, "ext": ext, "properties": properties, "body": push.body}


def without_queue_offset(response: DecodedResponse | str) -> DecodedResponse | str:
    """Return the response to a reply without its queue offset, because all cases share the reply topic."""
    return response.without("queueOffset") if isinstance(response, DecodedResponse) else response


def reply_response(connection: RemotingClient, opaque: int) -> DecodedResponse | str:
    """Wait for the response to a reply by its opaque, and return it without its queue offset."""
    return without_queue_offset(reply_to(connection, opaque, 15))


def pushed(
    t: RemotingContext, **more: Unpack[SendFields]
) -> tuple[RemotingClient, RemotingCommand, Callable[[], DecodedResponse | str]]:
    """Send a reply; return the requester's connection, the pushed request and a function that awaits the response."""
    client, connection = register_requester(t)
    replier = t.connect()
    opaque = start(t, client, replier, **more)
    return connection, connection.next_server_request(10), lambda: reply_to(replier, opaque, 15)


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def a_reply_is_pushed_to_the_requesting_producer(t: RemotingContext) -> None:
    """The broker pushes a reply to the requesting producer, and responds to the replier after the producer has."""
    connection, push, answered = pushed(t)
    t.note("pushed", pushed_fields(push))
    connection.respond(push)
    t.note("responded", without_queue_offset(answered()))


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_is_stored_in_the_reply_topic(t: RemotingContext) -> None:
    """A reply is also stored in the reply topic, like any message."""
    connection, push, answered = pushed(t)
    connection.respond(push)
    response = answered()
    assert isinstance(response, DecodedResponse)
    message = t.message_at(reply_topic(t.cluster), 0, int(response["queueOffset"]))
    t.note("stored", {"body": message.body, "properties": dict(sorted(message.properties.items()))})
    t.note("same id", message.offset_message_id == response["msgId"])


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def a_push_has_the_header_fields_of_its_reply(t: RemotingContext) -> None:
    """The push has queue id, flags, reconsume times, unit mode and default topic of the reply, as the replier sent."""
    connection, push, answered = pushed(t, **UNUSUAL_FIELDS)
    t.note("pushed", pushed_fields(push)["ext"])
    connection.respond(push)
    t.note("responded", without_queue_offset(answered()), 0)


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_is_stored_without_its_system_flag(t: RemotingContext) -> None:
    """The stored reply has the flag and the reconsume times of the reply, but not its system flag."""
    connection, push, answered = pushed(t, **UNUSUAL_FIELDS)
    connection.respond(push)
    response = answered()
    assert isinstance(response, DecodedResponse)
    message = t.message_at(reply_topic(t.cluster), 0, int(response["queueOffset"]))
    t.note("stored", [message.sys_flag, message.flag, message.reconsume_times, message.body])


@remoting_case("ReplyMessageProcessor.parseRequestHeader")
def a_reply_with_long_field_names_is_pushed_like_a_v2_reply(t: RemotingContext) -> None:
    """SEND_REPLY_MESSAGE with long field names has the same effect as the V2 request."""
    client, connection = register_requester(t)
    replier = t.connect()
    opaque = replier.submit(RequestCode.SEND_REPLY_MESSAGE, fields_of(t, client), b"the reply")
    push = connection.next_server_request(10)
    t.note("pushed", push.body)
    connection.respond(push)
    t.note("responded", reply_response(replier, opaque))


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def a_reply_to_a_missing_or_unknown_client_gets_an_error(t: RemotingContext) -> None:
    """A reply without a target client, or to an unknown one, returns an error."""
    replier = t.connect()
    t.note("unknown client", reply_response(replier, start(t, t.new("client"), replier)))
    t.note("no client", reply_response(replier, start(t, None, replier)))


@remoting_case("ProducerManager.findChannel")
def a_consumer_cannot_be_replied_to(t: RemotingContext) -> None:
    """A reply to a client id that is registered only as a consumer returns an error."""
    client, connection, replier = t.new("client"), t.connect(), t.connect()
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=connection)
    t.note("responded", reply_response(replier, start(t, client, replier)))


@remoting_case("ReplyMessageProcessor.pushReplyMessage")
def a_reply_rejected_by_the_requester_gets_an_error(t: RemotingContext) -> None:
    """A reply returns an error if the requester rejects the push."""
    connection, push, answered = pushed(t)
    connection.respond(push, 1, remark="no such request")
    t.note("responded", without_queue_offset(answered()))


@remoting_case("Broker2Client.callClient")
def a_reply_gets_an_error_if_the_requester_does_not_respond_in_10_seconds(t: RemotingContext) -> None:
    """A reply returns an error if the requester does not respond to the push within 10 s."""
    watch = t.stopwatch()
    _, _, answered = pushed(t)
    t.wait(10.5)
    t.note("responded", without_queue_offset(answered()))
    t.note("after", watch.between(10, 13))


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_is_checked_like_a_message(t: RemotingContext) -> None:
    """Topic and queue of a reply are checked like those of a send."""
    client, _ = register_requester(t)
    replier = t.connect()
    t.note("queue", reply_response(replier, start(t, client, replier, queue=7)))
    fields = {**fields_of(t, client), "topic": "bad name!"}
    t.note("topic", t.request(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields), b"x"))


@remoting_case("SendMessageProcessor.sendMessage")
def a_request_is_stored_as_an_ordinary_message(t: RemotingContext) -> None:
    """A request is an ordinary message; only its properties ask for a reply."""
    topic = t.topic(queues=1)
    properties = {"CORRELATION_ID": "c-1", "REPLY_TO_CLIENT": "me", "TTL": "3000"}
    t.note("sent", t.send(topic, "question", properties=properties), 0)
    t.note("stored", t.stored(topic), 0)


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest")
def a_reply_needs_a_body(t: RemotingContext) -> None:
    """A reply without a body returns an error and is not pushed to the requester."""
    client, connection = register_requester(t)
    fields = fields_of(t, client)
    t.note("short names", t.request(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields)), 1)
    t.note("long names", t.request(RequestCode.SEND_REPLY_MESSAGE, fields), 1)
    t.note("pushed", len(t.pushed(connection)))
