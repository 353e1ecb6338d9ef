"""Topics and groups that may not be used, and properties that may not be sent: what SDKs make of it."""

from collections.abc import Callable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..actors import Consumer
from ..scenario import scenario
from ..stage import Stage

READ, WRITE = 4, 2
PROPERTY_BYTES = 40_000
"""More than a record has room for, and than a proxy takes of a user."""


def _permit(s: Stage, topic: str, perm: int) -> None:
    """Give a topic other permission bits, and wait until routes say so."""
    s.world.topic(name=topic, queues=1, perm=perm)

    def told() -> bool:
        route = s.world.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.world.namesrv)
        return bool(route.json["queueDatas"][0]["perm"] == perm)

    s.wait_until(told, f"routes with the permission {perm} of {topic}")


def _see_nothing(s: Stage, consumer: Consumer) -> None:
    """Note that a consumer is given nothing: how its receive is refused, or that nothing comes by itself."""
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
    """A producer finds no queue for its message, and says so."""
    topic = s.topic()
    _permit(s, topic, READ)
    _see_refused(s, "send", topic, lambda: s.producer(topic).send(topic, "hello"))


@scenario(
    "MQClientInstance.topicRouteData2TopicSubscribeInfo",
    verbs={"send"},
    without={"node": "it waits for ever for settings that came while it looked for a route"},
)
def a_topic_that_nobody_may_read(s: Stage) -> None:
    """A consumer is given nothing of what producers still bring there; some SDKs start none."""
    topic, group = s.pair(s.usual)
    _permit(s, topic, WRITE)
    s.producer(topic).send(topic, "hello")
    s.refusal("consume", lambda: _see_nothing(s, s.consumer(group, topic)), text=False)


@scenario("PullMessageProcessor.processRequest", verbs={"send"})
def a_group_that_is_switched_off(s: Stage) -> None:
    """Its consumer is given nothing until the group is switched on again, then all that it has missed."""
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
    """They are refused, by the proxy or by the broker, and nothing is stored."""
    topic = s.topic()
    producer = s.producer(topic)
    _see_refused(s, "send", topic, lambda: producer.send(topic, "hello", props={"x": "v" * PROPERTY_BYTES}))
    s.see("next", producer.send(topic, "small").get("offset"))


@scenario("Message.putUserProperty", verbs={"send"})
def properties_of_upstreams_own_names(s: Stage) -> None:
    """Names that the SDK keeps for itself, of which most refuse to be given one, as others are stored."""
    topic = s.topic()
    producer = s.producer(topic)
    for name in ("KEYS", "DELAY"):
        _see_refused(s, name, topic, lambda name=name: producer.send(topic, "hello", props={name: "1"}))  # type: ignore[misc]  # bound early
