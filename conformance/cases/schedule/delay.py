"""Delay levels: messages that wait in SCHEDULE_TOPIC_XXXX."""

import itertools
from typing import Any

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.case_context import Stopwatch
from ...context.remoting import RemotingContext
from ...helpers.sends import send_back

FEW = {"messageDelayLevel": "1s 2s 3s 1h"}
LEVELS = 18
EACH_SECOND = {"messageDelayLevel": " ".join(f"{seconds}s" for seconds in range(1, LEVELS + 1))}
"""Eighteen levels, each 1 s longer than the previous one."""


def delayed(t: RemotingContext, topic: str, level: object, body: str = "later", **properties: str) -> None:
    """Send with a delay level.

    The queue offset in the response is one of the broker's delay topic and is not recorded.
    """
    response = t.send(topic, body, properties={"DELAY": str(level), **properties})
    t.note(f"sent, level {level}", response.without("queueOffset"), 0)


def note_delivered(t: RemotingContext, topic: str, watch: Stopwatch, *, low: float, high: float) -> None:
    """Record that queue 1 is empty at first, then the delivered message and whether it took `low` to `high` seconds."""
    t.note("at once", t.pull(topic, t.group(), 1), 19)
    response = t.stored(topic, 1, 1)
    t.note("after", watch.between(low, high))
    t.note("delivered", response, 0)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def a_message_with_delay_level_1_is_delivered_after_1_second(t: RemotingContext) -> None:
    """A message with level 1 is delivered after 1 s, with its level, real topic and real queue as properties."""
    topic = t.topic(queues=2)
    watch = t.stopwatch()
    fields: dict[str, Any] = {"queue": 1, "tag": "A", "keys": "k", "properties": {"DELAY": "1", "mine": "x"}}
    t.note("sent", t.send(topic, **fields).without("queueOffset"), 0)
    note_delivered(t, topic, watch, low=1, high=2.5)


@remoting_case("HookUtils.handleScheduleMessage")
def a_delay_level_of_0_or_less_does_not_delay(t: RemotingContext) -> None:
    """Messages with a delay level of 0 or less are not delayed."""
    topic = t.topic(queues=1)
    for level in (0, -1, -99):
        t.note(f"level {level}", t.send(topic, properties={"DELAY": str(level)}), 0)
    t.note("stored", t.stored(topic, 3), 0)


@remoting_case("HookUtils.transformDelayLevelMessage")
def a_delay_level_above_the_last_counts_as_the_last(t: RemotingContext) -> None:
    """A level above the last one counts as the last one."""
    topic = t.topic(queues=1)
    for level in (18, 19, 99):
        sent = t.send(topic, properties={"DELAY": str(level)})
        offset = int(sent["queueOffset"])
        t.note(f"level {level}", sent.without("queueOffset"), 0)
        message = t.message_at(SCHEDULE_TOPIC, 17, offset)
        t.note(f"level {level} stored", [message.properties["DELAY"], message.properties["REAL_TOPIC"]])


@remoting_case("Message.getDelayTimeLevel")
def a_non_numeric_delay_level_is_refused(t: RemotingContext) -> None:
    """A send with a level that is not a Java int returns an error."""
    topic = t.topic(queues=1)
    for level in ("x", "1.5", " 1", "99999999999"):
        t.note(f"level {level}", t.send(topic, properties={"DELAY": level}), 1)
    t.note("with a sign", t.send(topic, properties={"DELAY": "+1"}).without("queueOffset"), 0)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def messages_of_a_level_keep_their_order(t: RemotingContext) -> None:
    """Messages of one level are delivered in the order in which they were sent."""
    topic = t.topic(queues=1)
    for number in range(5):
        t.send(topic, f"{number}", properties={"DELAY": "1"})
    t.note("delivered", t.stored(topic, 5).bodies)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def messages_with_shorter_delays_are_delivered_first(t: RemotingContext) -> None:
    """A message with a shorter delay is delivered before one with a longer delay; one without delay comes first."""
    topic = t.topic(queues=1)
    for level, body in ((2, "five seconds"), (1, "one second"), (0, "now")):
        t.send(topic, body, properties={"DELAY": str(level)})
    watch = t.stopwatch()
    t.note("delivered", t.stored(topic, 3).bodies)
    t.note("after", watch.between(4.5, 7))


