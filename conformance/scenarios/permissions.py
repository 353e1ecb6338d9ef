"""Topics and groups that may not be used, properties that may not be sent, and the reactions of SDKs."""

from collections.abc import Callable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import Consumer

READ, WRITE = 4, 2
PROPERTY_BYTES = 40_000
"""More than a record has room for, and more than a proxy accepts as user properties."""


def _permit(s: Stage, topic: str, perm: int) -> None:
    """Change the permission bits of a topic, and wait until its route contains them."""
    s.world.topic(name=topic, queues=1, perm=perm)

    def told() -> bool:
        route = s.world.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.world.namesrv)
        return bool(route.json["queueDatas"][0]["perm"] == perm)

    s.wait_until(told, f"routes with the permission {perm} of {topic}")


def _see_nothing(s: Stage, consumer: Consumer) -> None:
    """Note that a consumer receives nothing: the error of its receive, or the absence of pushed messages."""
    if consumer.pushed:
        s.settle(consumer)
        s.see("received", consumer.bodies)
    else:
        s.refusal("receive", consumer.receive, text=False)


def _see_refused(s: Stage, label: str, topic: str, send: Callable[[], object]) -> None:
    s.refusal(label, send, text=False)
    s.see(f"stored after {label}", len(s.stored(topic)))


@scenario("MQClientInstance.topicRouteData2TopicPublishInfo", verbs={"send"})
def a_topic_that_nobody_may_write_to(s: Stage) -> None:
    """A send to a topic without write permission fails, because the producer finds no queue for it."""
    topic = s.topic()
    _permit(s, topic, READ)
    _see_refused(s, "send", topic, lambda: s.producer(topic).send(topic, "hello"))


@scenario(
    "MQClientInstance.topicRouteData2TopicSubscribeInfo",
    verbs={"send"},
    without={"node": "it misses settings that arrive during its route query and waits for them without a timeout"},
)
def a_topic_that_nobody_may_read(s: Stage) -> None:
    """A consumer of a topic without read permission receives nothing; some SDKs do not start such a consumer."""
    topic, group = s.pair(s.usual)
    _permit(s, topic, WRITE)
    s.producer(topic).send(topic, "hello")
    s.refusal("consume", lambda: _see_nothing(s, s.consumer(group, topic)), text=False)


@scenario("PullMessageProcessor.processRequest", verbs={"send"})
def a_group_that_is_switched_off(s: Stage) -> None:
    """A consumer of a disabled group receives nothing until the group is enabled, then all that it missed."""
    topic = s.topic()
    group = s.group(consumeEnable=False)
    consumer = s.consumer(group, topic)
    s.producer(topic).send(topic, "missed")
    _see_nothing(s, consumer)
    s.world.group(name=group, consumeEnable=True)
    s.wait_for(1, consumer)
    s.see("then", consumer.bodies)


@scenario("MessageDecoder.messageProperties2String", verbs={"send"})
def properties_that_are_too_large(s: Stage) -> None:
    """A message whose properties are too large is rejected, by the proxy or by the broker, and nothing is stored."""
    topic = s.topic()
    producer = s.producer(topic)
    _see_refused(s, "send", topic, lambda: producer.send(topic, "hello", props={"x": "v" * PROPERTY_BYTES}))
    s.see("next", producer.send(topic, "small").get("offset"))


@scenario("Message.putUserProperty", verbs={"send"})
def properties_of_upstreams_own_names(s: Stage) -> None:
    """A user property with a reserved name is rejected by most SDKs, and stored like any other by the rest."""
    topic = s.topic()
    producer = s.producer(topic)
    for name in ("KEYS", "DELAY"):
        _see_refused(s, name, topic, lambda name=name: producer.send(topic, "hello", props={name: "1"}))  # type: ignore[misc]  # bound as a default
