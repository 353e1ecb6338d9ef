"""Ordered pops: a group has at most one batch of a queue in flight at a time."""

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting
from .batch_ack import batch_ack, entry


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_pop_hands_out_the_first(t: Remoting) -> None:
    """An ordered pop returns the first messages without a revive queue or reconsume count. The group's offset stays."""
    group = popping(t, 6)
    answer = t.see("popped", group.pop_in_order(3), 0)
    t.see("handles", group.handles_of(answer))
    t.see("committed", group.committed(), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_batch_that_is_out_blocks_the_queue(t: Remoting) -> None:
    """While a batch is in flight, the queue returns nothing to pops with another attempt id or without one."""
    group = popping(t, 4)
    group.pop_in_order(2, attempt_id="a")
    t.see("another attempt", group.pop_in_order(2, attempt_id="b"), 210)
    t.see("no attempt", group.pop_in_order(2), 210)
    t.see("an empty attempt", group.pop_in_order(2, attempt_id=""), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def an_attempt_may_be_repeated(t: Remoting) -> None:
    """A pop with the attempt id of the batch in flight returns it again with a new pop time, without counting it."""
    group = popping(t, 4)
    first = t.see("first", group.pop_in_order(2, attempt_id="a"), 0)
    t.wait(0.1)
    again = t.see("again", group.pop_in_order(2, attempt_id="a"), 0)
    t.see("popped later", int(again["popTime"]) > int(first["popTime"]))
    t.see("more of it", group.pop_in_order(3, attempt_id="a"), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def no_attempt_id_is_no_attempt(t: Remoting) -> None:
    """Ordered pops without an attempt id do not count as repetitions of each other."""
    group = popping(t, 2)
    t.see("first", group.pop_in_order(1).bodies)
    t.see("second", group.pop_in_order(1).bodies)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_all_frees_the_queue(t: Remoting) -> None:
    """When every message of the batch is acknowledged, the offset moves past it and the next batch can be popped."""
    group = popping(t, 4)
    for message, handle in t.popped(group.pop_in_order(2, invisible_ms=60_000)):
        t.see("acknowledged", group.ack(handle, message.queue_offset), 0)
    t.see("committed", group.reaches(2), 0)
    t.see("next", group.pop_in_order(2), 0)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_parts_moves_to_the_first_open(t: Remoting) -> None:
    """The offset moves to the first unacknowledged message of the batch, and the queue stays blocked."""
    group = popping(t, 4)
    handles = group.handles_in_order(3, invisible_ms=60_000)
    for offset, moved in ((1, 0), (0, 2)):
        t.see(f"offset {offset}", group.ack(handles[offset], offset), 0)
        t.see("committed", group.reaches(moved), 0)
        t.see("for others", group.pop_in_order().code)
    t.see("offset 2", group.ack(handles[2], 2), 0)
    t.see("committed", group.reaches(3), 0)
    t.see("for others", group.pop_in_order().bodies)


@remoting_case("ConsumerOrderInfoManager.update")
def a_batch_comes_again_from_the_first_open(t: Remoting) -> None:
    """After the invisible duration a pop starts at the first unacknowledged message.

    It adds new ones and returns counts.
    """
    group = popping(t, 6)
    handles = group.handles_in_order(3, invisible_ms=1000)
    group.ack(handles[0], 0)
    t.wait(1.3)
    t.see("second", group.pop_in_order(3, invisible_ms=1000), 0)
    t.wait(1.3)
    t.see("third", group.pop_in_order(4, invisible_ms=1000), 0)
    t.wait(1.3)
    t.see("fourth", group.pop_in_order(1, invisible_ms=1000), 0)
    t.see("retry topic", group.copied())


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def what_was_acknowledged_out_of_turn_comes_again(t: Remoting) -> None:
    """A message acknowledged after an unacknowledged one is redelivered together with it."""
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=1000)
    group.ack(handles[1], 1)
    t.wait(1.3)
    t.see("again", group.pop_in_order(3).bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def a_stale_handle_acknowledges_nothing(t: Remoting) -> None:
    """An acknowledgement with a handle of an earlier batch succeeds, and the message stays in flight."""
    group = popping(t, 2)
    [old] = group.handles_in_order(1, invisible_ms=500)
    t.wait(0.8)
    [new] = group.handles_in_order(1, invisible_ms=60_000)
    t.see("by the old handle", group.ack(old, 0), 0)
    t.see("committed", group.committed(), 0)
    t.see("by the new handle", group.ack(new, 0), 0)
    t.see("committed", group.reaches(1), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_offset_outside_the_batch_is_refused(t: Remoting) -> None:
    """An ack of an offset after the batch is rejected; one of an offset that was already passed succeeds."""
    group = popping(t, 6)
    answer = group.pop_in_order(2, invisible_ms=60_000)
    first, _ = group.handles_of(answer)
    t.see("offset 5", group.ack(first, 5), 13)
    t.see("offset 9", group.ack(first, 9), 208)
    group.ack_all(answer)
    t.see("offset 0 again", group.ack(first, 0), 0)
    t.see("committed", group.reaches(2), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ack_without_a_batch_moves_the_offset(t: Remoting) -> None:
    """An ordered acknowledgement by a group without a batch in flight moves its offset past the message."""
    group = popping(t, 4)
    handle = f"0 {t.now_ms()} 60000 999 0 {t.broker_name} 0 2"
    t.see("acknowledged", group.ack(handle, 2))
    t.see("committed", group.committed(setZeroIfNotFound=False))
    t.see("popped", group.pop_in_order().bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def a_batch_ack_takes_ordered_handles(t: Remoting) -> None:
    """A batch acknowledgement of an ordered pop moves the offset as single acknowledgements do."""
    group = popping(t, 4)
    handle = group.handles_in_order(3, invisible_ms=60_000)[0]
    for offsets, moved in (([0, 1], 2), ([2], 3)):
        t.see(f"offsets {offsets}", batch_ack(t, entry(group, handle, offsets)), 0)
        t.see("committed", group.reaches(moved), 0)
    t.see("outside", batch_ack(t, {**entry(group, handle, [0]), "so": 3}))


@remoting_case("ConsumerOrderInfoManager.update")
def queues_are_blocked_one_by_one(t: Remoting) -> None:
    """An ordered pop of all queues reads the unblocked ones. A queue that was only partly read is blocked entirely."""
    group = popping(t, 2, queues=4)
    first = group.pop_in_order(3, invisible_ms=60_000)
    t.see("first", [len(first.messages), first["restNum"]])
    second = group.pop_in_order(32, invisible_ms=60_000)
    t.see("second", [len(second.messages), second["restNum"]])
    taken = {message.queue_id for message in first.messages}
    t.see("no queue of the first", not taken & {message.queue_id for message in second.messages})
    t.see("counts", sorted(second["orderCountInfo"].split(";")) == sorted(f"0 {q} 0" for q in set(range(4)) - taken))
    t.see("third", group.pop_in_order(), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def groups_block_for_themselves(t: Remoting) -> None:
    """An ordered batch in flight of one group does not block another group."""
    one = popping(t)
    other = one.among(t.group())
    one.fill(2)
    t.see("one", one.pop_in_order(1).bodies)
    t.see("other", other.pop_in_order(2).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_without_order_are_not_blocked(t: Remoting) -> None:
    """An unordered pop by the same group also returns messages in flight of an ordered batch."""
    group = popping(t, 3)
    group.pop_in_order(2, invisible_ms=60_000)
    t.see("without order", group.pop().bodies)


@remoting_case("ConsumerOrderInfoManager.update")
def no_invisible_time_does_not_block(t: Remoting) -> None:
    """A batch popped in order with an invisible duration of 0 or less is redelivered at once and counted."""
    for invisible in (0, -1):
        group = popping(t, 2)
        for number in range(3):
            answer = group.pop_in_order(1, invisible_ms=invisible)
            t.see(f"{invisible} ms, pop {number + 1}", [answer.bodies, answer.fields.get("orderCountInfo")])
            t.wait(0.1)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def what_a_filter_skips_is_passed(t: Remoting) -> None:
    """An ordered pop with a tag tracks only matching messages.

    Once acknowledged, the offset is after the last of them.
    """
    group = popping(t)
    for tag in ("B", "A", "B", "A", "B"):
        group.fill(tag=tag)
    answer = t.see("popped", group.pop_in_order(expression="A", invisible_ms=60_000), 0)
    group.ack_all(answer)
    t.see("committed", group.reaches(4), 0)
    t.see("nothing left", group.pop_in_order(expression="A"), 210)
    t.see("passed", group.reaches(5), 0)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_frees_the_queue(t: Remoting) -> None:
    """An offset reset discards the batch in flight, and the next pop reads from the new offset."""
    group = popping(t, 4)
    _, second = group.handles_in_order(2, invisible_ms=60_000)
    t.see("reset", group.reset(1), 0)
    t.wait(0.01)  # handles are distinguished by the millisecond of their pop
    t.see("popped", group.pop_in_order(2), 0)
    t.see("by the old handle", group.ack(second, 1), 0)
    t.see("committed", group.committed(), 0)
