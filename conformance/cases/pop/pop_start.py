"""Initial offset of a group's first pop."""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, popping
from ...helpers.settings import FURTHER_CHANGED_KEYS, shared_settings

MIN, MAX = 0, 1


@remoting_case("PopMessageProcessor.getInitOffset")
def a_new_group_starts_at_the_first_message_in_any_init_mode(t: RemotingContext) -> None:
    """While a queue's first message is in memory, a new group starts with it for every init mode."""
    topic = t.topic(queues=1)
    t.sent(topic, 3)
    for mode in (MIN, MAX, 7, -1):
        t.note(f"init mode {mode}", t.pop(topic, t.group(), init_mode=mode).bodies)


@remoting_case(
    "PopMessageProcessor.getInitOffset", settings=shared_settings(FURTHER_CHANGED_KEYS, "initPopOffsetByCheckMsgInMem")
)
def init_mode_max_starts_with_the_last_message(t: RemotingContext) -> None:
    """Without initPopOffsetByCheckMsgInMem init mode MAX starts with the newest message, and MIN with the oldest."""
    group = popping(t, 3)
    t.note("MAX", group.pop(init_mode=MAX), 0)
    t.note("committed", group.wait_until_committed(3), 0)
    t.note("MIN", group.with_group(t.group()).pop(init_mode=MIN).bodies)
    t.note("mode 7", group.with_group(t.group()).pop(init_mode=7).bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def the_first_pop_of_an_empty_queue_commits_offset_0(t: RemotingContext) -> None:
    """The first pop of an empty queue stores offset 0 with either init mode, so that no later message is missed."""
    topic = t.topic(queues=1)
    groups = {"MIN": (PopGroup(t, topic, t.group()), MIN), "MAX": (PopGroup(t, topic, t.group()), MAX)}
    for name, (group, mode) in groups.items():
        t.note(f"{name}, empty", group.pop(init_mode=mode), 210)
        t.note(f"{name}, committed", group.wait_until_committed(0), 0)
    t.sent(topic, 3)
    for name, (group, mode) in groups.items():
        t.note(f"{name}, then", group.pop(init_mode=mode).bodies)


@remoting_case("PopMessageProcessor.getPopOffset")
def a_group_with_a_committed_offset_ignores_the_init_mode(t: RemotingContext) -> None:
    """A group with a committed offset continues from it and ignores the init mode of its pops."""
    group = popping(t, 4)
    group.commit(2)
    t.note("popped", group.pop(init_mode=MIN, max_messages=1).bodies)
    t.note("popped", group.pop(init_mode=MAX, max_messages=1).bodies)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def an_offset_beyond_the_end_is_corrected_to_the_end(t: RemotingContext) -> None:
    """A group whose offset is beyond the end of the queue is set to the end, and pops messages sent later."""
    group = popping(t, 2)
    group.commit(50)
    t.note("beyond the end", group.pop())
    t.note("committed", group.committed())
    group.fill()
    t.note("then", group.pop())


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_group_with_a_negative_offset_starts_like_a_new_group(t: RemotingContext) -> None:
    """A group whose offset was set to -1 starts like a new group."""
    group = popping(t, 2)
    group.commit(-1)
    t.note("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def a_pop_full_after_one_queue_commits_initial_offsets_of_other_queues(t: RemotingContext) -> None:
    """A pop that is full after one queue still stores the group's initial offset in the other queues."""
    group = popping(t, 2, queues=2)
    response = group.pop(max_messages=2)
    first = response.messages[0].queue_id
    t.note("rest", response["restNum"])
    t.note("the queue that was read", group.wait_until_committed(2, first), 0)
    t.note("the other one", group.committed(1 - first, setZeroIfNotFound=False))


@remoting_case("PopMessageProcessor.getPopOffset")
def pulls_and_pops_share_the_offset(t: RemotingContext) -> None:
    """Messages whose offset a pull committed are not popped again by the same group."""
    group = popping(t, 3)
    t.pull(group.topic, group.name, commit=2)
    group.wait_until_committed(2)
    t.note("popped", group.pop().bodies)
