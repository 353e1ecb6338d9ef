"""Engines started from a snapshot: their state and behavior, and state that a snapshot does not contain."""

from io import BytesIO
from types import NoneType

import pytest
from engine_harness import EngineHarness, bodies, make_harness
from hypothesis import given, settings
from hypothesis import strategies as st
from pull_operation import pull_of
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig, NamesrvConfig
from rocketmq_testkit.emulator.engine import DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Node
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.cluster import (
    GetBrokerHaStatus,
    GetKvConfig,
    GetNamesrvConfig,
    GetRouteInfo,
    PutKvConfig,
    UpdateBrokerConfig,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.operations.groups import (
    CreateGroup,
    GetAllGroups,
    GetConsumeStats,
    GroupConfig,
    RetryPolicy,
    SetMessageRequestMode,
    UpdateGroupForbidden,
)
from rocketmq_testkit.emulator.operations.message_queries import QueryMessage
from rocketmq_testkit.emulator.operations.offsets import GetAllConsumerOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage
from rocketmq_testkit.emulator.operations.timers import GetAllDelayOffset, GetTimerCheckPoint, GetTimerMetrics
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    CreateTopic,
    GetAllTopics,
    GetTopicStats,
    QueueMapping,
    QueuePart,
    TopicConfig,
)
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot
from rocketmq_testkit.remoting.client import batch_body
from snapshot_files import begun, copied, saved
from stored import committed, filled, stored_bodies


def moved(harness: EngineHarness) -> EngineHarness:
    """Return a harness started from a snapshot of this one."""
    engine = copied(harness.engine)
    return EngineHarness(engine, engine.brokers[0])


def response(engine: Engine, node: Node, operation: Operation) -> Result | str:
    """Return the result of an operation, or the text of its error."""
    try:
        return engine.execute(node, operation)
    except EngineError as refused:
        return str(refused)


# contents

PART = QueuePart(0, 0, "broker-a", 5)
CHANGES: tuple[Operation, ...] = (
    CreateTopic(TopicConfig("A", 3, 2, 6, order=True), {"+message.type": "FIFO"}),
    CreateTopic(TopicConfig("B", 1, 1, 4), {"+queue.type": "BatchCQ"}),
    CreateTopic(TopicConfig("C", 1, 1, 6, topic_filter_type="MULTI_TAG", topic_sys_flag=1)),
    SendMessage("PG", "A", 1, b"m", {"TAGS": "red", "KEYS": "k1 k2"}, ("10.0.0.1", 5000), 7),
    SendMessage("PG", "A", 0, b"half", {"TRAN_MSG": "true", "PGROUP": "P"}, ("10.0.0.1", 5000), 7),
    SendMessage("PG", "A", 0, b"m", {"DELAY": "3"}, ("::1", 5000), 7),
    SendMessage("PG", "C", 0, b"m", {"TIMER_DELAY_SEC": "3600"}, ("10.0.0.1", 5000), 7),
    CreateGroup(GroupConfig("G", retry_max_times=3, retry_policy=RetryPolicy("EXPONENTIAL", initial_ms=7))),
    CreateGroup(GroupConfig("H", attributes={"x": "y"}, retry_policy=RetryPolicy(next_ms=[1, 2]))),
    UpdateGroupForbidden("G", "B", readable=False),
    UpdateGroupForbidden("G", "A", readable=False),
    UpdateConsumerOffset("G", "A", 1, 1),
    UpdateConsumerOffset("G@broadcast", "A", 0, 9),
    SetMessageRequestMode("A", "G", "POP", 4),
    UpdateBrokerConfig({"popPollingSize": "5", "brokerPermission": "4", "messageDelayLevel": "1s 2s 1h"}),
    CreateStaticTopic(TopicConfig("S", 1, 1), QueueMapping("S", 1, "broker-a", 1, queues={0: [PART]})),
    Heartbeat("c", [], [ConsumerData("G", subscriptions=[SubscriptionData("A", "a > 1", "SQL92", sub_version=3)])]),
)
"""Operations on a broker; the first one creates the topic that the others use."""
QUERIES: tuple[Operation, ...] = (
    GetAllTopics(),
    GetAllGroups(),
    GetAllConsumerOffset(),
    GetAllDelayOffset(),
    GetTimerMetrics(),
    GetTopicStats("A"),
    GetConsumeStats("G", "A"),
    QueryMessage("A", "k2", 10, 0, end_timestamp=2**62),
    pull_of("H", "A", queue=1, count=10),
    pull_of("G", "A", queue=1, count=10),
    GetBrokerHaStatus(),
)


