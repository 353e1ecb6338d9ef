"""Measures if requests slow down when there are many light message queues (LMQ), compacted topics and static topics.

These are the rows of `bench/growth.py` about such topics. The full emulator holds 10,000 LMQs with 200,000
messages, each in two of them, 10,000 static topics, and a compacted topic with 100,000 messages, 999 in each file.
"""

import time
from collections.abc import Callable
from itertools import count as numbers

from bench_harness import BODY, BORN_HOST, FAR_MS, START_MS, BenchHarness, response
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, PullMessage, PullResult
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    CreateTopic,
    DeleteTopic,
    QueueMapping,
    QueuePart,
    TopicConfig,
)

LIGHT, DISPATCHED, STATIC, COMPACTED = 10_000, 200_000, 10_000, 100_000
"""LMQs, messages dispatched to them, static topics and messages of the compacted topic in the full emulator."""
BUSY = 10
"""Number of LMQs and of static topics that the steps use in either emulator."""
KEYS = 1_000
"""Number of different keys (KEYS) of the messages of the compacted topic."""
IN_A_FILE = 999
"""Messages of a file of the compacted log: its index has 1,000 units, of which the end marker takes one."""
INDEX_UNIT_BYTES = 46
"""Size of an index unit (CompactionLog of 5.3.3)."""
MOVED_AT = 4
"""Messages of a logical queue before it moved to the other broker."""
CONTINUES_AT = 100
"""The first logical offset at the other broker. A gap to the offsets before the move is required."""
PULLED = 32
"""Messages of a pull."""
ROUND_MS = 60_000
"""The key compactionScheduleInternal (ms). Rounds come at intervals of one to two times its value, and 1 s."""

Work = Callable[[], None]
Step = Callable[[BenchHarness, int], Work]
"""(harness, count) -> function that repeats a step `count` times. Its time is measured, that of preparations is not."""


def empty() -> BenchHarness:
    """Create two brokers with the topics that the steps use."""
    return made(BUSY, 0, BUSY, 0)


