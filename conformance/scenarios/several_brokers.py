"""Two brokers, or a master and its slave: clients whose broker stops, returns, rejects sends or redirects pulls."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_consumption import pull_fields
from ..deployment.target import Capability
from ..drivers.process import DriverError, Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import FILLER_BODY, Consumer, Producer, text

THERE = "broker-b"
BOTH: Mapping[str, str] = {"second-broker.brokerName": THERE, "proxy.proxyMode": "CLUSTER"}
"""Two brokers, and a proxy that belongs to neither."""
SLAVE: Mapping[str, str] = {
    "slaveReadEnable": "true",
    "second-broker.brokerId": "1",
    "second-broker.brokerRole": "SLAVE",
}
FAR_BEHIND: Mapping[str, str] = {**SLAVE, "accessMessageInMemoryMaxRatio": "0"}
"""The master redirects to the slave every consumer that is not at the end of the log."""
SEVERAL = {Capability.SEVERAL_BROKERS}
AWAY = SEVERAL | {Capability.RESTART}
SECONDS = 180.0
"""Timeout for clients that update routes every half minute, and for a proxy that caches routes for a while."""
COPIED_SECONDS = 200.0
"""Time in which a slave finds its master, and copies its tables and messages."""
COUNT = 8
LOOKER = "several-brokers-looker"
"""Group that reads the messages of brokers; created only once, because brokers write all groups each time."""


def on_both(s: ScenarioContext) -> str:
    """Create a topic with one queue on each of two brokers."""
    topic = s.admin.new()
    for broker in (s.admin.broker, s.admin.second_broker):
        s.admin.topic(name=topic, kind="NORMAL", queues=1, to=broker)
    s.wait_until(lambda: brokers_of(s, topic) == 2, "a route to both brokers")
    return topic


def brokers_of(s: ScenarioContext, topic: str) -> int:
    """Return the number of broker names in the name server's route."""
    route = s.admin.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=s.admin.namesrv)
    return len(route.json["brokerDatas"]) if route.code == 0 else 0


def sent_in_the_end(s: ScenarioContext, producer: Producer, topic: str, content: str) -> Fields:
    """Repeat a send until it is accepted, and return its result."""
    responses: list[Fields] = []

    def send() -> bool:
        with suppress(DriverError):
            responses.append(producer.send(topic, content))
        return bool(responses)

    s.wait_until(send, f"{content} is not refused", seconds=SECONDS)
    return responses[0]


def _put(s: ScenarioContext, topic: str, content: str | bytes, to: RemotingClient | None = None) -> None:
    """Store a message without the SDK, on the first broker by default."""
    body = content.encode() if isinstance(content, str) else content
    response = s.admin.request(RequestCode.SEND_MESSAGE, s.admin.send_fields(topic), body, to=to)
    s.require(response.code == 0, f"{content!r} was not stored: {response}")


def _held(s: ScenarioContext, topic: str, broker: RemotingClient) -> set[str]:
    """Return the bodies of a topic's messages on a broker."""
    response = s.admin.request(RequestCode.PULL_MESSAGE, pull_fields(topic, LOOKER), to=broker)
    return {message.body.decode() for message in response.messages} if response.code == 0 else set()


def _consumer(s: ScenarioContext, group: str, topic: str, *brokers: RemotingClient, process: int = 0) -> Consumer:
    """Create a push consumer that receives all messages of these brokers, which must be empty before."""
    if not s.hello.get("from_first", True):
        for broker in brokers:
            _put(s, topic, FILLER_BODY, broker)
        s.wait_until(lambda: all(_held(s, topic, broker) for broker in brokers), "the first messages")
    return s.consumer(group, topic, "concurrent", process=process)


@scenario("MQFaultStrategy.selectOneMessageQueue", verbs={"send"}, capabilities=AWAY, settings=BOTH, alone=True)
def sends_go_to_the_other_broker_while_one_is_stopped(s: ScenarioContext) -> None:
    """With one of two brokers stopped, all messages reach the other; after its return it gets its share again."""
    admin, topic = s.admin, on_both(s)
    producer = s.producer(topic)
    for number in range(COUNT):
        producer.send(topic, f"before {number}")
    brokers = (admin.broker, admin.second_broker)
    s.note("both have some", s.becomes_true(lambda: all(_held(s, topic, each) for each in brokers)))
    with admin.stopped():
        sent = {f"away {number}" for number in range(COUNT)}
        for content in sorted(sent):
            sent_in_the_end(s, producer, topic, content)
        s.note("at the other one", s.becomes_true(lambda: sent <= _held(s, topic, admin.second_broker)))

    def shared() -> bool:
        sent_in_the_end(s, producer, topic, "back")
        return "back" in _held(s, topic, admin.broker)

    s.note("it has its share again", s.becomes_true(shared, seconds=SECONDS))


