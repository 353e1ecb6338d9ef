"""The records that a broker has stored, without consuming them, and topics with messages."""

from engine_harness import EngineHarness
from rocketmq_testkit.emulator.message.stored_record import Record, decode


def filled(harness: EngineHarness, count: int = 3, queues: int = 1, topic: str = "A") -> str:
    """Create a topic and store messages `0`, `1`, ... in its queues by turns."""
    harness.topic(topic, queues)
    for n in range(count):
        harness.send(topic, b"%d" % n, queue=n % queues)
    return topic


def committed(harness: EngineHarness, topic: str = "A", group: str = "G") -> int:
    """Return the committed offset of a group in queue 0; -1 if there is none."""
    return harness.broker.offsets.query(group, topic, 0)


def stored(harness: EngineHarness, topic: str, queue: int = 0) -> list[Record]:
    """Return the records of one queue, oldest first."""
    store = harness.broker.store
    found = []
    for offset in range(store.min_offset(topic, queue), store.max_offset(topic, queue)):
        record = store.record(topic, queue, offset)
        assert record is not None
        found.append(decode(record))
    return found


def stored_bodies(harness: EngineHarness, topic: str, queue: int = 0) -> list[bytes]:
    """Return the bodies of one queue, oldest first."""
    return [record.body for record in stored(harness, topic, queue)]


def scheduled(harness: EngineHarness, kind: str) -> list[int]:
    """Return the times at which timers of a kind fire, in ms from now."""
    return [timer.due_ms - harness.now_ms for timer in harness.engine.scheduler.scheduled() if timer.kind == kind]
