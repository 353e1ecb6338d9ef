"""Ordered pops: a group has at most one batch of a queue in flight at a time."""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import popping
from .batch_ack import batch_ack, entry


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_pop_returns_the_first_messages_and_keeps_the_offset(t: RemotingContext) -> None:
    """An ordered pop returns the first messages without a revive queue or reconsume count. The group's offset stays."""
    group = popping(t, 6)
    response = t.note("popped", group.pop_in_order(3), 0)
    t.note("handles", group.handles_of(response))
    t.note("committed", group.committed(), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_batch_in_flight_blocks_its_queue_for_other_attempt_ids(t: RemotingContext) -> None:
    """While a batch is in flight, the queue returns nothing to pops with another attempt id or without one."""
    group = popping(t, 4)
    group.pop_in_order(2, attempt_id="a")
    t.note("another attempt", group.pop_in_order(2, attempt_id="b"), 210)
    t.note("no attempt", group.pop_in_order(2), 210)
    t.note("an empty attempt", group.pop_in_order(2, attempt_id=""), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_pop_with_the_same_attempt_id_returns_the_batch_again(t: RemotingContext) -> None:
    """A pop with the attempt id of the batch in flight returns it again with a new pop time, without counting it."""
    group = popping(t, 4)
    first = t.note("first", group.pop_in_order(2, attempt_id="a"), 0)
    t.wait(0.1)
    again = t.note("again", group.pop_in_order(2, attempt_id="a"), 0)
    t.note("popped later", int(again["popTime"]) > int(first["popTime"]))
    t.note("more of it", group.pop_in_order(3, attempt_id="a"), 0)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def a_pop_without_an_attempt_id_does_not_repeat_the_batch(t: RemotingContext) -> None:
    """Ordered pops without an attempt id do not count as repetitions of each other."""
    group = popping(t, 2)
    t.note("first", group.pop_in_order(1).bodies)
    t.note("second", group.pop_in_order(1).bodies)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def acknowledging_the_whole_batch_unblocks_the_queue(t: RemotingContext) -> None:
    """When every message of the batch is acknowledged, the offset moves past it and the next batch can be popped."""
    group = popping(t, 4)
    for message, handle in t.popped(group.pop_in_order(2, invisible_ms=60_000)):
        t.note("acknowledged", group.ack(handle, message.queue_offset), 0)
    t.note("committed", group.wait_until_committed(2), 0)
    t.note("next", group.pop_in_order(2), 0)


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def a_partial_ack_moves_the_offset_to_the_first_unacknowledged_message(t: RemotingContext) -> None:
    """The offset moves to the first unacknowledged message of the batch, and the queue stays blocked."""
    group = popping(t, 4)
    handles = group.handles_in_order(3, invisible_ms=60_000)
    for offset, moved in ((1, 0), (0, 2)):
        t.note(f"offset {offset}", group.ack(handles[offset], offset), 0)
        t.note("committed", group.wait_until_committed(moved), 0)
        t.note("for others", group.pop_in_order().code)
    t.note("offset 2", group.ack(handles[2], 2), 0)
    t.note("committed", group.wait_until_committed(3), 0)
    t.note("for others", group.pop_in_order().bodies)


@remoting_case("ConsumerOrderInfoManager.update")
def an_expired_batch_is_redelivered_from_the_first_unacknowledged_message(t: RemotingContext) -> None:
    """After the invisible duration a pop starts at the first unacknowledged message.

    It adds new ones and returns counts.
    """
    group = popping(t, 6)
    handles = group.handles_in_order(3, invisible_ms=1000)
    group.ack(handles[0], 0)
    t.wait(1.3)
    t.note("second", group.pop_in_order(3, invisible_ms=1000), 0)
    t.wait(1.3)
    t.note("third", group.pop_in_order(4, invisible_ms=1000), 0)
    t.wait(1.3)
    t.note("fourth", group.pop_in_order(1, invisible_ms=1000), 0)
    t.note("retry topic", group.count_copies())


@remoting_case("ConsumerOrderInfoManager.commitAndNext")
def a_message_acknowledged_out_of_order_is_redelivered(t: RemotingContext) -> None:
    """A message acknowledged after an unacknowledged one is redelivered together with it."""
    group = popping(t, 3)
    handles = group.handles_in_order(3, invisible_ms=1000)
    group.ack(handles[1], 1)
    t.wait(1.3)
    t.note("again", group.pop_in_order(3).bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ack_with_a_stale_handle_has_no_effect(t: RemotingContext) -> None:
    """An acknowledgement with a handle of an earlier batch succeeds, and the message stays in flight."""
    group = popping(t, 2)
    [old] = group.handles_in_order(1, invisible_ms=500)
    t.wait(0.8)
    [new] = group.handles_in_order(1, invisible_ms=60_000)
    t.note("by the old handle", group.ack(old, 0), 0)
    t.note("committed", group.committed(), 0)
    t.note("by the new handle", group.ack(new, 0), 0)
    t.note("committed", group.wait_until_committed(1), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ack_of_an_offset_beyond_the_batch_is_refused(t: RemotingContext) -> None:
    """An ack of an offset after the batch is rejected; one of an offset that was already passed succeeds."""
    group = popping(t, 6)
    response = group.pop_in_order(2, invisible_ms=60_000)
    first, _ = group.handles_of(response)
    t.note("offset 5", group.ack(first, 5), 13)
    t.note("offset 9", group.ack(first, 9), 208)
    group.ack_all(response)
    t.note("offset 0 again", group.ack(first, 0), 0)
    t.note("committed", group.wait_until_committed(2), 0)


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ordered_ack_without_a_batch_in_flight_moves_the_offset(t: RemotingContext) -> None:
    """An ordered acknowledgement by a group without a batch in flight moves its offset past the message."""
    group = popping(t, 4)
    handle = f"0 {t.now_ms()} 60000 999 0 {t.broker_name} 0 2"
    t.note("acknowledged", group.ack(handle, 2))
    t.note("committed", group.committed(setZeroIfNotFound=False))
    t.note("popped", group.pop_in_order().bodies)


@remoting_case("AckMessageProcessor.ackOrderly")
def a_batch_ack_of_ordered_messages_moves_the_offset(t: RemotingContext) -> None:
    """A batch acknowledgement of an ordered pop moves the offset as single acknowledgements do."""
    group = popping(t, 4)
    handle = group.handles_in_order(3, invisible_ms=60_000)[0]
    for offsets, moved in (([0, 1], 2), ([2], 3)):
        t.note(f"offsets {offsets}", batch_ack(t, entry(group, handle, offsets)), 0)
        t.note("committed", group.wait_until_committed(moved), 0)
    t.note("outside", batch_ack(t, {**entry(group, handle, [0]), "so": 3}))


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_pop_of_all_queues_skips_blocked_queues(t: RemotingContext) -> None:
    """An ordered pop of all queues reads the unblocked ones. A queue that was only partly read is blocked entirely."""
    group = popping(t, 2, queues=4)
    first = group.pop_in_order(3, invisible_ms=60_000)
    t.note("first", [len(first.messages), first["restNum"]])
    second = group.pop_in_order(32, invisible_ms=60_000)
    t.note("second", [len(second.messages), second["restNum"]])
    taken = {message.queue_id for message in first.messages}
    t.note("no queue of the first", not taken & {message.queue_id for message in second.messages})
    t.note("counts", sorted(second["orderCountInfo"].split(";")) == sorted(f"0 {q} 0" for q in set(range(4)) - taken))
    t.note("third", group.pop_in_order(), 210)


@remoting_case("ConsumerOrderInfoManager.checkBlock")
def an_ordered_batch_of_one_group_does_not_block_another_group(t: RemotingContext) -> None:
    """An ordered batch in flight of one group does not block another group."""
    one = popping(t)
    other = one.with_group(t.group())
    one.fill(2)
    t.note("one", one.pop_in_order(1).bodies)
    t.note("other", other.pop_in_order(2).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def unordered_pops_are_not_blocked_by_an_ordered_batch(t: RemotingContext) -> None:
    """An unordered pop by the same group also returns messages in flight of an ordered batch."""
    group = popping(t, 3)
    group.pop_in_order(2, invisible_ms=60_000)
    t.note("without order", group.pop().bodies)


@remoting_case("ConsumerOrderInfoManager.update")
def an_ordered_batch_with_no_invisible_duration_is_redelivered_at_once(t: RemotingContext) -> None:
    """A batch popped in order with an invisible duration of 0 or less is redelivered at once and counted."""
    for invisible in (0, -1):
        group = popping(t, 2)
        for number in range(3):
            response = group.pop_in_order(1, invisible_ms=invisible)
            t.note(f"{invisible} ms, pop {number + 1}", [response.bodies, response.fields.get("orderCountInfo")])
            t.wait(0.1)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def an_ordered_pop_with_a_tag_tracks_only_matching_messages(t: RemotingContext) -> None:
    """An ordered pop with a tag tracks only matching messages.

    Once acknowledged, the offset is after the last of them.
    """
    group = popping(t)
    for tag in ("B", "A", "B", "A", "B"):
        group.fill(tag=tag)
    response = t.note("popped", group.pop_in_order(expression="A", invisible_ms=60_000), 0)
    group.ack_all(response)
    t.note("committed", group.wait_until_committed(4), 0)
    t.note("nothing left", group.pop_in_order(expression="A"), 210)
    t.note("passed", group.wait_until_committed(5), 0)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def an_offset_reset_unblocks_the_queue(t: RemotingContext) -> None:
    """An offset reset discards the batch in flight, and the next pop reads from the new offset."""
    group = popping(t, 4)
    _, second = group.handles_in_order(2, invisible_ms=60_000)
    t.note("reset", group.reset(1), 0)
    t.wait(0.01)  # handles are distinguished by the millisecond of their pop
    t.note("popped", group.pop_in_order(2), 0)
    t.note("by the old handle", group.ack(second, 1), 0)
    t.note("committed", group.committed(), 0)
