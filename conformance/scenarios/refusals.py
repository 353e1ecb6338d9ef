"""Invalid requests, and the errors with which SDKs report them."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC

from ..scenario import scenario
from ..sdk.scenario_context import Stage

BODY_MAX = 4 * 1024 * 1024


@scenario("Validators.checkMessage", verbs={"send"})
def a_body_that_is_too_large(s: Stage) -> None:
    """A send with a body of more than 4 MiB is rejected, and the producer remains usable."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("too large", lambda: producer.send(topic, b"a" * (BODY_MAX + 1)))
    s.see("next", producer.send(topic, "small").get("offset"))


@scenario("Validators.checkMessage", verbs={"send"})
def a_body_that_is_empty(s: Stage) -> None:
    """A send with an empty body is rejected by most SDKs."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("empty", lambda: producer.send(topic, b""))


@scenario("TopicValidator.validateTopic", verbs={"send"})
def topics_with_illegal_names(s: Stage) -> None:
    """A send to a topic with a blank or "!" in its name, a too long name, or a system topic's name is rejected."""
    producer = s.producer()
    for label, name in (("blank", "a b"), ("bang", "a!b"), ("long", "a" * 300), ("system", SCHEDULE_TOPIC)):
        s.refusal(label, lambda name=name: producer.send(name, "hello"))  # type: ignore[misc]  # bound as a default


@scenario(
    "Validators.checkGroup",
    verbs={"send"},
    without={"node": "it waits without a timeout for settings that the proxy rejects"},
)
def a_consumer_group_with_an_illegal_name(s: Stage) -> None:
    """A consumer of a group with an exclamation mark in its name is rejected."""
    topic = s.topic()

    def consume() -> None:
        consumer = s.consumer("a!b", topic)
        if not consumer.pushed:
            consumer.receive()

    s.refusal("consume", consume)


@scenario("DefaultTopicMessageTypeValidator.validate", verbs={"send"}, protocol="grpc")
def a_message_of_another_type(s: Stage) -> None:
    """A send of a normal message to a FIFO topic is rejected."""
    topic = s.topic(kind="FIFO")
    producer = s.producer(topic)
    s.refusal("plain", lambda: producer.send(topic, "hello"))


@scenario("GrpcValidator.validateInvisibleTime", verbs={"simple"})
def invisible_times_out_of_range(s: Stage) -> None:
    """A receive with an invisible duration of one second, or of 13 hours, is rejected."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    s.refusal("short", lambda: consumer.receive(1000))
    s.refusal("long", lambda: consumer.receive(13 * 3600 * 1000))


@scenario("AckMessageActivity.ackMessage", verbs={"simple", "ack"})
def a_second_acknowledgement(s: Stage) -> None:
    """A second acknowledgement of the same message is accepted."""
    topic, group = s.pair("simple")
    consumer = s.consumer(group, topic)
    s.producer(topic).send(topic, "hello")
    messages = consumer.receive()
    s.refusal("first", lambda: consumer.ack(messages))
    s.refusal("second", lambda: consumer.ack(messages))


@scenario("RecallMessageProcessor.processRequest", verbs={"recall"})
def a_recall_handle_that_is_none(s: Stage) -> None:
    """A recall with a string that is not a recall handle is rejected."""
    topic = s.topic(kind="DELAY")
    producer = s.producer(topic)
    s.refusal("recall", lambda: producer.recall(topic, "bm8gaGFuZGxl"))
