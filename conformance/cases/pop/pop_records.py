"""Pops tracked by KV records instead of check points (popConsumerKVServiceEnable, PopConsumerService)."""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC

from ...case import remoting_case
from ...worlds.pops import PopGroup, bodies, popping, records_since
from ...worlds.remoting import Remoting
from .batch_ack import batch_ack, entry
from .notification import notification
from .peek import peek
from .polling_info import polling_info
from .pop_progress import progress

RECORDS: Mapping[str, str] = {"popConsumerKVServiceInit": "true", "popConsumerKVServiceEnable": "true"}
IN_MEMORY: Mapping[str, str] = {**RECORDS, "enablePopBufferMerge": "true", "popCkStayBufferTime": "6000"}


def stored_of(group: PopGroup, since: int) -> int:
    """Return the number of stored check points and acknowledgements of a group."""
    return len(records_since(group.t, TIMER_TOPIC, 0, since, group.name))


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def no_check_point_is_written(t: Remoting) -> None:
    """Pop, change and acknowledgement store no messages. All handles have revive queue 0."""
    group = popping(t, 3)
    since = t.max_offset(TIMER_TOPIC)
    answer = t.see("popped", group.pop(), 0)
    t.see("revive queue", answer["reviveQid"])
    one, two, three = (handle for _, handle in t.popped(answer))
    t.see("acknowledged", group.ack(one, 0), 0)
    changed = t.see("changed", group.change(two, 1, 20_000), 0)
    t.see("revive queue of the change", changed["reviveQid"])
    t.see("acknowledged by a batch", batch_ack(t, entry(group, three, [2])), 0)
    t.wait(1)
    t.see("stored", stored_of(group, since))


@remoting_case("PopConsumerService.revive", settings=RECORDS)
def it_comes_back_soon_after_its_time(t: Remoting) -> None:
    """An unacknowledged message is redelivered 0.5 s after its invisible duration, not 2 s as with check points."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, *_ = group.handles(invisible_ms=4000)
    group.ack(one, 0)
    t.see("came back", group.copies(2))
    t.see("after", watch.between(3.9, 5.8))


@remoting_case("PopConsumerService.reviveRetry", settings=RECORDS)
def copies_keep_the_name_of_their_topic(t: Remoting) -> None:
    """A redelivered message is popped under the retry topic's name and without a handle of its own."""
    group = popping(t, 1)
    group.pop(invisible_ms=1000)
    group.copies()
    answer = t.see("popped", group.pop(), 0)
    [(message, handle)] = [(each, each.properties.get("POP_CK")) for each in answer.messages]
    t.see("its own handle", handle)
    starts = answer["startOffsetInfo"]
    t.see("start", starts)
    made = " ".join(("0", answer["popTime"], answer["invisibleTime"], "0", "1", t.broker_name, "0", "0"))
    t.see("acknowledged", group.ack(made, message.queue_offset), 0)
    t.wait(1)
    t.see("progress", progress(group, everywhere=True))


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def every_fifth_pop_reads_copies_first(t: Remoting) -> None:
    """The first pop of a group and every fifth after it read the retry topic first, all others last."""
    group = popping(t, 12)
    group.pop(max_messages=2, invisible_ms=1000)
    group.copies(2)
    got = [group.pop(max_messages=1).messages[0] for _ in range(10)]
    t.see("offsets and reconsumptions", [[each.queue_offset, each.reconsume_times] for each in got])


