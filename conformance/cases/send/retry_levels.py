"""Number and delay of redeliveries of failed messages: by reconsume times, group and request."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...worlds.remoting import Remoting
from ..schedule.delay_queues import due_after
from .send_back import back, waiting_by_level

FIRST_LEVEL, LAST_TRY = 3, 16


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def each_try_waits_longer(t: Remoting) -> None:
    """A message sent back with level 0 is delayed by level 3 first and by one level more each time.

    It is a dead letter after 16.
    """
    topic, group = t.topic(queues=1), t.group()
    for tries in range(LAST_TRY):
        level = FIRST_LEVEL + tries
        begin = t.max_offset(SCHEDULE_TOPIC, level - 1)
        [sent] = t.sent(topic, 1, reconsumeTimes=tries)
        t.see(f"tried {tries}", back(t, group, sent.place, maxReconsumeTimes=None), 0)
        [waiting] = waiting_by_level(t, level, begin, retry_topic(group))
        t.see(f"tried {tries}: waits", [waiting.properties["DELAY"], waiting.reconsume_times])
    [sent] = t.sent(topic, 1, reconsumeTimes=LAST_TRY)
    t.see("tried 16", back(t, group, sent.place, maxReconsumeTimes=None), 0)
    t.see("dead", t.stored(dlq_topic(group), seconds=5).messages)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_groups_policy_does_not_change_the_levels(t: Remoting) -> None:
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
        t.see("sent back", back(t, group, sent.place), 0)
        [waiting] = waiting_by_level(t, FIRST_LEVEL, begin, retry_topic(group))
        t.see(what, waiting.properties["DELAY"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_limit_of_tries_is_of_request_or_group(t: Remoting) -> None:
    """A sent-back message becomes a dead letter when its reconsume times reach the limit.

    The request's limit (0, 2 or 16) counts, or else the group's.
    """
    topic = t.topic(queues=1)
    for most in (0, 2, 16):
        for who, group, limit in (("request", t.group(), most), ("group", t.group(retryMaxTimes=most), None)):
            for tries in sorted({max(most - 1, 0), most}):
                [sent] = t.sent(topic, 1, reconsumeTimes=tries)
                t.see(f"{who} {most}", back(t, group, sent.place, 18, maxReconsumeTimes=limit), 0)
            dead = t.stored(dlq_topic(group), seconds=5).messages
            t.see(f"{who} {most}: dead", [each.reconsume_times for each in dead])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def fewer_than_no_retry_queues_are_none(t: Remoting) -> None:
    """A message sent back to a group with a negative number of retry queues is accepted and dropped."""
    topic, group = t.topic(queues=1), t.group(retryQueueNums=-1)
    [sent] = t.sent(topic)
    t.see("sent back", back(t, group, sent.place, 1), 0)
    t.see("sent back to die", back(t, group, sent.place, -1), 0)
    t.see("from nowhere", back(t, group, 1 << 40), 0)
    t.wait(2)
    for name in (retry_topic(group), dlq_topic(group)):
        t.see("its topic", t.config_of(name), 17)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_dead_letter_fails_in_another_group(t: Remoting) -> None:
    """A dead letter sent back by another group goes to that group's retry topic, then to its dead letter queue."""
    topic, group, reader = t.topic(queues=1), t.group(), t.group()
    [sent] = t.sent(topic)
    back(t, group, sent.place, -1)
    [dead] = t.stored(dlq_topic(group), seconds=5).messages
    t.see("sent back", back(t, reader, dead.physical_offset, 1), 0)
    [again] = t.stored(retry_topic(reader)).messages
    t.see("comes again", again)
    t.see("sent back again", back(t, reader, again.physical_offset, -1), 0)
    t.see("dead again", t.stored(dlq_topic(reader), seconds=5).messages)


@remoting_case("SendMessageProcessor.handleRetryAndDLQ")
def a_client_may_send_to_the_retry_topic_itself(t: Remoting) -> None:
    """A message that a client sends to a retry topic with a delay level is delayed, unless it becomes a dead letter."""
    group = t.group()
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    wish = {"RETRY_TOPIC": "origin", "DELAY": "1", "RECONSUME_TIME": "1", "MAX_RECONSUME_TIMES": "2"}
    watch = t.stopwatch()
    for tries in (1, 3):
        sent = t.send(retry_topic(group), f"tried {tries}", properties=wish, reconsumeTimes=tries, maxReconsumeTimes=2)
        t.see(f"tried {tries}", sent.without("queueOffset"), 0)
    t.see("dead", t.stored(dlq_topic(group), seconds=5).messages)
    t.see("comes again", t.stored(retry_topic(group)).messages)
    t.see("after", watch.between(0.9, 6))


@remoting_case("RebalanceLockManager.isLockAllExpired")
def a_group_that_holds_a_lock_has_no_second_try(t: Remoting) -> None:
    """While a client holds a queue lock, a message sent to its group's retry topic becomes a dead letter at once."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    t.heartbeat(client, groups={group: {topic: "*"}})
    queues = [{"brokerName": t.broker_name, "queueId": 0, "topic": topic}]
    lock = {"consumerGroup": group, "clientId": client, "mqSet": queues}
    t.see("locked", t.ask(RequestCode.LOCK_BATCH_MQ, None, dumps(lock)).code)
    t.see("with a lock", t.send(retry_topic(group), "locked", reconsumeTimes=1), 0)
    t.see("unlocked", t.ask(RequestCode.UNLOCK_BATCH_MQ, None, dumps(lock)).code)
    t.see("without", t.send(retry_topic(group), "free", reconsumeTimes=1), 0)
    t.see("dead", t.stored(dlq_topic(group), seconds=5).messages)
    t.see("comes again", t.stored(retry_topic(group)).messages)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def the_second_try_waits_by_the_next_level(t: Remoting) -> None:
    """A message redelivered by level 3 and sent back with level 0 is delayed by level 4.

    It then has 2 reconsume times and keeps its origin.
    """
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic)
    back(t, group, sent.place)
    [first] = t.stored(retry_topic(group)).messages
    begin = t.max_offset(SCHEDULE_TOPIC, FIRST_LEVEL)
    t.see("sent back again", back(t, group, first.physical_offset), 0)
    [second] = waiting_by_level(t, FIRST_LEVEL + 1, begin, retry_topic(group))
    for label, message in (("first", first), ("second", second)):
        found = message.properties
        t.see(label, [message.queue_id, message.reconsume_times, found["DELAY"], found["REAL_QID"]])
        t.see(f"{label}: origin", found["ORIGIN_MESSAGE_ID"] == sent["msgId"])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def a_level_may_be_asked_for(t: Remoting) -> None:
    """A message sent back with an explicit level is delayed by that level, regardless of its reconsume times."""
    topic, group = t.topic(queues=1), t.group()
    for level in (1, 2, 3, 18):
        begin = t.max_offset(SCHEDULE_TOPIC, level - 1)
        [sent] = t.sent(topic, 1, reconsumeTimes=7)
        t.see(f"level {level}", back(t, group, sent.place, level), 0)
        [waiting] = waiting_by_level(t, level, begin, retry_topic(group))
        t.see("waits", [waiting.queue_id, waiting.properties["DELAY"], waiting.reconsume_times])
        t.see("due after, ms", due_after(t, level, waiting.queue_offset, waiting))
