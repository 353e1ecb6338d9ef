"""ReceiveMessage of groups that consume in order, through the gRPC proxy."""

from typing import Any

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...clients.grpc_response import Received
from ...clients.receipt_handles import forged, handle_fields
from ...context.grpc import Grpc
from ...helpers.consumer import attempts, consuming_in_order


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def messages_come_in_order(t: Grpc) -> None:
    """An ordered group receives the messages of a message group in the order of sending, with all their fields."""
    consumer = consuming_in_order(t, 3)
    t.see("received", consumer.receive(), 20000)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def an_unfinished_batch_blocks_its_queue(t: Grpc) -> None:
    """While messages of a queue are in flight, a receive with another attempt id or without one gets none of it."""
    consumer = consuming_in_order(t, 3)
    t.see("first", consumer.receive(max_messages=1).bodies)
    pending = [
        consumer.start_receive(),
        consumer.start_receive(attempt_id="other"),
    ]
    t.wait(5.2)
    t.see("without attempt", pending[0](), 40401)
    t.see("other attempt", pending[1](), 40401)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def the_same_attempt_gets_the_same_messages(t: Grpc) -> None:
    """A receive that repeats the last attempt id gets the same messages at once, still as attempt 1."""
    consumer = consuming_in_order(t, 3)
    first = consumer.receive(attempt_id="one", max_messages=2)
    t.see("first", _shown(first))
    t.wait(0.1)
    again = consumer.receive(attempt_id="one", max_messages=2)
    t.see("again", _shown(again))
    before, after = (int(handle_fields(each.handles[0])["popped"]) for each in (first, again))
    t.see("popped later", before < after)


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def an_acknowledged_batch_frees_its_queue(t: Grpc) -> None:
    """When all messages in flight are acknowledged, the next ones are received."""
    consumer = consuming_in_order(t, 4)
    first = consumer.receive(max_messages=2)
    t.see("first", first.bodies)
    for number, handle in enumerate(first.handles):
        t.see(f"acknowledged {number}", consumer.ack(handle).status, 20000)
    t.see("next", _shown(consumer.receive(max_messages=2)))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def half_a_batch_does_not_free_its_queue(t: Grpc) -> None:
    """While one of the messages in flight is unacknowledged, the queue stays blocked."""
    consumer = consuming_in_order(t, 4)
    first = consumer.receive(max_messages=2)
    t.see("acknowledged the second", consumer.ack(first.handles[1]).status, 20000)
    t.see("then", consumer.receive_nothing(), 40401)


@grpc_case("PopLongPollingService.notifyMessageArriving")
def an_acknowledgement_wakes_a_poll(t: Grpc) -> None:
    """A receive held behind messages in flight returns soon after they are acknowledged."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive(max_messages=1)
    pending = consumer.start_receive()
    t.wait(0.5)
    watch = t.stopwatch()
    t.see("acknowledged", consumer.ack(first.handles[0]).status, 20000)
    t.wait(1.5)
    t.see("received", pending().bodies)
    t.see("after", watch.between(0, 3))


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def messages_come_again_in_order(t: Grpc) -> None:
    """When the invisible duration of messages in flight ends, they are redelivered together with a higher attempt."""
    consumer = consuming_in_order(t, 3)
    watch = t.stopwatch()
    first = consumer.receive(invisible_s=10, max_messages=2)
    t.see("first", _shown(first))
    t.see("again", _shown(again := consumer.received_within(11, max_messages=2, await_s=18, deadline=22)))
    t.see("after", watch.at(again.delivered_ms).between(9.9, 11))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_new_message_among_old_ones(t: Grpc) -> None:
    """When messages are redelivered together with a new one, all of them show attempt 1."""
    consumer = consuming_in_order(t, 3)
    consumer.receive(invisible_s=10, max_messages=2)
    t.wait(10.5)
    t.see("again", _shown(consumer.receive()))


@grpc_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_keeps_the_pop_time(t: Grpc) -> None:
    """The new handle of an ordered change keeps the pop time, and its invisible duration is counted from there."""
    consumer = consuming_in_order(t, 1)
    handle = consumer.handle()
    t.wait(1)
    answer = consumer.change(handle, 5)
    t.see("status", answer.status, 20000)
    before, after = handle_fields(handle), handle_fields(answer.receipt_handle)
    t.see("same pop time", after["popped"] == before["popped"])
    t.see("invisible from the pop", "6 to 8 s" if 6000 <= int(after["invisible"]) <= 8000 else after["invisible"])
    t.see("revive queue", after["revive"])


@grpc_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_change_brings_messages_early(t: Grpc) -> None:
    """All messages in flight are redelivered when the duration of the unacknowledged one ends."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive()
    t.see("acknowledged", consumer.ack(first.handles[0]).status, 20000)
    t.see("changed", consumer.change(first.handles[1], 2).status, 20000)
    watch = t.stopwatch()
    t.see("again", _shown(consumer.received_within(3, await_s=6)))
    t.see("after", watch.between(1.5, 4.5))


