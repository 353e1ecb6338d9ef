"""What a broker has stored, without consuming it, and topics that hold something."""

from engine_world import World
from rocketmq_testkit.emulator.message.stored_record import Record, decode


def filled(world: World, count: int = 3, queues: int = 1, topic: str = "A") -> str:
    """A topic with messages `0`, `1`, ... in its queues by turns."""
    world.topic(topic, queues)
    for n in range(count):
        world.send(topic, b"%d" % n, queue=n % queues)
    return topic


def committed(world: World, topic: str = "A", group: str = "G") -> int:
    """The offset of a group in queue 0; -1 where it has none."""
    return world.broker.offsets.query(group, topic, 0)


def stored(world: World, topic: str, queue: int = 0) -> list[Record]:
    """The records of one queue, oldest first."""
    store = world.broker.store
    found = []
    for offset in range(store.min_offset(topic, queue), store.max_offset(topic, queue)):
        record = store.record(topic, queue, offset)
        assert record is not None
        found.append(decode(record))
    return found


def stored_bodies(world: World, topic: str, queue: int = 0) -> list[bytes]:
    """The bodies of one queue, oldest first."""
    return [record.body for record in stored(world, topic, queue)]


def scheduled(world: World, kind: str) -> list[int]:
    """When timers of a kind are due, in ms from now."""
    return [timer.due_ms - world.now_ms for timer in world.engine.scheduler.scheduled() if timer.kind == kind]
