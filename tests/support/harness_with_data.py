"""A broker with data of each kind, for tests of snapshots."""

from engine_harness import START_MS, EngineHarness, make_harness
from rocketmq_testkit.emulator.operations.cluster import PutKvConfig, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from stored import filled


def harness_with_data() -> EngineHarness:
    """Return a harness with topics, groups, settings, and plain, delayed, timed, half and popped messages."""
    harness = make_harness(seed=3)
    harness.engine.execute(harness.broker, CreateTopic(TopicConfig("B", 1, 1), {"+queue.type": "BatchCQ"}))
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("H", retry_max_times=3)))
    harness.engine.execute(harness.broker, UpdateBrokerConfig({"popPollingSize": "5"}))
    harness.engine.execute(harness.engine.name_server, PutKvConfig("n", "k", "vä"))
    filled(harness, count=6, queues=2)
    harness.send("A", b"delayed", DELAY="3")
    harness.send("A", b"timed", TIMER_DELIVER_MS=str(START_MS + 20_000))
    harness.send("A", b"half", TRAN_MSG="true", PGROUP="P")
    harness.popped("A", queue=0, count=2, invisible_ms=30_000)
    harness.popped("A", queue=0, count=2, invisible_ms=30_000, order=True, group="H")
    harness.advance(1_234)
    return harness
