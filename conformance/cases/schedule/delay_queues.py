"""The queues of the broker's own topics in which delayed and timed messages wait. Any client may read them."""

from typing import Any

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.timers import delay_in_queue
from .timer_wheel import FINE

LEVELS = 18


def message_fields(message: ReceivedMessage) -> dict[str, Any]:
    """Return a message without its offset, because all cases share the queue."""
    return {
        "topic": message.topic,
        "queue": message.queue_id,
        "body": message.body,
        "properties": dict(sorted(message.properties.items())),
    }


def delay_offsets(t: RemotingContext) -> Any:
    """Return the delivered offset of each delay level, as the broker reports it."""
    response = t.request(RequestCode.GET_ALL_DELAY_OFFSET)
    t.require(response.code == 0, f"there are no offsets: {response}")
    return response.json["offsetTable"]


@remoting_case("HookUtils.transformDelayLevelMessage")
def each_delay_level_has_its_queue_in_the_schedule_topic(t: RemotingContext) -> None:
    """A message of level n waits in queue n - 1 of SCHEDULE_TOPIC_XXXX with its due time, real topic and real queue."""
    topic = t.topic(queues=3)
    for level in range(1, LEVELS + 1):
        sent = t.send(topic, f"{level}", queue=2, tag="A", keys="k", properties={"DELAY": str(level), "mine": "x"})
        t.note(f"level {level}", sent.without("queueOffset"), 0)
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.note(f"level {level}: waits", message_fields(waiting))
        t.note(f"level {level}: due after, ms", delay_in_queue(t, level, place, waiting))


@remoting_case("ScheduleMessageService.messageTimeUp")
def a_delivered_delayed_message_remains_readable_in_the_schedule_topic(t: RemotingContext) -> None:
    """A delivered message can still be read from the delay topic, because the delivered one is a copy."""
    topic = t.topic(queues=2)
    sent = t.send(topic, "later", queue=1, tag="A", keys="k", properties={"DELAY": "1", "mine": "x"})
    place = int(sent["queueOffset"])
    [delivered] = t.stored(topic, 1, 1).messages
    waited = t.message_at(SCHEDULE_TOPIC, 0, place)
    t.note("waited", message_fields(waited))
    t.note("delivered", delivered)
    t.note("born at the same time", delivered.born_timestamp == waited.born_timestamp)
    t.note("stored later, s", 1 <= (delivered.store_timestamp - waited.store_timestamp) / 1000 <= 4)


@remoting_case("CommitLog.checkMessageAndReturnSize")
def consume_queue_units_of_delay_levels_hold_due_times_as_tag_codes(t: RemotingContext) -> None:
    """A consume queue unit of a delay level contains the message's due time in place of the tag code."""
    topic = t.topic(queues=1)
    sent = t.send(topic, "later", tag="A", properties={"DELAY": "18"})
    place = int(sent["queueOffset"])
    waiting = t.message_at(SCHEDULE_TOPIC, 17, place)
    t.note("due after, ms", delay_in_queue(t, 18, place, waiting))
    group = t.group()
    t.note("by its tag", t.pull(SCHEDULE_TOPIC, group, 17, place, expression="A", max_messages=1).code)
    t.note("by all tags", t.pull(SCHEDULE_TOPIC, group, 17, place, max_messages=1).code)


@remoting_case("ScheduleMessageService.parseDelayLevel", settings={"messageDelayLevel": "+12s 013s 0s -5s 1h"})
def delay_level_times_may_have_a_sign_and_leading_zeros(t: RemotingContext) -> None:
    """The number of a delay level may have a sign and leading zeros. Levels of 0 or less are due at once."""
    topic = t.topic(queues=1)
    for level in range(1, 6):
        sent = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.note(f"level {level}: due after, ms", delay_in_queue(t, level, place, waiting))
    found = t.stored(topic, 4).bodies
    t.note("at once", sorted(found[:2]))
    t.note("later", found[2:])


BEYOND = "106751991168d"
"""In ms this exceeds a 64-bit number."""
TWENTY = {"messageDelayLevel": " ".join(["1m", "1h", "1d", BEYOND, *["2s"] * 16])}


@remoting_case("ScheduleMessageService.parseDelayLevel", settings=TWENTY)
def delay_levels_may_exceed_18_and_use_minutes_hours_and_days(t: RemotingContext) -> None:
    """Delay levels may use minutes, hours or days, and there may be over 18. A 64-bit overflow is due at once."""
    topic = t.topic(queues=1)
    for level in (1, 2, 3, 4):
        sent = t.send(topic, f"{level}", properties={"DELAY": str(level)})
        place = int(sent["queueOffset"])
        waiting = t.message_at(SCHEDULE_TOPIC, level - 1, place)
        t.note(f"level {level}: due after, ms", delay_in_queue(t, level, place, waiting))
    watch = t.stopwatch()
    for level in (20, 21):
        t.note(f"level {level}", t.send(topic, f"{level}", properties={"DELAY": str(level)}), 0)
    found = t.stored(topic, 3).messages
    t.note("after", watch.between(1.9, 6))
    t.note("delivered", [[each.body, each.properties["DELAY"]] for each in found])


@remoting_case("ConsumerOffsetManager.commitOffset")
def groups_can_pull_and_commit_offsets_in_the_schedule_topic(t: RemotingContext) -> None:
    """Groups can pull and commit offsets in the delay topic as in any other topic."""
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"DELAY": "17"})
    end = int(sent["queueOffset"]) + 1
    t.note("end reached", t.until(lambda: t.max_offset(SCHEDULE_TOPIC, 16) >= end, 5))
    t.note("before", t.committed(SCHEDULE_TOPIC, group, 16, setZeroIfNotFound=False).code)
    t.note("committed", t.commit(SCHEDULE_TOPIC, group, 0, 16), 0)
    t.note("offset", t.committed(SCHEDULE_TOPIC, group, 16), 0)
    t.note("pulled", t.pull(SCHEDULE_TOPIC, group, 16, 0, max_messages=1, commit=1).code)
    t.note("offset then", t.committed(SCHEDULE_TOPIC, group, 16), 0)


@remoting_case("TopicConfigManager.init")
def the_schedule_and_timer_topics_have_their_queues_at_broker_start(t: RemotingContext) -> None:
    """The delay topic and the timer topic have their queues from the broker's start."""
    for name in (SCHEDULE_TOPIC, TIMER_TOPIC):
        t.note(name, t.config_of(name))


@remoting_case("ScheduleMessageService.encode", alone=True)
def delay_offsets_count_the_delivered_messages_of_each_used_level(t: RemotingContext) -> None:
    """GET_ALL_DELAY_OFFSET returns for each used level the number of delivered messages, without the waiting ones."""
    t.note("nothing yet", delay_offsets(t))
    topic = t.topic(queues=1)
    for level in (1, 1, 2, 5):
        t.send(topic, f"{level}", properties={"DELAY": str(level)})
    t.stored(topic, 3)
    t.wait(1)
    t.note("two and one", delay_offsets(t))


@remoting_case("TimerMessageStore.convert", settings=FINE)
def each_timer_roll_stores_the_timed_message_again(t: RemotingContext) -> None:
    """Each roll of the timer wheel stores a timed message again in the timer topic and counts it.

    Properties show its times.
    """
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"TIMER_DELAY_MS": "5000"})
    t.stored(topic)
    found = t.pull(TIMER_TOPIC, group, 0, int(sent["queueOffset"])).messages
    for message in found:
        if message.properties.get("REAL_TOPIC") == topic:
            t.note("waited", message_fields(message))
    t.note("delivered", t.stored(topic))
