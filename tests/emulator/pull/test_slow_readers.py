"""Protection against slow readers: a broker disables groups that read too far behind the end of the commit log."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.consume import PeekMessage, PullResult
from rocketmq_testkit.emulator.operations.groups import CreateGroup, DeleteGroup, GroupConfig
from rocketmq_testkit.emulator.operations.topics import CreateTopic, DeleteTopic, TopicConfig

FAR = 100_000
"""Lag in bytes that exceeds the threshold."""
LOOK_MS = 180_000
BODY = b"x" * 1_000
MANY = 120
"""Number of messages whose size exceeds `FAR`."""


def make_slow_harness(**keys: Any) -> EngineHarness:
    """Create a harness with a topic of many messages and a group that has read none of them."""
    protects: dict[str, Any] = {
        "disable_consume_if_consumer_read_slowly": True,
        "consumer_fallbehind_threshold": FAR,
    }
    harness = make_harness(**{**protects, **keys})
    harness.topic("T")
    harness.ask(Done, CreateGroup(GroupConfig("G")))
    for _ in range(MANY):
        harness.send("T", BODY)
    return harness


@pytest.fixture
def slow_harness() -> EngineHarness:
    return make_slow_harness()


def is_group_enabled(harness: EngineHarness, group: str = "G") -> bool:
    """Return True if the group is enabled."""
    return harness.broker.groups.table[group].consume_enable


def enable_group(harness: EngineHarness) -> None:
    """Enable the group again, as an administrator does."""
    harness.ask(Done, CreateGroup(GroupConfig("G")))


def test_a_slow_group_is_disabled_at_the_next_check(slow_harness: EngineHarness) -> None:
    """A slow group is disabled at the next three-minute check; then its reads are rejected, other groups' are not."""
    slow_harness.advance(1_000)
    assert isinstance(slow_harness.pull("T", count=1).outcome, PullResult)
    version = slow_harness.broker.groups.version_counter
    slow_harness.advance(LOOK_MS - 1_001)
    assert is_group_enabled(slow_harness)
    slow_harness.advance(1)
    assert not is_group_enabled(slow_harness)
    assert slow_harness.broker.groups.version_counter == version + 1
    for call in (slow_harness.pull("T", 100), slow_harness.pop("T")):
        refusal = refused(call)
        assert (refusal.code, refusal.remark) == (ResponseCode.NO_PERMISSION, "subscription group no permission, G")
    assert isinstance(slow_harness.pull("T", 119, group="other").outcome, PullResult)


def test_by_default_no_lag_disables_a_group() -> None:
    """By default no lag disables a group, and no timer is scheduled."""
    harness = make_slow_harness(disable_consume_if_consumer_read_slowly=False)
    due = len(list(harness.engine.scheduler.scheduled()))
    harness.pull("T", count=1)
    assert len(list(harness.engine.scheduler.scheduled())) == due
    harness.advance(2 * LOOK_MS)
    assert is_group_enabled(harness)


@pytest.mark.parametrize("how", ["pull", "pull with a filter", "pop", "pop with records", "peek"])
def test_a_slow_pull_pop_or_peek_disables_the_group(how: str) -> None:
    """Every kind of read is recorded; the last message examined counts, even if it was not returned."""
    kv = how == "pop with records"
    harness = make_slow_harness(pop_consumer_kv_service_init=kv, pop_consumer_kv_service_enable=kv)
    if how == "pull":
        harness.pull("T", count=1)
    elif how == "pull with a filter":
        harness.pull("T", count=1, expression="none")
        harness.advance(LOOK_MS)
        assert is_group_enabled(harness)  # the filtered pull has skipped all messages
        harness.pull("T", count=1)
    elif how == "peek":
        harness.engine.submit(harness.broker, PeekMessage("G", "T", 0, 1))
    else:
        harness.pop("T", count=1, invisible_ms=10 * LOOK_MS)
    harness.advance(LOOK_MS)
    assert not is_group_enabled(harness)


def test_a_group_that_reads_up_to_the_end_by_the_next_check_stays_enabled(slow_harness: EngineHarness) -> None:
    """A group that has read up to the end by the next check stays enabled, because its last read of a queue counts."""
    slow_harness.pull("T", count=1)
    slow_harness.pull("T", MANY)
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)
    slow_harness.pull("T", count=1)
    slow_harness.pull("T", MANY - 1)
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)


def test_one_slow_queue_is_enough_to_disable_a_group(slow_harness: EngineHarness) -> None:
    """One slow queue is enough to disable a group; a read that finds no message is not recorded."""
    slow_harness.topic("U")
    slow_harness.pull("T", count=1)
    slow_harness.send("U")
    slow_harness.pull("U", 0)
    slow_harness.pull("T", 5 * MANY)
    slow_harness.advance(LOOK_MS)
    assert not is_group_enabled(slow_harness)


def test_a_reenabled_group_is_disabled_again_unless_it_reads_newer_messages(slow_harness: EngineHarness) -> None:
    """A group that is enabled again is disabled again at the next check unless it has read newer messages."""
    slow_harness.pull("T", count=1)
    slow_harness.advance(LOOK_MS)
    enable_group(slow_harness)
    slow_harness.advance(LOOK_MS)
    assert not is_group_enabled(slow_harness)
    enable_group(slow_harness)
    slow_harness.pull("T", MANY - 1)
    slow_harness.advance(3 * LOOK_MS)
    assert is_group_enabled(slow_harness)


