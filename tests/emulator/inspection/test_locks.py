"""Queue locks are listed with their owner and the time of their expiry."""

from engine_world import World
from inspected import look
from rocketmq_testkit.emulator.operations.clients import LockBatchMq, LockBatchResult, MessageQueue


def test_lock_is_listed_with_its_owner_until_its_end(world: World) -> None:
    queue = MessageQueue("A", world.broker.name, 2)
    world.engine.execute(world.broker, LockBatchMq("G", "c1", [queue]))
    (lock,) = look(world).locks()
    assert (lock.group, lock.broker, lock.topic, lock.queue_id, lock.client) == ("G", queue.broker_name, "A", 2, "c1")
    by_other = LockBatchMq("G", "c2", [queue])
    world.advance(lock.until_ms - world.now_ms)
    assert world.ask(LockBatchResult, by_other).queues == []
    world.advance(1)
    assert look(world).locks() == []
    assert world.ask(LockBatchResult, by_other).queues == [queue]
    assert [each.client for each in look(world).locks()] == ["c2"]


def test_locks_can_be_listed_for_one_group(world: World) -> None:
    queues = [MessageQueue("A", world.broker.name, queue) for queue in range(2)]
    for group, queue in zip(("G", "H"), queues, strict=True):
        world.engine.execute(world.broker, LockBatchMq(group, "c1", [queue]))
    assert [(lock.group, lock.queue_id) for lock in look(world).locks()] == [("G", 0), ("H", 1)]
    assert [(lock.group, lock.queue_id) for lock in look(world).locks("H")] == [("H", 1)]
    assert look(world).locks("I") == []
