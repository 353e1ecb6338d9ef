"""Queue locks of consumers in order, while a fault withholds locks of a topic."""

from collections import Counter

from rocketmq_testkit.emulator.client.queue_locks import QueueLocks
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.clients import MessageQueue


def test_a_client_locks_the_other_queues_of_its_request_if_a_fault_withholds_one() -> None:
    """A fault withholds the locks of one topic from one group; other topics and groups get theirs."""
    stolen, free = MessageQueue("stolen", "broker-a", 0), MessageQueue("orders", "broker-a", 0)
    locks = QueueLocks(Scheduler(), Counter({("billing", "stolen"): 1}))
    assert locks.lock("billing", "c1", [stolen, free]) == [free]
    assert locks.lock("shipping", "c2", [stolen, free]) == [stolen, free]
