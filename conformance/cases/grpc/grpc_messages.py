"""The fields of a message received through the gRPC proxy."""

from hashlib import md5
from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...clients.grpc_response import message_shown
from ...context.grpc import GrpcContext
from ...helpers.consumer import consumer_of, consuming


@grpc_case("GrpcConverter.buildMessage")
def a_received_message_has_the_sent_body_tag_keys_and_properties(t: GrpcContext) -> None:
    """A received message has the body, tag, keys, id and user properties of the sent one."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic, "größe", tag="A", keys=["k1", "k2"], properties={"a": "1", "ä": "ö", "UPPER": " x "})
    t.note("received", message_shown(_round(t, message)))


@grpc_case("GrpcConverter.buildSystemProperties")
def a_received_message_has_digest_times_hosts_and_handle(t: GrpcContext) -> None:
    """A received message has digest, encoding, times, hosts, queue, attempt and handle, filled in by the broker."""
    topic = t.topic(kind="NORMAL", queues=1)
    sent = t.message(topic, "hello", trace_context="trace")
    system = _round(t, sent).system_properties
    t.note("fields", sorted(field.name for field, _ in system.ListFields()))
    t.note("digest", pb.DigestType.Name(system.body_digest.type))
    t.note("digest is right", system.body_digest.checksum == md5(b"hello", usedforsecurity=False).hexdigest().upper())
    t.note("encoding", pb.Encoding.Name(system.body_encoding))
    t.note("born where", system.born_host)
    t.note("stored where", system.store_host)
    t.note("born when it was sent", system.born_timestamp == sent.system_properties.born_timestamp)
    stored = system.store_timestamp.ToMilliseconds() - sent.system_properties.born_timestamp.ToMilliseconds()
    t.note("stored soon after", -2000 <= stored <= 10_000)
    t.note("trace", system.trace_context)


@grpc_case("GrpcConverter.buildSystemProperties")
def missing_tag_keys_and_properties_stay_missing_when_received(t: GrpcContext) -> None:
    """A message sent without tag, keys and properties is received without them."""
    received = _round(t, t.message(t.topic(kind="NORMAL", queues=1)))
    t.note("has a tag", received.system_properties.HasField("tag"))
    t.note("keys", list(received.system_properties.keys))
    t.note("user properties", dict(received.user_properties))


@grpc_case("GrpcConverter.buildUserAttributes")
def some_system_properties_are_received_as_user_properties(t: GrpcContext) -> None:
    """Some system properties are returned as user properties, depending on the message type."""
    t.note("trace", _properties(_round(t, t.message(t.topic(kind="NORMAL", queues=1), trace_context="trace"))))
    fifo = t.message(t.topic(kind="FIFO", queues=1), message_type=pb.FIFO, message_group="g")
    t.note("FIFO", _properties(_round(t, fifo)))
    half = t.message(t.topic(kind="TRANSACTION", queues=1), message_type=pb.TRANSACTION)
    t.note("TRANSACTION", _properties(_round(t, half)))


@grpc_case("GrpcConverter.buildSystemProperties")
def a_received_message_has_its_message_type(t: GrpcContext) -> None:
    """A received message has its message type, and a FIFO message its message group."""
    normal = t.message(t.topic(kind="NORMAL", queues=1))
    fifo = t.message(t.topic(kind="FIFO", queues=1), message_type=pb.FIFO, message_group="g")
    half = t.message(t.topic(kind="TRANSACTION", queues=1), message_type=pb.TRANSACTION)
    past = t.message(t.topic(kind="DELAY", queues=1), message_type=pb.DELAY, deliver_ms=t.now_ms() - 5000)
    for what, message in (("NORMAL", normal), ("FIFO", fifo), ("TRANSACTION", half), ("DELAY", past)):
        system = _round(t, message).system_properties
        t.note(what, [pb.MessageType.Name(system.message_type), system.message_group])
        t.note(f"{what} has a delivery time", system.HasField("delivery_timestamp"))


@grpc_case("GrpcConverter.buildSystemProperties")
def a_missing_born_host_is_replaced_by_the_senders_address(t: GrpcContext) -> None:
    """A message without born host gets the sender's address. One without born time gets 1970 or the current time."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic)
    message.system_properties.ClearField("born_timestamp")
    message.system_properties.born_host = ""
    system = _round(t, message).system_properties
    t.note("host", system.born_host)
    born = system.born_timestamp.ToMilliseconds()
    t.note("born", "now" if abs(born - t.now_ms()) < 60_000 else born)