@remoting_case("PopConsumerService.popAsync", settings={**RECORDS, "enableRetryTopicV2": "true"})
def the_first_form_is_read_before_the_second(t: Remoting) -> None:
    """With enableRetryTopicV2 each pop reads the retry topics of both naming forms, V1 first."""
    group = popping(t, 2)
    group.pop(invisible_ms=1000)
    group.copies(2, v2=True)
    t.sent(t.topic(queues=1, name=group.retry_topic), 2)
    group.fill(6)
    starts = [group.pop_one()["startOffsetInfo"] for _ in range(10)]
    t.see("kinds of topic", [start.split(" ")[0] for start in starts])


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def queues_are_read_in_turn(t: Remoting) -> None:
    """Each pop of all queues starts one queue after the previous pop."""
    group = popping(t, queues=4)
    for queue in range(4):
        group.fill(4, queue=queue)
    pops = [group.pop(max_messages=3) for _ in range(5)]
    t.see("queues", [[message.queue_id for message in each.messages] for each in pops])
    t.see("left", [each["restNum"] for each in pops])


@remoting_case("PopConsumerService.getMessageAsync", settings=RECORDS)
def the_offset_is_one_read_behind(t: Remoting) -> None:
    """The offset of a group is the start of its last read of a queue, regardless of acknowledgements."""
    group = popping(t, 4)
    group.ack_all(group.pop(max_messages=2))
    t.wait(0.5)
    t.see("after the first pop", [group.committed(), progress(group)])
    group.pop(max_messages=2)
    t.wait(0.5)
    t.see("after the second", [group.committed(), progress(group)])
    t.see("empty", group.pop())
    t.wait(0.5)
    t.see("after an empty one", [group.committed(), progress(group)])


@remoting_case("PopConsumerService.ackAsync", settings=RECORDS)
def an_acknowledgement_is_of_one_record(t: Remoting) -> None:
    """A handle with another pop time or invisible duration has no effect, and neither has a second ack.

    Both succeed.
    """
    group = popping(t, 3)
    one, two, three = group.handles(invisible_ms=5000)
    fields = one.split(" ")
    early = " ".join([fields[0], str(int(fields[1]) - 1), *fields[2:]])
    longer = " ".join([*two.split(" ")[:2], "5001", *two.split(" ")[3:]])
    t.see("another pop time", group.ack(early, 0))
    t.see("another invisible time", group.ack(longer, 1))
    t.see("twice", [group.ack(three, 2).code, group.ack(three, 2).code])
    t.see("beyond the end", group.ack(three, 9))
    for count in range(8):
        answer = group.ack(" ".join(three.split(" ")[:count]), 2)
        t.see(f"{count} fields", [answer.code, answer.remark])
    t.see("came back", bodies(group.copies(2)))


@remoting_case("PopConsumerService.ackAsync", settings=RECORDS)
def a_batch_deletes_what_its_bits_say(t: Remoting) -> None:
    """A batch acknowledgement deletes the records whose bits are set."""
    group = popping(t, 4)
    handle = group.handles(invisible_ms=3000)[0]
    t.see("acknowledged", batch_ack(t, entry(group, handle, [0, 3])), 0)
    t.see("came back", bodies(group.copies(2)))


@remoting_case("PopConsumerService.changeInvisibilityDuration", settings=RECORDS)
def a_change_replaces_the_record(t: Remoting) -> None:
    """A change prolongs, shortens or ends the invisible duration. Only the new handle acknowledges afterwards."""
    group = popping(t, 4)
    longer, shorter, none, done = group.handles(invisible_ms=12_000)
    changed = t.see("longer", group.change(longer, 0, 20_000), 0)
    group.change(shorter, 1, 5000)
    t.see("not at all", group.change(none, 2, 0), 0)
    other = group.change(done, 3, 10_000)
    t.see("by the old handle", group.ack(longer, 0), 0)
    fields = done.split(" ")
    newer = " ".join([fields[0], other["popTime"], other["invisibleTime"], other["reviveQid"], *fields[4:]])
    t.see("by the new handle", group.ack(newer, 3), 0)
    t.see("at once", bodies(group.copies(1)))
    t.see("then", bodies(group.copies(2)))
    t.wait(9)
    t.see("at the old time", bodies(group.copies(1)))
    t.see("at last", bodies(group.copies(3)))
    t.see("times", changed["invisibleTime"])


