"""Batch sends: several messages in the body of one request."""

from collections.abc import Iterable, Mapping
from typing import Unpack

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, retry_topic
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting, short_names
from ...worlds.send_fields import SendFields

Parts = Iterable[tuple[bytes, Mapping[str, str]]]


def send_batch(t: Remoting, topic: str, parts: Parts | bytes, **more: Unpack[SendFields]) -> Answer:
    """Send a batch as SDKs do: without an id of its own, and with `batch=true`."""
    fields: SendFields = {"unique": False, "batch": True, **more}
    body = parts if isinstance(parts, bytes) else batch_body(parts)
    return t.ask(RequestCode.SEND_BATCH_MESSAGE, short_names(t.send_fields(topic, **fields)), body)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_is_stored_message_by_message(t: Remoting) -> None:
    """The response to a batch send lists the ids of all its messages and the offset of the first one."""
    topic = t.topic(queues=2)
    t.sent(topic, 1, queue=1)
    parts = [(b"one", {"TAGS": "A", "KEYS": "k"}), (b"two", {"TAGS": "B"}), (b"three", {})]
    t.see("sent", send_batch(t, topic, parts, queue=1), 0)
    t.see("stored", t.stored(topic, 4, 1), 0)
    t.see("of tag B", t.pull(topic, t.group(), 1, expression="B"), 0)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def messages_of_a_batch_keep_their_ids(t: Remoting) -> None:
    """Messages of a batch keep their own ids; messages without an id get none."""
    topic = t.topic(queues=1)
    parts = [(b"with", {"UNIQ_KEY": t.message_id()}), (b"without", {})]
    t.see("sent", send_batch(t, topic, parts), 0)
    t.see("stored", t.stored(topic, 2), 0)
    t.see("sent with a property that is no id", send_batch(t, topic, parts, properties={"WAIT": "true"}), 0)
    t.see("ids", [message.properties.get("UNIQ_KEY") for message in t.stored(topic, 4).messages])


@remoting_case("MessageExtEncoder.encode")
def the_id_of_a_batch_becomes_the_id_of_each(t: Remoting) -> None:
    """Properties of the batch request, including its id, are added to each of its messages."""
    topic = t.topic(queues=1)
    parts = [(b"one", {"UNIQ_KEY": t.message_id(), "own": "1"}), (b"two", {})]
    t.see("sent", send_batch(t, topic, parts, unique=True, properties={"WAIT": "true", "shared": "x", "own": "2"}), 0)
    t.see("stored", t.stored(topic, 2), 0)


@remoting_case("DefaultMessageStore.asyncPutMessages")
def a_batch_cannot_be_delayed(t: Remoting) -> None:
    """A batch with a delay level is rejected."""
    topic = t.topic(queues=1)
    t.see("delayed batch", send_batch(t, topic, [(b"x", {})], properties={"DELAY": "1"}), 13)
    t.see("stored", t.pull(topic, t.group()), 19)


@remoting_case("DefaultMessageStore.asyncPutMessages")
def delays_within_a_batch_do_nothing(t: Remoting) -> None:
    """A delay level on a single message within a batch is stored but has no effect."""
    topic = t.topic(queues=1)
    t.see("sent", send_batch(t, topic, [(b"x", {"DELAY": "1"})]), 0)
    t.see("stored at once", t.stored(topic), 0)


@remoting_case("CommitLog.asyncPutMessages")
def a_batch_cannot_be_a_half_message(t: Remoting) -> None:
    """A batch with the transaction bit in its sysFlag is rejected."""
    t.see("half", send_batch(t, t.topic(queues=1), [(b"x", {})], sysFlag=4))


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_cannot_go_to_a_retry_topic(t: Remoting) -> None:
    """A batch sent to a retry topic is rejected."""
    topic = retry_topic(t.group())
    t.see("to a retry topic", send_batch(t, topic, [(b"x", {})]), 13)


