"""Topics and groups that may not be used, properties that may not be sent, and the reactions of SDKs."""

from collections.abc import Callable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer

READ, WRITE = 4, 2
PROPERTY_BYTES = 40_000
"""More than a record has room for, and more than a proxy accepts as user properties."""


def _permit(s: ScenarioContext, topic: str, perm: int) -> None:
    """Change the permission bits of a topic, and wait until its route contains them."""
    s.admin.topic(name=topic, queues=1, perm=perm)

    def told() -> bool:
        route = s.admin.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.admin.namesrv)
        return bool(route.json["queueDatas"][0]["perm"] == perm)

    s.wait_until(told, f"routes with the permission {perm} of {topic}")


def _note_nothing(s: ScenarioContext, consumer: Consumer) -> None:
    """Note that a consumer receives nothing: the error of its receive, or the absence of pushed messages."""
    if consumer.is_push:
        s.wait_until_idle(consumer)
        s.note("received", consumer.bodies)
    else:
        s.refusal("receive", consumer.receive, text=False)


def _note_refused(s: ScenarioContext, label: str, topic: str, send: Callable[[], object]) -> None:
    s.refusal(label, send, text=False)
    s.note(f"stored after {label}", len(s.stored(topic)))


@scenario("MQClientInstance.topicRouteData2TopicPublishInfo", verbs={"send"})
def a_send_to_a_topic_without_write_permission_fails_except_with_cpp(s: ScenarioContext) -> None:
    """A send to a topic without write permission fails, because the producer finds no queue for it."""
    topic = s.topic()
    _permit(s, topic, READ)
    _note_refused(s, "send", topic, lambda: s.producer(topic).send(topic, "hello"))


@scenario(
    "MQClientInstance.topicRouteData2TopicSubscribeInfo",
    verbs={"send"},
    without={"node": "it misses settings that arrive during its route query and waits for them without a timeout"},
)
def a_consumer_of_a_topic_without_read_permission_receives_no_messages(s: ScenarioContext) -> None:
    """A consumer of a topic without read permission receives nothing; some SDKs do not start such a consumer."""
    topic, group = s.pair(s.fastest_style)
    _permit(s, topic, WRITE)
    s.producer(topic).send(topic, "hello")
    s.refusal("consume", lambda: _note_nothing(s, s.consumer(group, topic)), text=False)


@scenario("PullMessageProcessor.processRequest", verbs={"send"})
def a_disabled_group_receives_missed_messages_once_enabled(s: ScenarioContext) -> None:
    """A consumer of a disabled group receives nothing until the group is enabled, then all that it missed."""
    topic = s.topic()
    group = s.group(consumeEnable=False)
    consumer = s.consumer(group, topic)
    s.producer(topic).send(topic, "missed")
    _note_nothing(s, consumer)
    s.admin.group(name=group, consumeEnable=True)
    s.wait_for(1, consumer)
    s.note("then", consumer.bodies)


@scenario("MessageDecoder.messageProperties2String", verbs={"send"})
def a_send_with_too_large_properties_is_refused(s: ScenarioContext) -> None:
    """A message whose properties are too large is rejected, by the proxy or by the broker, and nothing is stored."""
    topic = s.topic()
    producer = s.producer(topic)
    _note_refused(s, "send", topic, lambda: producer.send(topic, "hello", props={"x": "v" * PROPERTY_BYTES}))
    s.note("next", producer.send(topic, "small").get("offset"))


@scenario("Message.putUserProperty", verbs={"send"})
def a_user_property_with_a_reserved_name_fails_with_most_sdks(s: ScenarioContext) -> None:
    """A user property with a reserved name is rejected by most SDKs, and stored like any other by the rest."""
    topic = s.topic()
    producer = s.producer(topic)
    for name in ("KEYS", "DELAY"):
        _note_refused(s, name, topic, lambda name=name: producer.send(topic, "hello", props={name: "1"}))  # type: ignore[misc]  # bound as a default
