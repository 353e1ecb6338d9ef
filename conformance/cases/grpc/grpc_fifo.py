"""ReceiveMessage of groups that consume in order, through the gRPC proxy."""

from typing import Any

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...clients.grpc_response import Received
from ...clients.receipt_handles import forged, handle_fields
from ...context.grpc import GrpcContext
from ...helpers.consumer import attempts, consuming_in_order


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def an_ordered_group_receives_messages_in_sending_order(t: GrpcContext) -> None:
    """An ordered group receives the messages of a message group in the order of sending, with all their fields."""
    consumer = consuming_in_order(t, 3)
    t.note("received", consumer.receive(), pb.OK)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def messages_in_flight_block_their_queue_for_an_ordered_group(t: GrpcContext) -> None:
    """While messages of a queue are in flight, a receive with another attempt id or without one gets none of it."""
    consumer = consuming_in_order(t, 3)
    t.note("first", consumer.receive(max_messages=1).bodies)
    pending = [
        consumer.start_receive(),
        consumer.start_receive(attempt_id="other"),
    ]
    t.wait(5.2)
    t.note("without attempt", pending[0](), pb.MESSAGE_NOT_FOUND)
    t.note("other attempt", pending[1](), pb.MESSAGE_NOT_FOUND)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def a_repeated_attempt_id_gets_the_same_messages(t: GrpcContext) -> None:
    """A receive that repeats the last attempt id gets the same messages at once, still as attempt 1."""
    consumer = consuming_in_order(t, 3)
    first = consumer.receive(attempt_id="one", max_messages=2)
    t.note("first", _shown(first))
    t.wait(0.1)
    again = consumer.receive(attempt_id="one", max_messages=2)
    t.note("again", _shown(again))
    before, after = (int(handle_fields(each.handles[0])["popped"]) for each in (first, again))
    t.note("popped later", before < after)


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def an_ordered_queue_unblocks_when_all_messages_are_acknowledged(t: GrpcContext) -> None:
    """When all messages in flight are acknowledged, the next ones are received."""
    consumer = consuming_in_order(t, 4)
    first = consumer.receive(max_messages=2)
    t.note("first", first.bodies)
    for number, handle in enumerate(first.handles):
        t.note(f"acknowledged {number}", consumer.ack(handle).status, pb.OK)
    t.note("next", _shown(consumer.receive(max_messages=2)))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def one_unacknowledged_message_keeps_an_ordered_queue_blocked(t: GrpcContext) -> None:
    """While one of the messages in flight is unacknowledged, the queue stays blocked."""
    consumer = consuming_in_order(t, 4)
    first = consumer.receive(max_messages=2)
    t.note("acknowledged the second", consumer.ack(first.handles[1]).status, pb.OK)
    t.note("then", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)


@grpc_case("PopLongPollingService.notifyMessageArriving")
def an_acknowledgement_wakes_up_a_receive_held_on_a_blocked_queue(t: GrpcContext) -> None:
    """A receive waiting behind messages in flight returns soon after they are acknowledged."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive(max_messages=1)
    pending = consumer.start_receive()
    t.wait(0.5)
    watch = t.stopwatch()
    t.note("acknowledged", consumer.ack(first.handles[0]).status, pb.OK)
    t.wait(1.5)
    t.note("received", pending().bodies)
    t.note("after", watch.between(0, 3))


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def unacknowledged_ordered_messages_are_redelivered_together(t: GrpcContext) -> None:
    """When the invisible duration of messages in flight ends, they are redelivered together with a higher attempt."""
    consumer = consuming_in_order(t, 3)
    watch = t.stopwatch()
    first = consumer.receive(invisible_s=10, max_messages=2)
    t.note("first", _shown(first))
    t.note("again", _shown(again := consumer.received_within(seconds=11, max_messages=2, await_s=18, deadline=22)))
    t.note("after", watch.stopped_at(again.delivered_ms).between(9.9, 11))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_redelivery_with_a_new_message_shows_attempt_1_for_all(t: GrpcContext) -> None:
    """When messages are redelivered together with a new one, all of them show attempt 1."""
    consumer = consuming_in_order(t, 3)
    consumer.receive(invisible_s=10, max_messages=2)
    t.wait(10.5)
    t.note("again", _shown(consumer.receive()))


@grpc_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def an_ordered_invisible_duration_change_keeps_the_pop_time(t: GrpcContext) -> None:
    """The new handle of an ordered change keeps the pop time, and its invisible duration is counted from there."""
    consumer = consuming_in_order(t, 1)
    handle = consumer.handle()
    t.wait(1)
    response = consumer.change(handle, 5)
    t.note("status", response.status, pb.OK)
    before, after = handle_fields(handle), handle_fields(response.receipt_handle)
    t.note("same pop time", after["popped"] == before["popped"])
    t.note("invisible from the pop", "6 to 8 s" if 6000 <= int(after["invisible"]) <= 8000 else after["invisible"])
    t.note("revive queue", after["revive"])


@grpc_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_shortened_invisible_duration_redelivers_ordered_messages_early(t: GrpcContext) -> None:
    """All messages in flight are redelivered when the duration of the unacknowledged one ends."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive()
    t.note("acknowledged", consumer.ack(first.handles[0]).status, pb.OK)
    t.note("changed", consumer.change(first.handles[1], 2).status, pb.OK)
    watch = t.stopwatch()
    t.note("again", _shown(consumer.received_within(seconds=3, await_s=6)))
    t.note("after", watch.between(1.5, 4.5))


