"""Batch sends: several messages in the body of one request."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, retry_topic
from rocketmq_testkit.emulator.message.stored_record import SYS_TRANSACTION_PREPARED
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_is_stored_message_by_message(t: RemotingContext) -> None:
    """The response to a batch send lists the ids of all its messages and the offset of the first one."""
    topic = t.topic(queues=2)
    t.sent(topic, 1, queue=1)
    parts = [(b"one", {"TAGS": "A", "KEYS": "k"}), (b"two", {"TAGS": "B"}), (b"three", {})]
    t.note("sent", send_batch(t, topic, parts, queue=1), 0)
    t.note("stored", t.stored(topic, 4, 1), 0)
    t.note("of tag B", t.pull(topic, t.group(), 1, expression="B"), 0)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def messages_of_a_batch_keep_their_ids(t: RemotingContext) -> None:
    """Messages of a batch keep their own ids; messages without an id get none."""
    topic = t.topic(queues=1)
    parts = [(b"with", {"UNIQ_KEY": t.message_id()}), (b"without", {})]
    t.note("sent", send_batch(t, topic, parts), 0)
    t.note("stored", t.stored(topic, 2), 0)
    t.note("sent with a property that is no id", send_batch(t, topic, parts, properties={"WAIT": "true"}), 0)
    t.note("ids", [message.properties.get("UNIQ_KEY") for message in t.stored(topic, 4).messages])


@remoting_case("MessageExtEncoder.encode")
def id_and_properties_of_a_batch_are_added_to_each_of_its_messages(t: RemotingContext) -> None:
    """Properties of the batch request, including its id, are added to each of its messages."""
    topic = t.topic(queues=1)
    parts = [(b"one", {"UNIQ_KEY": t.message_id(), "own": "1"}), (b"two", {})]
    t.note("sent", send_batch(t, topic, parts, unique=True, properties={"WAIT": "true", "shared": "x", "own": "2"}), 0)
    t.note("stored", t.stored(topic, 2), 0)


@remoting_case("DefaultMessageStore.asyncPutMessages")
def a_batch_with_a_positive_delay_level_is_refused(t: RemotingContext) -> None:
    """A batch with a delay level is rejected."""
    topic = t.topic(queues=1)
    t.note("delayed batch", send_batch(t, topic, [(b"x", {})], properties={"DELAY": "1"}), 13)
    t.note("stored", t.pull(topic, t.group()), 19)


@remoting_case("DefaultMessageStore.asyncPutMessages")
def delay_levels_of_messages_within_a_batch_have_no_effect(t: RemotingContext) -> None:
    """A delay level on a single message within a batch is stored but has no effect."""
    topic = t.topic(queues=1)
    t.note("sent", send_batch(t, topic, [(b"x", {"DELAY": "1"})]), 0)
    t.note("stored at once", t.stored(topic), 0)


@remoting_case("CommitLog.asyncPutMessages")
def a_batch_cannot_be_a_half_message(t: RemotingContext) -> None:
    """A batch with the transaction bit in its sysFlag is rejected."""
    t.note("half", send_batch(t, t.topic(queues=1), [(b"x", {})], sysFlag=SYS_TRANSACTION_PREPARED))


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_cannot_go_to_a_retry_topic(t: RemotingContext) -> None:
    """A batch sent to a retry topic is rejected."""
    topic = retry_topic(t.group())
    t.note("to a retry topic", send_batch(t, topic, [(b"x", {})]), 13)


@remoting_case("MessageDecoder.decodeProperties")
def a_malformed_batch_is_refused_and_none_of_its_messages_stored(t: RemotingContext) -> None:
    """A batch body that is not a valid sequence of messages returns an error, and none of its messages is stored."""
    topic = t.topic(queues=1)
    t.note("garbage", send_batch(t, topic, b"garbage-not-a-batch"), 1)
    whole = batch_body([(b"one", {"TAGS": "A"}), (b"two", {"TAGS": "A"})])
    t.note("cut short", send_batch(t, topic, whole[:-3]), 1)
    head = (30).to_bytes(4, "big") + bytes(12)
    t.note("body too long", send_batch(t, topic, head + (1000).to_bytes(4, "big") + b"abc"), 1)
    t.note("body of negative length", send_batch(t, topic, head + b"\xff" * 4 + b"abc"), 1)
    t.note("length of properties cut", send_batch(t, topic, head + (2).to_bytes(4, "big") + b"aba"), 1)
    t.note("nothing", send_batch(t, topic, b""), 1)
    t.note("end", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)


@remoting_case("SendMessageProcessor.processRequest")
def the_batch_field_and_not_the_request_code_makes_a_batch(t: RemotingContext) -> None:
    """The field `batch`, not the request code, decides whether the body is split.

    Only the value `true` counts as true.
    """
    topic = t.topic(queues=1)
    body = batch_body([(b"one", {}), (b"two", {})])
    t.note("single code, true", t.send(topic, body, unique=False, batch=True), 0)
    t.note("batch code, false", send_batch(t, topic, body, batch=False, unique=True), 0)
    t.note("batch code, 1", send_batch(t, topic, body, batch="1", unique=True), 0)
    t.note("batch code, TRUE", send_batch(t, topic, body, batch="TRUE"), 0)
    fields = t.send_fields(topic, batch="1", unitMode="0", unique=False)
    t.note("single code, 1", t.request(RequestCode.SEND_MESSAGE, fields, body).without("transactionId"), 0)
    t.note("stored", [len(message.body) for message in t.stored(topic, 7).messages])


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_goes_into_one_queue(t: RemotingContext) -> None:
    """A batch without a queue id is stored in one queue at consecutive offsets."""
    topic = t.topic(queues=4)
    parts: list[tuple[bytes, dict[str, str]]] = [(f"{number}".encode(), {}) for number in range(5)]
    sent = send_batch(t, topic, parts, queue=-1)
    t.note("sent", sent.without("queueId"), 0)
    t.note("stored", t.stored(topic, 5, int(sent["queueId"])).bodies)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def topic_and_queue_of_a_batch_are_checked_before_its_body(t: RemotingContext) -> None:
    """Topic name, permission and queue of a batch are checked before its body is parsed."""
    t.note("bad name", send_batch(t, "bad name!", b"garbage"), 29)
    t.note("bad queue", send_batch(t, t.topic(queues=1), b"garbage", queue=7), 29)
    t.note("forbidden topic", send_batch(t, SCHEDULE_TOPIC, b"garbage"), 16)


@remoting_case("TopicConfigManager.createTopicInSendMessageMethod")
def a_batch_creates_its_topic(t: RemotingContext) -> None:
    """A batch sent to an unknown topic creates the topic, as a single message does."""
    topic = t.new()
    t.note("sent", send_batch(t, topic, [(b"x", {})]), 0)
    t.note("config", t.config_of(topic), 0)


@remoting_case("IndexService.buildIndex")
def messages_of_a_batch_are_found_by_key(t: RemotingContext) -> None:
    """Each message of a batch is indexed by its own keys."""
    topic = t.topic(queues=1)
    send_batch(t, topic, [(b"one", {"KEYS": "a b"}), (b"two", {"KEYS": "b"})])
    t.note("both", t.until(lambda: len(t.query(topic, "b").messages) == 2))
    t.note("key of one", t.query(topic, "a").bodies)


@remoting_case("CommitLog.asyncPutMessages")
def a_batch_with_a_delay_level_of_0_or_less_is_stored_at_once(t: RemotingContext) -> None:
    """A batch with a delay level of 0 or less is stored at once; one with a non-numeric level returns an error."""
    topic = t.topic(queues=1)
    for level in ("0", "-1"):
        t.note(f"level {level}", send_batch(t, topic, [(b"x", {})], properties={"DELAY": level}), 0)
    t.note("level x", send_batch(t, topic, [(b"x", {})], properties={"DELAY": "x"}), 1)
    t.note("stored", [message.properties.get("DELAY") for message in t.stored(topic, 2).messages])
