"""Record formats: long topics, compressed bodies and IPv6 hosts."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...worlds.consumer import consumer_of
from ...worlds.grpc import Grpc
from ...worlds.remoting import Remoting, compressed

ALGORITHMS = {"none said": 0x0, "LZ4": 0x100, "ZSTD": 0x200, "unknown": 0x700}
"""Compression bits of the sysFlag in addition to the compressed bit; for ZLIB see `messages_stored`."""
COMPRESSED, MULTI_TAGS = 0x1, 0x2
OPAQUE = bytes(range(256))
"""A body that no algorithm produced: a consumer gets it unchanged, or decompression fails."""
IPV6 = {"brokerIP1": "::1", "bindAddress": "::1"}
_LENGTH_OF_TOPIC = 120
"""With the retry prefix such a name has 127 characters; a longer one needs another record format."""


@remoting_case("MessageVersion.MESSAGE_VERSION_V2")
def a_long_topic_has_a_record_of_the_second_form(t: Remoting) -> None:
    """A record of a topic with more than 127 characters, as retry topics may have, uses two bytes for the length."""
    topic = t.topic(queues=1)
    t.sent(topic)
    [message] = t.stored(topic).messages
    for length in (_LENGTH_OF_TOPIC, _LENGTH_OF_TOPIC + 1, 240):
        start = t.new("group")
        group = t.group(name=start + "-" * (length - len(start)))
        retry = retry_topic(group)
        fields = {"group": group, "offset": message.physical_offset, "originTopic": topic, "maxReconsumeTimes": 16}
        t.ask(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, "delayLevel": 1, "unitMode": False})
        answer = t.stored(retry)
        t.see(f"magic, {len(retry)} characters", answer.body[4:8].hex())
        t.see("topic and body", [(len(each.topic), each.body) for each in answer.messages])
        t.see("viewed", t.view(answer.messages[0].physical_offset).body == answer.body)
        t.see("popped", len(t.pop(retry, t.group()).bodies))


@remoting_case("MessageSysFlag.getCompressionType")
def bodies_of_all_algorithms_are_kept(t: Remoting) -> None:
    """A broker stores a compressed body unchanged, with the algorithm bits of its sysFlag."""
    topic = t.topic(queues=1)
    for name, bits in ALGORITHMS.items():
        if bits:
            t.see(f"sent, {name}", t.send(topic, OPAQUE, sysFlag=bits | COMPRESSED), 0)
    answer = t.stored(topic, 3)
    t.see("flags", [hex(each.sys_flag) for each in answer.messages])
    t.see("bodies", [_raw(each) for each in answer.messages])
    t.see("popped", [_raw(each) for each in t.pop(topic, t.group()).messages])


def _raw(message: ReceivedMessage) -> bool:
    return message.body == OPAQUE


@grpc_case("GrpcConverter.buildSystemProperties")
def a_compressed_body_of_a_remoting_client(t: Grpc) -> None:
    """A gRPC consumer gets a compressed body as stored, with encoding GZIP for every algorithm."""
    topic = t.topic(kind="NORMAL", queues=1)
    for name, bits in ALGORITHMS.items():
        t.store(topic, OPAQUE, sysFlag=bits | COMPRESSED, tag=name)
    consumer = consumer_of(t, topic, t.group())
    for message in consumer.receive().messages:
        system = message.system_properties
        t.see(system.tag, [system.body_encoding, message.body == OPAQUE, system.body_digest])


@grpc_case("GrpcConverter.buildSystemProperties")
def a_gzip_body_of_a_grpc_client(t: Grpc) -> None:
    """A GZIP body of a gRPC producer is stored with the compressed bit but without an algorithm."""
    topic = t.topic(kind="NORMAL", queues=1)
    message = t.message(topic, compressed(OPAQUE))
    message.system_properties.body_encoding = pb.GZIP
    t.see("sent", t.send(message).status.code)
    [stored] = t.until(lambda: t.messages_of(topic, t.group()))
    t.see("flag", hex(stored.sys_flag))


@remoting_case("TopicFilterType.MULTI_TAG")
def a_topic_of_many_tags_marks_its_messages(t: Remoting) -> None:
    """Messages of a topic with filter type MULTI_TAG have the MULTI_TAGS bit in their sysFlag."""
    topic = t.new()
    fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    fields |= {"topicFilterType": "MULTI_TAG", "topicSysFlag": 0, "order": False}
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields), 0)
    t.see("sent", t.send(topic, tag="A||B"), 0)
    t.see("sent with a flag", t.send(topic, tag="A", sysFlag=0x800), 0)
    t.see("flags", [hex(each.sys_flag) for each in t.stored(topic, 2).messages])
    for expression in ("A", "B", "A||B"):
        t.see(f"pulled by {expression}", t.pull(topic, t.group(), expression=expression).found)


@remoting_case("MessageExtEncoder.encode", settings=IPV6)
def hosts_of_ipv6_are_longer(t: Remoting) -> None:
    """Messages with IPv6 hosts have IPv6 bits and longer ids, and are found like all others."""
    topic = t.topic(queues=1)
    [sent] = t.readable(topic, t.send(topic, "hello", keys="k"))
    t.see("id has", [len(sent.fields["msgId"]), sent.fields["msgId"][:32]])
    [message] = t.stored(topic).messages
    t.see("flag", hex(message.sys_flag))
    t.see("hosts", [message.born_host[0], message.store_host[0]])
    t.see("viewed", t.view(message.physical_offset).bodies)
    t.require(t.until(lambda: t.query(topic, "k").code == 0), "the key was not indexed")
    t.see("queried", t.query(topic, "k").bodies)
    t.see("popped", t.pop(topic, t.group()).bodies)
    retry = retry_topic(group := t.group())
    fields = {
        "group": group,
        "offset": message.physical_offset,
        "originTopic": topic,
        "originMsgId": sent.fields["msgId"],
    }
    t.see("sent back", t.ask(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, "delayLevel": 1, "unitMode": False}), 0)
    t.require(t.until(lambda: t.max_offset(retry)), "it did not come back")
    [back] = t.stored(retry).messages
    t.see("back", [hex(back.sys_flag), back.born_host[0], back.store_host[0], back.body])


@remoting_case("MessageExtEncoder.encode", alone=True)
def a_flag_may_not_claim_long_hosts(t: Remoting) -> None:
    """A message whose sysFlag wrongly claims IPv6 hosts is accepted but cannot be read."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    for flag in (0x10, 0x20, 0x30):
        t.see(f"sent {flag:#x}", t.send(topic, f"{flag:#x}", sysFlag=flag).code)
        t.wait(1)
        t.see("end", t.max_offset(topic))
    t.see("another", t.send(other).code)
    t.wait(3)
    t.see("end of another", t.max_offset(other))
    t.see("pulled", t.pull(topic, t.group()).code)
