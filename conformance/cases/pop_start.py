"""Where the first pop of a group begins."""

from ..case import remoting_case
from ..worlds.pops import committed, filled, texts
from ..worlds.remoting import Remoting

MIN, MAX = 0, 1


@remoting_case("PopMessageProcessor.getInitOffset")
def a_young_topic_is_popped_from_its_beginning(t: Remoting) -> None:
    """While a queue's first message is in memory, a new group starts with it whatever its init mode is."""
    topic = t.topic(queues=1)
    filled(t, topic, 3)
    for mode in (MIN, MAX, 7, -1):
        t.see(f"init mode {mode}", texts(t.pop(topic, t.group(), init_mode=mode)))


@remoting_case("PopMessageProcessor.getInitOffset", settings={"initPopOffsetByCheckMsgInMem": "false"})
def init_mode_max_starts_with_the_last_message(t: Remoting) -> None:
    """Without initPopOffsetByCheckMsgInMem init mode MAX starts with the newest message, and MIN with the oldest."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.see("MAX", t.pop(topic, group, init_mode=MAX), 0)
    t.see("committed", committed(t, topic, group, 3), 0)
    t.see("MIN", texts(t.pop(topic, t.group(), init_mode=MIN)))
    t.see("mode 7", texts(t.pop(topic, t.group(), init_mode=7)))


@remoting_case("PopMessageProcessor.getInitOffset")
def an_empty_queue_is_begun_at_0(t: Remoting) -> None:
    """The first pop of an empty queue stores offset 0, with either init mode, so that nothing sent later is missed."""
    topic = t.topic(queues=1)
    groups = {"MIN": (t.group(), MIN), "MAX": (t.group(), MAX)}
    for name, (group, mode) in groups.items():
        t.see(f"{name}, empty", t.pop(topic, group, init_mode=mode), 210)
        t.see(f"{name}, committed", committed(t, topic, group, 0), 0)
    filled(t, topic, 3)
    for name, (group, mode) in groups.items():
        t.see(f"{name}, then", texts(t.pop(topic, group, init_mode=mode)))


@remoting_case("PopMessageProcessor.getPopOffset")
def an_init_mode_counts_only_once(t: Remoting) -> None:
    """A group that has an offset goes on from there, whatever init mode its pops name."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    t.commit(topic, group, 2)
    t.see("popped", texts(t.pop(topic, group, init_mode=MIN, max_messages=1)))
    t.see("popped", texts(t.pop(topic, group, init_mode=MAX, max_messages=1)))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def an_offset_beyond_the_end_goes_back(t: Remoting) -> None:
    """A group whose offset lies beyond the end of the queue is set to the end, and gets what is sent then."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.commit(topic, group, 50)
    t.see("beyond the end", t.pop(topic, group))
    t.see("committed", t.committed(topic, group))
    filled(t, topic)
    t.see("then", t.pop(topic, group))


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_negative_offset_counts_as_none(t: Remoting) -> None:
    """A group whose offset was set to -1 begins as a new one does."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.commit(topic, group, -1)
    t.see("popped", texts(t.pop(topic, group)))


@remoting_case("PopMessageProcessor.getInitOffset")
def other_queues_begin_when_they_are_read(t: Remoting) -> None:
    """A pop that is full after one queue has still stored where the group begins in the others."""
    topic, group = t.topic(queues=2), t.group()
    filled(t, topic, 2, queue=0)
    filled(t, topic, 2, queue=1)
    answer = t.pop(topic, group, max_messages=2)
    first = answer.messages[0].queue_id
    t.see("rest", answer["restNum"])
    t.see("the queue that was read", committed(t, topic, group, 2, first), 0)
    t.see("the other one", t.committed(topic, group, 1 - first, setZeroIfNotFound=False))


@remoting_case("QueryAssignmentProcessor, PopMessageProcessor.popMsgFromQueue")
def pulls_and_pops_share_the_offset(t: Remoting) -> None:
    """What a pull has committed is not popped again by the same group."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.pull(topic, group, commit=2)
    committed(t, topic, group, 2)
    t.see("popped", texts(t.pop(topic, group)))
