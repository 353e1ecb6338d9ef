"""All records that a broker has stored, byte for byte."""

from rocketmq_testkit.emulator.cluster.broker import Broker


def stored_records(broker: Broker) -> dict[tuple[str, int], list[bytes]]:
    """Return the records of each queue, oldest first."""
    found: dict[tuple[str, int], list[bytes]] = {}
    for place, queue in broker.store.queues.items():
        records = [broker.store.record(*place, offset) for offset in range(queue.first, queue.max_offset)]
        found[place] = [record for record in records if record is not None]
        assert len(found[place]) == len(records)
    return found
