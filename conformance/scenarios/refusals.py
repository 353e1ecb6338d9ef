"""Invalid requests, and the errors with which SDKs report them."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext

BODY_MAX = 4 * 1024 * 1024


@scenario("Validators.checkMessage", verbs={"send"})
def a_send_with_a_body_over_4_mib_fails_with_most_sdks(s: ScenarioContext) -> None:
    """A send with a body of more than 4 MiB is rejected, and the producer remains usable."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("too large", lambda: producer.send(topic, b"a" * (BODY_MAX + 1)))
    s.note("next", producer.send(topic, "small").get("offset"))


@scenario("Validators.checkMessage", verbs={"send"})
def a_send_with_an_empty_body_fails(s: ScenarioContext) -> None:
    """A send with an empty body is rejected by most SDKs."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("empty", lambda: producer.send(topic, b""))


@scenario("TopicValidator.validateTopic", verbs={"send"})
def a_send_to_a_topic_with_an_illegal_name_fails(s: ScenarioContext) -> None:
    """A send to a topic with a blank or "!" in its name, a too long name, or a system topic's name is rejected."""
    producer = s.producer()
    for label, name in (("blank", "a b"), ("bang", "a!b"), ("long", "a" * 300), ("system", SCHEDULE_TOPIC)):
        s.refusal(label, lambda name=name: producer.send(name, "hello"))  # type: ignore[misc]  # bound as a default


@scenario(
    "Validators.checkGroup",
    verbs={"send"},
    without={"node": "it waits without a timeout for settings that the proxy rejects"},
)
def a_consumer_group_with_an_illegal_name_fails_with_most_sdks(s: ScenarioContext) -> None:
    """A consumer of a group with an exclamation mark in its name is rejected."""
    topic = s.topic()

    def consume() -> None:
        consumer = s.consumer("a!b", topic)
        if not consumer.is_push:
            consumer.receive()

    s.refusal("consume", consume)


@scenario("DefaultTopicMessageTypeValidator.validate", verbs={"send"}, protocol="grpc")
def a_send_of_a_normal_message_to_a_fifo_topic_fails(s: ScenarioContext) -> None:
    """A send of a normal message to a FIFO topic is rejected."""
    topic = s.topic(kind="FIFO")
    producer = s.producer(topic)
    s.refusal("plain", lambda: producer.send(topic, "hello"))


@scenario("GrpcValidator.validateInvisibleTime", verbs={"simple"})
def an_invisible_duration_out_of_range_is_refused(s: ScenarioContext) -> None:
    """A receive with an invisible duration of one second, or of 13 hours, is rejected."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    s.refusal("short", lambda: consumer.receive(1000))
    s.refusal("long", lambda: consumer.receive(13 * 3600 * 1000))


@scenario("AckMessageActivity.ackMessage", verbs={"simple", "ack"})
def a_second_acknowledgement_is_accepted(s: ScenarioContext) -> None:
    """A second acknowledgement of the same message is accepted."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    s.producer(topic).send(topic, "hello")
    messages = consumer.receive()
    s.refusal("first", lambda: consumer.ack(messages))
    s.refusal("second", lambda: consumer.ack(messages))


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recall_with_an_invalid_handle_fails(s: ScenarioContext) -> None:
    """A recall with a string that is not a recall handle is rejected."""
    topic = s.topic(kind="DELAY")
    producer = s.producer(topic)
    s.refusal("recall", lambda: producer.recall(topic, "bm8gaGFuZGxl"))
