"""Valid delivery times of timed messages: precision, maximum and number format."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, TIMER_TOPIC
from rocketmq_testkit.remoting.client import batch_body

from ...case import remoting_case
from ...settings import ODD, VARIED, with_keys
from ...worlds.remoting import Remoting
from ..send.batch import send_batch
from .recall import handle, recall
from .timer import DAY_MS, handle_of

NAMES = ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS")
HOUR_MS = 3_600_000
MOST = str(2**63 - 1)
LEAST = str(-(2**63))


def _see_slots(t: Remoting, precision: int) -> None:
    """Record the timer slots of messages around a slot boundary, and that they are delivered after their times."""
    topic = t.topic(queues=1)
    whole = (t.now_ms() // 1000 + 4) * 1000
    after = (0, 1, precision // 2, precision - 1, precision, precision + 1)
    for ms in after:
        sent = t.send(topic, f"{ms}", properties={"TIMER_DELIVER_MS": str(whole + ms)})
        waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
        t.see(f"slot of {ms}", int(waiting.properties["TIMER_OUT_MS"]) - whole)
    late = {
        int(each.body): each.store_timestamp - whole - int(each.body) for each in t.stored(topic, len(after)).messages
    }
    t.see("delivered", sorted(late))
    t.see("not early, not a second late", all(0 <= ms <= precision + 1500 for ms in late.values()) or late)


@remoting_case("HookUtils.transformTimerMessage", settings=with_keys(ODD, "timerPrecisionMs"))
def slots_may_be_a_fifth_of_a_second(t: Remoting) -> None:
    """With timerPrecisionMs=200 a message waits in the 200 ms slot of its time.

    On a boundary it takes the previous slot.
    """
    _see_slots(t, 200)


@remoting_case("HookUtils.transformTimerMessage")
def slots_are_a_second(t: Remoting) -> None:
    """A message waits in the 1 s slot of its time. A time on a full second uses the previous slot."""
    _see_slots(t, 1000)


@remoting_case("HookUtils.transformTimerMessage", settings={"timerPrecisionMs": "500"})
def slots_may_be_half_a_second(t: Remoting) -> None:
    """With timerPrecisionMs=500 a message waits in the 500 ms slot of its time.

    On a boundary it takes the previous slot.
    """
    _see_slots(t, 500)


@remoting_case("HookUtils.transformTimerMessage")
def three_days_are_the_most(t: Remoting) -> None:
    """A message may be delayed by 23 hours and by almost three days, with any property, but not by more."""
    topic = t.topic(queues=1)
    limit = 3 * DAY_MS
    for label, ms in (("23 h", 23 * HOUR_MS), ("5 s less", limit - 5000), ("5 s more", limit + 5000)):
        code = 0 if ms < limit else 13
        for name, value in zip(NAMES, (ms // 1000, ms, t.now_ms() + ms), strict=True):
            sent = t.send(topic, properties={name: str(value)})
            t.see(f"{label} by {name}", sent.without("queueOffset", "recallHandle"), code)
            if sent.code == 0:
                left = int(handle_of(sent)[3]) - t.now_ms()
                t.see(f"{label} by {name}: is so far away", ms - 10_000 <= left <= ms)


@remoting_case("HookUtils.transformTimerMessage", settings=with_keys(VARIED, "timerMaxDelaySec"))
def the_most_is_a_setting(t: Remoting) -> None:
    """Delays and recalls beyond timerMaxDelaySec are rejected."""
    topic = t.topic(queues=1)
    for seconds in (5, 6):
        sent = t.send(topic, f"{seconds}", properties={"TIMER_DELAY_SEC": str(seconds)})
        t.see(f"{seconds} s", sent.without("queueOffset", "recallHandle"), 0 if seconds == 5 else 13)
    for left in (3000, 6000):
        forged = handle("v1", topic, t.broker_name, t.now_ms() + left, "id")
        t.see(f"recall in {left} ms", recall(t, topic, forged), 0 if left == 3000 else 604)
    t.see("delivered", t.stored(topic).bodies)


@remoting_case("HookUtils.transformTimerMessage")
def a_time_is_a_long(t: Remoting) -> None:
    """A delivery time must be a 64-bit integer in each of the three properties. A sign is allowed."""
    topic = t.topic(queues=1)
    texts = ("soon", "1.5", " 1", "1 ", "1s", "0x1", "+", "9" * 25, "-" + "9" * 25, str(2**63), str(-(2**63) - 1))
    for name in NAMES:
        for text in texts:
            t.see(f"{name} {text}", t.send(topic, properties={name: text}), 13)
        t.see(f"{name} +0", t.send(topic, properties={name: "+0"}), 0)
        t.see(f"{name} -0", t.send(topic, properties={name: "-0"}), 0)
        t.see(f"{name} -1", t.send(topic, properties={name: "-1"}), 0)
    t.see("stored", [message.properties for message in t.stored(topic, 9).messages])


@remoting_case("HookUtils.transformTimerMessage")
def a_delay_beyond_all_times_is_past(t: Remoting) -> None:
    """A delay whose end overflows 64 bits wraps around and counts as past."""
    topic = t.topic(queues=1)
    all_but_the_refused = 0
    for name, text in (
        ("TIMER_DELAY_MS", MOST),
        ("TIMER_DELAY_MS", LEAST),
        ("TIMER_DELAY_SEC", MOST),
        ("TIMER_DELAY_SEC", LEAST),
        ("TIMER_DELAY_SEC", str(2**63 // 1000 + 1)),
        ("TIMER_DELIVER_MS", MOST),
        ("TIMER_DELIVER_MS", LEAST),
    ):
        all_but_the_refused += t.see(f"{name} {text}", t.send(topic, properties={name: text})).code == 0
    # # A message can be read shortly after its response.
    t.until(lambda: t.max_offset(topic) >= all_but_the_refused, 5)
    t.see("stored", str(t.max_offset(topic)))


# # A timed batch stops the timer of 5.5.0 permanently, so this case and the next run on their own brokers.
@remoting_case("DefaultMessageStore.asyncPutMessages", alone=True)
def a_batch_waits_for_its_own_time(t: Remoting) -> None:
    """A batch with a delivery time in its request is delayed.

    A handle is returned if it is sent with an id.

    Delivery times of its messages are stored but ignored.
    """
    topic = t.topic(queues=1)
    for name, value in zip(NAMES, (60, 60_000, t.now_ms() + 60_000), strict=True):
        answer = send_batch(t, topic, [(b"batch", {})], properties={name: str(value)})
        t.see(f"batch with {name}", answer.without("queueOffset"))
        answer = send_batch(t, topic, [(b"each", {name: str(value)})])
        t.see(f"messages with {name}", answer.without("queueOffset"))
    t.see("stored", t.stored(topic, 6, seconds=3))
    later = {"TIMER_DELAY_SEC": "60"}
    t.see("handle of one with an id", handle_of(send_batch(t, topic, [(b"batch", {})], unique=True, properties=later)))
    single = t.send(topic, batch_body([(b"batch", {})]), batch=True, properties=later)
    t.see("handle of one sent by the code of a single message", handle_of(single)[:3])


@remoting_case("TimerMessageStore.convertMessage", alone=True)
def a_batch_comes_at_its_time(t: Remoting) -> None:
    """The messages of a timed batch are delivered one by one, each with the properties of the request."""
    topic = t.topic(queues=2)
    parts = [(b"one", {"own": "1", "UNIQ_KEY": t.message_id()}), (b"two", {"TIMER_DELAY_MS": "60000"})]
    t.see("sent", send_batch(t, topic, parts, queue=1, properties={"TIMER_DELAY_SEC": "2"}).without("queueOffset"), 0)
    t.see("at once", t.pull(topic, t.group(), 1), 19)
    found = {each.body.decode(): [each.queue_id, each.properties] for each in t.stored(topic, 2, 1).messages}
    t.see("delivered", dict(sorted(found.items())))


@remoting_case("HookUtils.handleScheduleMessage")
def an_ordered_message_may_have_a_level(t: Remoting) -> None:
    """A message with a message group and a delay level is delivered late to its original queue."""
    topic = t.topic(queues=2)
    sent = t.send(topic, "later", queue=1, properties={"DELAY": "1", "__SHARDINGKEY": "g"})
    t.send(topic, "now", queue=1, properties={"__SHARDINGKEY": "g"})
    waiting = t.message_at(SCHEDULE_TOPIC, 0, int(sent["queueOffset"]))
    t.see("waits", [waiting.properties["REAL_QID"], waiting.properties["__SHARDINGKEY"]])
    t.see("delivered", t.stored(topic, 2, 1))