@grpc_case("GrpcConverter.buildSystemProperties")
def a_body_encoding_is_passed_on_without_changing_the_body(t: GrpcContext) -> None:
    """The receiver gets the body encoding that the sender set. The body is not changed."""
    topic = t.topic(kind="NORMAL", queues=1)
    for what, encoding in (("GZIP", pb.GZIP), ("IDENTITY", pb.IDENTITY), ("none", 0)):
        received = _round(t, t.message(topic, "plain", body_encoding=encoding))
        t.note(what, [pb.Encoding.Name(received.system_properties.body_encoding), received.body])


@grpc_case("GrpcConverter.buildSystemProperties")
def a_body_may_contain_any_bytes(t: GrpcContext) -> None:
    """A body may contain any bytes."""
    body = bytes(range(256))
    t.note("same", _round(t, t.message(t.topic(kind="NORMAL", queues=1), body)).body == body)


@grpc_case("PopReviveService.reviveRetry")
def a_redelivered_message_keeps_its_fields_with_one_more_attempt(t: GrpcContext) -> None:
    """A redelivered message has its topic, id, properties and born time, and one more attempt."""
    consumer = consuming(t)
    message = consumer.message("m", tag="A", keys=["k"], properties={"a": "1"})
    t.send(message)
    first = consumer.take(invisible_s=10)
    response = t.note("again", consumer.received_within(seconds=18, await_s=18, deadline=25), pb.OK)
    again = response.messages[0].system_properties
    t.note("born then", again.born_timestamp == first.system_properties.born_timestamp)
    t.note("born there", again.born_host == first.system_properties.born_host)
    stored = [each.store_timestamp.ToMilliseconds() for each in (first.system_properties, again)]
    t.note("stored later", stored[0] < stored[1])


@grpc_case("ReceiveMessageResponseStreamWriter.writeAndComplete")
def a_receive_response_ends_with_the_delivery_timestamp(t: GrpcContext) -> None:
    """A receive streams a status, the messages and the delivery timestamp. A rejection has the timestamp, too."""
    consumer = consuming(t, 2)
    for what, request, who in (
        ("messages", t.receive_request(consumer.topic, consumer.group, await_s=5), consumer.client),
        ("refused", t.receive_request("a b", consumer.group, await_s=5), consumer.client),
        ("no client id", t.receive_request(consumer.topic, consumer.group, await_s=5), None),
    ):
        t.note(what, t.start_receiving(request, client=who, deadline=10)().parts)


@grpc_case("GrpcConverter.buildMessage")
def a_remoting_message_is_received_like_a_grpc_message(t: GrpcContext) -> None:
    """A message sent by a remoting client is received like one of a gRPC client."""
    consumer = consuming(t)
    t.store(consumer.topic, "hello", unique=False, tag="A", keys="k1 k2", properties={"a": "1"})
    message = consumer.take()
    system = message.system_properties
    t.note("tag and keys", [system.tag, list(system.keys)])
    t.note("user properties", _properties(message))
    t.note("type", pb.MessageType.Name(system.message_type))
    t.note("id", system.message_id)


def _round(t: GrpcContext, message: pb.Message) -> pb.Message:
    """Send a message and receive it."""
    consumer = consumer_of(t, message.topic.name, t.group())
    response = t.send(message)
    t.require(response.status.code == pb.OK, f"not sent: {response}")
    if message.system_properties.message_type == pb.TRANSACTION:
        t.end_transaction(consumer.topic, response.entries[0].transaction_id)
    received = consumer.receive().messages
    t.require(received, "nothing was received")
    return received[-1]


def _properties(message: pb.Message) -> dict[str, Any]:
    return dict(sorted(message.user_properties.items()))