def full(factor: int) -> BenchHarness:
    """Create two brokers with many other topics as well."""
    return made(LIGHT // factor, DISPATCHED // factor, STATIC // factor, COMPACTED // factor)


def made(light: int, dispatched: int, static: int, compacted: int) -> BenchHarness:
    """Create two brokers with LMQs, messages in them, static topics and messages of the compacted topic."""
    emulation = EmulationConfig()
    emulation.store_max_bytes = 4 * 1024**3  # enough for all messages, so that none is deleted
    config = BrokerConfig(enable_lmq=True, enable_multi_dispatch=True, enable_compaction=True)
    config.compaction_cq_mapped_file_size = INDEX_UNIT_BYTES * (IN_A_FILE + 1)
    config.compaction_schedule_internal = ROUND_MS
    other = BrokerConfig(broker_name="broker-b")
    harness = BenchHarness(Engine(brokers=[config, other], emulation=emulation, now_ms=START_MS))
    harness.topic("work")
    light = max(light, BUSY)
    for number in range(max(dispatched, light)):
        dispatch(harness, number % light, (number + 1) % light)
    for number in range(max(static, BUSY)):
        static_topic(harness, f"static-{number}")
    response(harness.submit(CreateTopic(TopicConfig("compacted", 1, 1), {"+cleanup.policy": "COMPACTION"})))
    for number in range(compacted):
        harness.sent("compacted", KEYS=f"k{number % KEYS}")
    # A pull carries out the rounds that have become due, here before the measurement.
    pull(harness, "compacted", 0)
    harness.engine.scheduler.advance_to(harness.now_ms + 3 * ROUND_MS)
    pull(harness, "compacted", 0)
    return harness


def pull(harness: BenchHarness, topic: str, offset: int) -> PullResult:
    """Pull 32 messages of queue 0."""
    found = response(harness.pull(topic, offset))
    assert isinstance(found, PullResult)
    return found


# LMQs.


def lmq(number: int) -> str:
    """Return the name of an LMQ."""
    return f"%LMQ%light-{number}"


def dispatch(harness: BenchHarness, *queues: int) -> None:
    """Send a message that is also dispatched to these LMQs."""
    harness.sent("work", INNER_MULTI_DISPATCH=",".join(map(lmq, queues)))


def dispatched(harness: BenchHarness, count: int) -> Work:
    """Send to a topic and two LMQs."""

    def work() -> None:
        for number in range(count):
            dispatch(harness, number % BUSY, (number + 1) % BUSY)

    return work


def dispatched_to_new(harness: BenchHarness, count: int) -> Work:
    """Send to new LMQs."""
    names = [f"%LMQ%new-{next(harness.names)}" for _ in range(count)]

    def work() -> None:
        for name in names:
            harness.sent("work", INNER_MULTI_DISPATCH=name)

    return work


def light_pulled(harness: BenchHarness, count: int) -> Work:
    """Pull from an LMQ; the time is per message."""
    for _ in range(count):
        dispatch(harness, 0)
    name = lmq(0)
    end = harness.engine.brokers[0].store.max_offset(name, 0)

    def work() -> None:
        for offset in range(end - count, end, PULLED):
            assert pull(harness, name, offset).records

    return work


def light_woken(harness: BenchHarness, count: int) -> Work:
    """Hold a pull of an LMQ and wake it by a message."""
    store = harness.engine.brokers[0].store

    def work() -> None:
        for number in range(count):
            name = lmq(number % BUSY)
            call = harness.pull(name, store.max_offset(name, 0), FAR_MS)
            dispatch(harness, number % BUSY)
            response(call)

    return work


def light_committed(harness: BenchHarness, count: int) -> Work:
    """Commit offsets of LMQs."""

    def work() -> None:
        for number in range(count):
            name = lmq(number % BUSY)
            response(harness.submit(UpdateConsumerOffset(name, name, 0, number)))

    return work


# Static topics.


def static_topic(harness: BenchHarness, topic: str) -> None:
    """Create a static topic with two logical queues.

    One has moved from the first broker to the other; the other is only at the first broker.
    """
    here, there = harness.engine.brokers
    config = TopicConfig(topic, 2, 2)
    map_queues(harness, here, config, 1, parts={0: [QueuePart(0, 0, here.name, 0)]})
    for _ in range(MOVED_AT):
        harness.sent(topic)
    moved = [
        QueuePart(0, 0, here.name, 0, start_offset=0, end_offset=MOVED_AT),
        QueuePart(1, 0, there.name, CONTINUES_AT),
    ]
    stays = [QueuePart(0, 1, here.name, 0)]
    for broker in (there, here):
        map_queues(harness, broker, config, 2, parts={0: moved, 1: stays})


def map_queues(
    harness: BenchHarness, broker: Broker, config: TopicConfig, epoch: int, *, parts: dict[int, list[QueuePart]]
) -> None:
    """Store a mapping of logical queues at a broker."""
    mapping = QueueMapping(config.topic_name, len(parts), broker.name, epoch, queues=dict(parts))
    harness.engine.execute(broker, CreateStaticTopic(config, mapping, False))


def static_routes(harness: BenchHarness, count: int) -> Work:
    """Query routes of static topics."""
    operations = [GetRouteInfo(f"static-{number % BUSY}") for number in range(count)]

    def work() -> None:
        for operation in operations:
            harness.engine.execute(harness.engine.name_server, operation)

    return work


def static_sent(harness: BenchHarness, count: int) -> Work:
    """Send to logical queues."""

    def work() -> None:
        for number in range(count):
            operation = SendMessage(
                "P", f"static-{number % BUSY}", 1, BODY, {"UNIQ_KEY": "k"}, BORN_HOST, harness.now_ms
            )
            response(harness.submit(operation))

    return work


def static_pulled(harness: BenchHarness, count: int) -> Work:
    """Pull a logical queue at its leader, in the part that the other broker stores."""
    leader = harness.engine.brokers[1]

    def work() -> None:
        for number in range(count):
            operation = PullMessage(
                "G", f"static-{number % BUSY}", 0, 0, PULLED, FLAG_SUBSCRIPTION, 0, 0, 0, "*", "TAG"
            )
            found = harness.engine.execute(leader, operation)
            assert isinstance(found, PullResult)
            assert len(found.records) == MOVED_AT

    return work


def static_offset_queried(harness: BenchHarness, count: int) -> Work:
    """Query offsets of logical queues."""
    leader = harness.engine.brokers[1]

    def work() -> None:
        for number in range(count):
            harness.engine.execute(leader, GetMaxOffset(f"static-{number % BUSY}", 0))

    return work


def static_made(harness: BenchHarness, count: int) -> Work:
    """Create, move and delete static topics."""
    names = [f"static-new-{next(harness.names)}" for _ in range(count)]

    def work() -> None:
        for name in names:
            static_topic(harness, name)
            for broker in harness.engine.brokers:
                harness.engine.execute(broker, DeleteTopic(name))

    return work


# Compacted topics.


def compacted_sent(harness: BenchHarness, count: int) -> Work:
    """Send to a compacted topic."""

    def work() -> None:
        for number in range(count):
            harness.sent("compacted", KEYS=f"k{number % KEYS}")

    return work


def compacted_pulled(harness: BenchHarness, count: int) -> Work:
    """Send to a compacted topic and pull each message."""

    def work() -> None:
        for number in range(count):
            offset = harness.sent("compacted", KEYS=f"k{number % KEYS}").queue_offset
            assert pull(harness, "compacted", offset).records

    return work


def compacted_pulled_early(harness: BenchHarness, count: int) -> Work:
    """Pull from the beginning of a compacted topic, in files that were already compacted."""
    for number in range(2 * IN_A_FILE):
        harness.sent("compacted", KEYS=f"k{number % KEYS}")
    first = pull(harness, "compacted", 0).min_offset

    def work() -> None:
        for _ in range(count):
            assert pull(harness, "compacted", first).records

    return work


def compaction_round(messages: int) -> Callable[[], float]:
    """Measure a round of compaction.

    Returns a function that measures the microseconds per message; it can be called repeatedly. Each message has a key
    of its own, so that all are kept.
    """
    harness = made(BUSY, 0, BUSY, 0)
    fresh = numbers()

    def send_more(count: int) -> None:
        for _ in range(count):
            harness.sent("compacted", KEYS=f"k{next(fresh)}")

    send_more(messages)

    def once() -> float:
        # A round reads all files if one of them is new.
        send_more(IN_A_FILE)
        end = harness.sent("compacted", KEYS="k").queue_offset
        pull(harness, "compacted", end)
        harness.engine.scheduler.advance_to(harness.now_ms + 2 * ROUND_MS)
        begin = time.process_time_ns()
        pull(harness, "compacted", end)
        return (time.process_time_ns() - begin) / 1000 / end

    return once


ROWS: tuple[tuple[str, Step], ...] = (
    ("message is sent to two LMQs", dispatched),
    ("message is sent to a new LMQ", dispatched_to_new),
    ("message is pulled from an LMQ", light_pulled),
    ("pull of an LMQ waits, message wakes it", light_woken),
    ("offset in an LMQ is committed", light_committed),
    ("route of a static topic is queried", static_routes),
    ("message is sent to a logical queue", static_sent),
    ("part of a logical queue is pulled through another broker", static_pulled),
    ("offset of a logical queue is queried", static_offset_queried),
    ("static topic is created, remapped and deleted", static_made),
    ("message is sent to a compacted topic", compacted_sent),
    ("message is sent to a compacted topic and pulled", compacted_pulled),
    ("remaining messages of a compacted topic are pulled", compacted_pulled_early),
)
