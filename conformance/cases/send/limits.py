"""Limits of sends: message sizes, property sizes and names."""

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, DLQ_PREFIX, RETRY_PREFIX
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch

BODY_MAX = 4 * 1024 * 1024
PROPERTIES_MAX = 32767


@remoting_case("HookUtils.checkBeforePutMessage")
def a_body_above_4_mib_is_refused(t: RemotingContext) -> None:
    """A body of 4 MiB is accepted; one more byte or 8 MiB is rejected."""
    topic = t.topic(queues=1)
    t.note("4 MiB", t.send(topic, b"x" * BODY_MAX), 0)
    t.note("one more", t.send(topic, b"x" * (BODY_MAX + 1)), 13)
    t.note("8 MiB", t.send(topic, b"x" * (2 * BODY_MAX)), 13)
    t.note("stored", t.stored(topic), 0)


@remoting_case("MessageExtEncoder.encode")
def a_batch_above_the_body_limit_of_a_message_is_refused(t: RemotingContext) -> None:
    """A batch whose body exceeds the limit of a single message is rejected."""
    topic = t.topic(queues=1)
    half = b"x" * (BODY_MAX // 2)
    t.note("too large", send_batch(t, topic, [(half, {}), (half, {})]))
    t.note("end", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}), 0)


@remoting_case("MessageExtEncoder.encode")
def properties_are_limited_to_32767_bytes_including_those_of_the_broker(t: RemotingContext) -> None:
    """Properties may have 32,767 bytes in total, including those that the broker adds."""
    topic = t.topic(queues=1)
    added = {"CLUSTER": t.cluster, "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "UNIQ_KEY": "0" * 32}
    used = sum(len(name) + len(value) + 2 for name, value in added.items())
    left = PROPERTIES_MAX - used - len("big") - 2
    t.note("just so", t.send(topic, properties={"big": "y" * left}), 0)
    t.note("one more", t.send(topic, properties={"big": "y" * (left + 1)}), 13)
    t.note("far too many", t.send(topic, properties={"big": "y" * 70_000}), 13)


@remoting_case("MessageExtEncoder.encode")
def properties_are_counted_in_bytes(t: RemotingContext) -> None:
    """Property characters are counted by their length in UTF-8."""
    topic = t.topic(queues=1)
    t.note("16000 of 2 bytes", t.send(topic, properties={"big": "é" * 16_000}), 0)
    t.note("17000 of 2 bytes", t.send(topic, properties={"big": "é" * 17_000}), 13)


@remoting_case("TopicValidator.validateTopic")
def a_topic_name_with_an_illegal_character_is_refused(t: RemotingContext) -> None:
    """A send to a new topic is rejected if the name contains an illegal character."""
    for name in ("with blank", "with.dot", "with/slash", "with#hash", "mit-Ä", "with:colon", "%|_-", "new\nline"):
        t.note(repr(name), t.send(name).without("msgId", "transactionId", "queueOffset"))


@remoting_case("TopicValidator.validateTopic")
def a_topic_name_above_127_characters_is_refused(t: RemotingContext) -> None:
    """A topic name of 127 characters is accepted by a send, one of 128 is rejected.

    Retry topics and dead letter queues are no exception.
    """
    for prefix in ("", RETRY_PREFIX, DLQ_PREFIX):
        start = prefix + t.new()
        longest = start + "-" * (127 - len(start))
        t.note(f"{prefix} 127", t.send(longest), 0)
        t.note(f"{prefix} 128", t.send(longest + "-"), 29)


@remoting_case("HookUtils.checkBeforePutMessage")
def only_retry_topics_created_by_the_broker_may_exceed_127_characters(t: RemotingContext) -> None:
    """Sending back stores into a dead letter queue only if its name has at most 127 characters.

    Retry topics may be longer.

    So a dead letter is stored for a group of 122 characters, but not for one of 123.
    """
    topic = t.topic(queues=1)
    t.sent(topic)
    [message] = t.stored(topic).messages
    for length in (122, 123):
        start = t.new("group")
        group = t.group(name=start + "-" * (length - len(start)))
        fields = {"group": group, "offset": message.physical_offset, "originTopic": topic, "maxReconsumeTimes": 16}
        for label, level in (("retry", 1), ("dead letter", -1)):
            response = t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, "delayLevel": level, "unitMode": False})
            t.note(f"{label} of {length}", response)


@remoting_case("TopicValidator.validateTopic")
def topic_creation_applies_the_same_name_rules_as_sends(t: RemotingContext) -> None:
    """The broker applies the same topic name rules to administrators as to producers."""
    fields = {"defaultTopic": AUTO_CREATE_TOPIC, "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False}
    start = t.new()
    for label, name in (
        ("blank", ""),
        ("illegal", "bad name!"),
        ("127", start + "-" * (127 - len(start))),
        ("128", start + "-" * (128 - len(start))),
    ):
        t.note(label, t.request(RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": name, **fields}))


@remoting_case("SendMessageProcessor.sendMessage")
def a_send_accepts_any_producer_group_name(t: RemotingContext) -> None:
    """A send accepts any producer group name."""
    topic = t.topic(queues=1)
    for label, group in (("blank", ""), ("illegal", "bad group!"), ("300 characters", "g" * 300)):
        t.note(label, t.send(topic, producerGroup=group), 0)


@remoting_case("MessageDecoder.messageProperties2String")
def a_message_may_have_many_properties(t: RemotingContext) -> None:
    """A message may have any number of properties."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic, properties={f"p{number}": "v" for number in range(1000)}), 0)
    [message] = t.stored(topic).messages
    t.note("stored", sum(1 for name in message.properties if name[0] == "p"))
