"""Brokers that reject pull consumers (rejectPullConsumerEnable)."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_consumption import pull_fields
from ...clients.remoting_response import Answer
from ...context.grpc import Grpc
from ...context.remoting import Remoting
from ...helpers.consumer import consuming

REJECTED = {"rejectPullConsumerEnable": "true"}


def _members(t: Remoting | Grpc, group: str) -> Answer:
    return t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


@remoting_case("ClientManageProcessor.heartBeat", settings=REJECTED)
def an_active_consumer_is_not_taken(t: Remoting) -> None:
    """Consumers of the active type in a heartbeat are ignored; its other data is registered."""
    topic, group, passive, client = t.topic(), t.new("group"), t.group(), t.new("client")
    producers = t.new("producer group")
    for fingerprint in (0, 5, 6):
        beat = t.heartbeat(
            client,
            groups={group: {topic: "*"}},
            type="CONSUME_ACTIVELY",
            producers=[producers],
            heartbeatFingerprint=fingerprint,
        )
        t.see(f"heartbeat, fingerprint {fingerprint}", beat, 0)
    t.see("members", _members(t, group), 1)
    t.see("retry topic", t.config_of(retry_topic(group)), 17)
    t.see("producers", t.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": producers}), 0)
    t.heartbeat(client, groups={passive: {topic: "*"}})
    t.see("members of a passive group", _members(t, passive), 0)


@remoting_case("PullMessageProcessor.processRequest", settings=REJECTED)
def who_is_in_no_group_may_not_pull(t: Remoting) -> None:
    """A pull by a group without clients is rejected; groups of tools and of the system may pull."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.see("unknown", t.pull(topic, group), 24)
    t.see("unknown, waiting", t.pull(topic, group, offset=1, suspend_ms=1000), 24)
    t.see("without expression", t.pull(topic, group, sysFlag=0, expression=None), 24)
    t.see("bad expression", t.pull(topic, group, expression="a >", type="SQL92").code)
    for name in (
        "TOOLS_CONSUMER",
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PULL",
        "CID_RMQ_SYS_OWN",
        "DEFAULT_CONSUMER",
        "SCHEDULE_CONSUMER",
        "__MONITOR_CONSUMER",
        "CLIENT_INNER_PRODUCER",
    ):
        t.see(name, t.pull(topic, name).code)


@remoting_case("PullMessageProcessor.processRequest", settings=REJECTED)
def members_of_a_group_may_pull(t: Remoting) -> None:
    """If a group has passive clients, any client may pull for it. A held pull is rejected once they have left."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    member = t.connect()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=member)
    t.see("member", t.pull(topic, group, to=member), 19)
    t.see("another connection", t.pull(topic, group), 19)
    waiting = t.start_pull(topic, group, suspend_ms=15_000)
    t.settle()
    t.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group}, to=member)
    t.sent(topic)
    t.see("waited", t.arrival(waiting), 24)


@remoting_case("PopMessageProcessor.processRequest", settings=REJECTED)
def who_is_in_no_group_may_pop(t: Remoting) -> None:
    """A pop by a group without clients is accepted."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.see("popped", t.pop(topic, group).bodies)


@grpc_case("ConsumerManager.registerConsumer", settings=REJECTED)
def a_simple_consumer_is_taken(t: Grpc) -> None:
    """A gRPC simple consumer registers and receives although it is active; a pull for its group is rejected."""
    consumer = consuming(t, 2)
    t.see("members", _members(t, consumer.group), 0)
    t.see("received", sorted(consumer.receive().bodies))
    fields = pull_fields(consumer.topic, consumer.group)
    t.see("pulled", t.ask(RequestCode.PULL_MESSAGE, fields), 24)