@grpc_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def what_follows_a_changed_message_comes_again_with_it(t: Grpc) -> None:
    """A message with a shortened duration is redelivered with all later ones of its batch, acknowledged or not."""
    consumer = consuming_in_order(t, 2)
    received = consumer.receive()
    for _ in range(2):
        first, second = received.handles
        t.see("acknowledged", consumer.ack(second).status, 20000)
        t.see("changed", consumer.change(first, 2).status, 20000)
        watch = t.stopwatch()
        received = consumer.received_within(3, await_s=6)
        t.see("again", _shown(received))
        t.see("after", watch.at(received.delivered_ms).between(1.5, 3.5))


@grpc_case("AckMessageProcessor.processRequest")
def stale_handles_are_taken(t: Grpc) -> None:
    """A handle of an earlier delivery is accepted without effect; one of no delivery is rejected."""
    consumer = consuming_in_order(t, 2)
    first = consumer.receive(attempt_id="a", max_messages=1)
    again = consumer.receive(attempt_id="a", max_messages=1)
    t.see("again", again.bodies)
    t.see("stale", consumer.ack(first.handles[0]), 20000)
    not_out = forged(again.handles[0], offset=1, log=0)
    t.see("not out", consumer.ack(not_out).entries[0].status)
    t.see("true", consumer.ack(again.handles[0]).status, 20000)
    t.see("true, again", consumer.ack(again.handles[0]).status)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def queues_are_blocked_one_by_one(t: Grpc) -> None:
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
    t.see("received", sorted(received))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def message_groups_of_a_queue_wait_for_each_other(t: Grpc) -> None:
    """An unacknowledged message blocks other message groups of its queue.

    Their later messages are redelivered with it.
    """
    consumer = consuming_in_order(t)
    for name, group in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b"), ("c1", "c")):
        t.send(consumer.message(name, message_type=pb.FIFO, message_group=group))
    watch = t.stopwatch()
    first = consumer.receive(invisible_s=10, max_messages=4)
    t.see("first", _shown(first))
    for number in (0, 2, 3):
        t.see(f"acknowledged {number}", consumer.ack(first.handles[number]).status, 20000)
    t.see("again", _shown(consumer.received_within(11, max_messages=4, await_s=12, deadline=15)))
    t.see("after", watch.between(9, 13))


@grpc_case("SendMessageQueueSelector.select")
def a_message_group_has_one_queue(t: Grpc) -> None:
    """All messages of a message group are stored in one queue, chosen by the group's hash."""
    consumer = consuming_in_order(t, queues=4)
    for number in range(3):
        for name in ("a", "b", "group-1", "é"):
            t.send(consumer.message(f"{name}{number}", message_type=pb.FIFO, message_group=name))
    queues: dict[str, set[int]] = {}
    for _ in range(4):
        answer = consumer.receive()
        for message in answer.messages:
            system = message.system_properties
            queues.setdefault(system.message_group, set()).add(system.queue_id)
        if len(queues) == 4:
            break
    t.see("queues", queues)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_message_in_order_is_given_up_at_last(t: Grpc) -> None:
    """A message delivered more often than its group allows becomes a dead letter, and the next one is delivered."""
    consumer = consuming_in_order(t, 2, retryMaxTimes=1)
    for what in ("first", "second"):
        answer = consumer.received_within(2, max_messages=1, await_s=6)
        t.see(what, _shown(answer))
        consumer.change(answer.handles[0], 1)
    t.see("third", consumer.received_within(5.2, max_messages=1))
    t.see("next", _shown(consumer.receive(max_messages=1)))
    t.see("dead letters", t.route(dlq_topic(consumer.group)).status.code)


def _shown(answer: Received) -> Any:
    if answer.failure is not None or answer.status is None or answer.status.code != pb.OK:
        return answer.shown()
    return attempts(answer)
