"""Light message queues (LMQ) through the gRPC proxy, which does not support them."""

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX

from ...case import grpc_case
from ...context.grpc import Grpc
from ...helpers.consumer import consuming
from ..store.lmq_queues import DISPATCH, LIGHT


@grpc_case("GrpcConverter.buildMessage", settings=LIGHT)
def a_message_may_name_light_queues(t: Grpc) -> None:
    """A message is dispatched to LMQs by a user property, which receivers see.

    LMQ offsets are hidden and cannot be set.
    """
    consumer, name = consuming(t), LMQ_PREFIX + t.new("light")
    t.see("sent", t.send(consumer.message("hello", properties={DISPATCH: name})), 20000)
    t.until(lambda: t.max_offset(name) == 1)
    t.see("in the light queue", [each.body.decode() for each in t.messages_of(name, t.group())])
    t.see("properties", dict(consumer.take().user_properties))
    claimed = consumer.message("hello", properties={DISPATCH: name, "INNER_MULTI_QUEUE_OFFSET": "0"})
    t.see("offset claimed", t.send(claimed), 40007)


@grpc_case("LocalTopicRouteService.getCurrentMessageQueueView", settings=LIGHT)
def a_light_queue_has_no_route(t: Grpc) -> None:
    """An LMQ has no route, so it can be neither sent to nor received from."""
    consumer, name = consuming(t), LMQ_PREFIX + t.new("light")
    t.send(consumer.message("hello", properties={DISPATCH: name}))
    t.until(lambda: t.max_offset(name) == 1)
    t.see("route", t.route(name))
    t.see("sent", t.send(t.message(name)))
    t.see("received", consumer.at(name).receive())