@grpc_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_changed_message_is_redelivered_with_later_acknowledged_ones(t: GrpcContext) -> None:
    """A message with a shortened duration is redelivered with all later ones of its batch, acknowledged or not."""
    consumer = consuming_in_order(t, 2)
    received = consumer.receive()
    for _ in range(2):
        first, second = received.handles
        t.note("acknowledged", consumer.ack(second).status, pb.OK)
        t.note("changed", consumer.change(first, 2).status, pb.OK)
        watch = t.stopwatch()
        received = consumer.received_within(seconds=3, await_s=6)
        t.note("again", _shown(received))
        t.note("after", watch.stopped_at(received.delivered_ms).between(1.5, 3.5))


@grpc_case("AckMessageProcessor.processRequest")
def an_ack_with_a_handle_of_an_earlier_delivery_has_no_effect(t: GrpcContext) -> None:
    """A handle of an earlier delivery is accepted without effect; one of no delivery is rejected."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive(attempt_id="a", max_messages=1)
    again = consumer.receive(attempt_id="a", max_messages=1)
    t.note("again", again.bodies)
    t.note("stale", consumer.ack(first.handles[0]), pb.OK)
    not_out = forged(again.handles[0], offset=1, log=0)
    t.note("not out", consumer.ack(not_out).entries[0].status)
    t.note("true", consumer.ack(again.handles[0]).status, pb.OK)
    t.note("true, again", consumer.ack(again.handles[0]).status)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def messages_in_flight_of_one_queue_do_not_block_another(t: GrpcContext) -> None:
    """Messages in flight of one queue do not block another queue."""
    consumer = consuming_in_order(t, queues=2)
    by_queue: dict[int, list[str]] = {}
    for number in range(8):
        name = f"g{number}"
        offset = t.send(consumer.message(name, message_type=pb.FIFO, message_group=name)).entries[0].offset
        by_queue.setdefault(offset, []).append(name)
    received: list[bytes] = []
    for _ in range(2):
        received += consumer.receive().bodies
        if len(received) == 8:
            break
    t.note("received", sorted(received))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def an_unacknowledged_message_blocks_other_message_groups_of_its_queue(t: GrpcContext) -> None:
    """An unacknowledged message blocks other message groups of its queue.

    Their later messages are redelivered with it.
    """
    consumer = consuming_in_order(t)
    for name, group in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b"), ("c1", "c")):
        t.send(consumer.message(name, message_type=pb.FIFO, message_group=group))
    watch = t.stopwatch()
    first = consumer.receive(invisible_s=10, max_messages=4)
    t.note("first", _shown(first))
    for number in (0, 2, 3):
        t.note(f"acknowledged {number}", consumer.ack(first.handles[number]).status, pb.OK)
    t.note("again", _shown(consumer.received_within(seconds=11, max_messages=4, await_s=12, deadline=15)))
    t.note("after", watch.between(9, 13))


@grpc_case("SendMessageQueueSelector.select")
def a_message_group_has_one_queue(t: GrpcContext) -> None:
    """All messages of a message group are stored in one queue, chosen by the group's hash."""
    consumer = consuming_in_order(t, queues=4)
    for number in range(3):
        for name in ("a", "b", "group-1", "é"):
            t.send(consumer.message(f"{name}{number}", message_type=pb.FIFO, message_group=name))
    queues: dict[str, set[int]] = {}
    for _ in range(4):
        response = consumer.receive()
        for message in response.messages:
            system = message.system_properties
            queues.setdefault(system.message_group, set()).add(system.queue_id)
        if len(queues) == 4:
            break
    t.note("queues", queues)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_ordered_message_beyond_its_retries_goes_to_the_dlq(t: GrpcContext) -> None:
    """A message delivered more often than its group allows becomes a dead letter, and the next one is delivered."""
    consumer = consuming_in_order(t, 2, retryMaxTimes=1)
    for what in ("first", "second"):
        response = consumer.received_within(seconds=2, max_messages=1, await_s=6)
        t.note(what, _shown(response))
        consumer.change(response.handles[0], 1)
    t.note("third", consumer.received_within(max_messages=1))
    t.note("next", _shown(consumer.receive(max_messages=1)))
    t.note("dead letters", t.route(dlq_topic(consumer.group)).status.code)


def _shown(response: Received) -> Any:
    if response.failure is not None or response.status is None or response.status.code != pb.OK:
        return response.shown()
    return attempts(response)
