"""Redelivery of popped, unacknowledged messages through the group's retry topic.

A check point is the record of the messages that a pop took from one queue, and of the end of their invisible duration.
The broker stores check points and acknowledgements through the timer in the revive topic, a system topic. Its queues
are the revive queues: 8 by default, and each pop uses one of them. The timer delivers a check point 1 s before the end
of the invisible duration, and an acknowledgement at that end.

Each revive queue has a clock: the latest deliver time of the records read from it, or the present time if that deliver
time is more than 3 s ago. The broker revives a check point when the clock is more than 2 s past the end of the
invisible duration: it copies the unacknowledged messages to the retry topic. Check points of a revive queue are revived
in their order. If no other record follows, redelivery therefore begins 2 s after the invisible duration: 3 s after the
deliver time of the check point. A later record delays redelivery, because the clock then stays at the deliver time of
that record for 3 s. Source: PopReviveService.consumeReviveMessage and mergeAndRevive (5.3.3).
"""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.names import revive_topic
from rocketmq_testkit.emulator.message.stored_record import SYS_COMPRESSED
from rocketmq_testkit.emulator.pop.check_point import CK_TAG, CheckPoint
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import compressed
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping

ONE_REVIVE_QUEUE: Mapping[str, str] = {"reviveQueueNum": "1", "timerPrecisionMs": "100"}
"""Settings: one revive queue for all pops, and a timer that delivers records within 0.3 s of their deliver times."""
HOUR_MS = 3_600_000
LONGEST_INVISIBLE_MS = 2**63 - 1


def pop_until_found(group: PopGroup) -> DecodedResponse:
    """Pop with an invisible duration of 0, repeated until a message is found."""
    found = group.t.until(lambda: response if (response := group.pop(invisible_ms=0)).messages else None)
    group.t.require(found, f"no pop of {group.topic} returned a message within 30 s")
    assert found is not None
    return found


def write_check_point(
    group: PopGroup, offset: int, *, invisible_ms: int, deliver_after_ms: int, revive_queue: int = 0
) -> None:
    """Write the check point of the message at `offset` into a revive queue, as the broker does.

    `invisible_ms`: ms from now to the end of the invisible duration. `deliver_after_ms`: ms from now until the timer
    delivers the check point to the revive queue.
    """
    t = group.t
    now = t.now_ms()
    point = CheckPoint(group.topic, group.name, 0, offset, now, invisible_ms, t.broker_name, [0])
    deliver = {"TIMER_DELIVER_MS": str(now + deliver_after_ms)}
    response = t.send(revive_topic(t.cluster), point.to_json(), queue=revive_queue, tag=CK_TAG, properties=deliver)
    t.require(response.code == 0, f"a check point was not stored: {response}")


@remoting_case("PopReviveService.mergeAndRevive", alone=True)
def an_unacknowledged_message_is_redelivered_after_its_invisible_duration(t: RemotingContext) -> None:
    """An unacknowledged message is in the retry topic at least 2 s and at most 8 s after its invisible duration."""
    group = popping(t, 1)
    watch = t.stopwatch()
    group.pop(invisible_ms=2000)
    t.note("copy", group.wait_for_copies())
    t.note("after", watch.between(3.9, 10))
    t.note("popped", group.pop(), 0)


@remoting_case("PopReviveService.consumeReviveMessage", settings=ONE_REVIVE_QUEUE, alone=True)
def a_later_check_point_in_the_revive_queue_delays_redelivery(t: RemotingContext) -> None:
    """A later check point in the same revive queue delays redelivery, here to 4.2 s after the invisible duration.

    The second check point is delivered 1.2 s after the invisible duration of the first pop, and the clock of the
    revive queue then stays there for 3 s. An acknowledgement in this time still prevents redelivery.
    """
    group = popping(t, 3)
    watch = t.stopwatch()
    [_, acknowledged] = group.handles(max_messages=2, invisible_ms=4000)
    group.pop(invisible_ms=6200)
    t.wait(7)
    t.note("copies 3 s after the end", group.count_copies())
    group.ack(acknowledged, 1)
    t.note("copies", bodies(group.wait_for_copies(2)))
    t.note("after", watch.between(8.1, 10))


@remoting_case("PopReviveService.consumeReviveMessage", settings=ONE_REVIVE_QUEUE, alone=True)
def a_check_point_is_revived_when_its_queue_reads_a_time_2_s_past_its_end(t: RemotingContext) -> None:
    """A delayed check point is revived when its revive queue reads a deliver time more than 2 s past its end.

    The second check point is delivered 1.2 s after the end of the first, and delays it. The third is delivered 2.4 s
    after that end. The second and third are revived 3 s later, when the clock is the present time again.
    """
    group = popping(t, 3)
    watch = t.stopwatch()
    for invisible_ms in (4000, 6200, 7400):
        group.pop(max_messages=1, invisible_ms=invisible_ms)
    t.note("first", bodies(group.wait_for_copies(1)))
    t.note("first after", watch.between(6.3, 8.3))
    t.note("others", bodies(group.wait_for_copies(3)))
    t.note("others after", watch.between(9.3, 11))


