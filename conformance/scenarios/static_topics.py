"""Static topics: logical queues keep numbers and offsets when they move to another broker. Few SDKs support them."""

from collections.abc import Mapping, Sequence

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..drivers.process import Fields
from ..helpers.static_topics import Part, make_static, part, static_topic
from ..scenario import scenario
from ..sdk.scenario_context import PATIENCE_SECONDS, ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer
from .several_brokers import BOTH, SEVERAL, THERE, sent_in_the_end

SENDS = 4
MOVED_TO = 100
"""The first logical offset on the new broker."""
NOTHING_SECONDS = 20.0
"""Time without messages after which an SDK that starts at the end will receive none."""
LOOKS_RARELY = dict.fromkeys(
    ("go-remoting", "go-grpc", "node"),
    "it updates routes only every 30 s; the scenario with a producer before and one after the move needs no update",
)
STAYS = "its consumer keeps pulling from the first broker for more than a minute"
CHANCE = "it treats a moved queue as a new one and starts at its end, at a varying time, so its messages vary"


def _made(s: ScenarioContext, parts: Mapping[int, Sequence[Part]]) -> str:
    """Create a topic with logical queues, all on the first broker, and wait until the name server knows it."""
    topic = static_topic(s.admin, parts, queues=len(parts))
    s.wait_until(lambda: _newest_brokers(s, topic) == {s.admin.broker_name}, f"the name server knows {topic}")
    return topic


def _move(s: ScenarioContext, topic: str) -> None:
    """End logical queue 0 on the first broker, and continue it on the other, which is updated first.

    mqadmin updates the brokers in the same order.
    """
    admin, here = s.admin, s.admin.broker_name
    parts = {0: [part(0, here, end=SENDS), part(0, THERE, MOVED_TO, gen=1)]}
    for broker, connection in ((THERE, admin.second_broker), (here, admin.broker)):
        response = make_static(admin, topic, parts, queues=1, epoch=2, broker=broker, to=connection)
        s.require(response.code == 0, f"{topic} was not moved: {response}")
    s.wait_until(lambda: _newest_brokers(s, topic) == {THERE}, f"the name server knows the new broker of {topic}")


def _newest_brokers(s: ScenarioContext, topic: str) -> set[str]:
    """Return the brokers that have the newest parts of the logical queues, as known to the name server."""
    route = s.admin.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.admin.namesrv)
    mappings = route.json["topicQueueMappingByBroker"] if route.code == 0 else {}
    return {broker for broker, mapping in mappings.items() if mapping["currIdMap"]}


def _sent(s: ScenarioContext, producer: Producer, topic: str, prefix: str) -> list[Fields]:
    """Return the results of sends, each repeated until it is accepted."""
    return [sent_in_the_end(s, producer, topic, f"{prefix} {number}") for number in range(SENDS)]


def _places(messages: Sequence[Fields]) -> list[tuple[object, object]]:
    """Return the queues and offsets that the SDK reports."""
    return sorted((each.get("queue"), each.get("offset")) for each in messages)


def _queues(messages: Sequence[Fields]) -> list[str]:
    return sorted({str(each.get("queue")) for each in messages})


def _until_given(s: ScenarioContext, consumer: Consumer, count: int) -> None:
    """Wait until a consumer has received `count` different messages, or has received none for a long time."""
    seconds = PATIENCE_SECONDS if s.hello.get("from_first", True) else NOTHING_SECONDS
    s.becomes_true(lambda: len(set(consumer.bodies)) >= count, consumers=[consumer], seconds=seconds)
    s.wait_until_idle(consumer)


@scenario("ClientMetadata.topicRouteData2EndpointsForStaticTopic")
def a_static_topic_with_swapped_queue_ids_is_sent_to_and_consumed(s: ScenarioContext) -> None:
    """A topic whose queues 0 and 1 are the broker's queues 1 and 0 is sent to and consumed like any other."""
    here = s.admin.broker_name
    topic, group = _made(s, {0: [part(1, here)], 1: [part(0, here)]}), s.group()
    s.note("queues sent to", _queues(_sent(s, s.producer(topic), topic, "m")))
    consumer = s.consumer(group, topic)
    _until_given(s, consumer, SENDS)
    s.note("given", sorted(consumer.bodies))
    s.note("from queues", _queues(consumer.messages))


@scenario("TopicQueueMappingManager.buildTopicQueueMappingContext", capabilities=SEVERAL, settings=BOTH)
def send_offsets_rise_after_a_static_topic_moves_to_another_broker(s: ScenarioContext) -> None:
    """A topic that moves between two producers keeps its queue numbers, and its offsets rise.

    A consumer that then starts at the first message receives the messages of both brokers.

    SDKs without support for static topics treat each broker's queue as a queue of its own.
    """
    topic, group = _made(s, {0: [part(0, s.admin.broker_name)]}), s.group()
    s.note("places sent", _places(_sent(s, s.producer(topic), topic, "here")))
    _move(s, topic)
    s.note("places sent then", _places(_sent(s, s.producer(topic, process=1), topic, "there")))
    consumer = s.consumer(group, topic, process=1)
    _until_given(s, consumer, 2 * SENDS)
    s.note("given", sorted(consumer.bodies))
    s.note("places given", _places(consumer.messages))


@scenario(
    "MQClientInstance.updateTopicRouteInfoFromNameServer",
    capabilities=SEVERAL,
    settings=BOTH,
    without={**LOOKS_RARELY, "rust": STAYS, "cpp": CHANCE},
)
def running_clients_follow_a_static_topic_to_another_broker(s: ScenarioContext) -> None:
    """A producer of a topic that moves gets errors until it learns of the new broker; a consumer continues there.

    An SDK without support for static topics may receive some messages again, because it sees a different queue.
    """
    topic, group = _made(s, {0: [part(0, s.admin.broker_name)]}), s.group()
    producer = s.producer(topic)
    _sent(s, producer, topic, "here")
    consumer = s.consumer(group, topic)
    s.wait_for(SENDS, consumer)
    _move(s, topic)
    s.note("places sent then", _places(_sent(s, producer, topic, "there")))
    _until_given(s, consumer, 2 * SENDS)
    s.note("given", sorted(set(consumer.bodies)))
