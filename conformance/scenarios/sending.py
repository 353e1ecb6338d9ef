"""Asynchronous, oneway and batch sends, and sends to a chosen queue."""

from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import comparison


def _note_all_sent_by(s: ScenarioContext, verb: str) -> None:
    """Send bulk messages with a verb, and note how the received messages compare with them."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    sent = send_bulk(producer, topic, verb=verb)
    s.wait_for(COUNT, consumer)
    s.wait_until_idle(consumer)
    s.note("received", comparison(sent, [consumer.messages]))


@scenario("SendMessageProcessor.sendMessage", verbs={"send_async"})
def messages_sent_asynchronously_arrive(s: ScenarioContext) -> None:
    """Messages that are sent asynchronously arrive, and their send results are returned."""
    _note_all_sent_by(s, "send_async")


@scenario("NettyRemotingAbstract.invokeOnewayImpl", verbs={"oneway"})
def messages_sent_oneway_arrive(s: ScenarioContext) -> None:
    """Messages that are sent oneway arrive, without a response to the sender."""
    _note_all_sent_by(s, "oneway")


@scenario("MessageBatch.generateFromList", verbs={"send_batch"})
def a_batch_arrives_as_separate_messages_except_with_cpp(s: ScenarioContext) -> None:
    """The messages of a batch arrive one by one, with their own tags and keys; C++'s SDK makes one message of them."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    batch = [
        {"topic": topic, "body": f"b{number}".encode(), "tag": f"tag-{number}", "keys": [f"key-{number}"]}
        for number in range(3)
    ]
    reply = producer.driver.call("send_batch", on=producer.name, messages=batch)
    producer.send(topic, "end")
    s.wait_for(1, consumer, prefix="end")
    s.wait_until_idle(consumer)
    received = [message for message in consumer.messages if message not in consumer.with_prefix("end")]
    s.note("received", comparison(batch, [received]))
    s.note("count", len(received))
    s.note("different ids received", len({message["id"] for message in received}))
    s.note("returned ids", len(set(filter(None, reply.get("ids") or ()))))
    s.note("returned offset", reply.get("offset"))


@scenario("SelectMessageQueueByHash.select", verbs={"send"}, protocol="remoting")
def a_message_sent_to_a_selected_queue_is_stored_in_that_queue(s: ScenarioContext) -> None:
    """A message that a remoting producer sends to a chosen queue is stored in that queue."""
    topic, group = s.topic(queues=4), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    replies = [producer.send(topic, f"m{queue}", queue=queue) for queue in (2, 0, 2)]
    s.note("returned places", [[reply.get("queue"), reply.get("offset")] for reply in replies])
    received = s.wait_for(3, consumer)
    s.note("received", sorted([message["queue"], message["offset"]] for message in received))
