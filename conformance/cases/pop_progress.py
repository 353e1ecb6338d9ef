"""What administrators see of a group that pops."""

from typing import Any

from ..case import remoting_case
from ..worlds.pops import committed, copies, filled, max_offset, retry_topic, texts
from ..worlds.remoting import Remoting

GET_CONSUME_STATS, RESET_OFFSET = 208, 222


def progress(t: Remoting, group: str, topic: str | None = None) -> list[Any]:
    """Topic, queue, and the offsets of the broker, of the group and of what was pulled, for each queue."""
    ext = {"consumerGroup": group, **({} if topic is None else {"topic": topic})}
    rows = []
    for queue, offsets in t.ask(GET_CONSUME_STATS, ext).json["offsetTable"].items():
        place = queue if isinstance(queue, str) else str(queue)
        rows.append([place, offsets["brokerOffset"], offsets["consumerOffset"], offsets["pullOffset"]])
    return sorted(rows)


def reset(t: Remoting, topic: str, group: str, offset: int) -> Any:
    """Set the group back."""
    ext = {"topic": topic, "group": group, "queueId": 0, "offset": offset, "timestamp": -1, "isForce": True}
    return t.ask(RESET_OFFSET, ext)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def messages_in_flight_count_as_consumed(t: Remoting) -> None:
    """The progress of a group shows what it has popped as consumed, acknowledged or not."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 5)
    t.see("before", progress(t, group, topic))
    t.pop(topic, group, max_messages=3)
    committed(t, topic, group, 3)
    t.see("with three in flight", progress(t, group, topic))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def the_retry_topic_has_its_own_row(t: Remoting) -> None:
    """The progress of a group lists its pop retry topics among its topics."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 2)
    t.see("two are back", progress(t, group))
    t.pop(topic, group, max_messages=1)
    committed(t, retry_topic(topic, group), group, 1)
    t.see("one is popped", progress(t, group))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def ordered_pops_show_what_is_acknowledged(t: Remoting) -> None:
    """The progress of a group that pops in order moves with its acknowledgements."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    batch = t.popped(t.pop(topic, group, max_messages=2, order=True))
    t.see("while they are out", progress(t, group, topic))
    for message, handle in batch:
        t.ack(topic, group, handle, message.queue_offset)
    committed(t, topic, group, 2)
    t.see("acknowledged", progress(t, group, topic))


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_hands_out_again(t: Remoting) -> None:
    """After a reset of its offset a group pops from there, messages in flight among them."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 5)
    t.pop(topic, group, max_messages=4)
    committed(t, topic, group, 4)
    t.see("reset", reset(t, topic, group, 1), 0)
    t.see("offset", t.committed(topic, group), 0)
    t.see("popped", texts(t.pop(topic, group)))


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_to_the_end_skips(t: Remoting) -> None:
    """After a reset to the end a group pops nothing of what was there, only what comes then."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.pop(topic, group, max_messages=1)
    t.see("reset", reset(t, topic, group, 3), 0)
    t.see("popped", t.pop(topic, group), 210)
    filled(t, topic)
    t.see("then", t.pop(topic, group), 0)


@remoting_case("PopReviveService.mergeAndRevive")
def a_reset_does_not_recall_what_is_out(t: Remoting) -> None:
    """What was in flight at a reset comes back at the end of its time, besides being popped again."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, invisible_ms=2000)
    committed(t, topic, group, 2)
    reset(t, topic, group, 0)
    [first, second] = t.popped(t.pop(topic, group, invisible_ms=60_000))
    t.see("popped again", [first[0].body, second[0].body])
    t.see("came back", [each.body for each in copies(t, topic, group, 2)])


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_client_may_skip(t: Remoting) -> None:
    """A commit of an offset beyond what was popped lets pops go on from there."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    t.pop(topic, group, max_messages=1)
    committed(t, topic, group, 1)
    t.see("committed", t.commit(topic, group, 3), 0)
    t.see("popped", texts(t.pop(topic, group)))


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_of_several_queues_moves_each(t: Remoting) -> None:
    """A pop of all queues moves the group's offset in every queue that it has read."""
    topic, group = t.topic(queues=3), t.group()
    for queue in range(3):
        filled(t, topic, queue + 1, queue=queue)
    t.pop(topic, group)
    for queue in range(3):
        committed(t, topic, group, queue + 1, queue)
    t.see("progress", progress(t, group, topic))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_begins_anew(t: Remoting) -> None:
    """A group that was deleted with its offsets pops everything again; its copies stay where they are."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, invisible_ms=0)
    copies(t, topic, group, 2)
    t.see("deleted", t.ask(207, {"groupName": group, "cleanOffset": True}), 0)
    t.see("copies", max_offset(t, retry_topic(topic, group)))
    t.see("offset", t.committed(topic, group, setZeroIfNotFound=False))
    t.see("popped", sorted(texts(t.pop(topic, group))))