@pytest.mark.parametrize("what", ["the topic", "the group", "the run"])
def test_the_lag_of_a_deleted_topic_or_group_or_a_former_run_does_not_count(
    slow_harness: EngineHarness, what: str
) -> None:
    """The deletion of the topic or the group, or a restart of the broker, deletes the recorded lag."""
    slow_harness.pull("T", count=1)
    if what == "the topic":
        slow_harness.ask(Done, DeleteTopic("T"))
    elif what == "the group":
        slow_harness.ask(Done, DeleteGroup("G", True))
        enable_group(slow_harness)
    else:
        slow_harness.engine.restart()
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)


def test_changed_slow_read_keys_take_effect_at_the_next_check(slow_harness: EngineHarness) -> None:
    """A lower threshold takes effect at the next check, and disabling the protection stops it at once."""
    slow_harness.ask(Done, UpdateBrokerConfig({"consumerFallbehindThreshold": "1000000"}))
    slow_harness.pull("T", count=1)
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)
    slow_harness.ask(Done, UpdateBrokerConfig({"consumerFallbehindThreshold": str(FAR)}))
    slow_harness.ask(Done, UpdateBrokerConfig({"disableConsumeIfConsumerReadSlowly": "false"}))
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)
    slow_harness.ask(Done, UpdateBrokerConfig({"disableConsumeIfConsumerReadSlowly": "true"}))
    slow_harness.advance(LOOK_MS)
    assert not is_group_enabled(slow_harness)


def test_with_disk_fall_recorded_off_no_group_is_disabled() -> None:
    """With diskFallRecorded=false no group is found slow."""
    harness = make_slow_harness(disk_fall_recorded=False)
    harness.pull("T", count=1)
    harness.advance(LOOK_MS)
    assert is_group_enabled(harness)


def test_a_waiting_pull_of_a_disabled_group_is_rejected_at_its_next_check(slow_harness: EngineHarness) -> None:
    """A waiting pull of a disabled group is rejected at its next check, although it waits for another queue."""
    slow_harness.topic("U")
    slow_harness.pull("T", count=1)
    slow_harness.advance(LOOK_MS - 1_000)
    waiting = slow_harness.pull("U", 0, suspend_ms=15_000)
    slow_harness.advance(20_000)
    assert refused(waiting).code == ResponseCode.NO_PERMISSION


def test_reads_of_compacted_topics_do_not_disable_a_group(slow_harness: EngineHarness) -> None:
    """Reads of compacted topics are not recorded, because upstream reads them elsewhere (CompactionStore)."""
    topic = CreateTopic(TopicConfig("C", 1, 1), {"+cleanup.policy": "COMPACTION"})
    slow_harness.ask(Done, topic)
    for _ in range(MANY):
        slow_harness.send("C", BODY, KEYS="k")
    slow_harness.pull("C", count=1)
    slow_harness.advance(LOOK_MS)
    assert is_group_enabled(slow_harness)


def test_slow_reads_of_batch_cq_topics_disable_a_group(slow_harness: EngineHarness) -> None:
    """Reads of BatchCQ topics are recorded like all others."""
    attributes = {"queue.type": "BatchCQ"}
    slow_harness.ask(Done, CreateTopic(TopicConfig("B", 1, 1, attributes=attributes)))
    slow_harness.send("B", BODY)
    for _ in range(MANY):
        slow_harness.send("T", BODY)
    slow_harness.pull("B", count=1)
    slow_harness.advance(LOOK_MS)
    assert not is_group_enabled(slow_harness)


def test_lmqs_share_one_recorded_lag() -> None:
    """LMQs share one recorded lag, and a group with the name of an LMQ is never disabled."""
    harness = make_slow_harness(enable_lmq=True, enable_multi_dispatch=True)
    for name in ("a", "b"):
        harness.send("T", BODY, INNER_MULTI_DISPATCH=f"%LMQ%{name}")
        for _ in range(MANY if name == "a" else 0):
            harness.send("T", BODY)
    harness.pull("%LMQ%a", count=1)
    harness.pull("%LMQ%a", count=1, group="%LMQ%a")
    harness.pull("%LMQ%b", count=1)
    harness.advance(LOOK_MS)
    assert is_group_enabled(harness)
    harness.pull("%LMQ%a", count=1)
    harness.advance(LOOK_MS)
    assert not is_group_enabled(harness)
    assert isinstance(harness.pull("%LMQ%b", count=1, group="%LMQ%a").outcome, PullResult)


def test_a_slave_disables_its_slow_readers_and_its_master_does_not() -> None:
    """A slave disables groups that read slowly from it; its master keeps them enabled."""
    keys: dict[str, Any] = {
        "disable_consume_if_consumer_read_slowly": True,
        "consumer_fallbehind_threshold": FAR,
        "slave_read_enable": True,
    }
    master, copy = BrokerConfig(**keys), BrokerConfig(**keys, broker_id=1, broker_role="SLAVE")
    engine = Engine(brokers=[master, copy], now_ms=1_700_000_000_000)
    harness, slave = EngineHarness(engine, engine.brokers[0]), engine.brokers[1]
    harness.topic("T")
    harness.ask(Done, CreateGroup(GroupConfig("G")))
    for _ in range(MANY):
        harness.send("T", BODY)
    harness.advance(LOOK_MS - 5_000)
    assert isinstance(engine.execute(slave, pull_of("G", "T", count=1)), PullResult)
    harness.advance(5_000)
    assert not slave.groups.table["G"].consume_enable
    assert is_group_enabled(harness)
    with pytest.raises(EngineError, match="subscription group no permission"):
        engine.execute(slave, pull_of("G", "T", count=1))
