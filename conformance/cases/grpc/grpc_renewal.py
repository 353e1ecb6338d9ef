"""Receives with auto_renew: handles are valid for 60 s, and the proxy keeps them until the client leaves."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...worlds.consumer import Consumer, attempts, consumer_of, consuming
from ...worlds.grpc import Grpc
from .grpc_wait import store

_GIVEN_BACK_SECONDS = 5
"""Seconds after which the messages of a client that left are visible."""


def two_consumers(t: Grpc, messages: int = 1) -> tuple[Consumer, Consumer]:
    """Create two push consumers of a new group, and store `messages` messages in one queue."""
    one = consuming(t, client_type=pb.PUSH_CONSUMER)
    for number in range(messages):
        store(one, body=f"m{number}")
    return one, consumer_of(t, one.topic, one.group, pb.PUSH_CONSUMER)


def see_taken(consumer: Consumer, **more: object) -> list[tuple[str, str]]:
    """Receive with auto_renew, record the messages, and return their ids and handles."""
    received = consumer.receive(auto_renew=True, **more)
    consumer.t.see("taken", attempts(received))
    systems = [each.system_properties for each in received.messages]
    return [(each.message_id, each.receipt_handle) for each in systems]


def see_left(consumer: Consumer) -> None:
    """Send NotifyClientTermination for the client, and wait for its consequences."""
    consumer.t.see("left", consumer.t.leave(consumer.client, consumer.group), 20000)
    consumer.t.wait(_GIVEN_BACK_SECONDS)


@grpc_case("ReceiptHandleProcessor.addReceiptHandle, AckMessageActivity.ackMessage")
def what_was_acknowledged_is_not_given_back(t: Grpc) -> None:
    """When a client leaves, only its unacknowledged messages are redelivered."""
    one, other = two_consumers(t, 3)
    taken = see_taken(one)
    t.see("acknowledged", one.ack_entries(taken[1]).status, 20000)
    see_left(one)
    t.see("again", sorted(attempts(other.receive(auto_renew=True))))


@grpc_case("ReceiptHandleGroup.remove")
def an_acknowledgement_by_another_id_does_not_count_then(t: Grpc) -> None:
    """A message acknowledged with the right handle but another message id is redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(_, handle)] = see_taken(one)
    t.see("acknowledged", one.ack(handle).status, 20000)
    see_left(one)
    t.see("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.clearGroup")
def what_others_took_stays_out(t: Grpc) -> None:
    """When a client leaves, messages in flight of another client of its group stay invisible."""
    one, other = two_consumers(t, 2)
    see_taken(one, max_messages=1)
    see_taken(other, max_messages=1)
    see_left(one)
    t.see("again", attempts(other.receive(auto_renew=True)))
    t.see("nothing more", other.receive_nothing(auto_renew=True).code)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_takes_it_out_of_the_renewal(t: Grpc) -> None:
    """A message whose invisible duration was changed is not redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(message_id, handle)] = see_taken(one)
    t.see("changed", one.change(handle, 40, message_id=message_id).status, 20000)
    see_left(one)
    t.see("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("ReceiptHandleGroup.remove")
def a_change_by_another_id_does_not_count_then(t: Grpc) -> None:
    """A message changed with the right handle but another message id is redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(_, handle)] = see_taken(one)
    t.see("changed", one.change(handle, 40).status, 20000)
    see_left(one)
    t.see("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def what_is_not_renewed_is_not_given_back(t: Grpc) -> None:
    """A message received without auto_renew stays invisible when its client leaves."""
    one, other = two_consumers(t)
    t.see("taken", attempts(one.receive(invisible_s=60)))
    see_left(one)
    t.see("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.clearGroup")
def a_lost_stream_gives_nothing_back_at_once(t: Grpc) -> None:
    """When a client's telemetry stream is cancelled, its messages stay invisible for the next seconds."""
    other = consuming(t, client_type=pb.PUSH_CONSUMER)
    store(other, body="m0")
    one = other.by(t.new("client"))
    session = t.open(one.client, t.subscription(one.group, {one.topic: "*"}, kind=pb.PUSH_CONSUMER))
    session.next()
    t.heartbeat(one.client, one.group, pb.PUSH_CONSUMER)
    see_taken(one)
    session.cancel()
    t.wait(_GIVEN_BACK_SECONDS)
    t.see("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.scheduleRenewTask")
def after_a_minute_it_comes_again(t: Grpc) -> None:
    """A message received with auto_renew is redelivered after 60 s, when its handle expires, in spite of heartbeats."""
    one, other = two_consumers(t)
    [(message_id, handle)] = see_taken(one)
    watch = t.stopwatch()
    for _ in range(2):
        t.wait(25)
        t.heartbeat(one.client, one.group, pb.PUSH_CONSUMER)
    t.see("after 50 s", attempts(other.receive_nothing(auto_renew=True)))
    t.wait(8)
    t.see("then", attempts(other.receive_nothing(auto_renew=True)))
    t.see("after", watch.between(61, 85))
    t.see("the first handle", one.ack_entries((message_id, handle)).status, 40013)


@grpc_case("DefaultReceiptHandleManager.scheduleRenewTask, ConsumerProcessor.ackMessage")
def after_a_minute_its_handle_is_over(t: Grpc) -> None:
    """A handle received with auto_renew expires after 60 s, although its client sends heartbeats and receives."""
    consumer = consuming(t, client_type=pb.PUSH_CONSUMER)
    store(consumer, body="m0")
    [(message_id, handle)] = see_taken(consumer)
    for _ in range(4):
        t.see("meanwhile", consumer.receive_nothing(auto_renew=True), 40401)
        t.see("heartbeat", t.heartbeat(consumer.client, consumer.group, pb.PUSH_CONSUMER), 20000)
        t.wait(9)
    t.wait(4)
    t.see("acknowledged", consumer.ack_entries((message_id, handle)), 40013)
    t.see("changed", consumer.change(handle, 30, message_id=message_id), 40013)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def renewal_is_for_every_kind_of_client(t: Grpc) -> None:
    """A simple consumer may use auto_renew: its message is invisible for 60 s and redelivered when it leaves."""
    one, other = two_consumers(t)
    simple = consumer_of(t, one.topic, one.group)
    t.see("handles", [handle for _, handle in see_taken(simple)])
    see_left(simple)
    t.see("again", attempts(other.receive(auto_renew=True)))


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def who_has_left_loses_what_came_back(t: Grpc) -> None:
    """A held receive of a client that has left takes a redelivered message and fails.

    The message is invisible for 60 s.
    """
    one, other = two_consumers(t)
    see_taken(one)
    waiting = one.start_receive(auto_renew=True, await_s=12, deadline=20)
    t.settle()
    see_left(one)
    t.wait(7.5)
    t.see("at the end of the wait", waiting())
    t.see("given to the other", attempts(other.receive_nothing(auto_renew=True)))
    t.wait(57)
    t.see("given to the other then", attempts(other.receive_nothing(auto_renew=True)))
