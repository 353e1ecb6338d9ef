"""Redelivery: what was popped and not acknowledged comes back through the retry topic of its group."""

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import bodies, committed, copies, filled, max_offset, retry_topic, texts
from ..worlds.remoting import Remoting, compressed

TOPIC_CONFIG = 351


def pop_when_there(t: Remoting, topic: str, group: str) -> Answer:
    """A pop without invisible time, tried until it finds something."""
    found = t.until(lambda: answer if (answer := t.pop(topic, group, invisible_ms=0)).messages else None)
    t.require(found, f"{topic} stayed empty")
    assert found is not None
    return found


@remoting_case("PopReviveService.mergeAndRevive")
def a_message_comes_back_after_its_time(t: Remoting) -> None:
    """A message that is not acknowledged lies in the retry topic 2 s or a little more after its invisible time."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    watch = t.stopwatch()
    t.pop(topic, group, invisible_ms=2000)
    t.wait(3.5)
    t.see("copies 1.5 s after the end", max_offset(t, retry_topic(topic, group)))
    t.see("copy", copies(t, topic, group))
    t.see("after", watch.between(3.9, 10))
    t.see("popped", t.pop(topic, group), 0)


@remoting_case("PopReviveService.reviveRetry")
def a_copy_keeps_what_was_sent(t: Remoting) -> None:
    """The copy has body, flag, tags, keys, properties and birth of the message, counts, and says when it was popped."""
    topic, group = t.topic(queues=1), t.group()
    properties = {"colour": "blue", "WAIT": "true"}
    t.send(topic, "body", tag="A", keys="k1 k2", properties=properties, flag=7)
    answer = pop_when_there(t, topic, group)
    original = answer.messages[0]
    [copy] = copies(t, topic, group)
    t.see("copy", copy)
    t.see("born at the same time", copy.born_timestamp == original.born_timestamp)
    t.see("born on the broker", copy.born_host == copy.store_host)
    t.see("first pop time is the pop time", copy.properties["1ST_POP_TIME"] == answer["popTime"])


@remoting_case("PopReviveService.reviveRetry")
def a_compressed_message_comes_back_compressed(t: Remoting) -> None:
    """The copy of a compressed message has its system flag and the same body."""
    topic, group = t.topic(queues=1), t.group()
    t.send(topic, compressed(b"hello " * 20), sysFlag=1)
    t.until(lambda: max_offset(t, topic) == 1)
    t.pop(topic, group, invisible_ms=0)
    t.see("copy", copies(t, topic, group))
    t.see("popped", t.pop(topic, group), 0)


@remoting_case("PopReviveService.initRetryTopic")
def the_retry_topic_is_made_at_the_first_copy(t: Remoting) -> None:
    """The retry topic comes into being with the first copy: one queue, readable and writable, the group's offset 0."""
    topic, group = t.topic(queues=1), t.group()
    name = retry_topic(topic, group)
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    t.see("while it is out", t.ask(TOPIC_CONFIG, {"topic": name}), 17)
    copies(t, topic, group)
    t.see("afterwards", t.ask(TOPIC_CONFIG, {"topic": name}).json)
    t.see("the group's offset", t.committed(name, group, setZeroIfNotFound=False), 0)


@remoting_case("PopReviveService.reviveMsgFromCk")
def a_batch_comes_back_in_order(t: Remoting) -> None:
    """The messages of one pop come back in the order of their offsets."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 5)
    t.pop(topic, group, invisible_ms=0)
    t.see("copies", bodies(copies(t, topic, group, 5)))


@remoting_case("PopReviveService.reviveRetry")
def all_queues_come_back_through_one(t: Remoting) -> None:
    """Messages of every queue come back through queue 0 of the retry topic, in the order of the check points."""
    topic, group = t.topic(queues=4), t.group()
    for queue in range(4):
        filled(t, topic, queue=queue, tag=f"Q{queue}")
    order = [message.tag for message in t.pop(topic, group, invisible_ms=0).messages]
    found = copies(t, topic, group, 4)
    t.see("queues", [message.queue_id for message in found])
    t.see("in the order of the pop", [message.tag for message in found] == order)


@remoting_case("PopReviveService.reviveRetry")
def every_redelivery_counts(t: Remoting) -> None:
    """Popped again and again, a message goes round the retry topic, with one more reconsumption each time."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    first = t.pop(topic, group, invisible_ms=0)["popTime"]
    for round_ in range(1, 4):
        found = copies(t, topic, group, round_)
        t.see("copies", [[each.queue_offset, each.reconsume_times] for each in found])
        t.see("first pop time stays", {each.properties["1ST_POP_TIME"] for each in found} == {first})
        if round_ < 3:
            answer = t.pop(topic, group, invisible_ms=0)
            t.see("start", answer["startOffsetInfo"])
            t.see("popped", answer.messages[0])


