"""Asynchronous, oneway and batch sends, and sends to a chosen queue."""

from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, send_bulk
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import comparison


def _see_all_sent_by(s: Stage, verb: str) -> None:
    """Send bulk messages with a verb, and note how the received messages compare with them."""
    topic, group = s.pair(s.usual)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    sent = send_bulk(producer, topic, verb=verb)
    s.wait_for(COUNT, consumer)
    s.settle(consumer)
    s.see("received", comparison(sent, [consumer.messages]))


@scenario("SendMessageProcessor.sendMessage", verbs={"send_async"})
def an_asynchronous_send(s: Stage) -> None:
    """Messages that are sent asynchronously arrive, and their send results are returned."""
    _see_all_sent_by(s, "send_async")


@scenario("NettyRemotingAbstract.invokeOnewayImpl", verbs={"oneway"})
def a_oneway_send(s: Stage) -> None:
    """Messages that are sent oneway arrive, without a response to the sender."""
    _see_all_sent_by(s, "oneway")


@scenario("MessageBatch.generateFromList", verbs={"send_batch"})
def a_batch(s: Stage) -> None:
    """The messages of a batch arrive one by one, with their own tags and keys; C++'s SDK makes one message of them."""
    topic, group = s.pair(s.usual)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    batch = [
        {"topic": topic, "body": f"b{number}".encode(), "tag": f"tag-{number}", "keys": [f"key-{number}"]}
        for number in range(3)
    ]
    reply = producer.driver.call("send_batch", on=producer.name, messages=batch)
    producer.send(topic, "end")
    s.wait_for(1, consumer, stem="end")
    s.settle(consumer)
    received = [message for message in consumer.messages if message not in consumer.of("end")]
    s.see("received", comparison(batch, [received]))
    s.see("count", len(received))
    s.see("different ids received", len({message["id"] for message in received}))
    s.see("ids told", len(set(filter(None, reply.get("ids") or ()))))
    s.see("offset told", reply.get("offset"))


@scenario("SelectMessageQueueByHash.select", verbs={"send"}, protocol="remoting")
def a_send_to_a_chosen_queue(s: Stage) -> None:
    """A message that a remoting producer sends to a chosen queue is stored in that queue."""
    topic, group = s.topic(queues=4), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    replies = [producer.send(topic, f"m{queue}", queue=queue) for queue in (2, 0, 2)]
    s.see("told", [[reply.get("queue"), reply.get("offset")] for reply in replies])
    received = s.wait_for(3, consumer)
    s.see("received", sorted([message["queue"], message["offset"]] for message in received))
