"""ReceiveMessage of a group that consumes in order, through the gRPC proxy."""

from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ..case import grpc_case
from ..worlds.grpc import Grpc
from ..worlds.grpc_answer import Received, forged, handle_fields


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def messages_come_in_order(t: Grpc) -> None:
    """A group in order receives messages of a message group in the order of sending, with what they carry."""
    topic, group, client = _ready(t, 3)
    t.see("received", t.receive(topic, group, client=client, await_s=5, deadline=10), 20000)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def an_unfinished_batch_blocks_its_queue(t: Grpc) -> None:
    """While messages of a queue are out, a receive by another attempt or none gets nothing of it."""
    topic, group, client = _ready(t, 3)
    t.see("first", t.receive(topic, group, client=client, max_messages=1, await_s=5, deadline=10).bodies)
    pending = [
        t.start_receive(topic, group, client=client, await_s=5, deadline=10),
        t.start_receive(topic, group, client=client, attempt_id="other", await_s=5, deadline=10),
    ]
    t.wait(5.2)
    t.see("without attempt", pending[0](), 40401)
    t.see("other attempt", pending[1](), 40401)


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def the_same_attempt_gets_the_same_messages(t: Grpc) -> None:
    """A receive that repeats the attempt id of the last one gets the same messages at once, as a first delivery."""
    topic, group, client = _ready(t, 3)
    first = t.receive(topic, group, client=client, attempt_id="one", max_messages=2, await_s=5, deadline=10)
    t.see("first", _shown(first))
    again = t.receive(topic, group, client=client, attempt_id="one", max_messages=2, await_s=5, deadline=10)
    t.see("again", _shown(again))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def an_acknowledged_batch_frees_its_queue(t: Grpc) -> None:
    """When all messages that are out are acknowledged, the next ones come."""
    topic, group, client = _ready(t, 4)
    first = t.receive(topic, group, client=client, max_messages=2, await_s=5, deadline=10)
    t.see("first", first.bodies)
    for number, handle in enumerate(first.handles):
        t.see(f"acknowledged {number}", t.ack(topic, group, ("id", handle), client=client).status, 20000)
    t.see("next", _shown(t.receive(topic, group, client=client, max_messages=2, await_s=5, deadline=10)))


@grpc_case("ConsumerOrderInfoManager.commitAndNext")
def half_a_batch_does_not_free_its_queue(t: Grpc) -> None:
    """While one of the messages that are out is not acknowledged the queue stays blocked."""
    topic, group, client = _ready(t, 4)
    first = t.receive(topic, group, client=client, max_messages=2, await_s=5, deadline=10)
    t.see("acknowledged the second", t.ack(topic, group, ("id", first.handles[1]), client=client).status, 20000)
    t.see("then", t.receive_nothing(topic, group, client=client), 40401)


@grpc_case("PopLongPollingService.notifyMessageArriving")
def an_acknowledgement_wakes_a_poll(t: Grpc) -> None:
    """A receive that waits behind messages that are out is answered soon after they are acknowledged."""
    topic, group, client = _ready(t, 2)
    first = t.receive(topic, group, client=client, max_messages=1, await_s=5, deadline=10)
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(0.5)
    watch = t.stopwatch()
    t.see("acknowledged", t.ack(topic, group, ("id", first.handles[0]), client=client).status, 20000)
    t.wait(1.5)
    t.see("received", pending().bodies)
    t.see("after", watch.between(0, 3))


@grpc_case("ConsumerOrderInfoManager.checkBlock")
def messages_come_again_in_order(t: Grpc) -> None:
    """When the invisible time of messages that are out is over they come again, together and counted."""
    topic, group, client = _ready(t, 3)
    watch = t.stopwatch()
    first = t.receive(topic, group, client=client, invisible_s=10, max_messages=2, await_s=5, deadline=10)
    t.see("first", _shown(first))
    pending = t.start_receive(topic, group, client=client, max_messages=2, await_s=12, deadline=15)
    t.wait(11)
    t.see("again", _shown(pending()))
    t.see("after", watch.between(9, 13))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_new_message_among_old_ones(t: Grpc) -> None:
    """Where messages come again together with a new one all are said to come for the first time."""
    topic, group, client = _ready(t, 3)
    t.receive(topic, group, client=client, invisible_s=10, max_messages=2, await_s=5, deadline=10)
    t.wait(10.5)
    t.see("again", _shown(t.receive(topic, group, client=client, await_s=5, deadline=10)))


@grpc_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_change_keeps_the_pop_time(t: Grpc) -> None:
    """The handle of a change in order keeps its pop time; its invisible time counts from there."""
    topic, group, client = _ready(t, 1)
    handle = t.take(topic, group, client=client).system_properties.receipt_handle
    t.wait(1)
    answer = t.change(topic, group, handle, 5, client=client)
    t.see("status", answer.status, 20000)
    before, after = handle_fields(handle), handle_fields(answer.receipt_handle)
    t.see("same pop time", after["popped"] == before["popped"])
    t.see("invisible from the pop", "6 to 8 s" if 6000 <= int(after["invisible"]) <= 8000 else after["invisible"])
    t.see("revive queue", after["revive"])


