"""Queue locks are listed with their owner and the time of their expiry."""

from engine_harness import EngineHarness
from inspected import look
from rocketmq_testkit.emulator.operations.clients import LockBatchMq, LockBatchResult, MessageQueue


def test_lock_is_listed_with_its_owner_until_its_end(harness: EngineHarness) -> None:
    queue = MessageQueue("A", harness.broker.name, 2)
    harness.engine.execute(harness.broker, LockBatchMq("G", "c1", [queue]))
    (lock,) = look(harness).locks()
    assert (lock.group, lock.broker, lock.topic, lock.queue_id, lock.client) == ("G", queue.broker_name, "A", 2, "c1")
    by_other = LockBatchMq("G", "c2", [queue])
    harness.advance(lock.until_ms - harness.now_ms)
    assert harness.ask(LockBatchResult, by_other).queues == []
    harness.advance(1)
    assert look(harness).locks() == []
    assert harness.ask(LockBatchResult, by_other).queues == [queue]
    assert [each.client for each in look(harness).locks()] == ["c2"]


def test_locks_can_be_listed_for_one_group(harness: EngineHarness) -> None:
    queues = [MessageQueue("A", harness.broker.name, queue) for queue in range(2)]
    for group, queue in zip(("G", "H"), queues, strict=True):
        harness.engine.execute(harness.broker, LockBatchMq(group, "c1", [queue]))
    assert [(lock.group, lock.queue_id) for lock in look(harness).locks()] == [("G", 0), ("H", 1)]
    assert [(lock.group, lock.queue_id) for lock in look(harness).locks("H")] == [("H", 1)]
    assert look(harness).locks("I") == []
