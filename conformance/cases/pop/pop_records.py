"""Pops tracked by KV records instead of check points (popConsumerKVServiceEnable, PopConsumerService)."""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping, records_since
from .batch_ack import batch_ack, entry
from .notification import notification
from .peek import peek
from .polling_info import polling_info
from .pop_progress import progress

RECORDS: Mapping[str, str] = {"popConsumerKVServiceInit": "true", "popConsumerKVServiceEnable": "true"}
IN_MEMORY: Mapping[str, str] = {**RECORDS, "enablePopBufferMerge": "true", "popCkStayBufferTime": "6000"}


def stored_of(group: PopGroup, since: int) -> int:
    """Return the number of check points and acknowledgements of a group, which are timed messages when stored."""
    return len(records_since(group.t, TIMER_TOPIC, 0, since, mark=group.name))


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def pops_with_kv_records_write_no_check_points(t: RemotingContext) -> None:
    """Pop, change of invisible duration and acknowledgement store no messages. All handles have revive queue 0."""
    group = popping(t, 3)
    since = t.max_offset(TIMER_TOPIC)
    response = t.note("popped", group.pop(), 0)
    t.note("revive queue", response["reviveQid"])
    one, two, three = (handle for _, handle in t.popped(response))
    t.note("acknowledged", group.ack(one, 0), 0)
    changed = t.note("changed", group.change(two, 1, 20_000), 0)
    t.note("revive queue of the change", changed["reviveQid"])
    t.note("acknowledged by a batch", batch_ack(t, entry(group, three, [2])), 0)
    t.wait(1)
    t.note("stored", stored_of(group, since))


@remoting_case("PopConsumerService.revive", settings=RECORDS)
def a_message_is_redelivered_soon_after_its_invisible_duration(t: RemotingContext) -> None:
    """An unacknowledged message is redelivered less than 2 s after its invisible duration, unlike with check points."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, *_ = group.handles(invisible_ms=4000)
    group.ack(one, 0)
    t.note("came back", group.wait_for_copies(2))
    t.note("after", watch.between(3.9, 5.8))


@remoting_case("PopConsumerService.reviveRetry", settings=RECORDS)
def a_redelivered_message_shows_the_retry_topic_and_has_no_handle(t: RemotingContext) -> None:
    """A redelivered message is popped under the retry topic's name and without a handle of its own."""
    group = popping(t, 1)
    group.pop(invisible_ms=1000)
    group.wait_for_copies()
    response = t.note("popped", group.pop(), 0)
    [(message, handle)] = [(each, each.properties.get("POP_CK")) for each in response.messages]
    t.note("its own handle", handle)
    starts = response["startOffsetInfo"]
    t.note("start", starts)
    made = " ".join(("0", response["popTime"], response["invisibleTime"], "0", "1", t.broker_name, "0", "0"))
    t.note("acknowledged", group.ack(made, message.queue_offset), 0)
    t.wait(1)
    t.note("progress", progress(group, everywhere=True))


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def every_fifth_pop_reads_the_retry_topic_first(t: RemotingContext) -> None:
    """The first pop of a group and every fifth after it read the retry topic first, all others last."""
    group = popping(t, 12)
    group.pop(max_messages=2, invisible_ms=1000)
    group.wait_for_copies(2)
    got = [group.pop(max_messages=1).messages[0] for _ in range(10)]
    t.note("offsets and reconsumptions", [[each.queue_offset, each.reconsume_times] for each in got])


@remoting_case("PopConsumerService.popAsync", settings={**RECORDS, "enableRetryTopicV2": "true"})
def the_v1_retry_topic_is_read_before_the_v2_retry_topic(t: RemotingContext) -> None:
    """With enableRetryTopicV2 each pop reads the retry topics of both naming forms, V1 first."""
    group = popping(t, 2)
    group.pop(invisible_ms=1000)
    group.wait_for_copies(2, v2=True)
    t.sent(t.topic(queues=1, name=group.retry_topic), 2)
    group.fill(6)
    starts = [group.pop_one()["startOffsetInfo"] for _ in range(10)]
    t.note("kinds of topic", [start.split(" ")[0] for start in starts])


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def each_pop_of_all_queues_starts_one_queue_after_the_previous_pop(t: RemotingContext) -> None:
    """Each pop of all queues starts one queue after the previous pop."""
    group = popping(t, queues=4)
    for queue in range(4):
        group.fill(4, queue=queue)
    pops = [group.pop(max_messages=3) for _ in range(5)]
    t.note("queues", [[message.queue_id for message in each.messages] for each in pops])
    t.note("left", [each["restNum"] for each in pops])


