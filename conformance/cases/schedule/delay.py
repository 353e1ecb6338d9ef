"""Delay levels: messages that wait in SCHEDULE_TOPIC_XXXX."""

import itertools
from typing import Any

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.case_context import Stopwatch
from ...context.remoting import Remoting
from ...helpers.sends import back

FEW = {"messageDelayLevel": "1s 2s 3s 1h"}
LEVELS = 18
EACH_SECOND = {"messageDelayLevel": " ".join(f"{seconds}s" for seconds in range(1, LEVELS + 1))}
"""Eighteen levels, each 1 s longer than the previous one."""


def delayed(t: Remoting, topic: str, level: object, body: str = "later", **properties: str) -> None:
    """Send with a delay level.

    The queue offset in the response is one of the broker's delay topic and is not recorded.
    """
    answer = t.send(topic, body, properties={"DELAY": str(level), **properties})
    t.see(f"sent, level {level}", answer.without("queueOffset"), 0)


def see_delivered(t: Remoting, topic: str, watch: Stopwatch, low: float, high: float) -> None:
    """Record that queue 1 is empty at first, then the delivered message and whether it took `low` to `high` seconds."""
    t.see("at once", t.pull(topic, t.group(), 1), 19)
    answer = t.stored(topic, 1, 1)
    t.see("after", watch.between(low, high))
    t.see("delivered", answer, 0)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def a_delayed_message_comes_later(t: Remoting) -> None:
    """A message with level 1 is delivered after 1 s, with its level, real topic and real queue as properties."""
    topic = t.topic(queues=2)
    watch = t.stopwatch()
    fields: dict[str, Any] = {"queue": 1, "tag": "A", "keys": "k", "properties": {"DELAY": "1", "mine": "x"}}
    t.see("sent", t.send(topic, **fields).without("queueOffset"), 0)
    see_delivered(t, topic, watch, 1, 2.5)


@remoting_case("HookUtils.handleScheduleMessage")
def no_level_is_no_delay(t: Remoting) -> None:
    """Messages with a delay level of 0 or less are not delayed."""
    topic = t.topic(queues=1)
    for level in (0, -1, -99):
        t.see(f"level {level}", t.send(topic, properties={"DELAY": str(level)}), 0)
    t.see("stored", t.stored(topic, 3), 0)


@remoting_case("HookUtils.transformDelayLevelMessage")
def levels_that_are_not_there_mean_the_last(t: Remoting) -> None:
    """A level above the last one counts as the last one."""
    topic = t.topic(queues=1)
    for level in (18, 19, 99):
        sent = t.send(topic, properties={"DELAY": str(level)})
        place = int(sent["queueOffset"])
        t.see(f"level {level}", sent.without("queueOffset"), 0)
        message = t.message_at(SCHEDULE_TOPIC, 17, place)
        t.see(f"level {level} stored", [message.properties["DELAY"], message.properties["REAL_TOPIC"]])


@remoting_case("Message.getDelayTimeLevel")
def a_level_must_be_a_number(t: Remoting) -> None:
    """A send with a non-numeric level returns an error."""
    topic = t.topic(queues=1)
    for level in ("x", "1.5", " 1", "99999999999"):
        t.see(f"level {level}", t.send(topic, properties={"DELAY": level}), 1)
    t.see("with a sign", t.send(topic, properties={"DELAY": "+1"}).without("queueOffset"), 0)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def messages_of_a_level_keep_their_order(t: Remoting) -> None:
    """Messages of one level are delivered in the order in which they were sent."""
    topic = t.topic(queues=1)
    for number in range(5):
        t.send(topic, f"{number}", properties={"DELAY": "1"})
    t.see("delivered", t.stored(topic, 5).bodies)


@remoting_case("ScheduleMessageService.DeliverDelayedMessageTimerTask")
def a_shorter_delay_comes_first(t: Remoting) -> None:
    """A message with a shorter delay is delivered before one with a longer delay; one without delay comes first."""
    topic = t.topic(queues=1)
    for level, body in ((2, "five seconds"), (1, "one second"), (0, "now")):
        t.send(topic, body, properties={"DELAY": str(level)})
    watch = t.stopwatch()
    t.see("delivered", t.stored(topic, 3).bodies)
    t.see("after", watch.between(4.5, 7))