@scenario(
    "RouteInfoManager.wipeWritePermOfBrokerByLock", verbs={"send"}, capabilities=SEVERAL, settings=BOTH, alone=True
)
def sends_avoid_a_broker_whose_write_permission_was_wiped(s: ScenarioContext) -> None:
    """A new producer avoids a broker whose write permission is wiped, until the permission is restored."""
    topic = on_both(s)

    def change(code: RequestCode) -> None:
        response = s.admin.request(code, {"brokerName": s.admin.broker_name}, to=s.admin.namesrv)
        s.require(response.code == 0, f"the permission was not changed: {response}")

    change(RequestCode.WIPE_WRITE_PERM_OF_BROKER)
    producer = s.producer(topic)
    for number in range(COUNT):
        producer.send(topic, f"m{number}")
    s.note("at the other one", s.becomes_true(lambda: len(_held(s, topic, s.admin.second_broker)) == COUNT))
    change(RequestCode.ADD_WRITE_PERM_OF_BROKER)
    again = s.producer(topic, process=1)

    def shared() -> bool:
        again.send(topic, "again")
        return bool(_held(s, topic, s.admin.broker))

    s.note("given back", s.becomes_true(shared, seconds=SECONDS))


@scenario(
    "DefaultRequestProcessor.getRouteInfoByTopic",
    verbs={"send"},
    protocol="remoting",
    capabilities=SEVERAL,
    settings=BOTH,
    alone=True,
)
def order_topic_config_limits_sends_to_its_queues_except_with_go(s: ScenarioContext) -> None:
    """A producer sends only to the queues that an order topic's configuration names; Go's SDK ignores it.

    Here these are the first two of four queues on one of two brokers.
    """
    admin, topic = s.admin, s.admin.new()
    for broker in (admin.broker, admin.second_broker):
        admin.topic(name=topic, queues=4, to=broker)
    order = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": f"{THERE}:2"}
    for response in (
        admin.request(RequestCode.PUT_KV_CONFIG, order, to=admin.namesrv),
        admin.request(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=true", to=admin.namesrv),
    ):
        s.require(response.code == 0, f"the name server refused the order: {response}")
    s.wait_until(lambda: brokers_of(s, topic) == 2, "a route to both brokers")
    s.producer(topic).send_numbered(topic, COUNT)

    def ends(broker: RemotingClient) -> list[int]:
        asked = [{"topic": topic, "queueId": queue} for queue in range(4)]
        return [int(admin.request(RequestCode.GET_MAX_OFFSET, each, to=broker)["offset"]) for each in asked]

    def stored() -> bool:
        return sum(ends(admin.broker)) + sum(ends(admin.second_broker)) == COUNT

    s.note("all stored", s.becomes_true(stored))
    s.note("in queues here", [end > 0 for end in ends(admin.broker)])
    s.note("in queues there", [end > 0 for end in ends(admin.second_broker)])


@scenario("RebalanceImpl.rebalanceByTopic", modes={"concurrent"}, capabilities=AWAY, settings=BOTH, alone=True)
def a_consumer_goes_on_when_a_broker_is_back(s: ScenarioContext) -> None:
    """A consumer receives messages of the other broker while one is stopped, and of both after its return."""
    admin, topic, group = s.admin, on_both(s), s.group()
    consumer = _consumer(s, group, topic, admin.broker, admin.second_broker)
    how = {"seconds": SECONDS, "jump_s": s.poll_step}
    _put(s, topic, "before, here")
    _put(s, topic, "before, there", admin.second_broker)
    s.wait_for(2, consumer, prefix="before", **how)
    with admin.stopped():
        _put(s, topic, "meanwhile", admin.second_broker)
        s.wait_for(1, consumer, prefix="meanwhile", **how)
    _put(s, topic, "back")
    s.wait_for(1, consumer, prefix="back", **how)
    s.note("given", sorted(set(consumer.bodies)))


@scenario("AllocateMessageQueueAveragely.allocate", modes={"concurrent"}, capabilities=SEVERAL, settings=BOTH)
def two_consumers_share_the_messages_of_both_brokers(s: ScenarioContext) -> None:
    """Two consumers of a group both receive messages; when one has left, the other receives those of both brokers."""
    admin, topic, group = s.admin, on_both(s), s.group()
    brokers = (admin.broker, admin.second_broker)
    first = _consumer(s, group, topic, *brokers)
    second = s.consumer(group, topic, "concurrent", process=1)
    sent: set[str] = set()

    def given() -> set[str]:
        return {*first.bodies, *second.bodies}

    def shared() -> bool:
        if sent == given():
            for broker, name in zip(brokers, ("here", "there"), strict=True):
                sent.add(content := f"{name} {len(sent)}")
                _put(s, topic, content, broker)
        return bool(first.bodies and second.bodies)

    how = {"seconds": SECONDS, "jump_s": s.poll_step}
    s.wait_until(shared, "both are given some", consumers=[first, second], **how)
    s.wait_until(lambda: sent <= given(), "one of them is given each", consumers=[first, second], **how)
    left = second.post_close()
    s.wait_until(left.done, "the second one has left", consumers=[first], **how)
    for broker, name in zip(brokers, ("here", "there"), strict=True):
        _put(s, topic, f"alone, {name}", broker)
    s.wait_for(2, first, prefix="alone", **how)
    s.note("alone", sorted({text(message) for message in first.with_prefix("alone")}))


def _until_copied(s: ScenarioContext, topic: str, count: int) -> None:
    """Wait until the slave knows a topic and has `count` messages of it."""
    has_all = partial(_held, s, topic, s.admin.second_broker)
    what = "the slave has the messages of its master"
    s.wait_until(lambda: len(has_all()) == count, what, seconds=COPIED_SECONDS, jump_s=1.0)


@scenario(
    "RemoteBrokerOffsetStore.fetchConsumeOffsetFromBroker",
    modes={"concurrent"},
    protocol="remoting",
    capabilities=AWAY,
    settings=SLAVE,
    alone=True,
    without={"go-remoting": "it queries the group's offset only at the master"},
)
def a_consumer_started_while_the_master_is_stopped_reads_from_the_slave(s: ScenarioContext) -> None:
    """A new group's consumer that starts while the master is stopped receives all messages from the slave."""
    topic, group = s.admin.topic(queues=1), s.group()
    for content in ("first", "second"):
        _put(s, topic, content)
    _until_copied(s, topic, 2)
    s.process()  # the driver's start needs the master
    with s.admin.stopped():
        consumer = s.consumer(group, topic, "concurrent")
        s.wait_for(2, consumer, seconds=SECONDS)
        s.note("given", sorted(set(consumer.bodies)))


@scenario(
    "MQClientInstance.findBrokerAddressInSubscribe",
    verbs={"pause", "resume"},
    modes={"concurrent"},
    protocol="remoting",
    capabilities=AWAY,
    settings=SLAVE,
    alone=True,
)
def a_consumer_goes_on_at_the_slave(s: ScenarioContext) -> None:
    """A consumer whose master stops receives the remaining messages from the slave."""
    topic, group = s.admin.topic(queues=1), s.group()
    consumer = s.consumer(group, topic, "concurrent")
    _put(s, topic, "first")
    s.wait_for(1, consumer, seconds=SECONDS)
    consumer.driver.call("pause", on=consumer.name)
    for content in ("second", "third"):
        _put(s, topic, content)
    _until_copied(s, topic, 3)
    with s.admin.stopped():
        consumer.driver.call("resume", on=consumer.name)
        s.wait_for(3, consumer, seconds=SECONDS)
        s.note("given", sorted(set(consumer.bodies)))


@scenario("PullAPIWrapper.recalculatePullFromWhichNode", modes={"concurrent"}, protocol="remoting", settings=FAR_BEHIND)
def a_lagging_group_is_redirected_to_the_slave(s: ScenarioContext) -> None:
    """A consumer far behind is redirected to the slave and pulls there; its offset is committed at the master."""
    topic, group = s.admin.topic(queues=1), s.group()
    for number in range(COUNT):
        _put(s, topic, f"m{number}")
    _until_copied(s, topic, COUNT)
    consumer = s.consumer(group, topic, "concurrent")
    s.wait_for(COUNT, consumer, seconds=SECONDS)
    s.note("given", sorted(set(consumer.bodies)))
    asked = {"consumerGroup": group, "topic": topic, "queueId": 0}

    def committed() -> bool:
        response = s.admin.request(RequestCode.QUERY_CONSUMER_OFFSET, asked)
        return response.code == 0 and response["offset"] == str(COUNT)

    s.note("committed at the master", s.becomes_true(committed, seconds=SECONDS))
    s.note("pulled from the slave", s.becomes_true(lambda: _pulled_from_slave(s, topic, group) == COUNT))


def _pulled_from_slave(s: ScenarioContext, topic: str, group: str) -> int:
    """Return the offset up to which a group has pulled from the slave."""
    asked = {"consumerGroup": group, "topic": topic}
    response = s.admin.request(RequestCode.GET_CONSUME_STATS, asked, to=s.admin.second_broker)
    table = response.json["offsetTable"] if response.code == 0 else {}
    return max((each["pullOffset"] for each in table.values()), default=0)
