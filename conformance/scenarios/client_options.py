"""Clients with special options: namespace, unit mode, message trace, compression."""

import hashlib
from collections.abc import Sequence
from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import body
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import text

SECONDS = 150.0
"""Timeout for a redelivery to a remoting client: it takes 10 s, or longer because the message wakes no waiting poll."""


def _made(s: ScenarioContext, name: str) -> str:
    """Create a topic of this name with one queue."""
    s.admin.topic(name=name, kind="NORMAL", queues=1)
    s.wait_until(lambda: s.admin.request(*_route(name), to=s.admin.namesrv).code == 0, f"the route of {name}")
    return name


def _route(topic: str) -> tuple[int, dict[str, object]]:
    return RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}


@scenario(
    "NamespaceUtil.wrapNamespace", protocol="remoting", modes={"concurrent"}, options={"namespace"}, time_passes=True
)
def a_client_namespace_prefixes_topic_and_group_names_at_the_broker(s: ScenarioContext) -> None:
    """Clients with a namespace add it as a prefix to topic and group names, and applications never see the prefix."""
    space, topic, group = s.admin.new("namespace"), s.admin.new(), s.admin.new("group")
    prefixed_topic, prefixed_group = _made(s, f"{space}%{topic}"), f"{space}%{group}"
    s.admin.group(name=prefixed_group)
    _made(s, topic)
    producer = s.producer(namespace=space)
    consumer = s.consumer(group, topic, "concurrent", namespace=space, fail={"again": 1})
    producer.send(topic, "hello", tag="a")
    producer.send(topic, "again")
    seen = s.wait_for(3, consumer, seconds=SECONDS, jump_s=5)
    s.note("topics that its listener is shown", sorted({message["topic"] for message in seen}))
    s.note("bodies", sorted(text(message) for message in seen))
    s.note("stored with the namespace", sorted(each.body.decode() for each in s.stored(prefixed_topic)))
    s.note("stored without", [each.body.decode() for each in s.stored(topic)])
    s.note("retried in", [each.body.decode() for each in s.stored(retry_topic(prefixed_group))])
    s.wait_until(lambda: _is_known(s, prefixed_group), "the consumer is a member of its group")
    s.note("group without the namespace", _is_known(s, group))


def _is_known(s: ScenarioContext, group: str) -> bool:
    return s.admin.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}).code == 0


@scenario("GrpcConverter.buildResource", protocol="grpc", verbs={"simple"}, options={"namespace"})
def a_grpc_client_namespace_does_not_change_topic_names(s: ScenarioContext) -> None:
    """A gRPC client with a namespace sends to and receives from the topics that it names, without a prefix."""
    space, topic, group = s.admin.new("namespace"), s.topic(), s.group()
    producer, other = s.producer(topic, namespace=space), s.producer(topic)
    consumer = s.consumer(group, topic, "simple", namespace=space)
    producer.send(topic, "of a namespace")
    other.send(topic, "of none")
    seen = s.wait_for(2, consumer)
    s.note("received", sorted(text(message) for message in seen))
    s.note("topics", sorted({message["topic"] for message in seen}))
    s.note("stored", sorted(each.body.decode() for each in s.stored(topic)))


@scenario("ClientManageProcessor.heartBeat", modes={"concurrent"}, options={"unit_mode"})
def clients_in_unit_mode_create_topics_with_unit_flags(s: ScenarioContext) -> None:
    """A topic created by a producer in unit mode has the unit flag.

    The retry topic of a consumer in unit mode has the unit subscription flag.
    """
    topic, group = s.admin.new(), s.group()
    producer = s.producer(unit_mode=True)
    producer.send(topic, "hello")
    consumer = s.consumer(group, topic, "concurrent", unit_mode=True)
    s.wait_for(1, consumer)
    s.note("topic", _flag(s, topic))
    s.wait_until(
        lambda: s.admin.request(RequestCode.GET_TOPIC_CONFIG, {"topic": retry_topic(group)}).code == 0,
        "the retry topic",
    )
    s.note("retry topic", _flag(s, retry_topic(group)))


def _flag(s: ScenarioContext, topic: str) -> Any:
    return s.admin.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic}).json["topicSysFlag"]


@scenario("SendMessageTraceHookImpl.sendMessageAfter", modes={"concurrent"}, options={"trace"})
def traces_of_send_and_consumption_are_found_by_message_id(s: ScenarioContext) -> None:
    """Traced clients store traces of each message's send, delivery and consumption, found by the message id."""
    topic, group = s.pair("concurrent")
    traces = s.topic()
    producer = s.producer(topic, trace=traces)
    consumer = s.consumer(group, topic, "concurrent", trace=traces)
    sent = producer.send(topic, "hello", tag="a", keys=["k1"])
    s.wait_for(1, consumer)
    s.wait_until(lambda: len(_traces(s, traces, sent["id"])) == 3, "three traces of the message")
    s.note("by its id", _traces(s, traces, sent["id"]))
    s.note("by its key", _traces(s, traces, "k1"))
    s.note("of the traces themselves", len(_found(s, traces, "nothing")))  # no message has this key


def _traces(s: ScenarioContext, topic: str, key: str) -> Sequence[str]:
    """Return the kinds of a message's traces: the first word of each line that names the message."""
    lines = [line for each in _found(s, topic, key) for line in each.body.decode().split("\x02") if key in line]
    return sorted(line.split("\x01")[0] for line in lines)


def _found(s: ScenarioContext, topic: str, key: str) -> list[ReceivedMessage]:
    now = s.deployment.now_ms()
    span = {"beginTimestamp": now - 3_600_000, "endTimestamp": now + 3_600_000}
    response = s.admin.request(RequestCode.QUERY_MESSAGE, {"topic": topic, "key": key, "maxNum": 32, **span})
    return response.messages if response.code == 0 else []


@scenario("CompressorFactory.getCompressor", modes={"concurrent"}, options={"compress"})
def bodies_compressed_with_lz4_zstd_or_zlib_arrive_unchanged(s: ScenarioContext) -> None:
    """A body that the SDK compresses with LZ4, ZSTD or ZLIB is stored compressed, and arrives unchanged."""
    topic, group = s.pair("concurrent")
    content = hashlib.sha512(b"body").hexdigest().encode() * 20
    consumer = s.consumer(group, topic, "concurrent")
    for number, algorithm in enumerate(("LZ4", "ZSTD", "ZLIB")):
        s.producer(topic, compress=algorithm).send(topic, content)
        seen = s.wait_for(number + 1, consumer)
        s.note(f"{algorithm} as sent", body(seen[-1]) == content)
        [stored] = s.stored(topic)[number:]
        s.note(f"{algorithm} flag", hex(stored.sys_flag))