@remoting_case("NotifyMessageArrivingListener.arriving")
def a_delayed_message_wakes_who_waits(t: Remoting) -> None:
    """A delayed message completes a held pull and a held pop when it is delivered."""
    topic, group = t.topic(queues=1), t.group()
    held = t.start_pull(topic, group, suspend_ms=10_000)
    popped = t.start_pop(topic, t.group(), poll_ms=10_000)
    watch = t.stopwatch()
    t.send(topic, "later", properties={"DELAY": "1"})
    t.wait(1.1)
    t.see("pulled", held(), 0)
    t.see("popped", popped().bodies)
    t.see("after", watch.between(1, 4))


@remoting_case("HookUtils.handleScheduleMessage")
def levels_win_over_times(t: Remoting) -> None:
    """A message with a delay level and a delivery time is delayed by the level and loses the time."""
    topic = t.topic(queues=1)
    times = {"TIMER_DELAY_MS": "60000", "TIMER_DELAY_SEC": "60", "TIMER_DELIVER_MS": str(t.now_ms() + 60_000)}
    delayed(t, topic, 1, "both", **times)
    t.see("delivered", t.stored(topic), 0)


@remoting_case("ScheduleMessageService.messageTimeUp")
def a_deleted_topic_is_delivered_to(t: Remoting) -> None:
    """A delayed message whose topic is deleted is still stored in the topic's queue, and the topic stays unknown."""
    topic = t.topic(queues=1)
    delayed(t, topic, 1)
    t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    end = {"topic": topic, "queueId": 0}
    t.until(lambda: t.ask(RequestCode.GET_MAX_OFFSET, end)["offset"] == "1", 6)
    t.see("end", t.ask(RequestCode.GET_MAX_OFFSET, end), 0)
    t.see("config", t.config_of(topic), 17)


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=FEW)
def levels_are_a_setting(t: Remoting) -> None:
    """messageDelayLevel defines the delay levels and their number."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    t.send(topic, "two", properties={"DELAY": "2"})
    t.see("delivered", t.stored(topic).bodies)
    t.see("after", watch.between(2, 4))
    sent = t.send(topic, "last", properties={"DELAY": "9"})
    t.see("last level", t.message_at(SCHEDULE_TOPIC, 3, int(sent["queueOffset"])).properties["DELAY"])


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=EACH_SECOND)
def all_levels_come_in_their_order(t: Remoting) -> None:
    """Messages of 18 levels, sent with the longest first, are delivered with the shortest first, none too early."""
    topic = t.topic(queues=1)
    sent = {}
    for level in range(LEVELS, 0, -1):
        answer = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        t.see(f"level {level}", answer.without("queueOffset"), 0)
        sent[level] = t.message_at(SCHEDULE_TOPIC, level - 1, int(answer["queueOffset"])).store_timestamp
    came = {int(each.body): each.store_timestamp for each in t.stored(topic, LEVELS, seconds=30).messages}
    due = {level: sent[level] + level * 1000 for level in came}
    pairs = itertools.pairwise(came)
    t.see("came", sorted(came))
    t.see("out of order", [(first, then) for first, then in pairs if due[first] > due[then] + 1000])
    t.see("too early", [level for level, at in came.items() if at < due[level]])


@remoting_case("HookUtils.transformDelayLevelMessage", settings=FEW)
def what_is_sent_back_has_the_last_level_at_most(t: Remoting) -> None:
    """A message sent back too often for the existing levels is delayed by the last one."""
    topic, group = t.topic(queues=1), t.group()
    for tries in (0, 1, 5):
        [sent] = t.sent(topic, 1, reconsumeTimes=tries)
        queue = min(tries + 3, 4) - 1
        begin = t.max_offset(SCHEDULE_TOPIC, queue)
        t.see(f"tried {tries}", back(t, group, sent.place, maxReconsumeTimes=None), 0)
        waiting = t.message_at(SCHEDULE_TOPIC, queue, begin)
        found = waiting.properties
        t.see(f"tried {tries}: waits", [waiting.queue_id, found["DELAY"], found["REAL_TOPIC"]])
