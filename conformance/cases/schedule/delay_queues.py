"""The queues of the broker's own topics in which delayed and timed messages wait. Any client may read them."""

from typing import Any

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting
from .timer_wheel import FINE

LEVELS = 18


def seen(message: ReceivedMessage) -> dict[str, Any]:
    """Return a message without its offset, because all cases share the queue."""
    return {
        "topic": message.topic,
        "queue": message.queue_id,
        "body": message.body,
        "properties": dict(sorted(message.properties.items())),
    }


def delay_offsets(t: Remoting) -> Any:
    """Return the delivered offset of each delay level, as the broker reports it."""
    answer = t.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    t.require(answer.code == 0, f"there are no offsets: {answer}")
    return answer.json["offsetTable"]


def due_after(t: Remoting, level: int, place: int, waiting: ReceivedMessage) -> int:
    """Return the ms from a message's store time to its due time, by its consume queue unit in the level's queue."""
    unit = {"topic": SCHEDULE_TOPIC, "queueId": level - 1, "index": place, "count": 1}
    [entry] = t.ask(RequestCode.QUERY_CONSUME_QUEUE, unit).json["queueData"]
    return int(entry["tagsCode"]) - waiting.store_timestamp


@remoting_case("HookUtils.transformDelayLevelMessage")
def each_level_has_a_queue(t: Remoting) -> None:
    """A message of level n waits in queue n - 1 of SCHEDULE_TOPIC_XXXX with its due time, real topic and real queue."""
    topic = t.topic(queues=3)
    for level in range(1, LEVELS + 1):
        sent = t.send(topic, f"{level}", queue=2, tag="A", keys="k", properties={"DELAY": str(level), "mine": "x"})
        t.see(f"level {level}", sent.without("queueOffset"), 0)
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.see(f"level {level}: waits", seen(waiting))
        t.see(f"level {level}: due after, ms", due_after(t, level, place, waiting))


@remoting_case("ScheduleMessageService.messageTimeUp")
def what_has_waited_stays_where_it_was(t: Remoting) -> None:
    """A delivered message can still be read from the delay topic, because the delivered one is a copy."""
    topic = t.topic(queues=2)
    sent = t.send(topic, "later", queue=1, tag="A", keys="k", properties={"DELAY": "1", "mine": "x"})
    place = int(sent["queueOffset"])
    [delivered] = t.stored(topic, 1, 1).messages
    waited = t.message_at(SCHEDULE_TOPIC, 0, place)
    t.see("waited", seen(waited))
    t.see("delivered", delivered)
    t.see("born at the same time", delivered.born_timestamp == waited.born_timestamp)
    t.see("stored later, s", 1 <= (delivered.store_timestamp - waited.store_timestamp) / 1000 <= 4)


@remoting_case("CommitLog.checkMessageAndReturnSize")
def what_waits_is_found_by_time_and_not_by_tag(t: Remoting) -> None:
    """A consume queue unit of a delay level contains the message's due time in place of the tag code."""
    topic = t.topic(queues=1)
    sent = t.send(topic, "later", tag="A", properties={"DELAY": "18"})
    place = int(sent["queueOffset"])
    waiting = t.message_at(SCHEDULE_TOPIC, 17, place)
    t.see("due after, ms", due_after(t, 18, place, waiting))
    group = t.group()
    t.see("by its tag", t.pull(SCHEDULE_TOPIC, group, 17, place, expression="A", max_messages=1).code)
    t.see("by all tags", t.pull(SCHEDULE_TOPIC, group, 17, place, max_messages=1).code)


@remoting_case("ScheduleMessageService.parseDelayLevel", settings={"messageDelayLevel": "+12s 013s 0s -5s 1h"})
def the_times_of_levels_are_java_numbers(t: Remoting) -> None:
    """The number of a delay level may have a sign and leading zeros. Levels of 0 or less are due at once."""
    topic = t.topic(queues=1)
    for level in range(1, 6):
        sent = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.see(f"level {level}: due after, ms", due_after(t, level, place, waiting))
    found = t.stored(topic, 4).bodies
    t.see("at once", sorted(found[:2]))
    t.see("later", found[2:])


BEYOND = "106751991168d"
"""In ms this exceeds a 64-bit number."""
TWENTY = {"messageDelayLevel": " ".join(["1m", "1h", "1d", BEYOND, *["2s"] * 16])}


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=TWENTY)
def levels_may_be_more_than_queues(t: Remoting) -> None:
    """Delay levels may use minutes, hours or days, and there may be over 18. A 64-bit overflow is due at once."""
    topic = t.topic(queues=1)
    for level in (1, 2, 3, 4):
        sent = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.see(f"level {level}: due after, ms", due_after(t, level, place, waiting))
    watch = t.stopwatch()
    for level in (20, 21):
        t.see(f"level {level}", t.send(topic, f"{level}", properties={"DELAY": str(level)}), 0)
    found = t.stored(topic, 3).messages
    t.see("after", watch.between(1.9, 6))
    t.see("delivered", [[each.body, each.properties["DELAY"]] for each in found])


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_group_may_read_where_messages_wait(t: Remoting) -> None:
    """Groups can pull and commit offsets in the delay topic as in any other topic."""
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"DELAY": "17"})
    end = int(sent["queueOffset"]) + 1
    t.see("end reached", t.until(lambda: t.max_offset(SCHEDULE_TOPIC, 16) >= end, 5))
    t.see("before", t.committed(SCHEDULE_TOPIC, group, 16, setZeroIfNotFound=False).code)
    t.see("committed", t.commit(SCHEDULE_TOPIC, group, 0, 16), 0)
    t.see("offset", t.committed(SCHEDULE_TOPIC, group, 16), 0)
    t.see("pulled", t.pull(SCHEDULE_TOPIC, group, 16, 0, max_messages=1, commit=1).code)
    t.see("offset then", t.committed(SCHEDULE_TOPIC, group, 16), 0)


@remoting_case("TopicConfigManager.init")
def topics_of_what_waits(t: Remoting) -> None:
    """The delay topic and the timer topic have their queues from the broker's start."""
    for name in (SCHEDULE_TOPIC, TIMER_TOPIC):
        t.see(name, t.config_of(name))


@remoting_case("ScheduleMessageService.encode", alone=True)
def how_far_levels_were_delivered(t: Remoting) -> None:
    """GET_ALL_DELAY_OFFSET returns for each used level the number of delivered messages, without the waiting ones."""
    t.see("nothing yet", delay_offsets(t))
    topic = t.topic(queues=1)
    for level in (1, 1, 2, 5):
        t.send(topic, f"{level}", properties={"DELAY": str(level)})
    t.stored(topic, 3)
    t.wait(1)
    t.see("two and one", delay_offsets(t))


@remoting_case("TimerMessageStore.convert", settings=FINE)
def what_pauses_is_stored_each_time(t: Remoting) -> None:
    """Each roll of the timer wheel stores a timed message again in the timer topic and counts it.

    Properties show its times.
    """
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"TIMER_DELAY_MS": "5000"})
    t.stored(topic)
    found = t.pull(TIMER_TOPIC, group, 0, int(sent["queueOffset"])).messages
    for message in found:
        if message.properties.get("REAL_TOPIC") == topic:
            t.see("waited", seen(message))
    t.see("delivered", t.stored(topic))
