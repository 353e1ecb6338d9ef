"""Unblocking of queues popped in order: changes of the invisible duration, and wake-up of waiting pops."""

from ...case import remoting_case
from ...clients.pending import Pending
from ...clients.receipt_handles import forged
from ...context.case_context import Stopwatch
from ...context.remoting import RemotingContext
from ...helpers.pops import popping
from ...helpers.settings import FURTHER_CHANGED_KEYS, shared_settings


def note_wake_up(t: RemotingContext, pending: Pending, watch: Stopwatch, *, low: float, high: float) -> None:
    """Record the response to a waiting pop, and whether it arrived between `low` and `high` seconds."""
    response = t.arrival(pending)
    t.note("code", response.code)
    t.note("woken after", watch.between(low, high))
    t.note("with", [response.bodies, response["orderCountInfo"]])


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_keeps_the_pop_time(t: RemotingContext) -> None:
    """The response to an ordered change has the batch's pop time. Its invisible duration is counted from there."""
    group = popping(t, 2)
    response = group.pop_in_order(1)
    [handle] = group.handles_of(response)
    t.wait(0.2)
    changed = group.change(handle, 0, 2000)
    t.note("response", [changed.code, changed.remark, changed["reviveQid"]])
    t.note("pop time stays", changed["popTime"] == response["popTime"])
    t.note("invisible time from there", 2150 <= int(changed["invisibleTime"]) <= 4000)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_prolonged_batch_blocks_its_queue_until_the_new_duration_ends(t: RemotingContext) -> None:
    """A queue with a prolonged batch stays blocked until the new duration ends. A waiting pop is woken then."""
    group = popping(t, 2)
    [handle] = group.handles_in_order(1, invisible_ms=1000)
    watch = t.stopwatch()
    group.change(handle, 0, 4000)
    note_wake_up(t, group.waiting(order=True, poll_ms=15_000), watch, low=3.8, high=5.5)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_shortened_batch_of_one_is_redelivered_when_the_new_duration_ends(t: RemotingContext) -> None:
    """A batch of one message with a shortened duration is redelivered and counted when the new duration ends."""
    group = popping(t, 1)
    [handle] = group.handles_in_order(1, invisible_ms=60_000)
    group.change(handle, 0, 1000)
    t.note("at once", group.pop_in_order(), 210)
    t.wait(1.4)
    t.note("then", group.pop_in_order(), 0)


