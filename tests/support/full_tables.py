"""An engine without an empty table, for tests of forks, which copy every table."""

from engine_harness import START_MS, EngineHarness
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.cluster import PutKvConfig, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.groups import (
    CreateGroup,
    GroupConfig,
    RetryPolicy,
    SetMessageRequestMode,
    UpdateGroupForbidden,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    CreateTopic,
    QueueMapping,
    QueuePart,
    TopicConfig,
)
from rocketmq_testkit.emulator.operations.users import CreateUser, PolicyEntryInfo, PolicyInfo, PutAcl, UserInfo

_PROVIDER = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"


def full_tables(*, slaves: int = 0, **keys: object) -> EngineHarness:
    """Return a harness with topics, groups, users, mappings, filters and settings, and with messages of each kind.

    `keys` are keys of the brokers, by attribute name.
    """
    masters = BrokerConfig(
        authentication_metadata_provider=_PROVIDER.format("authentication", "Authentication"),
        authorization_metadata_provider=_PROVIDER.format("authorization", "Authorization"),
        enable_property_filter=True,
        recall_message_enable=True,
    )
    for name, value in keys.items():
        setattr(masters, name, value)
    copies = [masters.copy() for _ in range(slaves)]
    for number, each in enumerate(copies, 1):
        each.broker_id, each.broker_role = number, "SLAVE"
    engine = Engine(brokers=[masters, *copies], seed=3, now_ms=START_MS)
    harness = EngineHarness(engine, engine.brokers[0])
    part = QueuePart(0, 0, "broker-a", 5)
    for operation in (
        CreateTopic(TopicConfig("A", 2, 2), {"+message.type": "NORMAL"}),
        CreateTopic(TopicConfig("B", 1, 1), {"+queue.type": "BatchCQ"}),
        CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"}),
        CreateGroup(GroupConfig("G", retry_policy=RetryPolicy("EXPONENTIAL", initial_ms=7))),
        CreateGroup(GroupConfig("H", attributes={"x": "y"}, retry_policy=RetryPolicy(next_ms=[1, 2]))),
        UpdateGroupForbidden("G", "B", readable=False),
        SetMessageRequestMode("A", "G", "POP", 4),
        UpdateBrokerConfig({"popPollingSize": "5"}),
        CreateStaticTopic(TopicConfig("S", 1, 1), QueueMapping("S", 1, "broker-a", 1, queues={0: [part]})),
        CreateUser("alice", UserInfo("secret-1", "Normal")),
        PutAcl(None, "User:alice", [PolicyInfo("Custom", [PolicyEntryInfo("Topic:A", ["Pub"], [], "Allow")])]),
        Heartbeat("c", [], [ConsumerData("G", subscriptions=[SubscriptionData("A", "a > 1", "SQL92", sub_version=3)])]),
    ):
        engine.execute(harness.broker, operation)
    engine.execute(engine.name_server, PutKvConfig("n", "k", "vä"))
    for number in range(6):
        harness.send("A", b"%d" % number, queue=number % 2, KEYS=f"k{number}", TAGS="red")
        harness.send("C", b"%d" % number, KEYS="same")
    harness.send("B", b"whole")
    harness.send("A", b"soon", DELAY="1")
    harness.send("A", b"delayed", DELAY="3")
    harness.send("A", b"timed", TIMER_DELIVER_MS=str(START_MS + 20_000))
    harness.send("A", b"half", TRAN_MSG="true", PGROUP="P")
    harness.advance(1_234)
    ended = harness.send("A", b"ended", TRAN_MSG="true", PGROUP="P")
    engine.execute(
        harness.broker, EndTransaction("P", ended.queue_offset, ended.physical_offset, 8, False, ended.msg_id)
    )
    harness.heartbeat("reader", group="H", topics={"A": "*"})
    harness.popped("A", queue=0, count=1, invisible_ms=30_000, group="H")
    harness.popped("A", queue=1, count=2, invisible_ms=30_000, order=True, group="H")
    harness.pull("A", 0, queue=1, group="pulling")
    engine.execute(harness.broker, UpdateConsumerOffset("pulling", "A", 1, 1))
    engine.execute(harness.broker, ResetOffset("pulling", "A", 0, 0, offset=2))
    engine.defects.enable("route_cache")
    return harness