@given(st.lists(st.sampled_from(CHANGES[1:]), max_size=12), st.integers(0, 20_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_restored_engine_returns_the_same_to_every_query_as_after_a_restart(
    changes: list[Operation], wait_ms: int
) -> None:
    """After any changes an engine from a snapshot returns the same as a restarted one, at once and later.

    Their remaining states are equal byte for byte.
    """
    harness = make_harness()
    for change in (CHANGES[0], *changes):
        response(harness.engine, harness.broker, change)
    harness.advance(wait_ms)
    other = moved(harness)
    harness.engine.restart()
    for pause_ms in (0, 60_000):
        for each in (harness, other):
            each.advance(pause_ms)
        for question in QUERIES:
            assert response(other.engine, other.broker, question) == response(harness.engine, harness.broker, question)
        assert other.broker.config == harness.broker.config
        assert saved(other.engine) == saved(harness.engine)


def test_a_snapshot_contains_the_name_servers_configuration_and_kv_pairs() -> None:
    """As after a restart, configuration and key-value pairs remain, and changes of routes are lost."""
    engine = Engine(namesrv=NamesrvConfig(enable_topic_list=False))
    engine.execute(engine.name_server, PutKvConfig("ORDER_TOPIC_CONFIG", "A", "broker-a:4"))
    engine.execute(engine.name_server, UpdateNamesrvConfig({"orderMessageEnable": "true"}))
    engine.execute(engine.brokers[0], CreateTopic(TopicConfig("A", 4, 4)))
    other = copied(engine)
    for question in (GetKvConfig("ORDER_TOPIC_CONFIG", "A"), GetNamesrvConfig(), GetRouteInfo("A")):
        assert response(other, other.name_server, question) == response(engine, engine.name_server, question)


def test_a_snapshot_contains_all_masters_and_slaves_with_their_logs() -> None:
    """A snapshot contains all masters and slaves with their logs and links; a stopped broker runs afterwards."""
    engine = Engine(
        brokers=[
            BrokerConfig(broker_name="a", broker_cluster_name="east"),
            BrokerConfig(broker_name="b"),
            BrokerConfig(broker_name="b", broker_id=1, broker_role="SLAVE"),
        ],
        seed=4,
    )
    for broker in engine.brokers[:2]:
        engine.execute(broker, CreateTopic(TopicConfig("A", 1, 1)))
        engine.execute(broker, SendMessage("PG", "A", 0, broker.name.encode(), {}, ("10.0.0.1", 5000), 0))
    engine.scheduler.advance_to(70_000)
    engine.stop(engine.brokers[0])
    other = copied(engine)
    harnesses = [EngineHarness(other, broker) for broker in other.brokers]
    assert [stored_bodies(harness, "A") for harness in harnesses] == [[b"a"], [b"b"], [b"b"]]
    assert [(broker.running, broker.config) for broker in other.brokers] == [
        (True, broker.config) for broker in engine.brokers
    ]
    harnesses[1].send("A", b"later")
    assert stored_bodies(harnesses[2], "A") == [b"b", b"later"]
    assert harnesses[2].broker.topics.find("A") is not None


def test_a_restored_slave_keeps_its_masters_timer_check_point() -> None:
    """A slave keeps its copy of its master's timer check point until it copies it again."""
    slave = BrokerConfig(broker_id=1, broker_role="SLAVE")
    engine = Engine(brokers=[BrokerConfig(), slave])
    harness = EngineHarness(engine, engine.brokers[0])
    harness.topic("A")
    harness.send("A", TIMER_DELAY_SEC="3600")
    harness.advance(30_000)
    known = engine.execute(engine.brokers[1], GetTimerCheckPoint())
    other = copied(engine)
    assert other.execute(other.brokers[1], GetTimerCheckPoint()) == known
    engine.restart(engine.brokers[1])
    engine.restart()
    for each in (engine, other):
        each.scheduler.advance_to(60_000)
    assert saved(engine) == saved(other)


WIRING = frozenset(
    {
        "_defects",
        "_deliveries",
        "_random_streams",
        "_emulation",
        "_gate",
        "_name_server",
        "_on_configured",
        "_on_pools_changed",
        "_scheduler",
        "_topic_room",
        "interference",
        "replication",
        "responses",
    }
)
SAVED = frozenset(  # see BrokerState
    {
        *("config", "topics", "groups", "offsets", "store", "pop_records", "_request_modes", "mappings", "user_table"),
        "_known_ports",  # in LogState
    }
)


def test_every_broker_attribute_that_survives_a_restart_is_saved(harness: EngineHarness) -> None:
    """Every attribute that survives a restart of a broker is in SAVED, and therefore in `BrokerState` and snapshots."""
    before = dict(vars(harness.broker))
    harness.engine.restart()
    outlives = {
        name
        for name, held in vars(harness.broker).items()
        if held is before[name] and not isinstance(held, str | int | tuple | NoneType)
    }
    assert outlives == WIRING | SAVED


def test_a_restored_engine_continues_its_random_streams() -> None:
    """The engine continues the random streams of the snapshot; another seed gives other choices."""
    harness = make_harness(seed=7)
    harness.topic("A", 64)

    def queues(of: EngineHarness) -> list[int]:
        return [of.send("A", b"m", queue=-1).queue_id for _ in range(40)]

    queues(harness)
    snapshot = saved(harness.engine)
    other, strange = begun(snapshot), Engine(state=read_snapshot(BytesIO(snapshot)), seed=8)
    assert other.random_streams.seed == 7
    expected = queues(harness)
    assert queues(EngineHarness(other, other.brokers[0])) == expected
    assert queues(EngineHarness(strange, strange.brokers[0])) != expected


def test_a_start_from_a_snapshot_may_replace_the_saved_configurations() -> None:
    """The emulation configuration is in a snapshot; a start may replace the broker configurations."""
    harness = make_harness(pull_hold_check_interval=1, store_max_bytes=2**30)
    snapshot = saved(harness.engine)
    other = begun(snapshot)
    assert other.emulation == harness.engine.emulation
    given = Engine(
        state=read_snapshot(BytesIO(snapshot)),
        brokers=[BrokerConfig(pop_polling_size=3)],
        emulation=EmulationConfig(journal_max_entries=2),
    )
    assert given.brokers[0].config.pop_polling_size == 3
    assert given.emulation.pull_hold_check_interval == EmulationConfig().pull_hold_check_interval


@pytest.mark.parametrize("files", [1, 3])
def test_a_restored_log_continues_in_the_same_files(files: int) -> None:
    """The files keep their numbers and ages, and new records are appended to the last one."""
    harness = make_harness(mapped_file_size_commit_log=200_000, max_message_size=8_000, file_reserved_time=1)
    harness.topic("A")
    while len(harness.broker.store.log.files()[0]) < files + 1:
        harness.send("A", b"x" * 8_000)
        harness.advance(1_000)
    if files > 1:
        harness.broker.store.log.drop_oldest(1)
    other = moved(harness)
    assert other.broker.store.log.files() == harness.broker.store.log.files()
    harness.engine.restart()
    for each in (harness, other):
        each.send("A", b"next", KEYS="k")
        each.advance(30 * 3_600_000)
    assert list(other.broker.store.log.records_from(0)) == list(harness.broker.store.log.records_from(0))
    assert other.broker.store.min_offset("A", 0) == harness.broker.store.min_offset("A", 0) > 0


def test_a_restored_log_rejects_messages_too_large_for_its_files() -> None:
    """Log files keep their size, so messages too large for them are rejected even if maxMessageSize allows them."""
    harness = make_harness(mapped_file_size_commit_log=200_000, max_message_size=8_000)
    harness.topic("A")
    harness.engine.execute(harness.broker, UpdateBrokerConfig({"maxMessageSize": "1000000"}))
    other = moved(harness)
    assert other.send("A", b"x" * 60_000).queue_offset == 0
    with pytest.raises(EngineError, match="message is illegal"):
        other.send("A", b"x" * 70_000)


def test_restored_lmqs_and_batch_queues_keep_their_types() -> None:
    """LMQs and BatchCQ queues keep their types, which count offsets differently."""
    harness = make_harness(enable_lmq=True, enable_multi_dispatch=True)
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("B", 1, 1), {"+queue.type": "BatchCQ"}))
    harness.topic("A")
    other = harness
    for _ in range(2):
        other.send("A", INNER_MULTI_DISPATCH="%LMQ%x")
        other.send("B")
        other = moved(other)
    kinds = {type(queue).__name__ for queue in other.broker.store.queues.values()}
    assert kinds == {"ConsumeQueue", "BatchConsumeQueue", "LmqConsumeQueue"}
    assert [other.broker.store.max_offset(topic, 0) for topic in ("A", "B", "%LMQ%x")] == [2, 2, 2]


