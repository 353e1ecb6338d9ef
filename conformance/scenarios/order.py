"""Messages in order."""

from ..actors import text
from ..bulk import COUNT, QUEUES, order_of, send_bulk
from ..scenario import scenario
from ..stage import Stage


@scenario("ConsumeMessageOrderlyService.ConsumeRequest.run", modes={"orderly"})
def each_message_group_in_order(s: Stage) -> None:
    """An orderly push consumer is given the messages of each message group in the order of sending."""
    topic, group = s.pair("orderly", queues=QUEUES)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "orderly")
    send_bulk(producer, topic, "orderly")
    received = s.wait_for(COUNT, consumer)
    s.see("count", len(received))
    s.see("order", order_of(received))


@scenario("PopMessageProcessor.popMsgFromQueue", verbs={"simple"})
def an_ordered_group_waits_for_acknowledgement(s: Stage) -> None:
    """A simple consumer of an ordered group is given the next messages only after those that it holds."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    for number in range(4):
        producer.send(topic, f"m{number}", group="one")
    first = consumer.receive(count=2)
    s.see("first", [text(message) for message in first])
    s.see("while these are held", [text(message) for message in consumer.receive(count=2)])
    consumer.ack(first)
    second = consumer.receive(count=2)
    s.see("after the acknowledgement", [text(message) for message in second])
    consumer.ack(second)


@scenario(
    "ConsumeMessageOrderlyService.processConsumeResult",
    modes={"orderly"},
    without={"node": "it never tries a failed message of an ordered group again"},
)
def a_failed_message_comes_again(s: Stage) -> None:
    """An orderly push consumer that fails a message once is given it again; the order holds where the SDK waits."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    # Before the consumer is there: what an SDK that does not wait is given next depends on what it took along.
    for number in range(4):
        producer.send(topic, f"m-{number}", group="one")
    consumer = s.consumer(group, topic, "orderly", fail={"m-1": 1})
    s.wait_for(5, consumer)
    s.see("received", [[text, message["ok"]] for text, message in zip(consumer.bodies, consumer.messages, strict=True)])
