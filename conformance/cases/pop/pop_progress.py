"""Consume progress of a popping group, as administrators see it."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import PopGroup, bodies, popping
from ...worlds.remoting import Remoting


def progress(group: PopGroup, *, everywhere: bool = False) -> list[Any]:
    """Return queue, broker offset, consumer offset and pull offset of each queue of the topic, or of all topics."""
    ext = {"consumerGroup": group.name, **({} if everywhere else {"topic": group.topic})}
    rows = []
    for queue, offsets in group.t.ask(RequestCode.GET_CONSUME_STATS, ext).json["offsetTable"].items():
        place = queue if isinstance(queue, str) else str(queue)
        rows.append([place, offsets["brokerOffset"], offsets["consumerOffset"], offsets["pullOffset"]])
    return sorted(rows)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def messages_in_flight_count_as_consumed(t: Remoting) -> None:
    """The progress of a group counts popped messages as consumed, acknowledged or not."""
    group = popping(t, 5)
    t.see("before", progress(group))
    group.take(3)
    t.see("with three in flight", progress(group))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def the_retry_topic_has_its_own_row(t: Remoting) -> None:
    """The progress of a group lists its pop retry topics as topics of its own."""
    group = popping(t, 2)
    group.bring_back(2)
    t.see("two are back", progress(group, everywhere=True))
    group.pop(max_messages=1)
    group.retry.reaches(1)
    t.see("one is popped", progress(group, everywhere=True))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def ordered_pops_show_what_is_acknowledged(t: Remoting) -> None:
    """The progress of a group with ordered pops advances with its acknowledgements."""
    group = popping(t, 3)
    batch = group.pop(max_messages=2, order=True)
    t.see("while they are out", progress(group))
    group.ack_all(batch)
    group.reaches(2)
    t.see("acknowledged", progress(group))


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_hands_out_again(t: Remoting) -> None:
    """After an offset reset a group pops from the new offset, including messages in flight."""
    group = popping(t, 5)
    group.take(4)
    t.see("reset", group.reset(1), 0)
    t.see("offset", group.committed(), 0)
    t.see("popped", group.pop().bodies)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_to_the_end_skips(t: Remoting) -> None:
    """After an offset reset to the end a group pops only messages stored later."""
    group = popping(t, 3)
    group.pop(max_messages=1)
    t.see("reset", group.reset(3), 0)
    t.see("popped", group.pop(), 210)
    group.fill()
    t.see("then", group.pop(), 0)


@remoting_case("PopReviveService.mergeAndRevive")
def a_reset_does_not_recall_what_is_out(t: Remoting) -> None:
    """Messages in flight at an offset reset are popped again and also redelivered after their invisible duration."""
    group = popping(t, 2)
    group.pop(invisible_ms=2000)
    group.reaches(2)
    group.reset(0)
    t.see("popped again", group.pop(invisible_ms=60_000).bodies)
    t.see("came back", bodies(group.copies(2)))


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_client_may_skip(t: Remoting) -> None:
    """After a commit of an offset beyond the popped messages, pops continue from that offset."""
    group = popping(t, 4)
    group.take(1)
    t.see("committed", group.commit(3), 0)
    t.see("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_of_several_queues_moves_each(t: Remoting) -> None:
    """A pop of all queues advances the group's offset in every queue that it reads."""
    group = popping(t, queues=3)
    for queue in range(3):
        group.fill(queue + 1, queue=queue)
    group.pop()
    for queue in range(3):
        group.reaches(queue + 1, queue)
    t.see("progress", progress(group))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_begins_anew(t: Remoting) -> None:
    """A group deleted together with its offsets pops everything again. Its retry topic keeps its messages."""
    group = popping(t, 2)
    group.bring_back(2)
    t.see("deleted", t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group.name, "cleanOffset": True}), 0)
    t.see("copies", group.copied())
    t.see("offset", group.committed(setZeroIfNotFound=False))
    t.see("popped", sorted(group.pop().bodies))
