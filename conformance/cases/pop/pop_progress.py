"""Consume progress of a popping group, as administrators see it."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping


def progress(group: PopGroup, *, everywhere: bool = False) -> list[Any]:
    """Return queue, broker offset, consumer offset and pull offset of each queue of the topic, or of all topics."""
    ext = {"consumerGroup": group.name, **({} if everywhere else {"topic": group.topic})}
    rows = []
    for queue, offsets in group.t.request(RequestCode.GET_CONSUME_STATS, ext).json["offsetTable"].items():
        place = queue if isinstance(queue, str) else str(queue)
        rows.append([place, offsets["brokerOffset"], offsets["consumerOffset"], offsets["pullOffset"]])
    return sorted(rows)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def messages_in_flight_count_as_consumed(t: RemotingContext) -> None:
    """The progress of a group counts popped messages as consumed, acknowledged or not."""
    group = popping(t, 5)
    t.note("before", progress(group))
    group.take(3)
    t.note("with three in flight", progress(group))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def progress_lists_pop_retry_topics_as_separate_topics(t: RemotingContext) -> None:
    """The progress of a group lists its pop retry topics as topics of its own."""
    group = popping(t, 2)
    group.fail_and_wait_for_retry(2)
    t.note("two are back", progress(group, everywhere=True))
    group.pop(max_messages=1)
    group.retry.wait_until_committed(1)
    t.note("one is popped", progress(group, everywhere=True))


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def progress_of_ordered_pops_advances_with_acks(t: RemotingContext) -> None:
    """The progress of a group with ordered pops advances with its acknowledgements."""
    group = popping(t, 3)
    batch = group.pop(max_messages=2, order=True)
    t.note("while they are out", progress(group))
    group.ack_all(batch)
    group.wait_until_committed(2)
    t.note("acknowledged", progress(group))


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def messages_in_flight_are_popped_again_after_an_offset_reset(t: RemotingContext) -> None:
    """After an offset reset a group pops from the new offset, including messages in flight."""
    group = popping(t, 5)
    group.take(4)
    t.note("reset", group.reset(1), 0)
    t.note("offset", group.committed(), 0)
    t.note("popped", group.pop().bodies)


@remoting_case("ConsumerOffsetManager.assignResetOffset")
def an_offset_reset_to_the_end_skips_existing_messages(t: RemotingContext) -> None:
    """After an offset reset to the end a group pops only messages stored later."""
    group = popping(t, 3)
    group.pop(max_messages=1)
    t.note("reset", group.reset(3), 0)
    t.note("popped", group.pop(), 210)
    group.fill()
    t.note("then", group.pop(), 0)


@remoting_case("PopReviveService.mergeAndRevive")
def messages_in_flight_at_an_offset_reset_are_still_redelivered(t: RemotingContext) -> None:
    """Messages in flight at an offset reset are popped again and also redelivered after their invisible duration."""
    group = popping(t, 2)
    group.pop(invisible_ms=2000)
    group.wait_until_committed(2)
    group.reset(0)
    t.note("popped again", group.pop(invisible_ms=60_000).bodies)
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("ConsumerOffsetManager.commitOffset")
def a_commit_ahead_of_the_pops_skips_messages(t: RemotingContext) -> None:
    """After a commit of an offset beyond the popped messages, pops continue from that offset."""
    group = popping(t, 4)
    group.take(1)
    t.note("committed", group.commit(3), 0)
    t.note("popped", group.pop().bodies)


@remoting_case("PopMessageProcessor.popMsgFromTopic")
def a_pop_of_all_queues_advances_the_offset_of_each_queue(t: RemotingContext) -> None:
    """A pop of all queues advances the group's offset in every queue that it reads."""
    group = popping(t, queues=3)
    for queue in range(3):
        group.fill(queue + 1, queue=queue)
    group.pop()
    for queue in range(3):
        group.wait_until_committed(queue + 1, queue)
    t.note("progress", progress(group))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_group_deleted_with_its_offsets_pops_all_messages_again(t: RemotingContext) -> None:
    """A group deleted together with its offsets pops everything again. Its retry topic keeps its messages."""
    group = popping(t, 2)
    group.fail_and_wait_for_retry(2)
    t.note(
        "deleted", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group.name, "cleanOffset": True}), 0
    )
    t.note("copies", group.count_copies())
    t.note("offset", group.committed(setZeroIfNotFound=False))
    t.note("popped", sorted(group.pop().bodies))
