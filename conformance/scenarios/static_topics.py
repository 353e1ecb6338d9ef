"""Static topics: queues whose numbers and offsets stay what they are, wherever they lie. Few SDKs know of them."""

from collections.abc import Mapping, Sequence

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..actors import Consumer, Producer
from ..drivers.process import Fields
from ..scenario import scenario
from ..stage import PATIENCE_SECONDS, Stage
from ..worlds.static_topics import Part, make_static, part, static_topic
from .several_brokers import BOTH, SEVERAL, THERE, sent_in_the_end

SENDS = 4
MOVED_TO = 100
"""The first offset of what lies at the new broker."""
NOTHING_SECONDS = 20.0
"""After which an SDK that begins at the end is given nothing any more."""
LOOKS_RARELY = dict.fromkeys(
    ("go-remoting", "go-grpc", "node"),
    "it looks for routes every half a minute; what it makes of a move is seen between two producers",
)
STAYS = "its consumer goes on asking the first broker, for longer than a minute"
CHANCE = "it begins at the end of what it takes for another queue, whenever it finds it: what it is given is chance"


def _made(s: Stage, parts: Mapping[int, Sequence[Part]]) -> str:
    """A new topic with logical queues, all of them at the first broker, of which the name server tells."""
    topic = static_topic(s.world, parts, queues=len(parts))
    s.wait_until(lambda: _led(s, topic) == {s.world.broker_name}, f"the name server tells of {topic}")
    return topic


def _move(s: Stage, topic: str) -> None:
    """Have logical queue 0 end here, and go on at the other broker: that one is told first, as mqadmin does it."""
    world, here = s.world, s.world.broker_name
    parts = {0: [part(0, here, end=SENDS), part(0, THERE, MOVED_TO, gen=1)]}
    for broker, connection in ((THERE, world.beside), (here, world.broker)):
        answer = make_static(world, topic, parts, queues=1, epoch=2, broker=broker, to=connection)
        s.require(answer.code == 0, f"{topic} was not moved: {answer}")
    s.wait_until(lambda: _led(s, topic) == {THERE}, f"the name server tells where {topic} went")


def _led(s: Stage, topic: str) -> set[str]:
    """The brokers at which logical queues of a topic end, as the name server tells."""
    route = s.world.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.world.namesrv)
    mappings = route.json["topicQueueMappingByBroker"] if route.code == 0 else {}
    return {broker for broker, mapping in mappings.items() if mapping["currIdMap"]}


def _sent(s: Stage, producer: Producer, topic: str, stem: str) -> list[Fields]:
    """What a producer is told of sends, each repeated until it is not refused."""
    return [sent_in_the_end(s, producer, topic, f"{stem} {number}") for number in range(SENDS)]


def _places(messages: Sequence[Fields]) -> list[tuple[object, object]]:
    """Queues and offsets as the SDK tells them, where it does."""
    return sorted((each.get("queue"), each.get("offset")) for each in messages)


def _queues(messages: Sequence[Fields]) -> list[str]:
    return sorted({str(each.get("queue")) for each in messages})


def _until_given(s: Stage, consumer: Consumer, count: int) -> None:
    """Wait until a consumer was given different messages, so many, or is not for a long time."""
    seconds = PATIENCE_SECONDS if s.hello.get("from_first", True) else NOTHING_SECONDS
    s.comes(lambda: len(set(consumer.bodies)) >= count, consumers=[consumer], seconds=seconds)
    s.settle(consumer)


@scenario("ClientMetadata.topicRouteData2EndpointsForStaticTopic")
def logical_queues_have_numbers_of_their_own(s: Stage) -> None:
    """A topic whose queues 0 and 1 are the broker's 1 and 0 is sent to and consumed like any other."""
    here = s.world.broker_name
    topic, group = _made(s, {0: [part(1, here)], 1: [part(0, here)]}), s.group()
    s.see("queues sent to", _queues(_sent(s, s.producer(topic), topic, "m")))
    consumer = s.consumer(group, topic)
    _until_given(s, consumer, SENDS)
    s.see("given", sorted(consumer.bodies))
    s.see("from queues", _queues(consumer.messages))


@scenario("TopicQueueMappingManager.buildTopicQueueMappingContext", capabilities=SEVERAL, settings=BOTH)
def a_topic_moves_between_two_producers(s: Stage) -> None:
    """Queues keep their numbers, offsets rise, and who then begins at the first message gets those of both brokers.

    SDKs that know nothing of static topics take each broker's queue for one of its own.
    """
    topic, group = _made(s, {0: [part(0, s.world.broker_name)]}), s.group()
    s.see("places sent", _places(_sent(s, s.producer(topic), topic, "here")))
    _move(s, topic)
    s.see("places sent then", _places(_sent(s, s.producer(topic, process=1), topic, "there")))
    consumer = s.consumer(group, topic, process=1)
    _until_given(s, consumer, 2 * SENDS)
    s.see("given", sorted(consumer.bodies))
    s.see("places given", _places(consumer.messages))


@scenario(
    "MQClientInstance.updateTopicRouteInfoFromNameServer",
    capabilities=SEVERAL,
    settings=BOTH,
    without={**LOOKS_RARELY, "rust": STAYS, "cpp": CHANCE},
)
def a_topic_moves_under_clients_at_work(s: Stage) -> None:
    """A producer is refused until it hears of the new broker; a consumer goes on there.

    Who knows nothing of static topics may be given some messages again: to it that is another queue.
    """
    topic, group = _made(s, {0: [part(0, s.world.broker_name)]}), s.group()
    producer = s.producer(topic)
    _sent(s, producer, topic, "here")
    consumer = s.consumer(group, topic)
    s.wait_for(SENDS, consumer)
    _move(s, topic)
    s.see("places sent then", _places(_sent(s, producer, topic, "there")))
    _until_given(s, consumer, 2 * SENDS)
    s.see("given", sorted(set(consumer.bodies)))
