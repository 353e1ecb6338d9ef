"""Clients that shut down."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Style


def _comes_and_goes(s: ScenarioContext, style: Style) -> None:
    topic, group = s.pair(style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, style)
    producer.send(topic, "hello")
    s.wait_for(1, consumer)

    def known() -> object:
        response = s.admin.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        if response.code != 0:
            return response.code
        found = response.json
        return {
            "connections": len(found["connectionSet"]),
            **{name: found[name] for name in ("consumeType", "messageModel", "consumeFromWhere")},
            "topics": sorted(found["subscriptionTable"]),
        }

    s.note("known while it runs", known())
    s.leave(consumer)
    s.wait_until(lambda: isinstance(known(), int), "nobody is known any more")
    s.note("known when it has left", known())
    producer.close()
    s.note("producer closed", True)


@scenario("ConsumerManager.unregisterConsumer", verbs={"simple"})
def a_closed_simple_consumer_is_unregistered_from_the_broker(s: ScenarioContext) -> None:
    """The broker knows a simple consumer while it runs, and removes it when it is closed."""
    _comes_and_goes(s, "simple")


@scenario("ClientManageProcessor.unregisterClient", modes={"concurrent"})
def a_closed_push_consumer_is_unregistered_from_the_broker(s: ScenarioContext) -> None:
    """The broker knows a push consumer while it runs, and removes it when it is closed."""
    _comes_and_goes(s, "concurrent")


@scenario("ClientManageProcessor.unregisterClient", verbs={"send"})
def producers_started_and_closed_in_turn_can_each_send(s: ScenarioContext) -> None:
    """Producers that start and close one after the other can each send."""
    topic = s.topic()
    offsets = []
    for _ in range(3):
        producer = s.producer(topic)
        offsets.append(producer.send(topic, "hello").get("offset"))
        producer.close()
    s.note("offsets", offsets)
