"""Timed messages, which wait in rmq_sys_wheel_timer until their delivery time."""

from typing import Any

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.timers import DAY_MS, handle_of
from .delay import note_delivered


def timed(
    t: RemotingContext, topic: str, name: str, value: object, *, body: str = "timed", **more: Any
) -> DecodedResponse:
    """Send a message with one of the properties that set a delivery time."""
    response = t.send(topic, body, properties={name: str(value)}, **more)
    t.note(f"sent with {name}", response.without("queueOffset", "recallHandle"), 0)
    t.note("recall handle", handle_of(response))
    return response


@remoting_case("TimerMessageStore.doPut")
def a_timed_message_is_delivered_on_time(t: RemotingContext) -> None:
    """A timed message is delivered shortly after its time and not before, with the timer's properties."""
    topic = t.topic(queues=2)
    watch = t.stopwatch()
    sent = timed(t, topic, "TIMER_DELAY_MS", 2000, queue=1, tag="A", keys="k")
    t.note("in the queue asked for", sent["queueId"])
    note_delivered(t, topic, watch, low=2, high=4)


@remoting_case("TimerMessageStore.convert")
def a_delivered_timed_message_has_the_timers_times_as_properties(t: RemotingContext) -> None:
    """A delivered timed message has the timer slot's time and the times of its enqueue and dequeue as properties."""
    topic = t.topic(queues=1)
    at = (t.now_ms() // 1000 + 3) * 1000 + 500
    t.send(topic, properties={"TIMER_DELIVER_MS": str(at)})
    [message] = t.stored(topic).messages
    out, taken_in, taken_out = (int(message.properties[f"TIMER_{each}_MS"]) for each in ("OUT", "ENQUEUE", "DEQUEUE"))
    t.note("to come, before its time, ms", at - out)
    t.note("taken in, of a second, ms", taken_in % 1000)
    t.note("taken in, after its birth, s", 0 <= taken_in // 1000 - message.born_timestamp // 1000 <= 2)
    t.note("taken out, at its time or a little later", 0 <= taken_out - at <= 2000)
    t.note("stored, a little after that", 0 <= message.store_timestamp - taken_out <= 1000)


@remoting_case("HookUtils.transformTimerMessage")
def a_delivery_time_is_set_by_delay_seconds_delay_ms_or_timestamp(t: RemotingContext) -> None:
    """The delivery time can be a delay in milliseconds, a delay in seconds or a timestamp.

    The property is kept on delivery.
    """
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    timed(t, topic, "TIMER_DELAY_SEC", 1, body="seconds")
    timed(t, topic, "TIMER_DELAY_MS", 1000, body="milliseconds")
    timed(t, topic, "TIMER_DELIVER_MS", t.now_ms() + 1000, body="time")
    messages = t.stored(topic, 3).messages
    t.note("after", watch.between(1, 3.5))
    properties = {message.body.decode(): sorted(message.properties) for message in messages}
    t.note("delivered", dict(sorted(properties.items())))


@remoting_case("HookUtils.transformTimerMessage")
def a_delay_in_seconds_overrides_one_in_ms_which_overrides_a_timestamp(t: RemotingContext) -> None:
    """If several delivery times are set, the delay in seconds counts first, then the one in milliseconds."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    t.send(topic, "a", properties={"TIMER_DELAY_SEC": "1", "TIMER_DELAY_MS": "60000"})
    late = str(t.now_ms() + 60_000)
    t.send(topic, "b", properties={"TIMER_DELAY_MS": "1000", "TIMER_DELIVER_MS": late})
    t.note("delivered", sorted(t.stored(topic, 2).bodies))
    t.note("after", watch.between(1, 3.5))


@remoting_case("HookUtils.transformTimerMessage")
def a_message_with_a_past_delivery_time_is_delivered_at_once(t: RemotingContext) -> None:
    """A message with a past time or a delay of 0 or less is delivered at once and gets no recall handle."""
    topic = t.topic(queues=1)
    timed(t, topic, "TIMER_DELIVER_MS", t.now_ms() - 60_000)
    timed(t, topic, "TIMER_DELIVER_MS", 0)
    timed(t, topic, "TIMER_DELAY_MS", 0)
    timed(t, topic, "TIMER_DELAY_SEC", -5)
    t.note("stored", t.stored(topic, 4), 0)


@remoting_case("HookUtils.handleScheduleMessage")
def a_delay_above_three_days_or_not_numeric_is_refused(t: RemotingContext) -> None:
    """A delay of more than three days or a non-numeric one is rejected."""
    topic = t.topic(queues=1)
    for name, value in (
        ("TIMER_DELAY_MS", 3 * DAY_MS + 1),
        ("TIMER_DELAY_SEC", 4 * DAY_MS // 1000),
        ("TIMER_DELIVER_MS", t.now_ms() + 4 * DAY_MS),
        ("TIMER_DELIVER_MS", "soon"),
        ("TIMER_DELAY_MS", "1.5"),
        ("TIMER_DELAY_SEC", "9" * 25),
    ):
        t.note(name, t.send(topic, properties={name: str(value)}), 13)
    t.note("three days", t.send(topic, properties={"TIMER_DELAY_MS": str(3 * DAY_MS)}).code)


@remoting_case("TimerMessageStore.doEnqueue")
def a_timed_message_waits_in_the_timer_topic(t: RemotingContext) -> None:
    """Until its delivery time a message waits in the timer topic with its real topic and queue."""
    topic = t.topic(queues=2)
    sent = t.send(topic, "waiting", queue=1, tag="A", properties={"TIMER_DELAY_MS": "30000"})
    message = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
    t.note("topic and queue", [message.topic, message.queue_id])
    t.note("properties", dict(sorted(message.properties.items())))
    out = int(message.properties["TIMER_OUT_MS"])
    t.note("whole second before its time", [out % 1000, 28_500 <= out - message.store_timestamp <= 30_000])


@remoting_case("HookUtils.handleScheduleMessage", settings={"timerWheelEnable": "false"})
def without_timer_wheel_enable_timed_messages_are_refused(t: RemotingContext) -> None:
    """With timerWheelEnable=false timed messages are rejected and delay levels still work."""
    topic = t.topic(queues=1)
    t.note("timed", t.send(topic, properties={"TIMER_DELAY_MS": "1000"}))
    t.note("level", t.send(topic, properties={"DELAY": "1"}).code)
    t.note("delivered", t.stored(topic), 0)
