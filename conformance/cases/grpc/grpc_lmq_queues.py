"""Light message queues (LMQ) through the gRPC proxy, which does not support them."""

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import consuming
from ..store.lmq_queues import DISPATCH, LMQ_ENABLED


@grpc_case("GrpcConverter.buildMessage", settings=LMQ_ENABLED)
def a_user_property_dispatches_a_message_to_lmqs(t: GrpcContext) -> None:
    """A message is dispatched to LMQs by a user property, which receivers see.

    LMQ offsets are hidden and cannot be set.
    """
    consumer, name = consuming(t), LMQ_PREFIX + t.new("light")
    t.note("sent", t.send(consumer.message("hello", properties={DISPATCH: name})), pb.OK)
    t.until(lambda: t.max_offset(name) == 1)
    t.note("in the LMQ", [each.body.decode() for each in t.messages_of(name, t.group())])
    t.note("properties", dict(consumer.take().user_properties))
    claimed = consumer.message("hello", properties={DISPATCH: name, "INNER_MULTI_QUEUE_OFFSET": "0"})
    t.note("offset claimed", t.send(claimed), pb.ILLEGAL_MESSAGE_PROPERTY_KEY)


@grpc_case("LocalTopicRouteService.getCurrentMessageQueueView", settings=LMQ_ENABLED)
def an_lmq_has_no_route(t: GrpcContext) -> None:
    """An LMQ has no route, so it can be neither sent to nor received from."""
    consumer, name = consuming(t), LMQ_PREFIX + t.new("light")
    t.send(consumer.message("hello", properties={DISPATCH: name}))
    t.until(lambda: t.max_offset(name) == 1)
    t.note("route", t.route(name))
    t.note("sent", t.send(t.message(name)))
    t.note("received", consumer.with_topic(name).receive())
