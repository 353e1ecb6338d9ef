"""Popping in order: one batch of a queue is out at a time."""

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting
from .batch_ack import batch_ack, entry


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_pop_hands_out_the_first(t: Remoting) -> None:
    """An ordered pop gets the first messages, no revive queue, and no count; the group's offset stays."""
    group = popping(t, 6)
    answer = t.see("popped", group.pop_in_order(3), 0)
    t.see("handles", group.handles_of(answer))
    t.see("committed", group.committed(), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_batch_that_is_out_blocks_the_queue(t: Remoting) -> None:
    """While a batch is out the queue hands out nothing, to another attempt or to none."""
    group = popping(t, 4)
    group.pop_in_order(2, attempt_id="a")
    t.see("another attempt", group.pop_in_order(2, attempt_id="b"), 210)
    t.see("no attempt", group.pop_in_order(2), 210)
    t.see("an empty attempt", group.pop_in_order(2, attempt_id=""), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def an_attempt_may_be_repeated(t: Remoting) -> None:
    """A pop with the attempt id of the batch that is out gets it again, popped anew, and that is not counted."""
    group = popping(t, 4)
    first = t.see("first", group.pop_in_order(2, attempt_id="a"), 0)
    t.wait(0.1)
    again = t.see("again", group.pop_in_order(2, attempt_id="a"), 0)
    t.see("popped later", int(again["popTime"]) > int(first["popTime"]))
    t.see("more of it", group.pop_in_order(3, attempt_id="a"), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def no_attempt_id_is_no_attempt(t: Remoting) -> None:
    """Pops without an attempt id are not repetitions of each other."""
    group = popping(t, 2)
    t.see("first", group.pop_in_order(1).bodies)
    t.see("second", group.pop_in_order(1).bodies)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_all_frees_the_queue(t: Remoting) -> None:
    """When every message of the batch is acknowledged, the offset moves behind it and the next batch may go."""
    group = popping(t, 4)
    for message, handle in t.popped(group.pop_in_order(2, invisible_ms=60_000)):
        t.see("acknowledged", group.ack(handle, message.queue_offset), 0)
    t.see("committed", group.reaches(2), 0)
    t.see("next", group.pop_in_order(2), 0)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_parts_moves_to_the_first_open(t: Remoting) -> None:
    """The offset goes to the first message of the batch that is not acknowledged, and the queue stays blocked."""
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
    """After the invisible time the queue starts at the first open message, with new ones behind and counts for each."""
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
    """A message that was acknowledged behind an open one is handed out again with it."""
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=1000)
    group.ack(handles[1], 1)
    t.wait(1.3)
    t.see("again", group.pop_in_order(3).bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def a_stale_handle_acknowledges_nothing(t: Remoting) -> None:
    """An acknowledgement by a handle of an earlier batch succeeds, and the message stays out."""
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
    """An acknowledgement of an offset that is not in the batch is refused; one of an offset passed already succeeds."""
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
    """An ordered acknowledgement by a group that has nothing out moves its offset behind the message."""
    group = popping(t, 4)
    handle = f"0 {t.now_ms()} 60000 999 0 {t.broker_name} 0 2"
    t.see("acknowledged", group.ack(handle, 2))
    t.see("committed", group.committed(setZeroIfNotFound=False))
    t.see("popped", group.pop_in_order().bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def a_batch_ack_takes_ordered_handles(t: Remoting) -> None:
    """A batch acknowledgement of an ordered pop moves the offset as single ones do."""
    group = popping(t, 4)
    handle = group.handles_in_order(3, invisible_ms=60_000)[0]
    for offsets, moved in (([0, 1], 2), ([2], 3)):
        t.see(f"offsets {offsets}", batch_ack(t, entry(group, handle, offsets)), 0)
        t.see("committed", group.reaches(moved), 0)
    t.see("outside", batch_ack(t, {**entry(group, handle, [0]), "so": 3}))


@remoting_case("ConsumerOrderInfoManager.update")
def queues_are_blocked_one_by_one(t: Remoting) -> None:
    """An ordered pop of all queues takes what is free; a queue that was read in part is blocked with all its rest."""
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
    """What one group has out in order does not block another group."""
    one = popping(t)
    other = one.among(t.group())
    one.fill(2)
    t.see("one", one.pop_in_order(1).bodies)
    t.see("other", other.pop_in_order(2).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def pops_without_order_are_not_blocked(t: Remoting) -> None:
    """A pop without order by the same group gets the messages that are out in order too."""
    group = popping(t, 3)
    group.pop_in_order(2, invisible_ms=60_000)
    t.see("without order", group.pop().bodies)


@remoting_case("ConsumerOrderInfoManager.update")
def no_invisible_time_does_not_block(t: Remoting) -> None:
    """A batch that was taken in order for 0 ms comes again at once, counted; a negative time is the same."""
    for invisible in (0, -1):
        group = popping(t, 2)
        for number in range(3):
            answer = group.pop_in_order(1, invisible_ms=invisible)
            t.see(f"{invisible} ms, pop {number + 1}", [answer.bodies, answer.fields.get("orderCountInfo")])
            t.wait(0.1)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def what_a_filter_skips_is_passed(t: Remoting) -> None:
    """An ordered pop with a tag counts only its messages; when they are acknowledged the offset is behind the last."""
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
    """After a reset of the offset the batch that is out is forgotten, and the queue is read from the new offset."""
    group = popping(t, 4)
    _, second = group.handles_in_order(2, invisible_ms=60_000)
    t.see("reset", group.reset(1), 0)
    t.wait(0.01)  # a handle is told from a later one by the millisecond of its pop
    t.see("popped", group.pop_in_order(2), 0)
    t.see("by the old handle", group.ack(second, 1), 0)
    t.see("committed", group.committed(), 0)
