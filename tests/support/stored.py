"""The records that a broker has stored, without consuming them, and topics with messages."""

from engine_world import World
from rocketmq_testkit.emulator.message.stored_record import Record, decode


def filled(world: World, count: int = 3, queues: int = 1, topic: str = "A") -> str:
    """Create a topic and store messages `0`, `1`, ... in its queues by turns."""
    world.topic(topic, queues)
    for n in range(count):
        world.send(topic, b"%d" % n, queue=n % queues)
    return topic


def committed(world: World, topic: str = "A", group: str = "G") -> int:
    """Return the committed offset of a group in queue 0; -1 if there is none."""
    return world.broker.offsets.query(group, topic, 0)


def stored(world: World, topic: str, queue: int = 0) -> list[Record]:
    """Return the records of one queue, oldest first."""
    store = world.broker.store
    found = []
    for offset in range(store.min_offset(topic, queue), store.max_offset(topic, queue)):
        record = store.record(topic, queue, offset)
        assert record is not None
        found.append(decode(record))
    return found


def stored_bodies(world: World, topic: str, queue: int = 0) -> list[bytes]:
    """Return the bodies of one queue, oldest first."""
    return [record.body for record in stored(world, topic, queue)]


def scheduled(world: World, kind: str) -> list[int]:
    """Return the times at which timers of a kind fire, in ms from now."""
    return [timer.due_ms - world.now_ms for timer in world.engine.scheduler.scheduled() if timer.kind == kind]
