"""The timer wheel: its slots, its roll window, and delete markers."""

import itertools

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ...worlds.transactions import COMMIT, transacting
from .timer import handle_of

FINE = {"timerPrecisionMs": "100", "timerRollWindowSlot": "20"}
"""Slots of 100 ms and a window of 2 s. Messages with longer delays are rolled at the window's end."""


@remoting_case("TimerMessageStore.doEnqueue")
def a_message_is_cancelled_by_another(t: Remoting) -> None:
    """A message with TIMER_DEL_UNIQKEY deletes the named message of the same second and is not delivered itself."""
    topic = t.topic(queues=1)
    at = str((t.now_ms() // 1000 + 6) * 1000 + 500)
    name = t.message_id()
    t.send(topic, "taken back", properties={"TIMER_DELIVER_MS": at, "UNIQ_KEY": name})
    t.send(topic, "kept", properties={"TIMER_DELIVER_MS": at})
    mark = {"TIMER_DELIVER_MS": at, "TIMER_DEL_UNIQKEY": f"{topic}+{name}"}
    t.see("mark", t.send(topic, "mark", properties=mark).without("queueOffset", "recallHandle"), 0)
    t.stored(topic, 1)
    t.wait(2)
    t.see("delivered", t.stored(topic, 1).bodies)


@remoting_case("TimerMessageStore.doEnqueue")
def a_cancellation_names_topic_and_second(t: Remoting) -> None:
    """A delete marker without the topic's name, or of another topic or second, has no effect."""
    topic = t.topic(queues=1)
    at = (t.now_ms() // 1000 + 6) * 1000 + 500
    name = t.message_id()
    t.send(topic, "kept", properties={"TIMER_DELIVER_MS": str(at), "UNIQ_KEY": name})
    for key, time in ((name, at), (f"other+{name}", at), (f"{topic}+{name}", at + 1000)):
        t.send(topic, "mark", properties={"TIMER_DELIVER_MS": str(time), "TIMER_DEL_UNIQKEY": key})
    t.stored(topic, 1)
    t.wait(3)
    t.see("delivered", t.stored(topic, 1).bodies)


@remoting_case("HookUtils.transformTimerMessage")
def a_cancellation_for_the_past_is_refused(t: Remoting) -> None:
    """A delete marker with a past time is rejected as illegal."""
    topic = t.topic(queues=1)
    for delay in ("0", "-5000"):
        mark = {"TIMER_DELAY_MS": delay, "TIMER_DEL_UNIQKEY": f"{topic}+x"}
        t.see(f"delay {delay}", t.send(topic, "mark", properties=mark), 13)


@remoting_case("TimerMessageStore.convertMessage")
def an_ordered_message_may_have_a_time(t: Remoting) -> None:
    """A timed message is delivered to its original queue with its message group."""
    topic = t.topic(queues=2)
    t.send(topic, "later", queue=1, properties={"TIMER_DELAY_MS": "1500", "__SHARDINGKEY": "g"})
    t.see("delivered", t.stored(topic, 1, 1))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner")
def a_timed_half_message_loses_its_topic(t: Remoting) -> None:
    """A half message with a delivery time waits for the half topic and loses its own. A commit does not store it."""
    producers = transacting(t)
    sent = producers.half(properties={"TIMER_DELAY_MS": "3000"})
    t.see("half", sent.without("queueOffset", "recallHandle"), 0)
    t.see("recall handle", handle_of(sent)[:3])
    waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
    t.see("belongs to", waiting.properties["REAL_TOPIC"])
    t.see("commit", producers.end(sent, COMMIT))
    t.wait(5)
    t.see("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("HookUtils.transformTimerMessage", settings=FINE)
def slots_may_be_finer(t: Remoting) -> None:
    """With timerPrecisionMs a message waits in the slot of its time. A time on a boundary uses the previous slot."""
    topic = t.topic(queues=1)
    whole = (t.now_ms() // 1000 + 5) * 1000
    for after in (0, 50, 100, 149):
        sent = t.send(topic, f"{after}", properties={"TIMER_DELIVER_MS": str(whole + after)})
        waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
        t.see(f"slot of {after}", int(waiting.properties["TIMER_OUT_MS"]) - whole)
    t.see("delivered", sorted(t.stored(topic, 4).bodies))


@remoting_case("TimerMessageStore.needRoll", settings=FINE)
def what_waits_longer_than_the_window_pauses(t: Remoting) -> None:
    """A message delayed beyond timerRollWindowSlot slots is rolled in the wheel and still delivered on time."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    for delay in (1500, 7000):
        t.send(topic, f"{delay}", properties={"TIMER_DELAY_MS": str(delay)})
    messages = t.stored(topic, 2).messages
    t.see("after", watch.between(6.9, 9.5))
    for message in messages:
        t.see("rolled", [message.body, int(message.properties.get("TIMER_ROLL_TIMES", "0")) > 0])


@remoting_case("TimerMessageStore.doEnqueue", settings=FINE)
def a_pause_is_half_a_window_when_little_is_left(t: Remoting) -> None:
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
        t.see("pauses, in halves of the window", [body, pauses])


def waited(t: Remoting, topic: str) -> list[ReceivedMessage]:
    """Return the messages in the timer topic for a topic, in store order."""
    group, at, found = t.group(), 0, list[ReceivedMessage]()
    while messages := t.pull(TIMER_TOPIC, group, 0, at).messages:
        at = messages[-1].queue_offset + 1
        found += [message for message in messages if message.properties.get("REAL_TOPIC") == topic]
    return found


@remoting_case("TimerMessageStore.isReject", settings={"timerCongestNumEachSlot": "5"})
def a_crowded_slot_refuses_messages(t: Remoting) -> None:
    """A slot with more than timerCongestNumEachSlot messages eventually rejects further ones; another slot does not."""
    topic = t.topic(queues=1)
    at = (t.now_ms() // 1000 + 25) * 1000 + 500
    taken = 0
    while (answer := t.send(topic, "m", properties={"TIMER_DELIVER_MS": str(at)})).code == 0 and taken < 40:
        taken += 1
        t.wait(0.2)
    t.see("refused", answer, 1)
    t.see("taken before", "6 to 10" if 6 <= taken <= 10 else taken)
    t.see("of another second", t.send(topic, "m", properties={"TIMER_DELIVER_MS": str(at + 1000)}).code)
