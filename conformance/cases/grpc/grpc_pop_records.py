"""Receives of the gRPC proxy with KV records or buffered check points.

KV records are those of popConsumerKVServiceEnable, the buffer is that of enablePopBufferMerge.
"""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import attempts, consuming
from ..pop.pop_buffer import BUFFER
from ..pop.pop_records import RECORDS
from .grpc_wait import store


def note_a_round(t: GrpcContext) -> None:
    """Receive two messages, acknowledge one, receive the other again, change it, and receive it a third time."""
    consumer = consuming(t)
    for number in range(2):
        store(consumer, 0, f"m{number}")
    received = consumer.receive(invisible_s=10)
    t.note("received", received)
    t.note("acknowledged", consumer.ack(received.handles[0]).status, pb.OK)
    t.wait(9)
    again = consumer.received_within(seconds=6)
    t.note("again", again)
    changed = consumer.change(again.handles[0], 2)
    t.note("changed", changed.status, pb.OK)
    third = consumer.received_at_last()
    t.note("a third time", third)
    t.note("acknowledged then", consumer.ack(third.handles[0]).status, pb.OK)
    t.note("nothing is left", consumer.receive_nothing().code)


@grpc_case("PopConsumerService.popAsync, ReceiveMessageActivity.receiveMessage", settings=RECORDS)
def receive_ack_and_redelivery_work_with_kv_records(t: GrpcContext) -> None:
    """With KV records messages are received, acknowledged, changed and redelivered as usual."""
    note_a_round(t)


@grpc_case("PopBufferMergeService.addCk, ReceiveMessageActivity.receiveMessage", settings=BUFFER)
def receive_ack_and_redelivery_work_with_buffered_check_points(t: GrpcContext) -> None:
    """With buffered check points messages are received, acknowledged, changed and redelivered as usual."""
    note_a_round(t)


@grpc_case("PopConsumerService.popAsync, ConsumerOrderInfoManager.checkBlock", settings=RECORDS)
def messages_in_flight_block_an_ordered_group_with_kv_records(t: GrpcContext) -> None:
    """With KV records an ordered group is blocked by messages in flight and gets them again in order."""
    consumer = consuming(t, kind="FIFO", consumeMessageOrderly=True)
    for number in range(3):
        store(consumer, 0, f"m{number}", __SHARDINGKEY="g")
    first = consumer.receive(max_messages=2, invisible_s=10)
    t.note("received", first.bodies)
    t.note("blocked", consumer.receive_nothing().code)
    t.wait(5)
    again = consumer.receive(invisible_s=60, await_s=8, deadline=13)
    t.note("again", attempts(again))
    consumer.ack(*again.handles)
    t.note("nothing is left", consumer.receive_nothing().code)


@grpc_case("PopLongPollingService.notifyMessageArriving", settings=RECORDS)
def a_message_wakes_up_a_held_receive_with_kv_records(t: GrpcContext) -> None:
    """With KV records a waiting receive returns at once for a message in any queue."""
    consumer = consuming(t, queues=4)
    for queue in (1, 3):
        pending = consumer.start_receive(await_s=19, deadline=25)
        t.wait(3)
        watch = t.stopwatch()
        store(consumer, queue, f"in queue {queue}")
        t.note("received", pending().bodies)
        t.note("after", watch.between(0, 5))
