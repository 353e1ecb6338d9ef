"""What administrators see of a group that pops."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import PopGroup, bodies, popping
from ...worlds.remoting import Remoting


def progress(group: PopGroup, *, everywhere: bool = False) -> list[Any]:
    """Queue, and the offsets of the broker, of the group and of what was pulled, for each queue of its topic or all."""
    ext = {"consumerGroup": group.name, **({} if everywhere else {"topic": group.topic})}
    rows = []
    for queue, offsets in group.t.ask(RequestCode.GET_CONSUME_STATS, ext).json["offsetTable"].items():
        place = queue if isinstance(queue, str) else str(queue)
        rows.append([place, offsets["brokerOffset"], offsets["consumerOffset"], offsets["pullOffset"]])
    return sorted(rows)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def messages_in_flight_count_as_consumed(t: Remoting) -> None:
    """The progress of a group shows what it has popped as consumed, acknowledged or not."""
    group = popping(t, 5)
    t.see("before", progress(group))
    group.take(3)
    t.see("with three in flight", progress(group))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def the_retry_topic_has_its_own_row(t: Remoting) -> None:
    """The progress of a group lists its pop retry topics among its topics."""
    group = popping(t, 2)
    group.bring_back(2)
    t.see("two are back", progress(group, everywhere=True))
    group.pop(max_messages=1)
    group.retry.reaches(1)
    t.see("one is popped", progress(group, everywhere=True))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def ordered_pops_show_what_is_acknowledged(t: Remoting) -> None:
    """The progress of a group that pops in order moves with its acknowledgements."""
    group = popping(t, 3)
    batch = group.pop(max_messages=2, order=True)
    t.see("while they are out", progress(group))
    group.ack_all(batch)
    group.reaches(2)
    t.see("acknowledged", progress(group))


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_hands_out_again(t: Remoting) -> None:
    """After a reset of its offset a group pops from there, messages in flight among them."""
    group = popping(t, 5)
    group.take(4)
    t.see("reset", group.reset(1), 0)
    t.see("offset", group.committed(), 0)
    t.see("popped", group.pop().bodies)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def a_reset_to_the_end_skips(t: Remoting) -> None:
    """After a reset to the end a group pops nothing of what was there, only what comes then."""
    group = popping(t, 3)
    group.pop(max_messages=1)
    t.see("reset", group.reset(3), 0)
    t.see("popped", group.pop(), 210)
    group.fill()
    t.see("then", group.pop(), 0)


@remoting_case("PopReviveService.mergeAndRevive")
def a_reset_does_not_recall_what_is_out(t: Remoting) -> None:
    """What was in flight at a reset comes back at the end of its time, besides being popped again."""
    group = popping(t, 2)
    group.pop(invisible_ms=2000)
    group.reaches(2)
    group.reset(0)
    t.see("popped again", group.pop(invisible_ms=60_000).bodies)
    t.see("came back", bodies(group.copies(2)))


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_client_may_skip(t: Remoting) -> None:
    """A commit of an offset beyond what was popped lets pops go on from there."""
    group = popping(t, 4)
    group.take(1)
    t.see("committed", group.commit(3), 0)
    t.see("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_of_several_queues_moves_each(t: Remoting) -> None:
    """A pop of all queues moves the group's offset in every queue that it has read."""
    group = popping(t, queues=3)
    for queue in range(3):
        group.fill(queue + 1, queue=queue)
    group.pop()
    for queue in range(3):
        group.reaches(queue + 1, queue)
    t.see("progress", progress(group))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_begins_anew(t: Remoting) -> None:
    """A group that was deleted with its offsets pops everything again; its copies stay where they are."""
    group = popping(t, 2)
    group.bring_back(2)
    t.see("deleted", t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group.name, "cleanOffset": True}), 0)
    t.see("copies", group.copied())
    t.see("offset", group.committed(setZeroIfNotFound=False))
    t.see("popped", sorted(group.pop().bodies))