@remoting_case("PopReviveService.consumeReviveMessage", settings=ONE_REVIVE_QUEUE, alone=True)
def an_ack_delays_redelivery_of_the_other_messages_of_the_pop(t: RemotingContext) -> None:
    """A message popped together with an acknowledged one is redelivered 3 s, not 2 s, after its invisible duration.

    The deliver time of the acknowledgement is 1 s after that of the check point.
    """
    group = popping(t, 2)
    watch = t.stopwatch()
    one, _ = group.handles(invisible_ms=4000)
    group.ack(one, 0)
    t.note("copies", bodies(group.wait_for_copies()))
    t.note("after", watch.between(6.9, 8.5))


@remoting_case("PopReviveService.mergeAndRevive", alone=True)
def an_unexpired_check_point_blocks_its_revive_queue(t: RemotingContext) -> None:
    """A check point with an invisible duration of an hour blocks later ones in its revive queue, not in others."""
    group = popping(t, 3)
    write_check_point(group, 0, invisible_ms=HOUR_MS, deliver_after_ms=500)
    write_check_point(group, 1, invisible_ms=4000, deliver_after_ms=3000)
    write_check_point(group, 2, invisible_ms=4000, deliver_after_ms=3000, revive_queue=1)
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(8)
    t.note("8 s later", bodies(group.wait_for_copies()))


@remoting_case("PopReviveService.mergeAndRevive", settings=ONE_REVIVE_QUEUE, alone=True)
def an_overflowing_check_point_is_never_revived_and_blocks_its_revive_queue(t: RemotingContext) -> None:
    """A check point whose end overflows 64 bits is never revived and blocks the check points after it.

    The clock of the revive queue must be set, here by the first check point. In an empty revive queue such a check
    point is revived: see `pop_refusals.an_overflowing_invisible_duration_ends_at_once`.
    """
    group = popping(t, 3)
    for offset, invisible_ms in enumerate((3000, LONGEST_INVISIBLE_MS, 3000)):
        write_check_point(group, offset, invisible_ms=invisible_ms, deliver_after_ms=500 + 200 * offset)
    t.note("came back in half a minute", bodies(group.wait_for_copies(3)))


@remoting_case("PopReviveService.reviveRetry")
def a_redelivered_message_keeps_body_flag_tags_keys_and_properties(t: RemotingContext) -> None:
    """The copy in the retry topic keeps body, flag, tags, keys, properties and born time.

    Its reconsume times are increased by one, and its property 1ST_POP_TIME is the time of the pop.
    """
    group = popping(t)
    properties = {"colour": "blue", "WAIT": "true"}
    group.send("body", tag="A", keys="k1 k2", properties=properties, flag=7)
    response = pop_until_found(group)
    original = response.messages[0]
    [copy] = group.wait_for_copies()
    t.note("copy", copy)
    t.note("born at the same time", copy.born_timestamp == original.born_timestamp)
    t.note("born on the broker", copy.born_host == copy.store_host)
    t.note("first pop time is the pop time", copy.properties["1ST_POP_TIME"] == response["popTime"])


@remoting_case("PopReviveService.reviveRetry")
def a_compressed_message_is_redelivered_compressed(t: RemotingContext) -> None:
    """The copy of a compressed message in the retry topic keeps the system flag and the compressed body."""
    group = popping(t)
    group.send(compressed(b"hello " * 20), sysFlag=SYS_COMPRESSED)
    t.until(lambda: t.max_offset(group.topic) == 1)
    group.pop(invisible_ms=0)
    t.note("copy", group.wait_for_copies())
    t.note("popped", group.pop(), 0)


