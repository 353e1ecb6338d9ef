"""Receives with auto_renew: handles are valid for 60 s, and the proxy keeps them until the client leaves."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, attempts, consumer_of, consuming
from .grpc_wait import store

RELEASE_SECONDS = 5
"""Seconds after which the messages of a client that left are visible."""


def two_consumers(t: GrpcContext, messages: int = 1) -> tuple[GrpcConsumer, GrpcConsumer]:
    """Create two push consumers of a new group, and store `messages` messages in one queue."""
    one = consuming(t, client_type=pb.PUSH_CONSUMER)
    for number in range(messages):
        store(one, body=f"m{number}")
    return one, consumer_of(t, one.topic, one.group, pb.PUSH_CONSUMER)


def note_received(consumer: GrpcConsumer, **more: object) -> list[tuple[str, str]]:
    """Receive with auto_renew, record the messages, and return their ids and handles."""
    received = consumer.receive(auto_renew=True, **more)
    consumer.t.note("taken", attempts(received))
    systems = [each.system_properties for each in received.messages]
    return [(each.message_id, each.receipt_handle) for each in systems]


def terminate(consumer: GrpcConsumer) -> None:
    """Send NotifyClientTermination for the client, and wait for its consequences."""
    consumer.t.note("left", consumer.t.leave(consumer.client, consumer.group), pb.OK)
    consumer.t.wait(RELEASE_SECONDS)


@grpc_case("ReceiptHandleProcessor.addReceiptHandle, AckMessageActivity.ackMessage")
def only_unacknowledged_messages_are_redelivered_on_client_termination(t: GrpcContext) -> None:
    """When a client leaves, only its unacknowledged messages are redelivered."""
    one, other = two_consumers(t, 3)
    taken = note_received(one)
    t.note("acknowledged", one.ack_entries(taken[1]).status, pb.OK)
    terminate(one)
    t.note("again", sorted(attempts(other.receive(auto_renew=True))))


@grpc_case("ReceiptHandleGroup.remove")
def a_message_acked_with_another_message_id_is_redelivered_on_termination(t: GrpcContext) -> None:
    """A message acknowledged with the right handle but another message id is redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(_, handle)] = note_received(one)
    t.note("acknowledged", one.ack(handle).status, pb.OK)
    terminate(one)
    t.note("again", attempts(other.received_within(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.clearGroup")
def client_termination_keeps_messages_of_other_clients_invisible(t: GrpcContext) -> None:
    """When a client leaves, messages in flight of another client of its group stay invisible."""
    one, other = two_consumers(t, 2)
    note_received(one, max_messages=1)
    note_received(other, max_messages=1)
    terminate(one)
    t.note("again", attempts(other.receive(auto_renew=True)))
    t.note("nothing more", other.receive_nothing(auto_renew=True).code)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_changed_message_is_not_redelivered_on_client_termination(t: GrpcContext) -> None:
    """A message whose invisible duration was changed is not redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(message_id, handle)] = note_received(one)
    t.note("changed", one.change(handle, 40, message_id=message_id).status, pb.OK)
    terminate(one)
    t.note("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("ReceiptHandleGroup.remove")
def a_message_changed_with_another_message_id_is_redelivered_on_termination(t: GrpcContext) -> None:
    """A message changed with the right handle but another message id is redelivered when its client leaves."""
    one, other = two_consumers(t)
    [(_, handle)] = note_received(one)
    t.note("changed", one.change(handle, 40).status, pb.OK)
    terminate(one)
    t.note("again", attempts(other.received_within(auto_renew=True)))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def without_auto_renew_messages_stay_invisible_on_client_termination(t: GrpcContext) -> None:
    """A message received without auto_renew stays invisible when its client leaves."""
    one, other = two_consumers(t)
    t.note("taken", attempts(one.receive(invisible_s=60)))
    terminate(one)
    t.note("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.clearGroup")
def messages_stay_invisible_when_the_telemetry_stream_is_cancelled(t: GrpcContext) -> None:
    """When a client's telemetry stream is cancelled, its messages stay invisible for the next seconds."""
    other = consuming(t, client_type=pb.PUSH_CONSUMER)
    store(other, body="m0")
    one = other.with_client(t.new("client"))
    session = t.open(one.client, t.subscription(one.group, {one.topic: "*"}, kind=pb.PUSH_CONSUMER))
    session.next()
    t.heartbeat(one.client, one.group, pb.PUSH_CONSUMER)
    note_received(one)
    session.cancel()
    t.wait(RELEASE_SECONDS)
    t.note("again", attempts(other.receive_nothing(auto_renew=True)))


@grpc_case("DefaultReceiptHandleManager.scheduleRenewTask")
def an_auto_renewed_message_is_redelivered_after_60_seconds(t: GrpcContext) -> None:
    """A message received with auto_renew is redelivered after 60 s, when its handle expires, in spite of heartbeats."""
    one, other = two_consumers(t)
    [(message_id, handle)] = note_received(one)
    watch = t.stopwatch()
    for _ in range(2):
        t.wait(25)
        t.heartbeat(one.client, one.group, pb.PUSH_CONSUMER)
    t.note("after 50 s", attempts(other.receive_nothing(auto_renew=True)))
    t.wait(8)
    t.note("then", attempts(other.received_within(auto_renew=True)))
    t.note("after", watch.between(61, 85))
    t.note("the first handle", one.ack_entries((message_id, handle)).status, pb.INVALID_RECEIPT_HANDLE)


@grpc_case("DefaultReceiptHandleManager.scheduleRenewTask, ConsumerProcessor.ackMessage")
def an_auto_renewed_handle_expires_after_60_seconds(t: GrpcContext) -> None:
    """A handle received with auto_renew expires after 60 s, although its client sends heartbeats and receives."""
    consumer = consuming(t, client_type=pb.PUSH_CONSUMER)
    store(consumer, body="m0")
    [(message_id, handle)] = note_received(consumer)
    for _ in range(4):
        t.note("meanwhile", consumer.receive_nothing(auto_renew=True), pb.MESSAGE_NOT_FOUND)
        t.note("heartbeat", t.heartbeat(consumer.client, consumer.group, pb.PUSH_CONSUMER), pb.OK)
        t.wait(9)
    t.wait(4)
    t.note("acknowledged", consumer.ack_entries((message_id, handle)), pb.INVALID_RECEIPT_HANDLE)
    t.note("changed", consumer.change(handle, 30, message_id=message_id), pb.INVALID_RECEIPT_HANDLE)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_simple_consumer_may_use_auto_renew(t: GrpcContext) -> None:
    """A simple consumer may use auto_renew: its message is invisible for 60 s and redelivered when it leaves."""
    one, other = two_consumers(t)
    simple = consumer_of(t, one.topic, one.group)
    t.note("handles", [handle for _, handle in note_received(simple)])
    terminate(simple)
    t.note("again", attempts(other.receive(auto_renew=True)))


@grpc_case("ReceiptHandleGroupKey.getChannelId")
def a_held_receive_of_a_terminated_client_takes_a_message_and_fails(t: GrpcContext) -> None:
    """A waiting receive of a client that has left takes a redelivered message and returns an internal error.

    The message is then invisible for 60 s.
    """
    one, other = two_consumers(t)
    note_received(one)
    waiting = one.start_receive(auto_renew=True, await_s=12, deadline=20)
    t.settle()
    terminate(one)
    t.wait(7.5)
    t.note("at the end of the wait", waiting())
    t.note("given to the other", attempts(other.receive_nothing(auto_renew=True)))
    t.wait(57)
    t.note("given to the other then", attempts(other.received_within(auto_renew=True)))
