"""Clients that shut down."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import Style


def _comes_and_goes(s: Stage, style: Style) -> None:
    topic, group = s.pair(style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, style)
    producer.send(topic, "hello")
    s.wait_for(1, consumer)

    def known() -> object:
        answer = s.world.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        if answer.code != 0:
            return answer.code
        found = answer.json
        return {
            "connections": len(found["connectionSet"]),
            **{name: found[name] for name in ("consumeType", "messageModel", "consumeFromWhere")},
            "topics": sorted(found["subscriptionTable"]),
        }

    s.see("known while it runs", known())
    s.leave(consumer)
    s.wait_until(lambda: isinstance(known(), int), "nobody is known any more")
    s.see("known when it has left", known())
    producer.close()
    s.see("producer closed", True)


@scenario("ConsumerManager.unregisterConsumer", verbs={"simple"})
def a_simple_consumer_leaves(s: Stage) -> None:
    """The broker knows a simple consumer while it runs, and removes it when it is closed."""
    _comes_and_goes(s, "simple")


@scenario("ClientManageProcessor.unregisterClient", modes={"concurrent"})
def a_push_consumer_leaves(s: Stage) -> None:
    """The broker knows a push consumer while it runs, and removes it when it is closed."""
    _comes_and_goes(s, "concurrent")


@scenario("ClientManageProcessor.unregisterClient", verbs={"send"})
def a_producer_leaves_and_another_comes(s: Stage) -> None:
    """Producers that start and close one after the other can each send."""
    topic = s.topic()
    offsets = []
    for _ in range(3):
        producer = s.producer(topic)
        offsets.append(producer.send(topic, "hello").get("offset"))
        producer.close()
    s.see("offsets", offsets)
