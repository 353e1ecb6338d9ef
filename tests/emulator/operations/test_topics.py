"""`QueueMapping`: the logical queues of a static topic that a broker leads."""

from rocketmq_testkit.emulator.operations.topics import QueueMapping, QueuePart


def part(broker: str, queue_id: int) -> QueuePart:
    return QueuePart(0, queue_id, broker, 0)


def test_a_broker_leads_the_queues_whose_last_segment_it_has() -> None:
    """An earlier segment on the broker, or a queue without segments, does not count."""
    mapping = QueueMapping("T", 4, "a", 1)
    mapping.queues = {
        0: [part("a", 5)],
        1: [part("a", 6), part("b", 7)],
        2: [part("b", 8), part("a", 9)],
        3: [],
    }
    assert mapping.queues_led_here() == {0: 5, 2: 9}
