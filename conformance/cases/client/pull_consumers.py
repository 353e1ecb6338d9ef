"""Brokers that reject pull consumers (rejectPullConsumerEnable)."""

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_consumption import pull_fields
from ...clients.remoting_response import DecodedResponse
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consuming

REJECTED = {"rejectPullConsumerEnable": "true"}


def _members(t: RemotingContext | GrpcContext, group: str) -> DecodedResponse:
    return t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


@remoting_case("ClientManageProcessor.heartBeat", settings=REJECTED)
def a_heartbeat_registers_no_consumer_of_the_active_type(t: RemotingContext) -> None:
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
        t.note(f"heartbeat, fingerprint {fingerprint}", beat, 0)
    t.note("members", _members(t, group), 1)
    t.note("retry topic", t.config_of(retry_topic(group)), 17)
    t.note("producers", t.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": producers}), 0)
    t.heartbeat(client, groups={passive: {topic: "*"}})
    t.note("members of a passive group", _members(t, passive), 0)


@remoting_case("PullMessageProcessor.processRequest", settings=REJECTED)
def a_pull_by_a_group_without_clients_is_rejected(t: RemotingContext) -> None:
    """A pull by a group without clients is rejected; groups of tools and of the system may pull."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.note("unknown", t.pull(topic, group), 24)
    t.note("unknown, waiting", t.pull(topic, group, offset=1, suspend_ms=1000), 24)
    t.note("without expression", t.pull(topic, group, sysFlag=0, expression=None), 24)
    t.note("bad expression", t.pull(topic, group, expression="a >", type="SQL92").code)
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
        t.note(name, t.pull(topic, name).code)


@remoting_case("PullMessageProcessor.processRequest", settings=REJECTED)
def a_pull_by_a_group_with_clients_is_accepted(t: RemotingContext) -> None:
    """If a group has passive clients, any client may pull for it. A waiting pull is rejected once they have left."""
    topic, group, client = t.topic(queues=1), t.group(), t.new("client")
    member = t.connect()
    t.heartbeat(client, groups={group: {topic: "*"}}, to=member)
    t.note("member", t.pull(topic, group, to=member), 19)
    t.note("another connection", t.pull(topic, group), 19)
    waiting = t.start_pull(topic, group, suspend_ms=15_000)
    t.settle()
    t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group}, to=member)
    t.sent(topic)
    t.note("waited", t.arrival(waiting), 24)


@remoting_case("PopMessageProcessor.processRequest", settings=REJECTED)
def a_pop_by_a_group_without_clients_is_accepted(t: RemotingContext) -> None:
    """A pop by a group without clients is accepted."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.note("popped", t.pop(topic, group).bodies)


@grpc_case("ConsumerManager.registerConsumer", settings=REJECTED)
def a_grpc_simple_consumer_may_register_and_receive(t: GrpcContext) -> None:
    """A gRPC simple consumer registers and receives although it is active; a pull for its group is rejected."""
    consumer = consuming(t, 2)
    t.note("members", _members(t, consumer.group), 0)
    t.note("received", sorted(consumer.receive().bodies))
    fields = pull_fields(consumer.topic, consumer.group)
    t.note("pulled", t.request(RequestCode.PULL_MESSAGE, fields), 24)
