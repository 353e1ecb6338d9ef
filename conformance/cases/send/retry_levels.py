"""Number and delay of redeliveries of failed messages: by reconsume times, group and request."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext
from ...helpers.sends import delayed_messages, send_back
from ...helpers.timers import delay_in_queue

FIRST_LEVEL, LAST_TRY = 3, 16


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def each_retry_is_delayed_one_level_longer_until_the_dlq_after_16(t: RemotingContext) -> None:
    """A message sent back with level 0 is delayed by level 3 first and by one level more each time.

    After 16 retries it is a dead letter.
    """
    topic, group = t.topic(queues=1), t.group()
    for tries in range(LAST_TRY):
        level = FIRST_LEVEL + tries
        begin = t.max_offset(SCHEDULE_TOPIC, level - 1)
        [sent] = t.sent(topic, 1, reconsumeTimes=tries)
        t.note(f"tried {tries}", send_back(t, group, sent.place, maxReconsumeTimes=None), 0)
        [waiting] = delayed_messages(t, level, begin, retry_topic(group))
        t.note(f"tried {tries}: waits", [waiting.properties["DELAY"], waiting.reconsume_times])
    [sent] = t.sent(topic, 1, reconsumeTimes=LAST_TRY)
    t.note("tried 16", send_back(t, group, sent.place, maxReconsumeTimes=None), 0)
    t.note("dead", t.stored(dlq_topic(group), seconds=5).messages)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_group_retry_policy_does_not_change_delays_of_sent_back_messages(t: RemotingContext) -> None:
    """The retry policy of a group does not change the delay of messages that are sent back.

    It applies to gRPC clients only.
    """
    topic = t.topic(queues=1)
    policies = {
        "times": {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000]}},
        "growing": {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 1000, "max": 2000, "multiplier": 2}},
    }
    for what, policy in policies.items():
        group = t.group(groupRetryPolicy=policy)
        begin = t.max_offset(SCHEDULE_TOPIC, FIRST_LEVEL - 1)
        [sent] = t.sent(topic)
        t.note("sent back", send_back(t, group, sent.place), 0)
        [waiting] = delayed_messages(t, FIRST_LEVEL, begin, retry_topic(group))
        t.note(what, waiting.properties["DELAY"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def the_reconsume_limit_is_that_of_the_request_or_else_of_the_group(t: RemotingContext) -> None:
    """A sent-back message becomes a dead letter when its reconsume times reach the limit.

    The request's limit (0, 2 or 16) counts, or else the group's.
    """
    topic = t.topic(queues=1)
    for most in (0, 2, 16):
        for who, group, limit in (("request", t.group(), most), ("group", t.group(retryMaxTimes=most), None)):
            for tries in sorted({max(most - 1, 0), most}):
                [sent] = t.sent(topic, 1, reconsumeTimes=tries)
                t.note(f"{who} {most}", send_back(t, group, sent.place, 18, maxReconsumeTimes=limit), 0)
            dead = t.stored(dlq_topic(group), seconds=5).messages
            t.note(f"{who} {most}: dead", [each.reconsume_times for each in dead])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def with_negative_retry_queue_nums_sent_back_messages_are_dropped(t: RemotingContext) -> None:
    """A message sent back to a group with a negative number of retry queues is accepted and dropped."""
    topic, group = t.topic(queues=1), t.group(retryQueueNums=-1)
    [sent] = t.sent(topic)
    t.note("sent back", send_back(t, group, sent.place, 1), 0)
    t.note("sent back to die", send_back(t, group, sent.place, -1), 0)
    t.note("from nowhere", send_back(t, group, 1 << 40), 0)
    t.wait(2)
    for name in (retry_topic(group), dlq_topic(group)):
        t.note("its topic", t.config_of(name), 17)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_dlq_message_sent_back_by_another_group_is_retried_in_that_group(t: RemotingContext) -> None:
    """A dead letter sent back by another group goes to that group's retry topic, then to its dead letter queue."""
    topic, group, reader = t.topic(queues=1), t.group(), t.group()
    [sent] = t.sent(topic)
    send_back(t, group, sent.place, -1)
    [dead] = t.stored(dlq_topic(group), seconds=5).messages
    t.note("sent back", send_back(t, reader, dead.physical_offset, 1), 0)
    [again] = t.stored(retry_topic(reader)).messages
    t.note("comes again", again)
    t.note("sent back again", send_back(t, reader, again.physical_offset, -1), 0)
    t.note("dead again", t.stored(dlq_topic(reader), seconds=5).messages)


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_send_to_a_retry_topic_with_a_delay_level_is_delayed(t: RemotingContext) -> None:
    """A message that a client sends to a retry topic with a delay level is delayed, unless it becomes a dead letter."""
    group = t.group()
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    wish = {"RETRY_TOPIC": "origin", "DELAY": "1", "RECONSUME_TIME": "1", "MAX_RECONSUME_TIMES": "2"}
    watch = t.stopwatch()
    for tries in (1, 3):
        sent = t.send(retry_topic(group), f"tried {tries}", properties=wish, reconsumeTimes=tries, maxReconsumeTimes=2)
        t.note(f"tried {tries}", sent.without("queueOffset"), 0)
    t.note("dead", t.stored(dlq_topic(group), seconds=5).messages)
    t.note("comes again", t.stored(retry_topic(group)).messages)
    t.note("after", watch.between(0.9, 6))