@remoting_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_queue_is_blocked_until_the_longest_duration_of_its_batch_ends(t: RemotingContext) -> None:
    """A queue is unblocked only when the longest duration of its unacknowledged messages ends."""
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=3000)
    group.change(handles[0], 0, 500)
    t.wait(1.5)
    t.note("while others are out", group.pop_in_order(), 210)
    t.wait(2)
    t.note("then", group.pop_in_order().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_of_an_acked_message_or_with_a_stale_handle_has_no_effect(t: RemotingContext) -> None:
    """A change of an acknowledged message or with a stale handle succeeds without effect."""
    group = popping(t, 3)
    batch = group.handles_in_order(2, invisible_ms=1000)
    group.ack(batch[0], 0)
    t.note("acknowledged", group.change(batch[0], 0, 60_000), 0)
    changed = group.change(forged(batch[1], popped="1700000000000"), 1, 60_000)
    t.note("stale", [changed.code, changed.remark, changed["popTime"], changed["reviveQid"]])
    changed = group.change(batch[1], 2, 60_000)
    t.note("outside the batch", [changed.code, changed.remark])
    t.wait(1.4)
    t.note("popped", group.pop_in_order().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def ordered_messages_have_no_retry_topic(t: RemotingContext) -> None:
    """Messages popped in order and not acknowledged, changed or not, never go to a retry topic."""
    group = popping(t, 2)
    handle = group.handles_in_order(2, invisible_ms=500)[0]
    group.change(handle, 0, 0)
    t.wait(6)
    t.note("copies", group.count_copies())
    t.note("popped", group.pop_in_order(), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def the_last_ack_wakes_a_pop(t: RemotingContext) -> None:
    """A pop waiting for a blocked queue returns the next messages as soon as the batch is acknowledged."""
    group = popping(t, 4)
    batch = group.pop_in_order(2, invisible_ms=60_000)
    pending = group.waiting(order=True, poll_ms=15_000)
    watch = t.stopwatch()
    group.ack_all(batch)
    note_wake_up(t, pending, watch, low=0, high=2)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def the_end_of_the_invisible_duration_wakes_a_held_pop(t: RemotingContext) -> None:
    """A pop waiting for a blocked queue returns the batch again as soon as its invisible duration ends."""
    group = popping(t, 2)
    group.pop_in_order(2, invisible_ms=3000)
    watch = t.stopwatch()
    note_wake_up(t, group.waiting(order=True, poll_ms=15_000), watch, low=2.8, high=4.5)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_no_held_pop_while_a_batch_is_in_flight(t: RemotingContext) -> None:
    """A message that arrives while a batch is in flight wakes no waiting pop until the batch is done."""
    group = popping(t, 1)
    group.pop_in_order(1, invisible_ms=2500)
    watch = t.stopwatch()
    pending = group.waiting(order=True, poll_ms=15_000)
    group.fill()
    note_wake_up(t, pending, watch, low=2.3, high=4)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_a_pop_held_for_an_empty_queue(t: RemotingContext) -> None:
    """An ordered pop waiting for an empty queue returns a message as soon as it arrives."""
    group = popping(t)
    pending = group.waiting(order=True, poll_ms=15_000)
    watch = t.stopwatch()
    group.fill()
    note_wake_up(t, pending, watch, low=0, high=2)


def note_woken_after_change(
    t: RemotingContext,
    offset: int,
    poll_ms: int,
    *,
    low: float,
    high: float,
    invisible_ms: int = 1000,
    done: tuple[int, ...] = (),
) -> None:
    """Change the duration of one of three messages in flight, and record when a waiting pop is woken.

    They are in flight for 3 s. `invisible_ms`: the new duration, by default 1 s. `done`: offsets acknowledged before.
    """
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=3000)
    for each in done:
        group.ack(handles[each], each)
    watch = t.stopwatch()
    group.change(handles[offset], offset, invisible_ms)
    note_wake_up(t, group.waiting(order=True, poll_ms=poll_ms), watch, low=low, high=high)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def shortening_the_first_message_of_a_batch_loses_the_wake_up(t: RemotingContext) -> None:
    """If the first message of a batch gets less time than the others have left, a waiting pop is not woken any more."""
    note_woken_after_change(t, 0, 7000, low=6.5, high=9)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def shortening_the_last_message_of_a_batch_keeps_the_wake_up(t: RemotingContext) -> None:
    """If the last message of a batch gets less time than the others have left, a waiting pop is woken in time."""
    note_woken_after_change(t, 2, 9000, low=2.8, high=4.8)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def prolonging_the_first_message_of_a_batch_delays_the_wake_up(t: RemotingContext) -> None:
    """If the first message of a batch gets more time than the others have left, a waiting pop is woken at its end."""
    note_woken_after_change(t, 0, 12_000, low=4.8, high=6.8, invisible_ms=5000)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp")
def shortening_the_only_unacknowledged_message_advances_the_wake_up(t: RemotingContext) -> None:
    """If the only unacknowledged message of a batch gets less time, a waiting pop is woken at its end."""
    note_woken_after_change(t, 0, 9000, low=0.8, high=2.6, done=(1, 2))


@remoting_case(
    "ConsumerOrderInfoLockManager.updateLockFreeTimestamp",
    settings=shared_settings(FURTHER_CHANGED_KEYS, "enableNotifyAfterPopOrderLockRelease"),
)
def without_notify_after_lock_release_an_unblocked_queue_wakes_no_held_pop(t: RemotingContext) -> None:
    """Without enableNotifyAfterPopOrderLockRelease a waiting pop returns the batch only at its own deadline."""
    group = popping(t, 1)
    group.pop_in_order(1, invisible_ms=2000)
    watch = t.stopwatch()
    pending = group.waiting(order=True, poll_ms=6000)
    t.wait(3)
    t.note("when it is free", pending.arrived())
    note_wake_up(t, pending, watch, low=5.8, high=8)
