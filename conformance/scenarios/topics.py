"""Consumers of several topics, and topics that do not exist."""

from ..drivers.process import DriverError
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext, stable
from ..sdk.sdk_clients import comparison


@scenario(
    "RebalanceImpl.doRebalance",
    verbs={"send"},
    without={"node": "it sometimes hangs if it starts with two topics, with any broker"},
)
def a_consumer_of_two_topics_receives_the_messages_of_both(s: ScenarioContext) -> None:
    """A consumer that is subscribed to two topics receives the messages of both."""
    first, second, group = s.topic(), s.topic(), s.group()
    producer = s.producer(first, second)
    consumer = s.consumer(group, {first: "*", second: "*"})
    sent = producer.send_numbered(first, 5, "a") + producer.send_numbered(second, 5, "b")
    s.wait_for(10, consumer)
    s.note("received", comparison(sent, [consumer.messages]))


@scenario("ClientRequestProcessor.getRouteInfoByTopic", verbs={"send"})
def a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc(s: ScenarioContext) -> None:
    """A send to an unknown topic creates the topic with the remoting protocol, and fails with the proxy."""
    topic = s.admin.new()
    try:
        # gRPC producers that declare their topics already fail at their start.
        producer = s.producer()
        reply = producer.send(topic, "hello")
    except DriverError as error:
        s.note("refused", {"kind": error.kind, "code": error.code, "text": stable(error.err)})
    else:
        s.note("sent", {name: reply.get(name) for name in ("status", "offset")})


@scenario("RouteActivity.queryRoute", verbs={"send"}, protocol="grpc")
def a_grpc_producer_for_an_unknown_topic_fails(s: ScenarioContext) -> None:
    """A gRPC producer for a topic that does not exist fails at its start or at its first send."""
    topic = s.admin.new()

    def start_and_send() -> None:
        s.producer(topic, at_once=True).send(topic, "hello")

    s.refusal("start", start_and_send, text=False)
