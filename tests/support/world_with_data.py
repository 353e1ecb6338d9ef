"""A broker with data of each kind, for tests of snapshots."""

from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.operations.cluster import PutKvConfig, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from stored import filled


def world_with_data() -> World:
    """Return a world with topics, groups, settings, and plain, delayed, timed, half and popped messages."""
    world = make_world(seed=3)
    world.engine.execute(world.broker, CreateTopic(TopicConfig("B", 1, 1), {"+queue.type": "BatchCQ"}))
    world.engine.execute(world.broker, CreateGroup(GroupConfig("H", retry_max_times=3)))
    world.engine.execute(world.broker, UpdateBrokerConfig({"popPollingSize": "5"}))
    world.engine.execute(world.engine.name_server, PutKvConfig("n", "k", "vä"))
    filled(world, count=6, queues=2)
    world.send("A", b"delayed", DELAY="3")
    world.send("A", b"timed", TIMER_DELIVER_MS=str(START_MS + 20_000))
    world.send("A", b"half", TRAN_MSG="true", PGROUP="P")
    world.popped("A", queue=0, count=2, invisible_ms=30_000)
    world.popped("A", queue=0, count=2, invisible_ms=30_000, order=True, group="H")
    world.advance(1_234)
    return world
