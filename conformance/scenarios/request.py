"""Requests that are answered by a message."""

from ..actors import shown
from ..scenario import scenario
from ..stage import Stage


@scenario("ReplyMessageProcessor.processRequest", verbs={"request"})
def a_request_is_answered(s: Stage) -> None:
    """A producer that asks is given the answer of the consumer."""
    topic, group = s.pair("concurrent")
    consumer = s.consumer(group, topic, "concurrent", answer="pong", process=1)
    producer = s.producer(topic)
    # The broker knows whom to answer when the producer's heartbeat has come.
    producer.send(topic, "first")
    s.wait_for(1, consumer)
    reply = producer.driver.call("request", on=producer.name, topic=topic, body=b"ping", timeout_ms=20_000)
    s.see("answer", shown(reply["message"])["body"])
    s.wait_for(1, consumer, stem="ping")
    s.see("asked", sorted(consumer.bodies))


@scenario("RequestFutureHolder.scanExpiredRequest", verbs={"request"})
def a_request_that_nobody_answers(s: Stage) -> None:
    """A producer that asks where nobody listens is told so when its time is over."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal(
        "asked",
        lambda: producer.driver.call("request", on=producer.name, topic=topic, body=b"ping", timeout_ms=2000),
    )