@remoting_case("NotifyMessageArrivingListener.arriving")
def a_delayed_message_wakes_a_held_pull_and_a_held_pop_on_delivery(t: RemotingContext) -> None:
    """A delayed message completes a waiting pull and a waiting pop when it is delivered."""
    topic, group = t.topic(queues=1), t.group()
    held = t.start_pull(topic, group, suspend_ms=10_000)
    popped = t.start_pop(topic, t.group(), poll_ms=10_000)
    watch = t.stopwatch()
    t.send(topic, "later", properties={"DELAY": "1"})
    t.wait(1.1)
    t.note("pulled", held(), 0)
    t.note("popped", popped().bodies)
    t.note("after", watch.between(1, 4))


@remoting_case("HookUtils.handleScheduleMessage")
def a_delay_level_overrides_a_delivery_time(t: RemotingContext) -> None:
    """A message with a delay level and a delivery time is delayed by the level and loses the time."""
    topic = t.topic(queues=1)
    times = {"TIMER_DELAY_MS": "60000", "TIMER_DELAY_SEC": "60", "TIMER_DELIVER_MS": str(t.now_ms() + 60_000)}
    delayed(t, topic, 1, "both", **times)
    t.note("delivered", t.stored(topic), 0)


@remoting_case("ScheduleMessageService.messageTimeUp")
def a_delayed_message_is_delivered_even_if_its_topic_was_deleted(t: RemotingContext) -> None:
    """A delayed message whose topic is deleted is still stored in the topic's queue, and the topic stays unknown."""
    topic = t.topic(queues=1)
    delayed(t, topic, 1)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    end = {"topic": topic, "queueId": 0}
    t.until(lambda: t.request(RequestCode.GET_MAX_OFFSET, end)["offset"] == "1", 6)
    t.note("end", t.request(RequestCode.GET_MAX_OFFSET, end), 0)
    t.note("config", t.config_of(topic), 17)


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=FEW)
def the_setting_message_delay_level_defines_the_delay_levels(t: RemotingContext) -> None:
    """messageDelayLevel defines the delay levels and their number."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    t.send(topic, "two", properties={"DELAY": "2"})
    t.note("delivered", t.stored(topic).bodies)
    t.note("after", watch.between(2, 4))
    sent = t.send(topic, "last", properties={"DELAY": "9"})
    t.note("last level", t.message_at(SCHEDULE_TOPIC, 3, int(sent["queueOffset"])).properties["DELAY"])


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=EACH_SECOND)
def messages_of_18_delay_levels_are_delivered_in_order_and_not_early(t: RemotingContext) -> None:
    """Messages of 18 levels, sent with the longest first, are delivered with the shortest first, none too early."""
    topic = t.topic(queues=1)
    sent = {}
    for level in range(LEVELS, 0, -1):
        response = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        t.note(f"level {level}", response.without("queueOffset"), 0)
        sent[level] = t.message_at(SCHEDULE_TOPIC, level - 1, int(response["queueOffset"])).store_timestamp
    came = {int(each.body): each.store_timestamp for each in t.stored(topic, LEVELS, seconds=30).messages}
    due = {level: sent[level] + level * 1000 for level in came}
    pairs = itertools.pairwise(came)
    t.note("came", sorted(came))
    t.note("out of order", [(first, then) for first, then in pairs if due[first] > due[then] + 1000])
    t.note("too early", [level for level, at in came.items() if at < due[level]])


@remoting_case("HookUtils.transformDelayLevelMessage", settings=FEW)
def a_sent_back_message_is_delayed_by_the_last_level_at_most(t: RemotingContext) -> None:
    """A message sent back too often for the existing levels is delayed by the last one."""
    topic, group = t.topic(queues=1), t.group()
    for tries in (0, 1, 5):
        [sent] = t.sent(topic, 1, reconsumeTimes=tries)
        queue = min(3 + tries, 4) - 1  # the first retry has level 3; FEW has four levels
        begin = t.max_offset(SCHEDULE_TOPIC, queue)
        t.note(f"tried {tries}", send_back(t, group, sent.place, maxReconsumeTimes=None), 0)
        waiting = t.message_at(SCHEDULE_TOPIC, queue, begin)
        found = waiting.properties
        t.note(f"tried {tries}: waits", [waiting.queue_id, found["DELAY"], found["REAL_TOPIC"]])
