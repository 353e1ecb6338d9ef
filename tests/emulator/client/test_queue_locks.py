"""Locks of queues for orderly consumption."""

from collections import Counter

from rocketmq_testkit.emulator.client.queue_locks import QueueLocks
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.clients import MessageQueue


def test_a_client_gets_the_queues_behind_one_that_nobody_can_lock() -> None:
    """A rule of faults keeps the locks of one topic; the other queues of the same request are locked."""
    stolen, free = MessageQueue("stolen", "broker-a", 0), MessageQueue("orders", "broker-a", 0)
    locks = QueueLocks(Scheduler(), Counter({("billing", "stolen"): 1}))
    assert locks.lock("billing", "c1", [stolen, free]) == [free]
    assert locks.lock("shipping", "c2", [stolen, free]) == [stolen, free]
