"""Unblocking of queues popped in order: changes of the invisible duration, and wake-up of held pops."""

from ...case import remoting_case
from ...clients.pending import Pending
from ...clients.receipt_handles import forged
from ...context.case_context import Stopwatch
from ...context.remoting import Remoting
from ...helpers.pops import popping
from ...helpers.settings import ODD, with_keys


def woken(t: Remoting, pending: Pending, watch: Stopwatch, low: float, high: float) -> None:
    """Record the response to a held pop, and whether it arrived between `low` and `high` seconds."""
    answer = t.arrival(pending)
    t.see("code", answer.code)
    t.see("woken after", watch.between(low, high))
    t.see("with", [answer.bodies, answer["orderCountInfo"]])


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_keeps_the_pop_time(t: Remoting) -> None:
    """The response to an ordered change has the batch's pop time. Its invisible duration is counted from there."""
    group = popping(t, 2)
    answer = group.pop_in_order(1)
    [handle] = group.handles_of(answer)
    t.wait(0.2)
    changed = group.change(handle, 0, 2000)
    t.see("answer", [changed.code, changed.remark, changed["reviveQid"]])
    t.see("pop time stays", changed["popTime"] == answer["popTime"])
    t.see("invisible time from there", 2150 <= int(changed["invisibleTime"]) <= 4000)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_longer_time_blocks_longer(t: Remoting) -> None:
    """A queue with a prolonged batch stays blocked until the new duration ends. A held pop is woken then."""
    group = popping(t, 2)
    [handle] = group.handles_in_order(1, invisible_ms=1000)
    watch = t.stopwatch()
    group.change(handle, 0, 4000)
    woken(t, group.waiting(order=True, poll_ms=15_000), watch, 3.8, 5.5)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_shorter_time_of_one_blocks_shorter(t: Remoting) -> None:
    """A batch of one message with a shortened duration is redelivered and counted when the new duration ends."""
    group = popping(t, 1)
    [handle] = group.handles_in_order(1, invisible_ms=60_000)
    group.change(handle, 0, 1000)
    t.see("at once", group.pop_in_order(), 210)
    t.wait(1.4)
    t.see("then", group.pop_in_order(), 0)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def others_of_the_batch_block_on(t: Remoting) -> None:
    """A queue is unblocked only when the longest duration of its unacknowledged messages ends."""
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=3000)
    group.change(handles[0], 0, 500)
    t.wait(1.5)
    t.see("while others are out", group.pop_in_order(), 210)
    t.wait(2)
    t.see("then", group.pop_in_order().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_of_what_is_passed_has_no_effect(t: Remoting) -> None:
    """A change of an acknowledged message or with a stale handle succeeds without effect."""
    group = popping(t, 3)
    batch = group.handles_in_order(2, invisible_ms=1000)
    group.ack(batch[0], 0)
    t.see("acknowledged", group.change(batch[0], 0, 60_000), 0)
    changed = group.change(forged(batch[1], popped="1700000000000"), 1, 60_000)
    t.see("stale", [changed.code, changed.remark, changed["popTime"], changed["reviveQid"]])
    changed = group.change(batch[1], 2, 60_000)
    t.see("outside the batch", [changed.code, changed.remark])
    t.wait(1.4)
    t.see("popped", group.pop_in_order().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def ordered_messages_have_no_retry_topic(t: Remoting) -> None:
    """Messages popped in order and not acknowledged, changed or not, never go to a retry topic."""
    group = popping(t, 2)
    handle = group.handles_in_order(2, invisible_ms=500)[0]
    group.change(handle, 0, 0)
    t.wait(6)
    t.see("copies", group.copied())
    t.see("popped", group.pop_in_order(), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def the_last_ack_wakes_a_pop(t: Remoting) -> None:
    """A pop held for a blocked queue returns the next messages as soon as the batch is acknowledged."""
    group = popping(t, 4)
    batch = group.pop_in_order(2, invisible_ms=60_000)
    pending = group.waiting(order=True, poll_ms=15_000)
    watch = t.stopwatch()
    group.ack_all(batch)
    woken(t, pending, watch, 0, 2)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def the_end_of_the_time_wakes_a_pop(t: Remoting) -> None:
    """A pop held for a blocked queue returns the batch again as soon as its invisible duration ends."""
    group = popping(t, 2)
    group.pop_in_order(2, invisible_ms=3000)
    watch = t.stopwatch()
    woken(t, group.waiting(order=True, poll_ms=15_000), watch, 2.8, 4.5)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_does_not_pass_the_batch(t: Remoting) -> None:
    """A message that arrives while a batch is in flight wakes no held pop until the batch is done."""
    group = popping(t, 1)
    group.pop_in_order(1, invisible_ms=2500)
    watch = t.stopwatch()
    pending = group.waiting(order=True, poll_ms=15_000)
    group.fill()
    woken(t, pending, watch, 2.3, 4)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_a_free_queue(t: Remoting) -> None:
    """An ordered pop held for an empty queue returns a message as soon as it arrives."""
    group = popping(t)
    pending = group.waiting(order=True, poll_ms=15_000)
    watch = t.stopwatch()
    group.fill()
    woken(t, pending, watch, 0, 2)


def see_woken_after_change(
    t: Remoting,
    offset: int,
    poll_ms: int,
    low: float,
    high: float,
    *,
    invisible_ms: int = 1000,
    done: tuple[int, ...] = (),
) -> None:
    """Change one of three messages in flight for 3 s to `invisible_ms` (default 1 s); record when a held pop is woken.

    `done`: offsets acknowledged before the change.
    """
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=3000)
    for each in done:
        group.ack(handles[each], each)
    watch = t.stopwatch()
    group.change(handles[offset], offset, invisible_ms)
    woken(t, group.waiting(order=True, poll_ms=poll_ms), watch, low, high)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_shorter_first_message_loses_the_wake_up(t: Remoting) -> None:
    """If the first message of a batch gets less time than the others have left, a held pop is not woken any more."""
    see_woken_after_change(t, 0, 7000, 6.5, 9)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_shorter_last_message_keeps_the_wake_up(t: Remoting) -> None:
    """If the last message of a batch gets less time than the others have left, a held pop is woken in time."""
    see_woken_after_change(t, 2, 9000, 2.8, 4.8)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_longer_first_message_moves_the_wake_up(t: Remoting) -> None:
    """If the first message of a batch gets more time than the others have left, a held pop is woken at its end."""
    see_woken_after_change(t, 0, 12_000, 4.8, 6.8, invisible_ms=5000)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def a_shorter_message_that_is_alone_moves_the_wake_up(t: Remoting) -> None:
    """If the only unacknowledged message of a batch gets less time, a held pop is woken at its end."""
    see_woken_after_change(t, 0, 9000, 0.8, 2.6, done=(1, 2))


@remoting_case(
    "ConsumerOrderInfoLockManager.updateLockFreeTimestamp",
    settings=with_keys(ODD, "enableNotifyAfterPopOrderLockRelease"),
)
def nobody_is_woken_when_a_queue_becomes_free(t: Remoting) -> None:
    """Without enableNotifyAfterPopOrderLockRelease a held pop returns the batch only at its own deadline."""
    group = popping(t, 1)
    group.pop_in_order(1, invisible_ms=2000)
    watch = t.stopwatch()
    pending = group.waiting(order=True, poll_ms=6000)
    t.wait(3)
    t.see("when it is free", pending.arrived())
    woken(t, pending, watch, 5.8, 8)
