"""Measures a master and a slave with many messages: sends, replication, and reads from the slave.

These are the rows of `bench/growth.py` about slaves. The full emulator holds 1,000,000 messages at each broker.
"""

from collections.abc import Callable

from bench_harness import BODY, BORN_HOST, START_MS, BenchHarness, response
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, FLAG_SUSPEND, PullMessage, PullResult
from rocketmq_testkit.emulator.operations.send import SendMessage

STORED = 1_000_000
"""Messages at each broker."""
TOPICS = 16
"""Topics of the half of the messages that no step reads."""
PULLED = 32
"""Messages of a pull."""

Work = Callable[[], None]
Step = Callable[[BenchHarness, int], Work]
"""(harness, count) -> function that repeats a step `count` times. Its time is measured, that of preparations is not."""


def empty() -> BenchHarness:
    """Create a master whose sends wait for its slave, and the slave, which serves reads."""
    emulation = EmulationConfig()
    emulation.store_max_bytes = 4 * 1024**3  # enough for all messages, so that none is deleted
    master = BrokerConfig(broker_role="SYNC_MASTER", in_sync_replicas=2, slave_read_enable=True)
    slave = BrokerConfig(broker_role="SLAVE", broker_id=1, slave_read_enable=True)
    harness = BenchHarness(Engine(brokers=[master, slave], emulation=emulation, now_ms=START_MS))
    for number in range(TOPICS):
        harness.topic(f"other-{number}")
    harness.topic("work")
    # A slave fetches the tables of its master periodically; without them it knows no topic.
    slave_of(harness).copy_tables(harness.engine.brokers[0])
    return harness


def full(factor: int) -> BenchHarness:
    """Create the same brokers with messages, half of them in the queue of the steps."""
    harness = empty()
    harness.send("work", STORED // factor // 2)
    for number in range(STORED // factor // 2):
        harness.send(f"other-{number % TOPICS}")
    return harness


def slave_of(harness: BenchHarness) -> Broker:
    """Return the slave."""
    return harness.engine.brokers[1]


def sent(harness: BenchHarness, count: int, **more: str) -> Work:
    """Send messages; each send completes when the slave has the message. `more`: properties."""
    properties = {"UNIQ_KEY": "k", **more}

    def work() -> None:
        for _ in range(count):
            response(harness.submit(SendMessage("P", "work", 0, BODY, {**properties}, BORN_HOST, harness.now_ms)))

    return work


def timed(harness: BenchHarness, count: int) -> Work:
    """Send timed messages, which the slave also records."""
    return sent(harness, count, TIMER_DELAY_SEC="5")


def caught_up(harness: BenchHarness, count: int) -> Work:
    """Start a stopped slave and replicate the missing messages; the time is per message."""
    slave, master = slave_of(harness), harness.engine.brokers[0]
    harness.engine.stop(slave)
    # Sends do not wait for a stopped slave.
    master.config.in_sync_replicas = 1
    harness.send("work", count)
    master.config.in_sync_replicas = 2

    def work() -> None:
        harness.engine.start(slave)
        assert slave.store.log.max_offset == master.store.log.max_offset

    return work


def pulled(harness: BenchHarness, count: int) -> Work:
    """Pull messages from the slave, 32 at a time; the time is per message."""
    harness.send("work", count)
    slave = slave_of(harness)
    first = slave.store.max_offset("work", 0) - count

    def work() -> None:
        for offset in range(first, first + count, PULLED):
            pull = PullMessage("G", "work", 0, offset, PULLED, FLAG_SUBSCRIPTION, 0, 0, 0, "*", "TAG")
            found = harness.engine.execute(slave, pull)
            assert isinstance(found, PullResult)
            assert found.records

    return work


def woken(harness: BenchHarness, count: int) -> Work:
    """Hold a pull at the slave and wake it by a message of the master."""
    slave = slave_of(harness)

    def work() -> None:
        for _ in range(count):
            end = slave.store.max_offset("work", 0)
            pull = PullMessage("G", "work", 0, end, PULLED, FLAG_SUBSCRIPTION | FLAG_SUSPEND, 0, 15_000, 0, "*", "TAG")
            call = harness.engine.submit(slave, pull)
            harness.send("work")
            response(call)

    return work


ROWS: tuple[tuple[str, Step], ...] = (
    ("message is sent and copied to a slave", sent),
    ("timed message is sent and copied to a slave", timed),
    ("message is copied to a restarted slave", caught_up),
    ("message is pulled from a slave", pulled),
    ("pull waits at a slave, message wakes it", woken),
)
