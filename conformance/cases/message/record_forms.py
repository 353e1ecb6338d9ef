"""Record formats: long topics, compressed bodies and IPv6 hosts."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_sends import compressed
from ...clients.remoting_topics import topic_request
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consumer_of

ALGORITHMS = {"none said": 0x0, "LZ4": 0x100, "ZSTD": 0x200, "unknown": 0x700}
"""Algorithm bits of the sysFlag, beside the compressed bit. The cases of `messages_stored.py` use ZLIB."""
COMPRESSED = 0x1
"""The compressed bit of the sysFlag."""
UNUSED = 0x800
"""A bit of the sysFlag without a meaning."""
IPV6_BORN_HOST, IPV6_STORE_HOST = 0x10, 0x20
"""Bits of the sysFlag that announce IPv6 addresses in the record."""
OPAQUE = bytes(range(256))
"""A body that no algorithm produced: a consumer gets it unchanged, or decompression fails."""
IPV6 = {"brokerIP1": "::1", "bindAddress": "::1"}
_GROUP_LENGTH = 120
"""The retry topic of a group with such a name has 127 characters; a longer one needs another record format."""


@remoting_case("MessageVersion.MESSAGE_VERSION_V2")
def a_topic_over_127_characters_uses_message_version_2_records(t: RemotingContext) -> None:
    """A record of a topic with more than 127 characters, as retry topics may have, uses two bytes for the length."""
    topic = t.topic(queues=1)
    t.sent(topic)
    [message] = t.stored(topic).messages
    for length in (_GROUP_LENGTH, _GROUP_LENGTH + 1, 240):
        start = t.new("group")
        group = t.group(name=start + "-" * (length - len(start)))
        retry = retry_topic(group)
        fields = {"group": group, "offset": message.physical_offset, "originTopic": topic, "maxReconsumeTimes": 16}
        t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, "delayLevel": 1, "unitMode": False})
        response = t.stored(retry)
        t.note(f"magic, {len(retry)} characters", response.body[4:8].hex())
        t.note("topic and body", [(len(each.topic), each.body) for each in response.messages])
        t.note("viewed", t.view(response.messages[0].physical_offset).body == response.body)
        t.note("popped", len(t.pop(retry, t.group()).bodies))


@remoting_case("MessageSysFlag.getCompressionType")
def compressed_bodies_of_any_algorithm_are_stored_unchanged(t: RemotingContext) -> None:
    """A broker stores a compressed body unchanged, with the algorithm bits of its sysFlag."""
    topic = t.topic(queues=1)
    for name, bits in ALGORITHMS.items():
        if bits:
            t.note(f"sent, {name}", t.send(topic, OPAQUE, sysFlag=bits | COMPRESSED), 0)
    response = t.stored(topic, 3)
    t.note("flags", [hex(each.sys_flag) for each in response.messages])
    t.note("bodies", [_raw(each) for each in response.messages])
    t.note("popped", [_raw(each) for each in t.pop(topic, t.group()).messages])


def _raw(message: ReceivedMessage) -> bool:
    return message.body == OPAQUE


@grpc_case("GrpcConverter.buildSystemProperties")
def compressed_remoting_bodies_reach_grpc_consumers_with_encoding_gzip(t: GrpcContext) -> None:
    """A gRPC consumer gets a compressed body as stored, with encoding GZIP for every algorithm."""
    topic = t.topic(kind="NORMAL", queues=1)
    for name, bits in ALGORITHMS.items():
        t.store(topic, OPAQUE, sysFlag=bits | COMPRESSED, tag=name)
    consumer = consumer_of(t, topic, t.group())
    for message in consumer.receive().messages:
        system = message.system_properties
        t.note(system.tag, [system.body_encoding, message.body == OPAQUE, system.body_digest])


@grpc_case("GrpcConverter.buildSystemProperties")
def a_grpc_gzip_body_is_stored_without_a_compression_algorithm(t: GrpcContext) -> None:
    """A GZIP body of a gRPC producer is stored with the compressed bit but without an algorithm."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic, compressed(OPAQUE))
    message.system_properties.body_encoding = pb.GZIP
    t.note("sent", t.send(message).status.code)
    [stored] = t.until(lambda: t.messages_of(topic, t.group()))
    t.note("flag", hex(stored.sys_flag))


@remoting_case("TopicFilterType.MULTI_TAG")
def messages_of_a_multi_tag_topic_have_the_multi_tags_flag(t: RemotingContext) -> None:
    """Messages of a topic with filter type MULTI_TAG have the MULTI_TAGS bit in their sysFlag."""
    topic = t.new()
    t.note("made", t.request(*topic_request(topic, queues=1, topicFilterType="MULTI_TAG")), 0)
    t.note("sent", t.send(topic, tag="A||B"), 0)
    t.note("sent with a flag", t.send(topic, tag="A", sysFlag=UNUSED), 0)
    t.note("flags", [hex(each.sys_flag) for each in t.stored(topic, 2).messages])
    for expression in ("A", "B", "A||B"):
        t.note(f"pulled by {expression}", t.pull(topic, t.group(), expression=expression).found)


@remoting_case("MessageExtEncoder.encode", settings=IPV6)
def messages_with_ipv6_hosts_have_ipv6_flags_and_longer_ids(t: RemotingContext) -> None:
    """Messages with IPv6 hosts have IPv6 bits and longer ids, and are found like all others."""
    topic = t.topic(queues=1)
    [sent] = t.readable(topic, t.send(topic, "hello", keys="k"))
    t.note("id has", [len(sent.fields["msgId"]), sent.fields["msgId"][:32]])
    [message] = t.stored(topic).messages
    t.note("flag", hex(message.sys_flag))
    t.note("hosts", [message.born_host[0], message.store_host[0]])
    t.note("viewed", t.view(message.physical_offset).bodies)
    t.require(t.until(lambda: t.query(topic, "k").code == 0), "the key was not indexed")
    t.note("queried", t.query(topic, "k").bodies)
    t.note("popped", t.pop(topic, t.group()).bodies)
    retry = retry_topic(group := t.group())
    fields = {
        "group": group,
        "offset": message.physical_offset,
        "originTopic": topic,
        "originMsgId": sent.fields["msgId"],
    }
    t.note(
        "sent back", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, "delayLevel": 1, "unitMode": False}), 0
    )
    t.require(t.until(lambda: t.max_offset(retry)), "the message was not redelivered")
    [back] = t.stored(retry).messages
    t.note("back", [hex(back.sys_flag), back.born_host[0], back.store_host[0], back.body])


@remoting_case("MessageExtEncoder.encode", alone=True)
def a_message_with_a_false_ipv6_flag_is_accepted_but_unreadable(t: RemotingContext) -> None:
    """A message whose sysFlag wrongly claims IPv6 hosts is accepted but cannot be read."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    for flag in (IPV6_BORN_HOST, IPV6_STORE_HOST, IPV6_BORN_HOST | IPV6_STORE_HOST):
        t.note(f"sent {flag:#x}", t.send(topic, f"{flag:#x}", sysFlag=flag).code)
        t.wait(1)
        t.note("end", t.max_offset(topic))
    t.note("another", t.send(other).code)
    t.wait(3)
    t.note("end of another", t.max_offset(other))
    t.note("pulled", t.pull(topic, t.group()).code)
