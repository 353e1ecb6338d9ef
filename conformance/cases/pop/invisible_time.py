"""Changing the invisible duration of a popped message."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.receipt_handles import HANDLE_FIELDS, forged
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import all_popped, bodies, note_without, one_popped, popping


def new_handle(old: str, response: DecodedResponse, offset: int) -> str:
    """Build the new handle from the response to a change, as clients do."""
    _, _, _, _, digit, broker, queue, _ = old.split(" ")
    times = (response["popTime"], response["invisibleTime"], response["reviveQid"])
    return " ".join((str(offset), *times, digit, broker, queue, str(offset)))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_prolonged_invisible_duration_leads_to_later_redelivery(t: RemotingContext) -> None:
    """A message with a prolonged invisible duration is redelivered after the new duration, not after the old one."""
    group, handle = one_popped(t, invisible_ms=1000)
    watch = t.stopwatch()
    t.note("changed", group.change(handle, 0, 6000), 0)
    t.wait(5)
    t.note("copies after 5 s", group.count_copies())
    t.note("copy", group.wait_for_copies())
    t.note("after", watch.between(7.5, 14))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_shortened_invisible_duration_leads_to_earlier_redelivery(t: RemotingContext) -> None:
    """A message with a shortened invisible duration is redelivered once, after the new duration."""
    group, handle = one_popped(t, invisible_ms=8000)
    watch = t.stopwatch()
    t.note("changed", group.change(handle, 0, 1000), 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.note("after", watch.between(2.5, 7.9))
    t.wait(max(0.0, 13 - watch.seconds))
    t.note("copies in all", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def only_the_new_handle_acknowledges_after_a_change(t: RemotingContext) -> None:
    """After a change the new handle acknowledges the message; the old handle has no effect."""
    group, handles = all_popped(t, 2, invisible_ms=1000)
    changed = [group.change(handles[offset], offset, 2000) for offset in (0, 1)]
    new = new_handle(handles[0], changed[0], 0)
    t.note("new handle", new)
    t.note("by the new handle", group.ack(new, 0), 0)
    t.note("by the old handle", group.ack(handles[1], 1), 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(2)
    t.note("copies in all", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def repeated_changes_keep_a_message_invisible(t: RemotingContext) -> None:
    """A message changed repeatedly, each time with the newest handle, stays invisible until the last duration ends."""
    group, handle = one_popped(t, invisible_ms=1500)
    for _ in range(3):
        t.wait(1)
        changed = t.note("changed", group.change(handle, 0, 1500), 0)
        handle = new_handle(handle, changed, 0)
    t.note("acknowledged", group.ack(handle, 0), 0)
    t.wait(5)
    t.note("copies", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def two_changes_with_one_handle_redeliver_the_message_twice(t: RemotingContext) -> None:
    """Two changes with the same handle both succeed, and the message is redelivered once for each."""
    group, handle = one_popped(t, invisible_ms=2000)
    t.note("first", group.change(handle, 0, 1000), 0)
    t.wait(0.1)
    t.note("second", group.change(handle, 0, 2000), 0)
    t.note("came back", group.wait_for_copies(2))
    t.wait(2)
    t.note("copies in all", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_of_an_acknowledged_message_redelivers_the_message(t: RemotingContext) -> None:
    """A change of an acknowledged message succeeds, and the message is redelivered."""
    group, handle = one_popped(t, invisible_ms=2000)
    group.ack(handle, 0)
    t.note("changed", group.change(handle, 0, 1000), 0)
    t.note("came back", group.wait_for_copies())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_shortly_after_the_invisible_duration_postpones_redelivery(t: RemotingContext) -> None:
    """A change half a second after the invisible duration ended still prevents redelivery at the old time."""
    group, handle = one_popped(t, invisible_ms=2000)
    watch = t.stopwatch()
    t.wait(2.5)
    t.note("changed", group.change(handle, 0, 4000), 0)
    t.note("came back", bodies(group.wait_for_copies()))
    t.note("after", watch.between(8, 15))
    t.wait(1)
    t.note("copies in all", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_after_redelivery_redelivers_the_message_again(t: RemotingContext) -> None:
    """A change with the old handle of a revived message succeeds, and the message is redelivered a second time."""
    group, handle = one_popped(t, invisible_ms=0)
    group.wait_for_copies()
    t.note("changed", group.change(handle, 0, 1000), 0)
    t.note("copies", group.wait_for_copies(2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_change_to_0_or_less_redelivers_at_the_next_revive_scan(t: RemotingContext) -> None:
    """A change to 0 or a negative duration succeeds. The message is redelivered as if its duration ended now."""
    for invisible in (0, -5):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=60_000)
        watch = t.stopwatch()
        t.note(f"{invisible} ms", group.change(handle, 0, invisible), 0)
        t.note("came back", bodies(group.wait_for_copies()))
        t.note("after", watch.between(1.5, 10))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_beyond_the_maximum_timer_delay_is_refused(t: RemotingContext) -> None:
    """A change to more than the timer's maximum delay returns an error, and redelivery happens at the original time."""
    group, handle = one_popped(t, invisible_ms=2000)
    for days in (4, 365, 10**8):
        t.note(f"{days} days", group.change(handle, 0, days * 86_400_000))
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_changed_redelivered_message_returns_to_its_retry_topic(t: RemotingContext) -> None:
    """A changed message of a retry topic returns to the same retry topic with its reconsume times increased by one."""
    group = popping(t, 1)
    group.handles(invisible_ms=0)
    group.wait_for_copies()
    handle = group.handle(invisible_ms=60_000)
    changed = t.note("changed", group.retry.change(handle, 0, 500), 0)
    t.note("new handle", new_handle(handle, changed, 0))
    t.note("copies", group.wait_for_copies(2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def an_offset_outside_the_queue_is_refused(t: RemotingContext) -> None:
    """A change of an offset below 0 or at or beyond the queue's end is rejected, with zeros in the response header."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=60_000)[0]
    for offset in (2, 50, -1, 2**63 - 1):
        t.note(f"offset {offset}", group.change(handle, offset, 1000), 208)


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def an_unknown_topic_or_queue_is_refused(t: RemotingContext) -> None:
    """A change for an unknown topic or queue is rejected; one for an unknown group succeeds."""
    group, handle = one_popped(t, invisible_ms=60_000)
    t.note("unknown topic", group.with_topic(t.new()).change(handle, 0, 1000), 17)
    t.note("queue 9", group.change(handle, 0, 1000, queue=9), 13)
    t.note("queue -1", group.change(handle, 0, 1000, queue=-1), 13)
    t.note("unknown group", group.with_group(t.new("group")).change(handle, 0, 1000), 0)


@remoting_case("ExtraInfoUtil.getReviveQid")
def a_malformed_handle_is_refused(t: RemotingContext) -> None:
    """A handle with too few fields or a non-numeric number field is rejected."""
    group, handle = one_popped(t, invisible_ms=60_000)
    fields = handle.split(" ")
    for text in ("garbage", "1 2 3", "", None):
        t.note(repr(text), group.change(text, 0, 1000), 1)
    for count in (3, 4, 5, 6, 7):
        t.note(f"{count} fields", group.change(" ".join(fields[:count]), 0, 1000))
    for place, field in enumerate(HANDLE_FIELDS):
        t.note(f"x as field {place}", group.change(forged(handle, **{field: "x"}), 0, 1000))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def each_change_with_a_forged_handle_adds_a_redelivery(t: RemotingContext) -> None:
    """A change with a forged pop time or start offset succeeds.

    The message is redelivered for the pop and for each change.
    """
    group, handle = one_popped(t, invisible_ms=1000)
    t.wait(0.1)
    t.note("another pop time", group.change(forged(handle, popped="1700000000000"), 0, 2000), 0)
    t.wait(0.1)
    t.note("another start", group.change(forged(handle, start="1"), 0, 2000), 0)
    t.wait(0.1)
    future = forged(handle, popped=str(t.now_ms() + 3_600_000))
    changed = t.note("a pop time to come", group.change(future, 0, 2000), 0)
    t.note("popped now", abs(int(changed["popTime"]) - t.now_ms()) < 60_000)
    t.note("came back", bodies(group.wait_for_copies(4)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_for_another_group_redelivers_the_message_to_both_groups(t: RemotingContext) -> None:
    """A change in the name of another group redelivers the message to that group as well as to the popping group."""
    group = popping(t, 1)
    guest = group.with_group(t.group())
    handle = group.handle(invisible_ms=1000)
    t.note("changed", guest.change(handle, 0, 500), 0)
    t.note("copies of the guest", bodies(guest.wait_for_copies()))
    t.note("copies of the group", bodies(group.wait_for_copies()))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_with_an_unknown_revive_queue_has_no_effect(t: RemotingContext) -> None:
    """A change whose handle names a revive queue that does not exist succeeds without effect."""
    group, handle = one_popped(t, invisible_ms=1000)
    for queue in ("77", "-1"):
        response = group.change(forged(handle, revive=queue), 0, 2000)
        t.note(f"revive queue {queue}", [response.code, response.remark, response.fields.get("reviveQid")])
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(3)
    t.note("copies in all", group.count_copies())


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_change_without_a_required_field_is_refused(t: RemotingContext) -> None:
    """A change without a required field is rejected. Only the group is optional."""
    group, handle = one_popped(t, invisible_ms=60_000)
    ext = {
        "consumerGroup": group.name,
        "topic": group.topic,
        "queueId": 0,
        "extraInfo": handle,
        "offset": 0,
        "invisibleTime": 60_000,
    }
    note_without(t, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, ext)
    t.note("invisibleTime x", t.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, {**ext, "invisibleTime": "x"}))
