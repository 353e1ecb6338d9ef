"""CONSUMER_SEND_MSG_BACK: redelivery of failed messages through the retry topic and the dead letter queue."""

from typing import Any

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import delayed_messages, send_back

FAR = 1 << 40
"""A log offset beyond the end of any log."""
LAST_LEVEL = 18


def _retries(t: RemotingContext, group: str, count: int = 1, seconds: float = 15) -> list[ReceivedMessage]:
    """Return the messages of the group's retry topic as soon as there are `count`."""
    return t.stored(retry_topic(group), count, seconds=seconds).messages


def _dead(t: RemotingContext, group: str) -> list[ReceivedMessage]:
    """Return the messages of the group's dead letter queue as soon as there is one."""
    return t.stored(dlq_topic(group), seconds=5).messages


def _bodies(messages: list[ReceivedMessage]) -> list[bytes]:
    return [message.body for message in messages]


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_sent_back_message_is_redelivered_after_its_delay_level(t: RemotingContext) -> None:
    """A sent-back message is redelivered as a copy in the retry topic when its level's delay ends."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1, tag="A", keys="k", properties={"color": "red"})
    watch = t.stopwatch()
    t.note("sent back", send_back(t, group, sent.place, 1), 0)
    t.note("came again", _retries(t, group))
    t.note("after", watch.between(0.9, 4))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_message_sent_back_with_level_0_is_redelivered_after_10_seconds(t: RemotingContext) -> None:
    """A message sent back with level 0 for the first time is redelivered after level 3, that is 10 s."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    watch = t.stopwatch()
    t.note("sent back", send_back(t, group, sent.place), 0)
    t.note("came again", _retries(t, group, seconds=19))
    t.note("after", watch.between(9.9, 14))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_redelivered_message_can_be_sent_back_again(t: RemotingContext) -> None:
    """A copy that is sent back is redelivered with one more reconsumption and keeps the first message as its origin."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    send_back(t, group, sent.place, 1)
    [first] = _retries(t, group)
    t.note("sent back", send_back(t, group, first.physical_offset, 1), 0)
    second = _retries(t, group, 2)[-1]
    t.note("came again", second)
    t.note("origin", [each.properties["ORIGIN_MESSAGE_ID"] == sent["msgId"] for each in (first, second)])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def the_original_topic_and_id_are_read_from_the_commit_log(t: RemotingContext) -> None:
    """Topic and id of a sent-back message are read from the log; the request's values are ignored."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    send_back(t, group, sent.place, 1, originTopic=t.new(), originMsgId="another")
    [again] = _retries(t, group)
    t.note("topic", again.properties["RETRY_TOPIC"])
    t.note("origin", again.properties["ORIGIN_MESSAGE_ID"] == sent["msgId"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_delay_level_above_the_last_counts_as_the_last(t: RemotingContext) -> None:
    """A delay level above the last one counts as the last one."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    begin = t.max_offset(SCHEDULE_TOPIC, LAST_LEVEL - 1)
    t.note("sent back", send_back(t, group, sent.place, 99), 0)
    t.note("waits as", [each.properties for each in delayed_messages(t, LAST_LEVEL, begin, retry_topic(group))])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_negative_level_sends_the_message_to_the_dlq(t: RemotingContext) -> None:
    """A message sent back with a negative level goes to the group's dead letter queue at once."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1, tag="A", keys="k", properties={"color": "red"})
    t.note("sent back", send_back(t, group, sent.place, -1), 0)
    t.note("dead", _dead(t, group))
    t.note("its topic", t.config_of(dlq_topic(group)), 0)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_message_at_the_reconsume_limit_goes_to_the_dlq(t: RemotingContext) -> None:
    """A message whose reconsume times reach the request's limit goes to the dead letter queue."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    t.note("1 try", send_back(t, group, sent.place, 1, maxReconsumeTimes=1), 0)
    [first] = _retries(t, group)
    t.note("dead after 1 try", _bodies(_dead(t, group)))
    t.note("1 try again", send_back(t, group, first.physical_offset, 1, maxReconsumeTimes=1), 0)
    dead = t.note("dead", _dead(t, group))
    t.note("origin", [each.properties["ORIGIN_MESSAGE_ID"] == sent["msgId"] for each in dead])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def without_a_request_limit_the_groups_retry_max_times_applies(t: RemotingContext) -> None:
    """A request without a limit or with a negative one is subject to the group's retryMaxTimes."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic)
    for limit in (None, -1, 0, 1):
        group = t.group(retryMaxTimes=0)
        t.note(f"limit {limit}", send_back(t, group, sent.place, 1, maxReconsumeTimes=limit), 0)
        t.note(f"limit {limit}: dead", _bodies(_dead(t, group)))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def the_reconsume_limit_of_clients_before_3_4_9_is_ignored(t: RemotingContext) -> None:
    """The limit in a request of a client older than 3.4.9 is ignored."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    old = t.connect(version=63, language="CPP")
    t.note("sent back", send_back(t, group, sent.place, 1, maxReconsumeTimes=0, to=old), 0)
    t.note("came again", _bodies(_retries(t, group)))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_group_without_retry_queues_drops_messages(t: RemotingContext) -> None:
    """A message sent back to a group without retry queues is accepted and dropped."""
    topic, group = t.topic(queues=1), t.group(retryQueueNums=0)
    [sent] = t.sent(topic)
    t.note("sent back", send_back(t, group, sent.place, 1), 0)
    t.wait(2)
    t.note("retry topic", t.pull(retry_topic(group), group))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def sending_back_creates_the_retry_topic_and_an_unknown_group(t: RemotingContext) -> None:
    """Sending back creates the retry topic with retryQueueNums queues, and also creates an unknown group."""
    topic, group, unknown = t.topic(queues=1), t.group(retryQueueNums=3), t.new("group")
    [sent] = t.sent(topic)
    for name in (group, unknown):
        t.note("sent back", send_back(t, name, sent.place, 1), 0)
        t.note("retry topic", t.config_of(retry_topic(name)), 0)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def sending_back_an_invalid_log_offset_or_group_name_is_refused(t: RemotingContext) -> None:
    """Sending back fails for an offset beyond the log or inside a record, and for an illegal group name."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    t.note("beyond", send_back(t, group, FAR, 1), 1)
    t.note("inside", send_back(t, group, sent.place + 4, 1), 1)
    at_queue = sent.place + 12
    refusal = send_back(t, group, at_queue, 1)
    t.note("at its queue id", [refusal.code, refusal.remark == f"look message by offset failed, {at_queue}"])
    t.note("a forbidden name", send_back(t, "bad group", sent.place, 1), 26)
    t.note("without fields", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {}))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_group_that_may_not_consume_may_send_back(t: RemotingContext) -> None:
    """Sending back is accepted for a group with consumeEnable=false."""
    topic, group = t.topic(queues=1), t.group(consumeEnable=False)
    [sent] = t.sent(topic)
    t.note("sent back", send_back(t, group, sent.place, 1))


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_group_that_broadcasts_may_send_back(t: RemotingContext) -> None:
    """Sending back works for a broadcasting group, too. Only broadcasting consumers themselves never do it."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model="BROADCASTING")
    t.note("its retry topic", t.config_of(retry_topic(group)))
    t.note("sent back", send_back(t, group, sent.place, 1), 0)
    t.note("came again", _bodies(_retries(t, group)))


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_send_to_a_retry_topic_above_the_limit_goes_to_the_dlq(t: RemotingContext) -> None:
    """A message sent to a retry topic goes to the dead letter queue if its reconsume times exceed the limit."""
    group = t.group()
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    for tries, most in ((2, 2), (3, 2)):
        response = t.send(retry_topic(group), f"tried {tries}", reconsumeTimes=tries, maxReconsumeTimes=most)
        t.note(f"tried {tries} of {most}", response, 0)
    t.note("retry topic", _retries(t, group))
    t.note("dead", _dead(t, group))


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_send_to_a_retry_topic_creates_an_unknown_group(t: RemotingContext) -> None:
    """A message sent to the retry topic of an unknown group creates the group."""
    group = t.new("group")
    t.note("sent", t.send(retry_topic(group)), 0)
    t.note("made", group in t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_message_of_the_dlq_can_be_sent_back(t: RemotingContext) -> None:
    """A dead letter that is sent back is redelivered through the retry topic with one more reconsumption."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    send_back(t, group, sent.place, -1)
    [dead] = _dead(t, group)
    t.note("sent back", send_back(t, group, dead.physical_offset, 1), 0)
    t.note("came again", _shown(_retries(t, group)))


def _shown(messages: list[ReceivedMessage]) -> list[Any]:
    return [[message.reconsume_times, message.properties] for message in messages]


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def sending_back_requires_only_offset_group_and_level(t: RemotingContext) -> None:
    """Sending back requires only offset, group and level, the fields that C++ clients send."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    fields = {"delayLevel": 1, "group": group, "offset": sent.place}
    t.note("sent back", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, fields), 0)
    t.note("came again", _retries(t, group))
    for name in fields:
        t.note(f"without {name}", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, {**fields, name: None}), 1)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack, AbstractSendMessageProcessor.msgCheck")
def unit_mode_marks_the_retry_topic_that_a_failed_message_creates(t: RemotingContext) -> None:
    """A send-back in unit mode, or a send in unit mode to an unknown retry topic, marks the retry topic it creates."""
    topic = t.topic(queues=1)
    [sent] = t.sent(topic)
    for unit in (True, False):
        group = t.group()
        t.note(f"sent back, {unit}", send_back(t, group, sent.place, 1, unitMode=unit), 0)
        t.note("retry topic", t.config_of(retry_topic(group)).json["topicSysFlag"])
    group = t.group()
    t.note("sent", t.send(retry_topic(group), unitMode=True, defaultTopic=t.new()), 0)
    t.note("its topic", t.config_of(retry_topic(group)).json["topicSysFlag"])