@remoting_case("PopConsumerService.getMessageAsync", settings=RECORDS)
def the_committed_offset_is_the_start_of_the_last_read(t: RemotingContext) -> None:
    """The offset of a group is the start of its last read of a queue, regardless of acknowledgements."""
    group = popping(t, 4)
    group.ack_all(group.pop(max_messages=2))
    t.wait(0.5)
    t.note("after the first pop", [group.committed(), progress(group)])
    group.pop(max_messages=2)
    t.wait(0.5)
    t.note("after the second", [group.committed(), progress(group)])
    t.note("empty", group.pop())
    t.wait(0.5)
    t.note("after an empty one", [group.committed(), progress(group)])


@remoting_case("PopConsumerService.ackAsync", settings=RECORDS)
def an_ack_with_another_pop_time_or_invisible_duration_has_no_effect(t: RemotingContext) -> None:
    """A handle with another pop time or invisible duration has no effect, and neither has a second ack.

    Both succeed.
    """
    group = popping(t, 3)
    one, two, three = group.handles(invisible_ms=5000)
    fields = one.split(" ")
    early = " ".join([fields[0], str(int(fields[1]) - 1), *fields[2:]])
    longer = " ".join([*two.split(" ")[:2], "5001", *two.split(" ")[3:]])
    t.note("another pop time", group.ack(early, 0))
    t.note("another invisible time", group.ack(longer, 1))
    t.note("twice", [group.ack(three, 2).code, group.ack(three, 2).code])
    t.note("beyond the end", group.ack(three, 9))
    for count in range(8):
        response = group.ack(" ".join(three.split(" ")[:count]), 2)
        t.note(f"{count} fields", [response.code, response.remark])
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("PopConsumerService.ackAsync", settings=RECORDS)
def a_batch_ack_deletes_the_records_set_in_its_bit_set(t: RemotingContext) -> None:
    """A batch acknowledgement deletes the records whose bits are set."""
    group = popping(t, 4)
    handle = group.handles(invisible_ms=3000)[0]
    t.note("acknowledged", batch_ack(t, entry(group, handle, [0, 3])), 0)
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("PopConsumerService.changeInvisibilityDuration", settings=RECORDS)
def a_change_replaces_the_record(t: RemotingContext) -> None:
    """A change prolongs, shortens or ends the invisible duration. Only the new handle acknowledges afterwards."""
    group = popping(t, 4)
    longer, shorter, none, done = group.handles(invisible_ms=12_000)
    changed = t.note("longer", group.change(longer, 0, 20_000), 0)
    group.change(shorter, 1, 5000)
    t.note("not at all", group.change(none, 2, 0), 0)
    other = group.change(done, 3, 10_000)
    t.note("by the old handle", group.ack(longer, 0), 0)
    fields = done.split(" ")
    newer = " ".join([fields[0], other["popTime"], other["invisibleTime"], other["reviveQid"], *fields[4:]])
    t.note("by the new handle", group.ack(newer, 3), 0)
    t.note("at once", bodies(group.wait_for_copies(1)))
    t.note("then", bodies(group.wait_for_copies(2)))
    t.wait(9)
    t.note("at the old time", bodies(group.wait_for_copies(1)))
    t.note("at last", bodies(group.wait_for_copies(3)))
    t.note("times", changed["invisibleTime"])