@grpc_case("ConsumerOrderInfoManager.updateNextVisibleTime")
def a_change_brings_messages_early(t: Grpc) -> None:
    """Messages that are out come again when the time of the one that is not acknowledged is over, all of them."""
    topic, group, client = _ready(t, 2)
    first = t.receive(topic, group, client=client, await_s=5, deadline=10)
    t.see("acknowledged", t.ack(topic, group, ("id", first.handles[0]), client=client).status, 20000)
    t.see("changed", t.change(topic, group, first.handles[1], 2, client=client).status, 20000)
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, await_s=6, deadline=10)
    t.wait(3)
    t.see("again", _shown(pending()))
    t.see("after", watch.between(1.5, 4.5))


@grpc_case("AckMessageProcessor.processRequest")
def stale_handles_are_taken(t: Grpc) -> None:
    """A handle of an earlier delivery is acknowledged without effect, one of no delivery is refused."""
    topic, group, client = _ready(t, 2)
    first = t.receive(topic, group, client=client, attempt_id="a", max_messages=1, await_s=5, deadline=10)
    again = t.receive(topic, group, client=client, attempt_id="a", max_messages=1, await_s=5, deadline=10)
    t.see("again", again.bodies)
    t.see("stale", t.ack(topic, group, ("id", first.handles[0]), client=client), 20000)
    not_out = forged(again.handles[0], offset=1, log=0)
    t.see("not out", t.ack(topic, group, ("id", not_out), client=client).entries[0].status)
    t.see("true", t.ack(topic, group, ("id", again.handles[0]), client=client).status, 20000)
    t.see("true, again", t.ack(topic, group, ("id", again.handles[0]), client=client).status)


@grpc_case("PopMessageProcessor.popMsgFromQueue")
def queues_are_blocked_one_by_one(t: Grpc) -> None:
    """Messages of one queue that are out do not keep those of another queue back."""
    topic, group = t.topic(kind="FIFO", queues=2), t.group(consumeMessageOrderly=True)
    client = t.consumer(group, {topic: "*"})
    by_queue: dict[int, list[str]] = {}
    for number in range(8):
        name = f"g{number}"
        offset = t.send(t.message(topic, name, message_type=pb.FIFO, message_group=name)).entries[0].offset
        by_queue.setdefault(offset, []).append(name)
    received: list[bytes] = []
    for _ in range(2):
        received += t.receive(topic, group, client=client, await_s=5, deadline=10).bodies
        if len(received) == 8:
            break
    t.see("received", sorted(received))


@grpc_case("SendMessageQueueSelector.select")
def a_message_group_has_one_queue(t: Grpc) -> None:
    """All messages of a message group are in one queue, the one that the group's hash names."""
    topic, group = t.topic(kind="FIFO", queues=4), t.group(consumeMessageOrderly=True)
    client = t.consumer(group, {topic: "*"})
    for number in range(3):
        for name in ("a", "b", "group-1", "é"):
            t.send(t.message(topic, f"{name}{number}", message_type=pb.FIFO, message_group=name))
    queues: dict[str, set[int]] = {}
    for _ in range(4):
        answer = t.receive(topic, group, client=client, await_s=5, deadline=10)
        for message in answer.messages:
            system = message.system_properties
            queues.setdefault(system.message_group, set()).add(system.queue_id)
        if len(queues) == 4:
            break
    t.see("queues", queues)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_message_in_order_is_given_up_at_last(t: Grpc) -> None:
    """A message in order that came more often than its group allows is given up, and the next one comes."""
    topic = t.topic(kind="FIFO", queues=1)
    group = t.group(consumeMessageOrderly=True, retryMaxTimes=1)
    client = t.consumer(group, {topic: "*"})
    for number in range(2):
        t.send(t.message(topic, f"m{number}", message_type=pb.FIFO, message_group="g"))
    for what in ("first", "second"):
        pending = t.start_receive(topic, group, client=client, max_messages=1, await_s=6, deadline=10)
        t.wait(2)
        answer = pending()
        t.see(what, _shown(answer))
        t.change(topic, group, answer.handles[0], 1, client=client)
    pending = t.start_receive(topic, group, client=client, max_messages=1, await_s=5, deadline=10)
    t.wait(5.2)
    t.see("third", pending())
    t.see("next", _shown(t.receive(topic, group, client=client, max_messages=1, await_s=5, deadline=10)))
    t.see("dead letters", t.route(f"%DLQ%{group}").status.code)


def _ready(t: Grpc, count: int) -> tuple[str, str, str]:
    """Topic with so many messages of one message group, group in order, and a consumer."""
    topic, group = t.topic(kind="FIFO", queues=1), t.group(consumeMessageOrderly=True)
    client = t.consumer(group, {topic: "*"})
    for number in range(count):
        sent = t.send(t.message(topic, f"m{number}", message_type=pb.FIFO, message_group="g"))
        t.require(sent.status.code == pb.OK, f"a message was not stored: {sent}")
    return topic, group, client


def _shown(answer: Received) -> Any:
    if answer.failure is not None or answer.status is None or answer.status.code != pb.OK:
        return answer.shown()
    return [[each.body, each.system_properties.delivery_attempt] for each in answer.messages]
