"""Changing the invisible duration of a popped message."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.receipt_handles import HANDLE_FIELDS, forged
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import all_popped, bodies, one_popped, popping, see_without


def new_handle(old: str, answer: Answer, offset: int) -> str:
    """Build the new handle from the response to a change, as clients do."""
    _, _, _, _, digit, broker, queue, _ = old.split(" ")
    times = (answer["popTime"], answer["invisibleTime"], answer["reviveQid"])
    return " ".join((str(offset), *times, digit, broker, queue, str(offset)))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_longer_time_hides_longer(t: Remoting) -> None:
    """A message with a prolonged invisible duration is redelivered after the new duration, not after the old one."""
    group, handle = one_popped(t, invisible_ms=1000)
    watch = t.stopwatch()
    t.see("changed", group.change(handle, 0, 6000), 0)
    t.wait(5)
    t.see("copies after 5 s", group.copied())
    t.see("copy", group.copies())
    t.see("after", watch.between(7.5, 14))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_shorter_time_hides_shorter(t: Remoting) -> None:
    """A message with a shortened invisible duration is redelivered once, after the new duration."""
    group, handle = one_popped(t, invisible_ms=8000)
    watch = t.stopwatch()
    t.see("changed", group.change(handle, 0, 1000), 0)
    t.see("came back", bodies(group.copies()))
    t.see("after", watch.between(2.5, 7.9))
    t.wait(max(0.0, 13 - watch.seconds))
    t.see("copies in all", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def the_new_handle_acknowledges(t: Remoting) -> None:
    """After a change the new handle acknowledges the message; the old handle has no effect."""
    group, handles = all_popped(t, 2, invisible_ms=1000)
    changed = [group.change(handles[offset], offset, 2000) for offset in (0, 1)]
    new = new_handle(handles[0], changed[0], 0)
    t.see("new handle", new)
    t.see("by the new handle", group.ack(new, 0), 0)
    t.see("by the old handle", group.ack(handles[1], 1), 0)
    t.see("came back", bodies(group.copies()))
    t.wait(2)
    t.see("copies in all", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def changes_may_follow_each_other(t: Remoting) -> None:
    """A message changed repeatedly, each time with the newest handle, stays invisible until the last duration ends."""
    group, handle = one_popped(t, invisible_ms=1500)
    for _ in range(3):
        t.wait(1)
        changed = t.see("changed", group.change(handle, 0, 1500), 0)
        handle = new_handle(handle, changed, 0)
    t.see("acknowledged", group.ack(handle, 0), 0)
    t.wait(5)
    t.see("copies", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def each_change_by_one_handle_counts(t: Remoting) -> None:
    """Two changes with the same handle both succeed, and the message is redelivered once for each."""
    group, handle = one_popped(t, invisible_ms=2000)
    t.see("first", group.change(handle, 0, 1000), 0)
    t.wait(0.1)
    t.see("second", group.change(handle, 0, 2000), 0)
    t.see("came back", group.copies(2))
    t.wait(2)
    t.see("copies in all", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_brings_an_acknowledged_message_back(t: Remoting) -> None:
    """A change of an acknowledged message succeeds, and the message is redelivered."""
    group, handle = one_popped(t, invisible_ms=2000)
    group.ack(handle, 0)
    t.see("changed", group.change(handle, 0, 1000), 0)
    t.see("came back", group.copies())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_comes_in_time_after_the_end(t: Remoting) -> None:
    """A change half a second after the invisible duration ended still prevents redelivery at the old time."""
    group, handle = one_popped(t, invisible_ms=2000)
    watch = t.stopwatch()
    t.wait(2.5)
    t.see("changed", group.change(handle, 0, 4000), 0)
    t.see("came back", bodies(group.copies()))
    t.see("after", watch.between(8, 15))
    t.wait(1)
    t.see("copies in all", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_after_the_revival_brings_another_copy(t: Remoting) -> None:
    """A change with the old handle of a revived message succeeds, and the message is redelivered a second time."""
    group, handle = one_popped(t, invisible_ms=0)
    group.copies()
    t.see("changed", group.change(handle, 0, 1000), 0)
    t.see("copies", group.copies(2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def no_time_or_less_brings_it_back_at_once(t: Remoting) -> None:
    """A change to 0 or a negative duration succeeds, and the message is redelivered at the next revive scan."""
    for invisible in (0, -5):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=60_000)
        watch = t.stopwatch()
        t.see(f"{invisible} ms", group.change(handle, 0, invisible), 0)
        t.see("came back", bodies(group.copies()))
        t.see("after", watch.between(1.5, 10))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def an_absurd_time_is_refused(t: Remoting) -> None:
    """A change to more than the timer's maximum delay returns an error, and redelivery happens at the original time."""
    group, handle = one_popped(t, invisible_ms=2000)
    for days in (4, 365, 10**8):
        t.see(f"{days} days", group.change(handle, 0, days * 86_400_000))
    t.see("came back", bodies(group.copies()))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_copy_is_changed_in_its_retry_topic(t: Remoting) -> None:
    """A changed message of a retry topic returns to the same retry topic with its reconsume times increased by one."""
    group = popping(t, 1)
    group.handles(invisible_ms=0)
    group.copies()
    handle = group.handle(invisible_ms=60_000)
    changed = t.see("changed", group.retry.change(handle, 0, 500), 0)
    t.see("new handle", new_handle(handle, changed, 0))
    t.see("copies", group.copies(2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def an_offset_outside_the_queue_is_refused(t: Remoting) -> None:
    """A change of an offset below 0 or at or beyond the queue's end is rejected, with zeros in the response header."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=60_000)[0]
    for offset in (2, 50, -1, 2**63 - 1):
        t.see(f"offset {offset}", group.change(handle, offset, 1000), 208)


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_place_that_is_not_there_is_refused(t: Remoting) -> None:
    """A change for an unknown topic or queue is rejected; one for an unknown group succeeds."""
    group, handle = one_popped(t, invisible_ms=60_000)
    t.see("unknown topic", group.at(t.new()).change(handle, 0, 1000), 17)
    t.see("queue 9", group.change(handle, 0, 1000, queue=9), 13)
    t.see("queue -1", group.change(handle, 0, 1000, queue=-1), 13)
    t.see("unknown group", group.among(t.new("group")).change(handle, 0, 1000), 0)


@remoting_case("ExtraInfoUtil.getReviveQid")
def a_malformed_handle_is_refused(t: Remoting) -> None:
    """A handle with too few fields or a non-numeric number field is rejected."""
    group, handle = one_popped(t, invisible_ms=60_000)
    fields = handle.split(" ")
    for text in ("garbage", "1 2 3", "", None):
        t.see(repr(text), group.change(text, 0, 1000), 1)
    for count in (3, 4, 5, 6, 7):
        t.see(f"{count} fields", group.change(" ".join(fields[:count]), 0, 1000))
    for place, field in enumerate(HANDLE_FIELDS):
        t.see(f"x as field {place}", group.change(forged(handle, **{field: "x"}), 0, 1000))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_forged_handle_hides_nothing(t: Remoting) -> None:
    """A change with a forged pop time or start offset succeeds.

    The message is redelivered for the pop and for each change.
    """
    group, handle = one_popped(t, invisible_ms=1000)
    t.wait(0.1)
    t.see("another pop time", group.change(forged(handle, popped="1700000000000"), 0, 2000), 0)
    t.wait(0.1)
    t.see("another start", group.change(forged(handle, start="1"), 0, 2000), 0)
    t.wait(0.1)
    future = forged(handle, popped=str(t.now_ms() + 3_600_000))
    changed = t.see("a pop time to come", group.change(future, 0, 2000), 0)
    t.see("popped now", abs(int(changed["popTime"]) - t.now_ms()) < 60_000)
    t.see("came back", bodies(group.copies(4)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_for_another_group_gives_it_a_copy(t: Remoting) -> None:
    """A change in the name of another group redelivers the message to that group as well as to the popping group."""
    group = popping(t, 1)
    guest = group.among(t.group())
    handle = group.handle(invisible_ms=1000)
    t.see("changed", guest.change(handle, 0, 500), 0)
    t.see("copies of the guest", bodies(guest.copies()))
    t.see("copies of the group", bodies(group.copies()))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_revive_queue_that_is_not_there_loses_the_change(t: Remoting) -> None:
    """A change whose handle names a revive queue that does not exist succeeds without effect."""
    group, handle = one_popped(t, invisible_ms=1000)
    for queue in ("77", "-1"):
        answer = group.change(forged(handle, revive=queue), 0, 2000)
        t.see(f"revive queue {queue}", [answer.code, answer.remark, answer.fields.get("reviveQid")])
    t.see("came back", bodies(group.copies()))
    t.wait(3)
    t.see("copies in all", group.copied())


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_change_needs_its_fields(t: Remoting) -> None:
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
    see_without(t, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, ext)
    t.see("invisibleTime x", t.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, {**ext, "invisibleTime": "x"}))