@remoting_case("PopConsumerService.changeInvisibilityDuration", settings=RECORDS)
def a_change_of_an_acked_or_redelivered_message_redelivers_the_message(t: RemotingContext) -> None:
    """A change of an acknowledged or redelivered message succeeds, and the message is redelivered."""
    group = popping(t, 2)
    done, over = group.handles(invisible_ms=1500)
    group.ack(done, 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.note("acknowledged before", group.change(done, 0, 1000), 0)
    t.note("come back before", group.change(over, 1, 1500), 0)
    t.note("came back then", bodies(group.wait_for_copies(3)))
    t.note("refused", [group.change(done, 9, 1000), group.change("1 2 3", 0, 1000)])


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def an_ordered_batch_blocks_its_queue_until_acked_or_expired(t: RemotingContext) -> None:
    """An ordered batch blocks its queue until it is acknowledged or its duration ends.

    Then it is redelivered in order.
    """
    group = popping(t, 4)
    response = t.note("popped", group.pop_in_order(2, attempt_id="one"), 0)
    t.note("blocked", group.pop_in_order(attempt_id="two"))
    t.note("repeated", group.pop_in_order(2, attempt_id="one").bodies)
    watch = t.stopwatch()
    t.note("again", t.until(lambda: found if (found := group.pop_in_order(2, attempt_id="three")).messages else None))
    t.note("after", watch.between(2, 5))
    t.note("stale", group.ack(t.popped(response)[0][1], 0))
    t.wait(3.5)
    group.ack_all(group.pop_in_order(2, invisible_ms=20_000, attempt_id="four"))
    t.note("committed", group.wait_until_committed(2))
    t.note("next", group.pop_in_order(attempt_id="five").bodies)
    t.note("copies", group.count_copies())


@remoting_case("PopLongPollingService.notifyMessageArriving", settings=RECORDS)
def a_new_message_wakes_a_held_pop(t: RemotingContext) -> None:
    """POLLING_INFO counts a waiting pop, which returns when a message arrives.

    Without a message it returns when its poll time ends.
    """
    group = popping(t)
    pending = group.waiting(poll_ms=15_000)
    t.note("who waits", polling_info(group), 0)
    watch = t.stopwatch()
    group.fill()
    t.note("response", t.until(pending.arrived), 0)
    t.note("after", watch.between(0, 2))
    watch = t.stopwatch()
    t.note("in vain", t.until(group.waiting(poll_ms=2000).arrived), 210)
    t.note("after its time", watch.between(1.8, 4))


@remoting_case("PopConsumerService.reviveRetry", settings=RECORDS)
def a_redelivered_message_wakes_no_held_pop(t: RemotingContext) -> None:
    """A waiting pop is not woken by a message in the retry topic, but finds it when its poll time ends."""
    group = popping(t, 1)
    group.pop(invisible_ms=1500)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=8000)
    t.note("response", t.until(pending.arrived))
    t.note("woken", watch.seconds < 5)


@remoting_case("PopConsumerService.clearCache", settings=RECORDS)
def pops_start_at_the_new_offset_after_a_reset(t: RemotingContext) -> None:
    """After an offset reset a group pops from the new offset. Messages in flight are also redelivered."""
    group = popping(t, 4)
    group.pop(invisible_ms=3000)
    t.note("reset", group.reset(2), 0)
    t.note("popped", group.pop(invisible_ms=60_000).bodies)
    t.note("came back", bodies(group.wait_for_copies(4)))


@remoting_case("NotificationProcessor.hasMsgFromQueue", settings=RECORDS)
def a_notification_starts_after_the_last_read_and_a_peek_at_the_offset(t: RemotingContext) -> None:
    """A notification starts after the last read; a peek starts at the group's offset."""
    group = popping(t, 2)
    group.pop()
    t.wait(0.5)
    t.note("notification", notification(group), 0)
    t.note("peek", peek(group, 0).bodies)


@remoting_case("PopConsumerService.getMessageAsync", settings=RECORDS)
def the_offset_passes_messages_skipped_by_a_tag(t: RemotingContext) -> None:
    """A pop with a tag returns the messages of that tag, and the group's offset passes the others."""
    group = popping(t)
    for tag in "ABAB":
        group.fill(tag=tag)
    t.note("popped", group.pop(expression="B", max_messages=1), 0)
    t.note("the rest", group.pop().bodies)


