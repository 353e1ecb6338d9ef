"""The timer wheel: its slots, its roll window, and delete markers."""

import itertools

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.timers import handle_of
from ...helpers.transactions import COMMIT, transacting

FINE = {"timerPrecisionMs": "100", "timerRollWindowSlot": "20"}
"""Slots of 100 ms and a window of 2 s. Messages with longer delays are rolled at the window's end."""


@remoting_case("TimerMessageStore.doEnqueue")
def a_delete_marker_cancels_the_named_timed_message(t: RemotingContext) -> None:
    """A message with TIMER_DEL_UNIQKEY deletes the named message of the same second and is not delivered itself."""
    topic = t.topic(queues=1)
    at = str((t.now_ms() // 1000 + 6) * 1000 + 500)
    name = t.message_id()
    t.send(topic, "taken back", properties={"TIMER_DELIVER_MS": at, "UNIQ_KEY": name})
    t.send(topic, "kept", properties={"TIMER_DELIVER_MS": at})
    mark = {"TIMER_DELIVER_MS": at, "TIMER_DEL_UNIQKEY": f"{topic}+{name}"}
    t.note("mark", t.send(topic, "mark", properties=mark).without("queueOffset", "recallHandle"), 0)
    t.stored(topic, 1)
    t.wait(2)
    t.note("delivered", t.stored(topic, 1).bodies)


@remoting_case("TimerMessageStore.doEnqueue")
def a_delete_marker_of_another_topic_or_second_has_no_effect(t: RemotingContext) -> None:
    """A delete marker without the topic's name, or of another topic or second, has no effect."""
    topic = t.topic(queues=1)
    at = (t.now_ms() // 1000 + 6) * 1000 + 500
    name = t.message_id()
    t.send(topic, "kept", properties={"TIMER_DELIVER_MS": str(at), "UNIQ_KEY": name})
    for key, time in ((name, at), (f"other+{name}", at), (f"{topic}+{name}", at + 1000)):
        t.send(topic, "mark", properties={"TIMER_DELIVER_MS": str(time), "TIMER_DEL_UNIQKEY": key})
    t.stored(topic, 1)
    t.wait(3)
    t.note("delivered", t.stored(topic, 1).bodies)


@remoting_case("HookUtils.transformTimerMessage")
def a_delete_marker_with_a_past_time_is_refused(t: RemotingContext) -> None:
    """A delete marker with a past time is rejected as illegal."""
    topic = t.topic(queues=1)
    for delay in ("0", "-5000"):
        mark = {"TIMER_DELAY_MS": delay, "TIMER_DEL_UNIQKEY": f"{topic}+x"}
        t.note(f"delay {delay}", t.send(topic, "mark", properties=mark), 13)


@remoting_case("TimerMessageStore.convertMessage")
def an_ordered_timed_message_keeps_its_queue_and_message_group(t: RemotingContext) -> None:
    """A timed message is delivered to its original queue with its message group."""
    topic = t.topic(queues=2)
    t.send(topic, "later", queue=1, properties={"TIMER_DELAY_MS": "1500", "__SHARDINGKEY": "g"})
    t.note("delivered", t.stored(topic, 1, 1))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_timed_half_message_loses_its_topic(t: RemotingContext) -> None:
    """A half message with a delivery time waits for the half topic and loses its own. A commit does not store it."""
    producers = transacting(t)
    sent = producers.half(properties={"TIMER_DELAY_MS": "3000"})
    t.note("half", sent.without("queueOffset", "recallHandle"), 0)
    t.note("recall handle", handle_of(sent)[:3])
    waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
    t.note("belongs to", waiting.properties["REAL_TOPIC"])
    t.note("commit", producers.end(sent, COMMIT))
    t.wait(5)
    t.note("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("HookUtils.transformTimerMessage", settings=FINE)
def timer_precision_ms_sets_the_slot_size_of_the_timer_wheel(t: RemotingContext) -> None:
    """With timerPrecisionMs a message waits in the slot of its time. A time on a boundary uses the previous slot."""
    topic = t.topic(queues=1)
    whole = (t.now_ms() // 1000 + 5) * 1000
    for after in (0, 50, 100, 149):
        sent = t.send(topic, f"{after}", properties={"TIMER_DELIVER_MS": str(whole + after)})
        waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
        t.note(f"slot of {after}", int(waiting.properties["TIMER_OUT_MS"]) - whole)
    t.note("delivered", sorted(t.stored(topic, 4).bodies))


@remoting_case("TimerMessageStore.needRoll", settings=FINE)
def a_message_beyond_the_roll_window_is_rolled_and_delivered_on_time(t: RemotingContext) -> None:
    """A message delayed beyond timerRollWindowSlot slots is rolled in the wheel and still delivered on time."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    for delay in (1500, 7000):
        t.send(topic, f"{delay}", properties={"TIMER_DELAY_MS": str(delay)})
    messages = t.stored(topic, 2).messages
    t.note("after", watch.between(6.9, 9.5))
    for message in messages:
        t.note("rolled", [message.body, int(message.properties.get("TIMER_ROLL_TIMES", "0")) > 0])


@remoting_case("TimerMessageStore.doEnqueue", settings=FINE)
def a_message_just_beyond_the_roll_window_is_rolled_after_half_the_window(t: RemotingContext) -> None:
    """A message less than a third of the window beyond it is rolled after half a window, others after a full one."""
    topic = t.topic(queues=1)
    for delay in (2400, 3600, 4500):
        t.send(topic, f"{delay}", properties={"TIMER_DELAY_MS": str(delay)})
    t.stored(topic, 3)
    times: dict[bytes, list[int]] = {}
    for message in waited(t, topic):
        times.setdefault(message.body, []).append(message.store_timestamp)
    for body, stored in sorted(times.items()):
        pauses = [round((later - earlier) / 1000) for earlier, later in itertools.pairwise(stored)]
        t.note("pauses, in halves of the window", [body, pauses])


def waited(t: RemotingContext, topic: str) -> list[ReceivedMessage]:
    """Return the messages in the timer topic for a topic, in store order."""
    group, at, found = t.group(), 0, list[ReceivedMessage]()
    while messages := t.pull(TIMER_TOPIC, group, 0, at).messages:
        at = messages[-1].queue_offset + 1
        found += [message for message in messages if message.properties.get("REAL_TOPIC") == topic]
    return found


@remoting_case("TimerMessageStore.isReject", settings={"timerCongestNumEachSlot": "5"})
def a_crowded_slot_refuses_messages(t: RemotingContext) -> None:
    """A slot with more than timerCongestNumEachSlot messages eventually rejects further ones; another slot does not."""
    topic = t.topic(queues=1)
    at = (t.now_ms() // 1000 + 25) * 1000 + 500
    taken = 0
    while (response := t.send(topic, "m", properties={"TIMER_DELIVER_MS": str(at)})).code == 0 and taken < 40:
        taken += 1
        t.wait(0.2)
    t.note("refused", response, 1)
    t.note("taken before", "6 to 10" if 6 <= taken <= 10 else taken)
    t.note("of another second", t.send(topic, "m", properties={"TIMER_DELIVER_MS": str(at + 1000)}).code)