def test_a_restored_batch_queue_has_every_message_of_its_batches(harness: EngineHarness) -> None:
    """A record of several messages has as many offsets after the restore as before, and a pull at any returns it."""
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("B", 1, 1), {"+queue.type": "BatchCQ"}))
    for key in "UV":
        body, unique = batch_body([(b"one", {}), (b"two", {})]), {"UNIQ_KEY": key}
        batch = SendMessage("PG", "B", 0, body, unique, ("10.0.0.1", 5000), harness.now_ms, batch=True)
        harness.engine.execute(harness.broker, batch)
        harness.send("B")
    other = moved(harness)
    assert other.broker.store.max_offset("B", 0) == 6
    for offset in range(6):
        pull = pull_of("G", "B", offset=offset)
        assert response(other.engine, other.broker, pull) == response(harness.engine, harness.broker, pull)


# behavior


def test_restored_delayed_timer_and_invisible_messages_are_delivered_on_time(harness: EngineHarness) -> None:
    """Delayed, timer and invisible messages are delivered at their own times, each once."""
    filled(harness, 4)
    harness.send("A", b"delayed", DELAY="2")
    harness.send("A", b"timed", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    messages = harness.popped("A", count=2, invisible_ms=10_000)
    receipts = [harness.receipt(message) for message in messages]
    harness.advance(1_000)
    other = moved(harness)
    other.ack("A", receipts[0])
    assert (committed(other), other.broker.store.max_offset("A", 0)) == (2, 4)
    other.advance(3_000)
    assert other.broker.store.max_offset("A", 0) == 4
    other.advance(2_000)
    assert stored_bodies(other, "A")[4:] == [b"delayed"]
    other.advance(16_000)
    assert stored_bodies(other, "A")[4:] == [b"delayed", b"timed"]
    assert stored_bodies(other, "%RETRY%G_A") == [b"1"]


def test_messages_due_before_the_restore_are_delivered_at_once(harness: EngineHarness) -> None:
    """If time has passed before the start, due messages are delivered at once, as after a stop of the broker."""
    filled(harness, 1)
    harness.send("A", b"delayed", DELAY="18")
    harness.send("A", b"timed", TIMER_DELIVER_MS=str(harness.now_ms + 20_000))
    harness.popped("A", invisible_ms=3_600_000)
    later = begun(saved(harness.engine), harness.now_ms + 3 * 3_600_000)
    other = EngineHarness(later, later.brokers[0])
    other.advance(5_000)
    assert sorted(stored_bodies(other, "A")) == [b"0", b"delayed", b"timed"]
    assert stored_bodies(other, "%RETRY%G_A") == [b"0"]


def test_a_restored_half_message_can_be_ended_and_is_otherwise_checked(harness: EngineHarness) -> None:
    """A half message keeps its offsets, so its end finds it; one without an end is checked."""
    harness.topic("A")
    halves = [harness.send("A", b"%d" % n, TRAN_MSG="true", PGROUP="P") for n in range(2)]
    other = moved(harness)
    first = halves[0]
    other.engine.execute(
        other.broker, EndTransaction("P", first.queue_offset, first.physical_offset, 8, False, first.msg_id)
    )
    assert stored_bodies(other, "A") == [b"0"]
    producer = DirectChannel("p")
    other.engine.submit(other.broker, Heartbeat("p", ["P"], []), producer)
    other.advance(40_000)
    [asked] = producer.effects
    assert isinstance(asked, CheckTransactionState)


@pytest.mark.parametrize("buffered", [False, True])
def test_restored_messages_in_flight_are_redelivered_unless_acknowledged(buffered: bool) -> None:
    """Messages in flight are redelivered unless acknowledged, with or without the buffer; old handles stay valid."""
    harness = make_harness(enable_pop_buffer_merge=buffered)
    filled(harness, 3)
    receipts = [harness.receipt(message) for message in harness.popped("A", invisible_ms=30_000)]
    harness.ack("A", receipts[0])
    other = moved(harness)
    assert other.popped("A") == []
    other.ack("A", receipts[1])
    other.advance(40_000)
    assert bodies(other.popped("A")) == [b"2"]


def test_a_snapshot_contains_the_kv_records_of_unacknowledged_messages() -> None:
    """KV records of unacknowledged messages are in a snapshot, and the start reads the last pop's messages again."""
    harness = make_harness(pop_consumer_kv_service_init=True, pop_consumer_kv_service_enable=True)
    filled(harness, 3)
    receipts = [harness.receipt(message) for message in harness.popped("A", invisible_ms=30_000)]
    harness.ack("A", receipts[0])
    other = moved(harness)
    assert list(other.broker.pop_records.table.items()) == list(harness.broker.pop_records.table.items())
    other.advance(31_000)
    assert stored_bodies(other, "%RETRY%G_A") == [b"1", b"2"]


def test_a_restored_ordered_batch_in_flight_blocks_its_queue(harness: EngineHarness) -> None:
    """An ordered batch in flight blocks its queue, with its acknowledgements and its attempt id."""
    filled(harness, 2)
    messages = harness.popped("A", order=True, invisible_ms=60_000, attempt="one")
    harness.ack("A", harness.receipt(messages[0]))
    other = moved(harness)
    assert other.popped("A", order=True) == []
    assert bodies(other.popped("A", order=True, attempt="one")) == [b"1"]


# not in a snapshot


def test_a_snapshot_contains_no_connections_waiting_requests_or_journal(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.heartbeat("c", topics={"A": "*"})
    polls = [harness.pop("A", poll_ms=20_000), harness.pull("A", suspend_ms=20_000)]
    other = moved(harness)
    assert other.broker.clients.consumers == {}
    assert {timer.kind for timer in other.engine.scheduler.scheduled()} <= {"timer"}
    assert len(other.engine.journal) == 0
    other.send("A")
    assert [poll.outcome for poll in polls] == [None, None]


# effect on the original engine


def test_taking_a_snapshot_changes_nothing_in_the_running_engine(harness: EngineHarness) -> None:
    """Taking a snapshot changes nothing: connections, polls, pops and the losses in a crash stay the same."""
    quiet = make_harness()
    for each in (harness, quiet):
        filled(each, 3)
        each.send("A", DELAY="1")
        each.send("A", TIMER_DELIVER_MS=str(each.now_ms + 1_500))
        each.heartbeat("c", topics={"A": "*"})
        each.popped("A", count=1)
        each.popped("A", count=1, order=True, group="O")
        each.advance(2_100)
    saved(harness.engine)
    outcomes = []
    for each in (harness, quiet):
        poll = each.pop("A", count=2, poll_ms=5_000, group="H")
        each.engine.crash(power_loss=False)
        assert committed(each) == -1
        each.advance(30_000)
        assert each.broker.store.max_offset("A", 0) == 7
        outcomes.append((repr(poll.outcome), repr(each.popped("A")), [repr(entry) for entry in each.engine.journal]))
    assert outcomes[0] == outcomes[1]


def test_taking_a_snapshot_stores_the_merge_buffer(harness: EngineHarness) -> None:
    """Taking a snapshot stores the merge buffer, as a graceful shutdown does; later acknowledgements still count."""
    harness = make_harness(enable_pop_buffer_merge=True)
    filled(harness, 3)
    receipts = [harness.receipt(message) for message in harness.popped("A", invisible_ms=30_000)]
    harness.ack("A", receipts[0])
    saved(harness.engine)
    assert (len(harness.broker.pop_buffer), committed(harness)) == (0, 3)
    harness.ack("A", receipts[1])
    harness.advance(40_000)
    assert bodies(harness.popped("A")) == [b"2"]
