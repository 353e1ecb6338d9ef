"""The first message of a log, which the 5.3.3 gRPC proxy confuses with one whose invisible duration was changed."""

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import consuming


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration", alone=True)
def forwarding_a_changed_message_stores_the_logs_first_message_in_the_dlq(t: GrpcContext) -> None:
    """Forwarding a message whose invisible duration was changed forwards the first message of the log instead.

    The request has the handle that the change returned.
    """
    first = consuming(t, 1)
    consumer = consuming(t)
    t.send(consumer.message("the one that fails"))
    changed = consumer.change(consumer.handle(), 30)
    t.note("forwarded", consumer.forward(changed.receipt_handle), pb.OK)
    dead = t.until(lambda: t.messages_of(dlq_topic(consumer.group), t.group()), 5)
    t.note("dead letters", [each.body for each in dead])
    t.note("of the first topic", [first.topic in each.properties.values() for each in dead])