@remoting_case("PopConsumerService.changeInvisibilityDuration", settings=RECORDS)
def a_change_of_what_is_over_brings_it_again(t: Remoting) -> None:
    """A change of an acknowledged or redelivered message succeeds, and the message is redelivered."""
    group = popping(t, 2)
    done, over = group.handles(invisible_ms=1500)
    group.ack(done, 0)
    t.see("came back", bodies(group.copies()))
    t.see("acknowledged before", group.change(done, 0, 1000), 0)
    t.see("come back before", group.change(over, 1, 1500), 0)
    t.see("came back then", bodies(group.copies(3)))
    t.see("refused", [group.change(done, 9, 1000), group.change("1 2 3", 0, 1000)])


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def ordered_pops_keep_no_records(t: Remoting) -> None:
    """An ordered batch blocks its queue until it is acknowledged or its duration ends.

    Then it is redelivered in order.
    """
    group = popping(t, 4)
    answer = t.see("popped", group.pop_in_order(2, attempt_id="one"), 0)
    t.see("blocked", group.pop_in_order(attempt_id="two"))
    t.see("repeated", group.pop_in_order(2, attempt_id="one").bodies)
    watch = t.stopwatch()
    t.see("again", t.until(lambda: found if (found := group.pop_in_order(2, attempt_id="three")).messages else None))
    t.see("after", watch.between(2, 5))
    t.see("stale", group.ack(t.popped(answer)[0][1], 0))
    t.wait(3.5)
    group.ack_all(group.pop_in_order(2, invisible_ms=20_000, attempt_id="four"))
    t.see("committed", group.reaches(2))
    t.see("next", group.pop_in_order(attempt_id="five").bodies)
    t.see("copies", group.copied())


@remoting_case("PopLongPollingService.notifyMessageArriving", settings=RECORDS)
def a_message_wakes_a_poll(t: Remoting) -> None:
    """A held pop is counted and returns when a message arrives.

    Without a message it returns when its poll time ends.
    """
    group = popping(t)
    pending = group.waiting(poll_ms=15_000)
    t.see("who waits", polling_info(group), 0)
    watch = t.stopwatch()
    group.fill()
    t.see("answer", t.until(pending.arrived), 0)
    t.see("after", watch.between(0, 2))
    watch = t.stopwatch()
    t.see("in vain", t.until(group.waiting(poll_ms=2000).arrived), 210)
    t.see("after its time", watch.between(1.8, 4))


@remoting_case("PopConsumerService.reviveRetry", settings=RECORDS)
def a_copy_and_a_poll(t: Remoting) -> None:
    """A held pop is not woken by a message in the retry topic, but finds it when its poll time ends."""
    group = popping(t, 1)
    group.pop(invisible_ms=1500)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=8000)
    t.see("answer", t.until(pending.arrived))
    t.see("woken", watch.seconds < 5)


@remoting_case("PopConsumerService.clearCache", settings=RECORDS)
def a_reset_hands_out_again(t: Remoting) -> None:
    """After an offset reset a group pops from the new offset. Messages in flight are also redelivered."""
    group = popping(t, 4)
    group.pop(invisible_ms=3000)
    t.see("reset", group.reset(2), 0)
    t.see("popped", group.pop(invisible_ms=60_000).bodies)
    t.see("came back", bodies(group.copies(4)))


@remoting_case("NotificationProcessor.hasMsgFromQueue", settings=RECORDS)
def looks_see_what_was_read(t: Remoting) -> None:
    """A notification starts after the last read; a peek starts at the group's offset."""
    group = popping(t, 2)
    group.pop()
    t.wait(0.5)
    t.see("notification", notification(group), 0)
    t.see("peek", peek(group, 0).bodies)


