"""ReceiveMessage of the gRPC proxy."""

from ..case import grpc_case
from ..worlds.grpc import Grpc


@grpc_case("ReceiveMessageActivity.receiveMessage")
def an_empty_receive_ends_in_time(t: Grpc) -> None:
    """A receive that finds nothing ends with MESSAGE_NOT_FOUND when its long polling time is over."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    client = t.consumer(group, {topic: "*"})
    watch = t.stopwatch()
    pending = t.start_receive(topic, group, client=client, await_s=5, deadline=10)
    t.wait(5.1)
    t.see("answer", pending(), 40401)
    t.see("after", watch.between(4.9, 6))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_sent_message_is_received(t: Grpc) -> None:
    """A receive hands out what was sent, and an acknowledgement ends it."""
    topic, group = t.topic(kind="NORMAL", queues=1), t.group()
    client = t.consumer(group, {topic: "*"})
    t.see("sent", t.send(t.message(topic, tag="A", keys=["k"])), 20000)
    received = t.see("received", t.receive(topic, group, client=client, await_s=5, deadline=10), 20000)
    t.see("acknowledged", t.ack(topic, group, ("id", received.handles[0]), client=client), 20000)
