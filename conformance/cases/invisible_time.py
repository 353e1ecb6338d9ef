"""Changing how long a popped message stays hidden."""

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import bodies, copies, filled, max_offset, retry_topic
from ..worlds.remoting import Remoting

CHANGE = 200053


def new_handle(old: str, answer: Answer, offset: int) -> str:
    """The handle that clients make of the answer to a change."""
    _, _, _, _, digit, broker, queue, _ = old.split(" ")
    times = (answer["popTime"], answer["invisibleTime"], answer["reviveQid"])
    return " ".join((str(offset), *times, digit, broker, queue, str(offset)))


def popped_handles(t: Remoting, topic: str, group: str, invisible_ms: int, **more: object) -> list[str]:
    """Pop, and return the handles."""
    return [handle for _, handle in t.popped(t.pop(topic, group, invisible_ms=invisible_ms, **more))]


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_longer_time_hides_longer(t: Remoting) -> None:
    """A message whose invisible time was prolonged comes back when the new time is over, not at the old one."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 1000)
    watch = t.stopwatch()
    t.see("changed", t.change(topic, group, handle, 0, 6000), 0)
    t.wait(5)
    t.see("copies after 5 s", max_offset(t, retry_topic(topic, group)))
    t.see("copy", copies(t, topic, group))
    t.see("after", watch.between(7.5, 14))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_shorter_time_hides_shorter(t: Remoting) -> None:
    """A message whose invisible time was cut short comes back after the new time, and only once."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 8000)
    watch = t.stopwatch()
    t.see("changed", t.change(topic, group, handle, 0, 1000), 0)
    t.see("came back", bodies(copies(t, topic, group)))
    t.see("after", watch.between(2.5, 7.9))
    t.wait(max(0.0, 13 - watch.seconds))
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def the_new_handle_acknowledges(t: Remoting) -> None:
    """After a change the handle made of its answer acknowledges the message, and the old one does not."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handles = popped_handles(t, topic, group, 1000)
    changed = [t.change(topic, group, handles[offset], offset, 2000) for offset in (0, 1)]
    new = new_handle(handles[0], changed[0], 0)
    t.see("new handle", new)
    t.see("by the new handle", t.ack(topic, group, new, 0), 0)
    t.see("by the old handle", t.ack(topic, group, handles[1], 1), 0)
    t.see("came back", bodies(copies(t, topic, group)))
    t.wait(2)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def changes_may_follow_each_other(t: Remoting) -> None:
    """Changed again and again, each time by the newest handle, a message stays hidden until the last time is over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 1500)
    for _ in range(3):
        t.wait(1)
        changed = t.see("changed", t.change(topic, group, handle, 0, 1500), 0)
        handle = new_handle(handle, changed, 0)
    t.see("acknowledged", t.ack(topic, group, handle, 0), 0)
    t.wait(5)
    t.see("copies", max_offset(t, retry_topic(topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def each_change_by_one_handle_counts(t: Remoting) -> None:
    """Two changes by the same handle are both taken, and the message comes back once for each."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 2000)
    t.see("first", t.change(topic, group, handle, 0, 1000), 0)
    t.wait(0.1)
    t.see("second", t.change(topic, group, handle, 0, 2000), 0)
    t.see("came back", copies(t, topic, group, 2))
    t.wait(2)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_brings_an_acknowledged_message_back(t: Remoting) -> None:
    """A change of a message that was acknowledged is taken, and the message comes back."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 2000)
    t.ack(topic, group, handle, 0)
    t.see("changed", t.change(topic, group, handle, 0, 1000), 0)
    t.see("came back", copies(t, topic, group))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_comes_in_time_after_the_end(t: Remoting) -> None:
    """A change half a second after the invisible time keeps the message from coming back at the old time."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 2000)
    watch = t.stopwatch()
    t.wait(2.5)
    t.see("changed", t.change(topic, group, handle, 0, 4000), 0)
    t.see("came back", bodies(copies(t, topic, group)))
    t.see("after", watch.between(8, 15))
    t.wait(1)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_after_the_revival_brings_another_copy(t: Remoting) -> None:
    """A change by the handle of a message that has come back is taken, and the message comes back a second time."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 0)
    copies(t, topic, group)
    t.see("changed", t.change(topic, group, handle, 0, 1000), 0)
    t.see("copies", copies(t, topic, group, 2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def no_time_or_less_brings_it_back_at_once(t: Remoting) -> None:
    """A change to 0 or to a negative time is taken, and the message comes back as soon as revival allows."""
    for invisible in (0, -5):
        topic, group = t.topic(queues=1), t.group()
        filled(t, topic)
        [handle] = popped_handles(t, topic, group, 60_000)
        watch = t.stopwatch()
        t.see(f"{invisible} ms", t.change(topic, group, handle, 0, invisible), 0)
        t.see("came back", bodies(copies(t, topic, group)))
        t.see("after", watch.between(1.5, 10))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPoint")
def an_absurd_time_is_refused(t: Remoting) -> None:
    """A change to more than the longest time of a timer is an error, and the message comes back as if it never was."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 2000)
    for days in (4, 365, 10**8):
        t.see(f"{days} days", t.change(topic, group, handle, 0, days * 86_400_000))
    t.see("came back", bodies(copies(t, topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_copy_is_changed_in_its_retry_topic(t: Remoting) -> None:
    """A redelivered message that is changed comes back through the same retry topic, with one more reconsumption."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    popped_handles(t, topic, group, 0)
    copies(t, topic, group)
    [handle] = popped_handles(t, topic, group, 60_000)
    changed = t.see("changed", t.change(retry_topic(topic, group), group, handle, 0, 500), 0)
    t.see("new handle", new_handle(handle, changed, 0))
    t.see("copies", copies(t, topic, group, 2))


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def an_offset_outside_the_queue_is_refused(t: Remoting) -> None:
    """A change of an offset at or behind the end, or before the beginning, is refused with zeros in its header."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    handle = popped_handles(t, topic, group, 60_000)[0]
    for offset in (2, 50, -1, 2**63 - 1):
        t.see(f"offset {offset}", t.change(topic, group, handle, offset, 1000), 208)


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_place_that_is_not_there_is_refused(t: Remoting) -> None:
    """A change for an unknown topic or queue is refused; one for an unknown group is taken."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 60_000)
    t.see("unknown topic", t.change(t.new(), group, handle, 0, 1000), 17)
    t.see("queue 9", t.change(topic, group, handle, 0, 1000, queue=9), 13)
    t.see("queue -1", t.change(topic, group, handle, 0, 1000, queue=-1), 13)
    t.see("unknown group", t.change(topic, t.new("group"), handle, 0, 1000), 0)


@remoting_case("ExtraInfoUtil.getReviveQid")
def a_malformed_handle_is_refused(t: Remoting) -> None:
    """A handle with too few fields, or with a word where a number stands, is an error."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 60_000)
    fields = handle.split(" ")
    for text in ("garbage", "1 2 3", "", None):
        t.see(repr(text), t.change(topic, group, text, 0, 1000), 1)
    for count in (3, 4, 5, 6, 7):
        t.see(f"{count} fields", t.change(topic, group, " ".join(fields[:count]), 0, 1000))
    for place in range(8):
        forged = " ".join([*fields[:place], "x", *fields[place + 1 :]])
        t.see(f"x as field {place}", t.change(topic, group, forged, 0, 1000))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_forged_handle_hides_nothing(t: Remoting) -> None:
    """A change by a handle of another pop time or start is taken, and the message comes back for pop and change."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 1000)
    fields = handle.split(" ")
    forged = " ".join([fields[0], "1700000000000", *fields[2:]])
    t.wait(0.1)
    t.see("another pop time", t.change(topic, group, forged, 0, 2000), 0)
    forged = " ".join(["1", *fields[1:]])
    t.wait(0.1)
    t.see("another start", t.change(topic, group, forged, 0, 2000), 0)
    t.wait(0.1)
    forged = " ".join([fields[0], str(t.now_ms() + 3_600_000), *fields[2:]])
    changed = t.see("a pop time to come", t.change(topic, group, forged, 0, 2000), 0)
    t.see("popped now", abs(int(changed["popTime"]) - t.now_ms()) < 60_000)
    t.see("came back", bodies(copies(t, topic, group, 4)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_for_another_group_gives_it_a_copy(t: Remoting) -> None:
    """A change by another group's name brings the message back to that group, besides the one that has popped it."""
    topic, group, guest = t.topic(queues=1), t.group(), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 1000)
    t.see("changed", t.change(topic, guest, handle, 0, 500), 0)
    t.see("copies of the guest", bodies(copies(t, topic, guest)))
    t.see("copies of the group", bodies(copies(t, topic, group)))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPoint")
def a_revive_queue_that_is_not_there_loses_the_change(t: Remoting) -> None:
    """A change by a handle with a revive queue that nobody reads is taken and has no effect."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 1000)
    fields = handle.split(" ")
    for queue in ("77", "-1"):
        forged = " ".join([*fields[:3], queue, *fields[4:]])
        answer = t.change(topic, group, forged, 0, 2000)
        t.see(f"revive queue {queue}", [answer.code, answer.remark, answer.fields.get("reviveQid")])
    t.see("came back", bodies(copies(t, topic, group)))
    t.wait(3)
    t.see("copies in all", max_offset(t, retry_topic(topic, group)))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_change_needs_its_fields(t: Remoting) -> None:
    """A change without one of its fields is refused unless it is the group."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    [handle] = popped_handles(t, topic, group, 60_000)
    ext = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": 0,
        "extraInfo": handle,
        "offset": 0,
        "invisibleTime": 60_000,
    }
    for name in ext:
        t.see(f"no {name}", t.ask(CHANGE, {key: value for key, value in ext.items() if key != name}))
    t.see("invisibleTime x", t.ask(CHANGE, {**ext, "invisibleTime": "x"}))
