"""The fields of a message received through the gRPC proxy."""

from hashlib import md5
from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...clients.grpc_response import message_shown
from ...context.grpc import Grpc
from ...helpers.consumer import consumer_of, consuming


@grpc_case("GrpcConverter.buildMessage")
def a_message_as_it_was_sent(t: Grpc) -> None:
    """A received message has the body, tag, keys, id and user properties of the sent one."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic, "größe", tag="A", keys=["k1", "k2"], properties={"a": "1", "ä": "ö", "UPPER": " x "})
    t.see("received", message_shown(_round(t, message)))


@grpc_case("GrpcConverter.buildSystemProperties")
def all_fields_of_a_message(t: Grpc) -> None:
    """A received message has digest, encoding, times, hosts, queue, attempt and handle, filled in by the broker."""
    topic = t.topic(kind="NORMAL", queues=1)
    sent = t.message(topic, "hello", trace_context="trace")
    system = _round(t, sent).system_properties
    t.see("fields", sorted(field.name for field, _ in system.ListFields()))
    t.see("digest", pb.DigestType.Name(system.body_digest.type))
    t.see("digest is right", system.body_digest.checksum == md5(b"hello", usedforsecurity=False).hexdigest().upper())
    t.see("encoding", pb.Encoding.Name(system.body_encoding))
    t.see("born where", system.born_host)
    t.see("stored where", system.store_host)
    t.see("born when it was sent", system.born_timestamp == sent.system_properties.born_timestamp)
    stored = system.store_timestamp.ToMilliseconds() - sent.system_properties.born_timestamp.ToMilliseconds()
    t.see("stored soon after", -2000 <= stored <= 10_000)
    t.see("trace", system.trace_context)


@grpc_case("GrpcConverter.buildSystemProperties")
def a_message_without_tag_and_keys(t: Grpc) -> None:
    """A message sent without tag, keys and properties is received without them."""
    received = _round(t, t.message(t.topic(kind="NORMAL", queues=1)))
    t.see("has a tag", received.system_properties.HasField("tag"))
    t.see("keys", list(received.system_properties.keys))
    t.see("user properties", dict(received.user_properties))


@grpc_case("GrpcConverter.buildUserAttributes")
def user_properties_of_each_type(t: Grpc) -> None:
    """Some system properties are returned as user properties, depending on the message type."""
    t.see("trace", _properties(_round(t, t.message(t.topic(kind="NORMAL", queues=1), trace_context="trace"))))
    fifo = t.message(t.topic(kind="FIFO", queues=1), message_type=pb.FIFO, message_group="g")
    t.see("FIFO", _properties(_round(t, fifo)))
    half = t.message(t.topic(kind="TRANSACTION", queues=1), message_type=pb.TRANSACTION)
    t.see("TRANSACTION", _properties(_round(t, half)))


@grpc_case("GrpcConverter.buildSystemProperties")
def each_type_is_shown(t: Grpc) -> None:
    """A received message has its message type, and a FIFO message its message group."""
    normal = t.message(t.topic(kind="NORMAL", queues=1))
    fifo = t.message(t.topic(kind="FIFO", queues=1), message_type=pb.FIFO, message_group="g")
    half = t.message(t.topic(kind="TRANSACTION", queues=1), message_type=pb.TRANSACTION)
    past = t.message(t.topic(kind="DELAY", queues=1), message_type=pb.DELAY, deliver_ms=t.now_ms() - 5000)
    for what, message in (("NORMAL", normal), ("FIFO", fifo), ("TRANSACTION", half), ("DELAY", past)):
        system = _round(t, message).system_properties
        t.see(what, [pb.MessageType.Name(system.message_type), system.message_group])
        t.see(f"{what} has a delivery time", system.HasField("delivery_timestamp"))


@grpc_case("GrpcConverter.buildSystemProperties")
def an_empty_born_host_and_time(t: Grpc) -> None:
    """A message without born host gets the sender's address. One without born time gets 1970 or the current time."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic)
    message.system_properties.ClearField("born_timestamp")
    message.system_properties.born_host = ""
    system = _round(t, message).system_properties
    t.see("host", system.born_host)
    born = system.born_timestamp.ToMilliseconds()
    t.see("born", "now" if abs(born - t.now_ms()) < 60_000 else born)


