"""Request-reply: requests that a consumer answers with a message."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import shown


def _known(s: ScenarioContext, group: str, topic: str) -> bool:
    fields = {"producerGroup": group, "topic": topic}
    return s.admin.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, fields).code == 0


@scenario("ReplyMessageProcessor.processRequest", verbs={"request"})
def a_request_returns_the_reply_of_the_consumer(s: ScenarioContext) -> None:
    """A producer's request returns the reply of the consumer."""
    topic, group = s.pair("concurrent")
    consumer = s.consumer(group, topic, "concurrent", answer="pong", process=1)
    producer = s.producer(topic)
    producer.send(topic, "first")
    s.wait_for(1, consumer)
    # The broker can forward the reply once it has received the producer's heartbeat.
    s.wait_until(lambda: _known(s, producer.group, topic), "the producer's heartbeat")
    reply = producer.driver.call("request", on=producer.name, topic=topic, body=b"ping", timeout_ms=10_000)
    s.note("response", shown(reply["message"])["body"])
    s.wait_for(1, consumer, prefix="ping")
    s.note("asked", sorted(consumer.bodies))


@scenario("RequestFutureHolder.scanExpiredRequest", verbs={"request"})
def a_request_without_a_consumer_fails_at_its_timeout(s: ScenarioContext) -> None:
    """A request without a consumer fails in the SDK at its timeout."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal(
        "asked",
        lambda: producer.driver.call("request", on=producer.name, topic=topic, body=b"ping", timeout_ms=2000),
    )


@scenario("RequestFutureHolder.scanExpiredRequest", verbs={"request"}, outcomes={"hang"})
def a_reply_after_the_request_timeout_has_no_effect(s: ScenarioContext) -> None:
    """A reply after its request's timeout has no effect: the request has failed, and the consumer sees no error."""
    topic, group = s.pair("concurrent")
    consumer = s.consumer(group, topic, "concurrent", answer="pong", hang_ms={"ping": 5000}, process=1)
    producer = s.producer(topic)
    producer.send(topic, "first")
    s.wait_for(1, consumer)
    s.wait_until(lambda: _known(s, producer.group, topic), "the producer's heartbeat")
    s.refusal(
        "asked",
        lambda: producer.driver.call("request", on=producer.name, topic=topic, body=b"ping", timeout_ms=2000),
    )
    [asked] = s.wait_for(1, consumer, prefix="ping")
    s.note("consumed", asked["ok"])
    reply = producer.driver.call("request", on=producer.name, topic=topic, body=b"again", timeout_ms=10_000)
    s.note("the next response", shown(reply["message"])["body"])
