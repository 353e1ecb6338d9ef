"""Light message queues (LMQ) through SDKs, which treat them as ordinary topics once the name server knows them."""

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX

from ..clients.remoting_topics import route_request, topic_request
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import text

LIGHT = {"enableLmq": "true", "enableMultiDispatch": "true"}


def _made(s: ScenarioContext) -> str:
    """Create an LMQ that has a route."""
    admin = s.admin
    name = LMQ_PREFIX + admin.new("light")
    s.require(admin.request(*topic_request(name, queues=1)).code == 0, f"{name} was not made")
    s.wait_until(lambda: admin.request(*route_request(name), to=admin.namesrv).code == 0, "its route")
    return name


@scenario(
    "ConsumeQueue.multiDispatchLmqQueue",
    modes={"concurrent"},
    protocol="remoting",
    settings=LIGHT,
    without={"go-remoting": "its listener receives no messages of an LMQ, with 5.3.3 as well"},
)
def an_lmq_consumer_receives_the_messages_dispatched_to_the_lmq(s: ScenarioContext) -> None:
    """A push consumer of an LMQ receives the messages that name it, with their original topic and offset."""
    topic, name, group = s.topic(queues=1), _made(s), s.group()
    producer = s.producer(topic)
    props = {"INNER_MULTI_DISPATCH": name}
    producer.send(topic, "elsewhere")
    producer.send(topic, "first", props=props)
    consumer = s.consumer(group, name, "concurrent")
    s.wait_for(1, consumer, prefix="first")
    for number in range(2):
        producer.send(topic, f"later{number}", props=props)
    s.wait_for(2, consumer, prefix="later")
    s.wait_until_idle(consumer)
    given = [(text(message), message["topic"], message["offset"]) for message in consumer.messages]
    s.note("given", sorted(given, key=str))