@remoting_case("RebalanceLockManager.isLockAllExpired")
def while_a_queue_is_locked_sends_to_the_retry_topic_go_to_the_dlq(t: RemotingContext) -> None:
    """While a client holds a queue lock, a message sent to its group's retry topic becomes a dead letter at once."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    t.heartbeat(client, groups={group: {topic: "*"}})
    queues = [{"brokerName": t.broker_name, "queueId": 0, "topic": topic}]
    lock = {"consumerGroup": group, "clientId": client, "mqSet": queues}
    t.note("locked", t.request(RequestCode.LOCK_BATCH_MQ, None, dumps(lock)).code)
    t.note("with a lock", t.send(retry_topic(group), "locked", reconsumeTimes=1), 0)
    t.note("unlocked", t.request(RequestCode.UNLOCK_BATCH_MQ, None, dumps(lock)).code)
    t.note("without", t.send(retry_topic(group), "free", reconsumeTimes=1), 0)
    t.note("dead", t.stored(dlq_topic(group), seconds=5).messages)
    t.note("comes again", t.stored(retry_topic(group)).messages)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_redelivered_message_sent_back_again_is_delayed_by_the_next_level(t: RemotingContext) -> None:
    """A message redelivered by level 3 and sent back with level 0 is delayed by level 4.

    It then has 2 reconsume times and keeps its origin.
    """
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    send_back(t, group, sent.place)
    [first] = t.stored(retry_topic(group)).messages
    begin = t.max_offset(SCHEDULE_TOPIC, FIRST_LEVEL)
    t.note("sent back again", send_back(t, group, first.physical_offset), 0)
    [second] = delayed_messages(t, FIRST_LEVEL + 1, begin, retry_topic(group))
    for label, message in (("first", first), ("second", second)):
        found = message.properties
        t.note(label, [message.queue_id, message.reconsume_times, found["DELAY"], found["REAL_QID"]])
        t.note(f"{label}: origin", found["ORIGIN_MESSAGE_ID"] == sent["msgId"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def an_explicit_delay_level_overrides_the_reconsume_times(t: RemotingContext) -> None:
    """A message sent back with an explicit level is delayed by that level, regardless of its reconsume times."""
    topic, group = t.topic(queues=1), t.group()
    for level in (1, 2, 3, 18):
        begin = t.max_offset(SCHEDULE_TOPIC, level - 1)
        [sent] = t.sent(topic, 1, reconsumeTimes=7)
        t.note(f"level {level}", send_back(t, group, sent.place, level), 0)
        [waiting] = delayed_messages(t, level, begin, retry_topic(group))
        t.note("waits", [waiting.queue_id, waiting.properties["DELAY"], waiting.reconsume_times])
        t.note("due after, ms", delay_in_queue(t, level, waiting.queue_offset, waiting))
