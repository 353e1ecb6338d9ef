"""Initial offset of a group's first pop."""

from ...case import remoting_case
from ...settings import ODD, with_keys
from ...worlds.pops import PopGroup, popping
from ...worlds.remoting import Remoting

MIN, MAX = 0, 1


@remoting_case("PopMessageProcessor.getInitOffset")
def a_young_topic_is_popped_from_its_beginning(t: Remoting) -> None:
    """While a queue's first message is in memory, a new group starts with it for every init mode."""
    topic = t.topic(queues=1)
    t.sent(topic, 3)
    for mode in (MIN, MAX, 7, -1):
        t.see(f"init mode {mode}", t.pop(topic, t.group(), init_mode=mode).bodies)


@remoting_case("PopMessageProcessor.getInitOffset", settings=with_keys(ODD, "initPopOffsetByCheckMsgInMem"))
def init_mode_max_starts_with_the_last_message(t: Remoting) -> None:
    """Without initPopOffsetByCheckMsgInMem init mode MAX starts with the newest message, and MIN with the oldest."""
    group = popping(t, 3)
    t.see("MAX", group.pop(init_mode=MAX), 0)
    t.see("committed", group.reaches(3), 0)
    t.see("MIN", group.among(t.group()).pop(init_mode=MIN).bodies)
    t.see("mode 7", group.among(t.group()).pop(init_mode=7).bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def an_empty_queue_is_begun_at_0(t: Remoting) -> None:
    """The first pop of an empty queue stores offset 0 with either init mode, so that no later message is missed."""
    topic = t.topic(queues=1)
    groups = {"MIN": (PopGroup(t, topic, t.group()), MIN), "MAX": (PopGroup(t, topic, t.group()), MAX)}
    for name, (group, mode) in groups.items():
        t.see(f"{name}, empty", group.pop(init_mode=mode), 210)
        t.see(f"{name}, committed", group.reaches(0), 0)
    t.sent(topic, 3)
    for name, (group, mode) in groups.items():
        t.see(f"{name}, then", group.pop(init_mode=mode).bodies)


@remoting_case("PopMessageProcessor.getPopOffset")
def an_init_mode_counts_only_once(t: Remoting) -> None:
    """A group with a committed offset continues from it and ignores the init mode of its pops."""
    group = popping(t, 4)
    group.commit(2)
    t.see("popped", group.pop(init_mode=MIN, max_messages=1).bodies)
    t.see("popped", group.pop(init_mode=MAX, max_messages=1).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def an_offset_beyond_the_end_goes_back(t: Remoting) -> None:
    """A group whose offset is beyond the end of the queue is set to the end, and pops messages sent later."""
    group = popping(t, 2)
    group.commit(50)
    t.see("beyond the end", group.pop())
    t.see("committed", group.committed())
    group.fill()
    t.see("then", group.pop())


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_negative_offset_counts_as_none(t: Remoting) -> None:
    """A group whose offset was set to -1 starts like a new group."""
    group = popping(t, 2)
    group.commit(-1)
    t.see("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def other_queues_begin_when_they_are_read(t: Remoting) -> None:
    """A pop that is full after one queue still stores the group's initial offset in the other queues."""
    group = popping(t, 2, queues=2)
    answer = group.pop(max_messages=2)
    first = answer.messages[0].queue_id
    t.see("rest", answer["restNum"])
    t.see("the queue that was read", group.reaches(2, first), 0)
    t.see("the other one", group.committed(1 - first, setZeroIfNotFound=False))


@remoting_case("PopMessageProcessor.getPopOffset")
def pulls_and_pops_share_the_offset(t: Remoting) -> None:
    """Messages whose offset a pull committed are not popped again by the same group."""
    group = popping(t, 3)
    t.pull(group.topic, group.name, commit=2)
    group.reaches(2)
    t.see("popped", group.pop().bodies)