@remoting_case("PopReviveService.reviveRetry")
def the_pop_time_of_a_copy_is_that_of_the_change(t: Remoting) -> None:
    """A message that comes back after a change of its invisible time says the time of the change, not of the pop."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    answer = t.pop(topic, group, invisible_ms=2000)
    [(_, handle)] = t.popped(answer)
    t.wait(0.5)
    changed = t.change(topic, group, handle, 0, 0)
    [copy] = copies(t, topic, group)
    t.see("time of the pop", copy.properties["1ST_POP_TIME"] == answer["popTime"])
    t.see("time of the change", copy.properties["1ST_POP_TIME"] == changed["popTime"])


@remoting_case("PopReviveService.reviveRetry")
def groups_have_their_own_copies(t: Remoting) -> None:
    """A message comes back to the group that did not acknowledge it, and to no other."""
    topic, one, other = t.topic(queues=1), t.group(), t.group()
    filled(t, topic)
    t.pop(topic, one, invisible_ms=0)
    [(_, handle)] = t.popped(t.pop(topic, other, invisible_ms=0))
    t.ack(topic, other, handle, 0)
    t.see("copies of the one", bodies(copies(t, topic, one)))
    t.see("copies of the other", max_offset(t, retry_topic(topic, other)))
    t.see("popped by the one", texts(t.pop(topic, one)))
    t.see("popped by the other", texts(t.pop(topic, other)))


@remoting_case("PopReviveService.mergeAndRevive, SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_deleted_group_is_made_again(t: Remoting) -> None:
    """What a group had popped comes back although the group was deleted: where groups make themselves, so does it."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=2000)
    t.see("deleted", t.ask(207, {"groupName": group, "cleanOffset": False}), 0)
    t.see("came back", bodies(copies(t, topic, group)))
    t.see("popped", texts(t.pop(topic, group)))


@remoting_case("PopReviveService.mergeAndRevive")
def a_deleted_topic_gives_nothing_back(t: Remoting) -> None:
    """What was popped from a topic does not come back once the topic is deleted."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=2000)
    t.see("deleted", t.ask(215, {"topic": topic}), 0)
    t.wait(7)
    t.see("copies", max_offset(t, retry_topic(topic, group)))


@remoting_case("PopReviveService.reviveRetry, ScheduleMessageService")
def a_delayed_message_is_delayed_again(t: Remoting) -> None:
    """The copy of a message with a delay level waits for its level once more on its way to the retry topic."""
    topic, group = t.topic(queues=1), t.group()
    t.send(topic, "late", properties={"DELAY": "2"})
    answer = pop_when_there(t, topic, group)
    watch = t.stopwatch()
    t.see("popped", answer.messages)
    t.see("copy", copies(t, topic, group))
    t.see("after", watch.between(6.5, 14))


@remoting_case("PopReviveService.reviveRetry, TimerMessageStore")
def a_timer_message_is_not_delayed_again(t: Remoting) -> None:
    """The copy of a message with a delivery time of its own keeps its timer properties, and is not delayed."""
    topic, group = t.topic(queues=1), t.group()
    t.send(topic, "late", properties={"TIMER_DELAY_MS": "1000"})
    pop_when_there(t, topic, group)
    watch = t.stopwatch()
    t.see("copy", copies(t, topic, group))
    t.see("after", watch.between(1.5, 10))


@remoting_case("PopReviveService.reviveRetry")
def a_copy_waits_behind_others(t: Remoting) -> None:
    """Copies are read from the retry topic like from any queue: the group's offset there moves with each pop."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 3)
    t.see("two", texts(t.pop(topic, group, max_messages=2)))
    t.see("committed", committed(t, retry_topic(topic, group), group, 2), 0)
    t.see("one", texts(t.pop(topic, group, max_messages=2)))


@remoting_case("PopReviveService.reviveRetry")
def filters_see_copies_too(t: Remoting) -> None:
    """A pop with a tag gets only those copies that have it; others are passed over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, tag="A")
    filled(t, topic, tag="B")
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 2)
    t.see("popped", [message.tag for message in t.pop(topic, group, expression="B").messages])
    t.see("the rest", [message.tag for message in t.pop(topic, group).messages])