@remoting_case("PopConsumerService.getMessageAsync", settings=RECORDS)
def what_a_filter_skips_is_passed(t: Remoting) -> None:
    """A pop with a tag returns the messages of that tag, and the group's offset passes the others."""
    group = popping(t)
    for tag in "ABAB":
        group.fill(tag=tag)
    t.see("popped", group.pop(expression="B", max_messages=1), 0)
    t.see("the rest", group.pop().bodies)


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def bounds_are_those_of_check_points(t: Remoting) -> None:
    """Limits of message counts, queues and invisible durations are the same as with check points."""
    group = popping(t, 2)
    t.see("33 messages", group.pop(max_messages=33), 29)
    t.see("no message", group.pop(max_messages=0))
    t.see("-1 messages", group.pop(max_messages=-1))
    t.see("queue 1", group.pop(queue=1), 29)
    t.see("unknown topic", group.at(t.new()).pop(), 17)
    t.see("no invisible time", group.pop(max_messages=1, invisible_ms=0).bodies)
    t.see("came back", bodies(group.copies()))


@remoting_case("PopConsumerService.revive, PopConsumerRocksdbStore.scanExpiredRecords", settings=RECORDS)
def what_is_due_long_ago_never_comes_back(t: Remoting) -> None:
    """A message whose invisible duration ended over 3 s before the broker's last scan is never redelivered.

    The same holds if pop time plus invisible duration overflows 64 bits.
    """
    groups = {}
    for invisible in (0, -1000, -(10**6), -(2**63), 2**63 - 1):
        groups[invisible] = popping(t, 1)
        t.see(f"{invisible} ms: popped", groups[invisible].pop(invisible_ms=invisible).bodies)
    t.wait(6)
    for invisible, group in groups.items():
        t.see(f"{invisible} ms: copies", group.copied())


@remoting_case("PopConsumerCache.writeRecords", settings=IN_MEMORY)
def the_first_in_memory_is_the_offset(t: Remoting) -> None:
    """With enablePopBufferMerge the group's offset is the first unacknowledged message in memory."""
    group = popping(t, 6)
    answer = group.pop(max_messages=4, invisible_ms=60_000)
    t.wait(2)
    t.see("four are out", group.committed())
    handles = [handle for _, handle in t.popped(answer)]
    group.ack(handles[1], 1)
    t.wait(2)
    t.see("the second is done", group.committed())
    group.ack(handles[0], 0)
    t.see("the first, too", t.until(lambda: group.committed()["offset"] == "2", 4))
    t.see("popped", group.pop(max_messages=1).bodies)


@remoting_case("PopConsumerCache.cleanupRecords", settings=IN_MEMORY)
def what_is_due_in_memory_comes_back(t: Remoting) -> None:
    """A record whose invisible duration ends while it is in memory is redelivered within a second."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, *_ = group.handles(invisible_ms=3000)
    group.ack(one, 0)
    t.see("came back", bodies(group.copies(2)))
    t.see("after", watch.between(2.9, 5.5))


@remoting_case("PopConsumerCache.cleanupRecords", settings=IN_MEMORY)
def what_stays_longer_comes_back_from_the_disk(t: Remoting) -> None:
    """A record that has left the memory can be acknowledged, changed and redelivered like any other."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, two, _ = group.handles(invisible_ms=14_000)
    t.wait(9)
    t.see("acknowledged", group.ack(one, 0), 0)
    t.see("changed", group.change(two, 1, 10_000), 0)
    t.see("came back", bodies(group.copies()))
    t.see("after", watch.between(13.5, 16.5))
    t.see("then", bodies(group.copies(2)))


@remoting_case("PopLongPollingService.notifyMessageArriving", settings=RECORDS)
def a_message_in_any_queue_wakes_a_poll(t: Remoting) -> None:
    """A pop held for all of four queues returns when a message arrives in any of them."""
    group = popping(t, queues=4)
    for queue in (1, 3):
        pending = group.waiting(poll_ms=25_000)
        t.wait(3)
        watch = t.stopwatch()
        group.fill(queue=queue)
        t.see("answer", t.until(pending.arrived), 0)
        t.see("after", watch.between(0, 5))