@remoting_case("PopReviveService.addRetryTopicIfNotExist")
def the_retry_topic_is_created_at_the_first_redelivery(t: RemotingContext) -> None:
    """The retry topic is created with the first copy: one queue, readable and writable, and offset 0 of the group."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    t.note("while it is out", t.config_of(group.retry_topic), 17)
    group.wait_for_copies()
    t.note("afterwards", t.config_of(group.retry_topic).json)
    t.note("the group's offset", group.retry.committed(setZeroIfNotFound=False), 0)


@remoting_case("PopReviveService.reviveMsgFromCk")
def messages_of_one_pop_are_redelivered_in_offset_order(t: RemotingContext) -> None:
    """The messages of one pop are redelivered in the order of their offsets."""
    group = popping(t, 5)
    group.pop(invisible_ms=0)
    t.note("copies", bodies(group.wait_for_copies(5)))


@remoting_case("PopReviveService.reviveRetry")
def messages_of_all_queues_are_redelivered_through_retry_queue_0(t: RemotingContext) -> None:
    """Messages of every queue are redelivered through queue 0 of the retry topic, in check point order."""
    group = popping(t, queues=4)
    for queue in range(4):
        group.fill(queue=queue, tag=f"Q{queue}")
    order = [message.tag for message in group.pop(invisible_ms=0).messages]
    found = group.wait_for_copies(4)
    t.note("queues", [message.queue_id for message in found])
    t.note("in the order of the pop", [message.tag for message in found] == order)


@remoting_case("PopReviveService.reviveRetry")
def every_redelivery_increments_the_reconsume_times(t: RemotingContext) -> None:
    """A message popped repeatedly returns to the retry topic each time with its reconsume times increased by one."""
    group = popping(t, 1)
    first = group.pop(invisible_ms=0)["popTime"]
    for round_ in range(1, 4):
        found = group.wait_for_copies(round_)
        t.note("copies", [[each.queue_offset, each.reconsume_times] for each in found])
        t.note("first pop time stays", {each.properties["1ST_POP_TIME"] for each in found} == {first})
        if round_ < 3:
            response = group.pop(invisible_ms=0)
            t.note("start", response["startOffsetInfo"])
            t.note("popped", response.messages[0])


@remoting_case("PopReviveService.reviveRetry")
def the_first_pop_time_after_a_change_is_the_time_of_the_change(t: RemotingContext) -> None:
    """After a change of its invisible duration a redelivered message has the time of the change as 1ST_POP_TIME."""
    group = popping(t, 1)
    response = group.pop(invisible_ms=2000)
    [handle] = group.handles_of(response)
    t.wait(0.5)
    changed = group.change(handle, 0, 0)
    [copy] = group.wait_for_copies()
    t.note("time of the pop", copy.properties["1ST_POP_TIME"] == response["popTime"])
    t.note("time of the change", copy.properties["1ST_POP_TIME"] == changed["popTime"])


@remoting_case("PopReviveService.reviveRetry")
def a_message_is_redelivered_only_to_the_group_that_did_not_ack(t: RemotingContext) -> None:
    """A message is redelivered only to the group that did not acknowledge it."""
    one = popping(t)
    other = one.with_group(t.group())
    one.fill()
    one.pop(invisible_ms=0)
    other.ack(other.handle(invisible_ms=0), 0)
    t.note("copies of the one", bodies(one.wait_for_copies()))
    t.note("copies of the other", other.count_copies())
    t.note("popped by the one", one.pop().bodies)
    t.note("popped by the other", other.pop().bodies)


@remoting_case("PopReviveService.mergeAndRevive, SubscriptionGroupManager.findSubscriptionGroupConfig")
def messages_of_a_deleted_group_are_still_redelivered(t: RemotingContext) -> None:
    """A message is still redelivered if its group was deleted after the pop.

    With autoCreateSubscriptionGroup, the default, the broker creates the group again.
    """
    group = popping(t, 1)
    group.pop(invisible_ms=2000)
    t.note(
        "deleted", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group.name, "cleanOffset": False}), 0
    )
    t.note("came back", bodies(group.wait_for_copies()))
    t.note("popped", group.pop().bodies)


@remoting_case("PopReviveService.mergeAndRevive")
def messages_of_a_deleted_topic_are_not_redelivered(t: RemotingContext) -> None:
    """Messages popped from a topic that is then deleted are not redelivered."""
    group = popping(t, 1)
    group.pop(invisible_ms=2000)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": group.topic}), 0)
    t.wait(7)
    t.note("copies", group.count_copies())


@remoting_case("PopReviveService.reviveRetry, HookUtils.transformDelayLevelMessage")
def a_message_with_a_delay_level_is_delayed_again_at_redelivery(t: RemotingContext) -> None:
    """The copy of a message with a delay level is delayed by that level again before it reaches the retry topic."""
    group = popping(t)
    group.send("late", properties={"DELAY": "2"})
    response = pop_until_found(group)
    watch = t.stopwatch()
    t.note("popped", response.messages)
    t.note("copy", group.wait_for_copies())
    t.note("after", watch.between(6.5, 14))


@remoting_case("PopReviveService.reviveRetry, HookUtils.checkIfTimerMessage")
def a_timer_message_is_not_delayed_again_at_redelivery(t: RemotingContext) -> None:
    """The copy of a message with its own delivery time keeps its timer properties and is not delayed again."""
    group = popping(t)
    group.send("late", properties={"TIMER_DELAY_MS": "1000"})
    pop_until_found(group)
    watch = t.stopwatch()
    t.note("copy", group.wait_for_copies())
    t.note("after", watch.between(1.5, 10))


@remoting_case("PopReviveService.reviveRetry")
def pops_advance_the_offset_in_the_retry_topic(t: RemotingContext) -> None:
    """The retry topic is read like any queue: each pop advances the group's offset there."""
    group = popping(t, 3)
    group.fail_and_wait_for_retry(3)
    t.note("two", group.pop(max_messages=2).bodies)
    t.note("committed", group.retry.wait_until_committed(2), 0)
    t.note("one", group.pop(max_messages=2).bodies)


@remoting_case("PopReviveService.reviveRetry")
def a_tag_filters_redelivered_messages(t: RemotingContext) -> None:
    """A pop with a tag returns only redelivered messages with that tag and skips the others."""
    group = popping(t)
    group.fill(tag="A")
    group.fill(tag="B")
    group.fail_and_wait_for_retry(2)
    t.note("popped", [message.tag for message in group.pop(expression="B").messages])
    t.note("the rest", [message.tag for message in group.pop().messages])
