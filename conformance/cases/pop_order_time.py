"""When a queue that is popped in order becomes free: changes of the invisible time, and who is woken."""

from typing import Any

from ..case import remoting_case
from ..worlds.pops import filled, max_offset, retry_topic, texts
from ..worlds.remoting import Remoting
from ..worlds.world import Pending, Stopwatch
from .pop_order import order_pop


def start_order_pop(t: Remoting, topic: str, group: str, **more: Any) -> Pending:
    """Begin an ordered pop that waits, on a connection of its own."""
    pending = t.start_pop(topic, group, order=True, to=t.connect(), **{"poll_ms": 15_000, **more})
    t.wait(0.3)
    return pending


def woken(t: Remoting, pending: Pending, watch: Stopwatch, low: float, high: float) -> None:
    """Note what a waiting pop got, and whether that was between so many seconds."""
    answer = t.until(pending.arrived, 20)
    t.require(answer, "a waiting pop was never answered")
    assert answer is not None
    t.see("code", answer.code)
    t.see("woken after", watch.between(low, high))
    t.see("with", [texts(answer), answer["orderCountInfo"]])


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_keeps_the_pop_time(t: Remoting) -> None:
    """The answer to an ordered change has the pop time of the batch, and an invisible time counted from there."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    answer = order_pop(t, topic, group, 1)
    [(_, handle)] = t.popped(answer)
    t.wait(0.2)
    changed = t.change(topic, group, handle, 0, 2000)
    t.see("answer", [changed.code, changed.remark, changed["reviveQid"]])
    t.see("pop time stays", changed["popTime"] == answer["popTime"])
    t.see("invisible time from there", 2150 <= int(changed["invisibleTime"]) <= 4000)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_longer_time_blocks_longer(t: Remoting) -> None:
    """A queue whose batch was prolonged stays blocked until the new time is over, and a waiting pop is woken then."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    [(_, handle)] = t.popped(order_pop(t, topic, group, 1, invisible_ms=1000))
    watch = t.stopwatch()
    t.change(topic, group, handle, 0, 4000)
    woken(t, start_order_pop(t, topic, group), watch, 3.8, 5.5)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_shorter_time_of_one_blocks_shorter(t: Remoting) -> None:
    """A batch of one message whose time was cut short comes again, counted, when the new time is over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [(_, handle)] = t.popped(order_pop(t, topic, group, 1, invisible_ms=60_000))
    t.change(topic, group, handle, 0, 1000)
    t.see("at once", order_pop(t, topic, group), 210)
    t.wait(1.4)
    t.see("then", order_pop(t, topic, group), 0)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def others_of_the_batch_block_on(t: Remoting) -> None:
    """A queue is free only when the longest time of the open messages is over, however short others have become."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=3000))]
    t.change(topic, group, handles[0], 0, 500)
    t.wait(1.5)
    t.see("while others are out", order_pop(t, topic, group), 210)
    t.wait(2)
    t.see("then", texts(order_pop(t, topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_of_what_is_passed_has_no_effect(t: Remoting) -> None:
    """A change of a message that was acknowledged, or by a stale handle, is taken and changes nothing."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    batch = [handle for _, handle in t.popped(order_pop(t, topic, group, 2, invisible_ms=1000))]
    t.ack(topic, group, batch[0], 0)
    t.see("acknowledged", t.change(topic, group, batch[0], 0, 60_000), 0)
    fields = batch[1].split(" ")
    stale = " ".join([fields[0], "1700000000000", *fields[2:]])
    changed = t.change(topic, group, stale, 1, 60_000)
    t.see("stale", [changed.code, changed.remark, changed["popTime"], changed["reviveQid"]])
    changed = t.change(topic, group, batch[1], 2, 60_000)
    t.see("outside the batch", [changed.code, changed.remark])
    t.wait(1.4)
    t.see("popped", texts(order_pop(t, topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def ordered_messages_have_no_retry_topic(t: Remoting) -> None:
    """What is popped in order and not acknowledged, changed or not, never goes to a retry topic."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handle = t.popped(order_pop(t, topic, group, 2, invisible_ms=500))[0][1]
    t.change(topic, group, handle, 0, 0)
    t.wait(6)
    t.see("copies", max_offset(t, retry_topic(topic, group)))
    t.see("popped", order_pop(t, topic, group), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def the_last_ack_wakes_a_pop(t: Remoting) -> None:
    """A pop that waits for a blocked queue gets the next messages as soon as the batch is acknowledged."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    batch = t.popped(order_pop(t, topic, group, 2, invisible_ms=60_000))
    pending = start_order_pop(t, topic, group)
    watch = t.stopwatch()
    for message, handle in batch:
        t.ack(topic, group, handle, message.queue_offset)
    woken(t, pending, watch, 0, 2)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def the_end_of_the_time_wakes_a_pop(t: Remoting) -> None:
    """A pop that waits for a blocked queue gets the batch again as soon as its invisible time is over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    order_pop(t, topic, group, 2, invisible_ms=3000)
    watch = t.stopwatch()
    woken(t, start_order_pop(t, topic, group), watch, 2.8, 4.5)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_does_not_pass_the_batch(t: Remoting) -> None:
    """A message that arrives while a batch is out does not wake anyone with it before the batch is done."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    order_pop(t, topic, group, 1, invisible_ms=2500)
    watch = t.stopwatch()
    pending = start_order_pop(t, topic, group)
    filled(t, topic)
    woken(t, pending, watch, 2.3, 4)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_a_free_queue(t: Remoting) -> None:
    """An ordered pop that waits for an empty queue gets a message when it arrives."""
    topic, group = t.topic(queues=1), t.group()
    pending = start_order_pop(t, topic, group)
    watch = t.stopwatch()
    filled(t, topic)
    woken(t, pending, watch, 0, 2)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_shorter_first_message_loses_the_wake_up(t: Remoting) -> None:
    """After a change of the first of a batch to less than the others have left, a waiting pop is not woken any more."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=3000))]
    watch = t.stopwatch()
    t.change(topic, group, handles[0], 0, 1000)
    woken(t, start_order_pop(t, topic, group, poll_ms=7000), watch, 6.5, 9)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_shorter_last_message_keeps_the_wake_up(t: Remoting) -> None:
    """After a change of the last of a batch to less than the others have left, a waiting pop is woken in time."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    handles = [handle for _, handle in t.popped(order_pop(t, topic, group, 3, invisible_ms=3000))]
    watch = t.stopwatch()
    t.change(topic, group, handles[2], 2, 1000)
    woken(t, start_order_pop(t, topic, group, poll_ms=9000), watch, 2.8, 4.8)