@grpc_case("GrpcConverter.buildSystemProperties")
def encodings_of_a_body(t: Grpc) -> None:
    """The receiver gets the body encoding that the sender set. The body is not changed."""
    topic = t.topic(kind="NORMAL", queues=1)
    for what, encoding in (("GZIP", pb.GZIP), ("IDENTITY", pb.IDENTITY), ("none", 0)):
        received = _round(t, t.message(topic, "plain", body_encoding=encoding))
        t.see(what, [pb.Encoding.Name(received.system_properties.body_encoding), received.body])


@grpc_case("GrpcConverter.buildSystemProperties")
def bodies_of_any_bytes(t: Grpc) -> None:
    """A body may contain any bytes."""
    body = bytes(range(256))
    t.see("same", _round(t, t.message(t.topic(kind="NORMAL", queues=1), body)).body == body)


@grpc_case("PopReviveService.reviveRetry")
def a_message_that_comes_again(t: Grpc) -> None:
    """A redelivered message has its topic, id, properties and born time, and one more attempt."""
    consumer = consuming(t)
    message = consumer.message("m", tag="A", keys=["k"], properties={"a": "1"})
    t.send(message)
    first = consumer.take(invisible_s=10)
    answer = t.see("again", consumer.received_within(18, await_s=18, deadline=25), 20000)
    again = answer.messages[0].system_properties
    t.see("born then", again.born_timestamp == first.system_properties.born_timestamp)
    t.see("born there", again.born_host == first.system_properties.born_host)
    stored = [each.store_timestamp.ToMilliseconds() for each in (first.system_properties, again)]
    t.see("stored later", stored[0] < stored[1])


@grpc_case("ReceiveMessageResponseStreamWriter.writeAndComplete")
def the_answer_ends_with_a_time(t: Grpc) -> None:
    """A receive streams a status, the messages and the delivery timestamp. A rejection has the timestamp, too."""
    consumer = consuming(t, 2)
    for what, request, who in (
        ("messages", t.receive_request(consumer.topic, consumer.group, await_s=5), consumer.client),
        ("refused", t.receive_request("a b", consumer.group, await_s=5), consumer.client),
        ("no client id", t.receive_request(consumer.topic, consumer.group, await_s=5), None),
    ):
        t.see(what, t.start_receiving(request, client=who, deadline=10)().parts)


@grpc_case("GrpcConverter.buildMessage")
def a_message_of_a_remoting_client(t: Grpc) -> None:
    """A message sent by a remoting client is received like one of a gRPC client."""
    consumer = consuming(t)
    t.store(consumer.topic, "hello", unique=False, tag="A", keys="k1 k2", properties={"a": "1"})
    message = consumer.take()
    system = message.system_properties
    t.see("tag and keys", [system.tag, list(system.keys)])
    t.see("user properties", _properties(message))
    t.see("type", pb.MessageType.Name(system.message_type))
    t.see("id", system.message_id)


def _round(t: Grpc, message: pb.Message) -> pb.Message:
    """Send a message and receive it."""
    consumer = consumer_of(t, message.topic.name, t.group())
    answer = t.send(message)
    t.require(answer.status.code == pb.OK, f"not sent: {answer}")
    if message.system_properties.message_type == pb.TRANSACTION:
        t.end_transaction(consumer.topic, answer.entries[0].transaction_id)
    received = consumer.receive().messages
    t.require(received, "nothing was received")
    return received[-1]


def _properties(message: pb.Message) -> dict[str, Any]:
    return dict(sorted(message.user_properties.items()))
