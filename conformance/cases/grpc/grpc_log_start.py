"""The first message of a log, which the 5.3.3 gRPC proxy confuses with a message whose duration was changed."""

from rocketmq_testkit.emulator.message.names import dlq_topic

from ...case import grpc_case
from ...worlds.consumer import consuming
from ...worlds.grpc import Grpc


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration", alone=True)
def the_new_handle_gives_up_the_wrong_message(t: Grpc) -> None:
    """Forwarding with the new handle of a change stores the log's first message as dead letter, not the changed one."""
    first = consuming(t, 1)
    consumer = consuming(t)
    t.send(consumer.message("the one that fails"))
    changed = consumer.change(consumer.handle(), 30)
    t.see("forwarded", consumer.forward(changed.receipt_handle), 20000)
    dead = t.until(lambda: t.messages_of(dlq_topic(consumer.group), t.group()), 5)
    t.see("dead letters", [each.body for each in dead])
    t.see("of the first topic", [first.topic in each.properties.values() for each in dead])
