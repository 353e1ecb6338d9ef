"""Valid delivery times of timed messages: precision, maximum and number format."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, TIMER_TOPIC
from rocketmq_testkit.remoting.client import batch_body

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch
from ...helpers.settings import CHANGED_KEYS, FURTHER_CHANGED_KEYS, shared_settings
from ...helpers.timers import DAY_MS, handle, handle_of, recall

NAMES = ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS")
HOUR_MS = 3_600_000
MOST = str(2**63 - 1)
LEAST = str(-(2**63))


def _note_slots(t: RemotingContext, precision: int) -> None:
    """Record the timer slots of messages around a slot boundary, and that they are delivered after their times."""
    topic = t.topic(queues=1)
    whole = (t.now_ms() // 1000 + 4) * 1000
    after = (0, 1, precision // 2, precision - 1, precision, precision + 1)
    for ms in after:
        sent = t.send(topic, f"{ms}", properties={"TIMER_DELIVER_MS": str(whole + ms)})
        waiting = t.message_at(TIMER_TOPIC, 0, int(sent["queueOffset"]))
        t.note(f"slot of {ms}", int(waiting.properties["TIMER_OUT_MS"]) - whole)
    late = {
        int(each.body): each.store_timestamp - whole - int(each.body) for each in t.stored(topic, len(after)).messages
    }
    t.note("delivered", sorted(late))
    t.note("not early, not a second late", all(0 <= ms <= precision + 1500 for ms in late.values()) or late)


@remoting_case("HookUtils.transformTimerMessage", settings=shared_settings(FURTHER_CHANGED_KEYS, "timerPrecisionMs"))
def timer_slots_are_200_ms_with_timer_precision_ms_200(t: RemotingContext) -> None:
    """With timerPrecisionMs=200 a message waits in the 200 ms slot of its time.

    On a boundary it takes the previous slot.
    """
    _note_slots(t, 200)


@remoting_case("HookUtils.transformTimerMessage")
def timer_slots_are_one_second_by_default(t: RemotingContext) -> None:
    """A message waits in the 1 s slot of its time. A time on a full second uses the previous slot."""
    _note_slots(t, 1000)


@remoting_case("HookUtils.transformTimerMessage", settings={"timerPrecisionMs": "500"})
def timer_slots_are_500_ms_with_timer_precision_ms_500(t: RemotingContext) -> None:
    """With timerPrecisionMs=500 a message waits in the 500 ms slot of its time.

    On a boundary it takes the previous slot.
    """
    _note_slots(t, 500)


@remoting_case("HookUtils.transformTimerMessage")
def a_message_can_be_delayed_by_at_most_three_days(t: RemotingContext) -> None:
    """A message may be delayed by 23 hours and by almost three days, with any property, but not by more."""
    topic = t.topic(queues=1)
    limit = 3 * DAY_MS
    for label, ms in (("23 h", 23 * HOUR_MS), ("5 s less", limit - 5000), ("5 s more", limit + 5000)):
        code = 0 if ms < limit else 13
        for name, value in zip(NAMES, (ms // 1000, ms, t.now_ms() + ms), strict=True):
            sent = t.send(topic, properties={name: str(value)})
            t.note(f"{label} by {name}", sent.without("queueOffset", "recallHandle"), code)
            if sent.code == 0:
                left = int(handle_of(sent)[3]) - t.now_ms()
                t.note(f"{label} by {name}: is so far away", ms - 10_000 <= left <= ms)


@remoting_case("HookUtils.transformTimerMessage", settings=shared_settings(CHANGED_KEYS, "timerMaxDelaySec"))
def delays_and_recalls_beyond_timer_max_delay_sec_are_refused(t: RemotingContext) -> None:
    """Delays and recalls beyond timerMaxDelaySec are rejected."""
    topic = t.topic(queues=1)
    for seconds in (5, 6):
        sent = t.send(topic, f"{seconds}", properties={"TIMER_DELAY_SEC": str(seconds)})
        t.note(f"{seconds} s", sent.without("queueOffset", "recallHandle"), 0 if seconds == 5 else 13)
    for left in (3000, 6000):
        forged = handle("v1", topic, t.broker_name, t.now_ms() + left, "id")
        t.note(f"recall in {left} ms", recall(t, topic, forged), 0 if left == 3000 else 604)
    t.note("delivered", t.stored(topic).bodies)


@remoting_case("HookUtils.transformTimerMessage")
def a_delivery_time_must_be_a_64_bit_integer(t: RemotingContext) -> None:
    """A delivery time must be a 64-bit integer in each of the three properties. A sign is allowed."""
    topic = t.topic(queues=1)
    texts = ("soon", "1.5", " 1", "1 ", "1s", "0x1", "+", "9" * 25, "-" + "9" * 25, str(2**63), str(-(2**63) - 1))
    for name in NAMES:
        for text in texts:
            t.note(f"{name} {text}", t.send(topic, properties={name: text}), 13)
        t.note(f"{name} +0", t.send(topic, properties={name: "+0"}), 0)
        t.note(f"{name} -0", t.send(topic, properties={name: "-0"}), 0)
        t.note(f"{name} -1", t.send(topic, properties={name: "-1"}), 0)
    t.note("stored", [message.properties for message in t.stored(topic, 9).messages])


@remoting_case("HookUtils.transformTimerMessage")
def a_delay_that_overflows_64_bits_counts_as_past(t: RemotingContext) -> None:
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
        all_but_the_refused += t.note(f"{name} {text}", t.send(topic, properties={name: text})).code == 0
    # A message can be read shortly after its response.
    t.until(lambda: t.max_offset(topic) >= all_but_the_refused, 5)
    t.note("stored", str(t.max_offset(topic)))


# A timed batch stops the timer of 5.5.0 permanently, so this case and the next run on their own brokers.
@remoting_case("DefaultMessageStore.asyncPutMessages", alone=True)
def a_batch_is_delayed_only_by_the_delivery_time_of_its_request(t: RemotingContext) -> None:
    """A batch with a delivery time in its request is delayed.

    A handle is returned if it is sent with an id.

    Delivery times of its messages are stored but ignored.
    """
    topic = t.topic(queues=1)
    for name, value in zip(NAMES, (60, 60_000, t.now_ms() + 60_000), strict=True):
        response = send_batch(t, topic, [(b"batch", {})], properties={name: str(value)})
        t.note(f"batch with {name}", response.without("queueOffset"))
        response = send_batch(t, topic, [(b"each", {name: str(value)})])
        t.note(f"messages with {name}", response.without("queueOffset"))
    t.note("stored", t.stored(topic, 6, seconds=3))
    later = {"TIMER_DELAY_SEC": "60"}
    t.note("handle of one with an id", handle_of(send_batch(t, topic, [(b"batch", {})], unique=True, properties=later)))
    single = t.send(topic, batch_body([(b"batch", {})]), batch=True, properties=later)
    t.note("handle of one sent by the code of a single message", handle_of(single)[:3])


@remoting_case("TimerMessageStore.convertMessage", alone=True)
def a_timed_batch_is_delivered_message_by_message(t: RemotingContext) -> None:
    """The messages of a timed batch are delivered one by one, each with the properties of the request."""
    topic = t.topic(queues=2)
    parts = [(b"one", {"own": "1", "UNIQ_KEY": t.message_id()}), (b"two", {"TIMER_DELAY_MS": "60000"})]
    t.note("sent", send_batch(t, topic, parts, queue=1, properties={"TIMER_DELAY_SEC": "2"}).without("queueOffset"), 0)
    t.note("at once", t.pull(topic, t.group(), 1), 19)
    found = {each.body.decode(): [each.queue_id, each.properties] for each in t.stored(topic, 2, 1).messages}
    t.note("delivered", dict(sorted(found.items())))


@remoting_case("HookUtils.handleScheduleMessage")
def an_ordered_message_with_a_delay_level_keeps_its_queue(t: RemotingContext) -> None:
    """A message with a message group and a delay level is delivered late to its original queue."""
    topic = t.topic(queues=2)
    sent = t.send(topic, "later", queue=1, properties={"DELAY": "1", "__SHARDINGKEY": "g"})
    t.send(topic, "now", queue=1, properties={"__SHARDINGKEY": "g"})
    waiting = t.message_at(SCHEDULE_TOPIC, 0, int(sent["queueOffset"]))
    t.note("waits", [waiting.properties["REAL_QID"], waiting.properties["__SHARDINGKEY"]])
    t.note("delivered", t.stored(topic, 2, 1))