@remoting_case("PopConsumerService.popAsync", settings=RECORDS)
def pop_limits_are_the_same_as_with_check_points(t: RemotingContext) -> None:
    """Limits of message counts, queues and invisible durations are the same as with check points."""
    group = popping(t, 2)
    t.note("33 messages", group.pop(max_messages=33), 29)
    t.note("no message", group.pop(max_messages=0))
    t.note("-1 messages", group.pop(max_messages=-1))
    t.note("queue 1", group.pop(queue=1), 29)
    t.note("unknown topic", group.with_topic(t.new()).pop(), 17)
    t.note("no invisible time", group.pop(max_messages=1, invisible_ms=0).bodies)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("PopConsumerService.revive, PopConsumerRocksdbStore.scanExpiredRecords", settings=RECORDS)
def a_message_that_expired_long_before_the_last_scan_is_not_redelivered(t: RemotingContext) -> None:
    """A message whose invisible duration ended over 3 s before the broker's last scan is never redelivered.

    The same holds if pop time plus invisible duration overflows 64 bits.
    """
    groups = {}
    for invisible in (0, -1000, -(10**6), -(2**63), 2**63 - 1):
        groups[invisible] = popping(t, 1)
        t.note(f"{invisible} ms: popped", groups[invisible].pop(invisible_ms=invisible).bodies)
    t.wait(6)
    for invisible, group in groups.items():
        t.note(f"{invisible} ms: copies", group.count_copies())


@remoting_case("PopConsumerCache.writeRecords", settings=IN_MEMORY)
def the_committed_offset_is_the_first_unacknowledged_message_in_cache(t: RemotingContext) -> None:
    """With enablePopBufferMerge the group's offset is the first unacknowledged message in memory."""
    group = popping(t, 6)
    response = group.pop(max_messages=4, invisible_ms=60_000)
    t.wait(2)
    t.note("four are out", group.committed())
    handles = [handle for _, handle in t.popped(response)]
    group.ack(handles[1], 1)
    t.wait(2)
    t.note("the second is done", group.committed())
    group.ack(handles[0], 0)
    t.note("the first, too", t.until(lambda: group.committed()["offset"] == "2", 4))
    t.note("popped", group.pop(max_messages=1).bodies)


@remoting_case("PopConsumerCache.cleanupRecords", settings=IN_MEMORY)
def a_message_that_expires_in_the_cache_is_redelivered(t: RemotingContext) -> None:
    """A message whose invisible duration ends while its record is in memory is redelivered within 2.5 s."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, *_ = group.handles(invisible_ms=3000)
    group.ack(one, 0)
    t.note("came back", bodies(group.wait_for_copies(2)))
    t.note("after", watch.between(2.9, 5.5))


@remoting_case("PopConsumerCache.cleanupRecords", settings=IN_MEMORY)
def a_record_that_left_the_cache_can_be_acked_changed_and_redelivered(t: RemotingContext) -> None:
    """A record that has left the memory can be acknowledged, changed and redelivered like any other."""
    group = popping(t, 3)
    watch = t.stopwatch()
    one, two, _ = group.handles(invisible_ms=14_000)
    t.wait(9)
    t.note("acknowledged", group.ack(one, 0), 0)
    t.note("changed", group.change(two, 1, 10_000), 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.note("after", watch.between(13.5, 16.5))
    t.note("then", bodies(group.wait_for_copies(2)))


@remoting_case("PopLongPollingService.notifyMessageArriving", settings=RECORDS)
def a_message_in_any_queue_wakes_a_pop_held_for_all_queues(t: RemotingContext) -> None:
    """A pop waiting for all of four queues returns when a message arrives in any of them."""
    group = popping(t, queues=4)
    for queue in (1, 3):
        pending = group.waiting(poll_ms=25_000)
        t.wait(3)
        watch = t.stopwatch()
        group.fill(queue=queue)
        t.note("response", t.until(pending.arrived), 0)
        t.note("after", watch.between(0, 5))