@remoting_case("MessageDecoder.decodeProperties")
def a_batch_that_is_none_fails(t: Remoting) -> None:
    """A batch body that is not a valid sequence of messages returns an error, and none of its messages is stored."""
    topic = t.topic(queues=1)
    t.see("garbage", send_batch(t, topic, b"garbage-not-a-batch"), 1)
    whole = batch_body([(b"one", {"TAGS": "A"}), (b"two", {"TAGS": "A"})])
    t.see("cut short", send_batch(t, topic, whole[:-3]), 1)
    head = (30).to_bytes(4, "big") + bytes(12)
    t.see("body too long", send_batch(t, topic, head + (1000).to_bytes(4, "big") + b"abc"), 1)
    t.see("body of negative length", send_batch(t, topic, head + b"\xff" * 4 + b"abc"), 1)
    t.see("length of properties cut", send_batch(t, topic, head + (2).to_bytes(4, "big") + b"aba"), 1)
    t.see("nothing", send_batch(t, topic, b""), 1)
    t.see("end", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)


@remoting_case("SendMessageProcessor.processRequest")
def the_flag_makes_the_batch(t: Remoting) -> None:
    """The field `batch`, not the request code, decides whether the body is split.

    Only the value `true` counts as true.
    """
    topic = t.topic(queues=1)
    body = batch_body([(b"one", {}), (b"two", {})])
    t.see("single code, true", t.send(topic, body, unique=False, batch=True), 0)
    t.see("batch code, false", send_batch(t, topic, body, batch=False, unique=True), 0)
    t.see("batch code, 1", send_batch(t, topic, body, batch="1", unique=True), 0)
    t.see("batch code, TRUE", send_batch(t, topic, body, batch="TRUE"), 0)
    fields = t.send_fields(topic, batch="1", unitMode="0", unique=False)
    t.see("single code, 1", t.ask(RequestCode.SEND_MESSAGE, fields, body).without("transactionId"), 0)
    t.see("stored", [len(message.body) for message in t.stored(topic, 7).messages])


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_goes_into_one_queue(t: Remoting) -> None:
    """A batch without a queue id is stored in one queue at consecutive offsets."""
    topic = t.topic(queues=4)
    parts: list[tuple[bytes, dict[str, str]]] = [(f"{number}".encode(), {}) for number in range(5)]
    sent = send_batch(t, topic, parts, queue=-1)
    t.see("sent", sent.without("queueId"), 0)
    t.see("stored", t.stored(topic, 5, int(sent["queueId"])).bodies)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_batch_is_checked_like_a_message(t: Remoting) -> None:
    """Topic name, permission and queue of a batch are checked before its body is parsed."""
    t.see("bad name", send_batch(t, "bad name!", b"garbage"), 29)
    t.see("bad queue", send_batch(t, t.topic(queues=1), b"garbage", queue=7), 29)
    t.see("forbidden topic", send_batch(t, SCHEDULE_TOPIC, b"garbage"), 16)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_batch_creates_its_topic(t: Remoting) -> None:
    """A batch sent to an unknown topic creates the topic, as a single message does."""
    topic = t.new()
    t.see("sent", send_batch(t, topic, [(b"x", {})]), 0)
    t.see("config", t.config_of(topic), 0)


@remoting_case("IndexService.buildIndex")
def messages_of_a_batch_are_found_by_key(t: Remoting) -> None:
    """Each message of a batch is indexed by its own keys."""
    topic = t.topic(queues=1)
    send_batch(t, topic, [(b"one", {"KEYS": "a b"}), (b"two", {"KEYS": "b"})])
    t.see("both", t.until(lambda: len(t.query(topic, "b").messages) == 2))
    t.see("key of one", t.query(topic, "a").bodies)


@remoting_case("CommitLog.asyncPutMessages")
def a_batch_may_have_no_level(t: Remoting) -> None:
    """A batch with a delay level of 0 or less is stored at once; one with a non-numeric level returns an error."""
    topic = t.topic(queues=1)
    for level in ("0", "-1"):
        t.see(f"level {level}", send_batch(t, topic, [(b"x", {})], properties={"DELAY": level}), 0)
    t.see("level x", send_batch(t, topic, [(b"x", {})], properties={"DELAY": "x"}), 1)
    t.see("stored", [message.properties.get("DELAY") for message in t.stored(topic, 2).messages])
