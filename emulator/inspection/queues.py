"""Queues and the progress of groups in them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..pop.consumer_order_info import GroupQueue
from ..pull.cold_data import ColdSuspension
from ..topic.topic_table import PERM_READ
from .brokers import stores_of
from .engine_parts import EngineParts
from .holds import HoldInspection
from .past import Past
from .scope import Scope


@frozen_view
class ProgressView:
    """The progress of a group in a queue, in queue offsets."""

    committed: int | None
    pending_reset: int | None
    """The offset of a reset that the group has not taken yet; None if there is none."""
    position: int
    """The offset that the group reads next."""
    delivered: int | None
    """The number of messages written to clients, as recorded; None if records of the queue were dropped."""
    _: KW_ONLY
    in_flight: int
    """-1 if it was not counted, see `Inspection.progress`."""
    lag: int
    """The number of messages that the group has not finished: not read yet, or popped and in flight."""
    passed: int = 0
    """The offset below which the group receives messages only by redelivery. Pulls raise it when they are committed."""
    suspension: ColdSuspension | None = None
    """The suspension of the group at its position, because it reads too much cold data; None if it may read."""


@frozen_view
class QueueView:
    """A queue with the progress of the groups that have an offset or a member in it."""

    broker: str
    topic: str
    queue_id: int
    first: int
    """The lowest stored offset."""
    _: KW_ONLY
    end: int
    """The offset of the next message."""
    readable: bool
    """True if the topic has read permission and the queue is one of its read queues."""
    groups: Mapping[str, ProgressView]
    """The progress by the name of the group."""


class QueueInspection:
    """Reads the queues of a topic on all brokers."""

    def __init__(self, parts: EngineParts, holds: HoldInspection, past: Past) -> None:
        self._parts = parts
        self._holds = holds
        self._past = past

    def of_topic(self, topic: str) -> list[QueueView]:
        """Return the queues of a topic by broker and number, see `Inspection.queues`."""
        held = self._count_held(Scope(topic=topic))
        return [
            self._view(broker, topic, queue_id, held)
            for broker in stores_of(self._parts.brokers).values()
            for queue_id in range(_queue_nums(broker, topic))
        ]

    def one(self, name: str, topic: str, queue_id: int) -> QueueView | None:
        """Return one queue, see `Inspection.queue`."""
        broker = stores_of(self._parts.brokers).get(name)
        if broker is None or not 0 <= queue_id < _queue_nums(broker, topic):
            return None
        return self._view(broker, topic, queue_id, self._count_held(Scope(topic=topic, queue_id=queue_id)))

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups with progress in a topic, see `Inspection.groups_of_topic`."""
        stores = stores_of(self._parts.brokers).values()
        return {group for broker in stores if _queue_nums(broker, topic) for group in _groups_of(broker, topic)}

    def lowest_offset(self, name: str, topic: str, queue_id: int) -> int | None:
        """Return the lowest stored offset of a queue, see `Inspection.lowest_offset`."""
        broker = stores_of(self._parts.brokers).get(name)
        if broker is None or not 0 <= queue_id < _queue_nums(broker, topic):
            return None
        stored = broker.store.queue(topic, queue_id)
        return 0 if stored is None else stored.first

    def progress(self, name: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        """Return the progress of one group in a queue without its counts, see `Inspection.progress`."""
        broker = stores_of(self._parts.brokers).get(name)
        if broker is None or not 0 <= queue_id < _queue_nums(broker, topic) or not _has_group(broker, topic, group):
            return None
        stored = broker.store.queue(topic, queue_id)
        ends = (0, 0) if stored is None else (stored.first, stored.max_offset)
        return self._progress(broker, (topic, group, queue_id), ends=ends, held=-1, delivered=None)

    def _count_held(self, scope: Scope) -> Counter[tuple[str, str, int]]:
        """Return the number of messages in flight by broker, group and queue id."""
        keys = (hold.key for hold in self._holds.read(scope))
        return Counter((broker, group, queue_id) for broker, group, _, queue_id, _ in keys)

    def _view(self, broker: Broker, topic: str, queue_id: int, held: Counter[tuple[str, str, int]]) -> QueueView:
        config = broker.topics.find(topic)
        stored = broker.store.queue(topic, queue_id)
        first, end = (0, 0) if stored is None else (stored.first, stored.max_offset)
        readable = config is not None and bool(config.perm & PERM_READ) and queue_id < config.read_queue_nums
        delivered = self._past.delivered(broker.name, topic, queue_id)
        groups = {
            group: self._progress(
                broker,
                (topic, group, queue_id),
                ends=(first, end),
                held=held[broker.name, group, queue_id],
                delivered=None if delivered is None else delivered[group],
            )
            for group in _groups_of(broker, topic)
        }
        return QueueView(broker.name, topic, queue_id, first, end=end, readable=readable, groups=groups)

    def _progress(
        self, broker: Broker, queue: GroupQueue, *, ends: tuple[int, int], held: int, delivered: int | None
    ) -> ProgressView:
        topic, group, queue_id = queue
        (first, end), offsets = ends, broker.offsets
        committed = offsets.committed.get((group, topic), {}).get(queue_id)
        reset = offsets.pending_reset(group, topic, queue_id)
        known = committed if reset is None else reset
        popped = broker.pop_in_flight.count(queue)
        if broker.orders.has_batch(queue):
            read, popped = known, 0  # the committed offset passes no unacknowledged message of an ordered batch
        elif reset is not None:
            read = reset  # the next pop reads from there, whatever the merge buffer holds
        else:
            read = broker.pop_buffer.next_read_offset(queue, -1 if known is None else known)
            read = None if read < 0 else read
        unread = first if read is None else max(read, first)
        position = self._position(broker, queue, unread, reset)
        return ProgressView(
            committed=committed,
            pending_reset=reset,
            position=position,
            delivered=delivered,
            in_flight=held,
            lag=max(end - unread, 0) + popped,
            passed=self._passed(broker, queue, 0 if read is None else read, reset),
            suspension=broker.cold_data.suspension(group, topic, queue_id, position),
        )

    def _passed(self, broker: Broker, queue: GroupQueue, read: int, reset: int | None) -> int:
        """Return the offset below which the group does not read again.

        With KV records, pops store it as the pull offset. The pull offset of a group that pulls does not count, because
        the group reads the same messages again if it does not commit.
        """
        topic, group, queue_id = queue
        if reset is not None or not broker.config.pop_consumer_kv_service_enable:
            return read
        pulls = any(
            use.pulled is not None
            for _, used, used_id, use in self._parts.deliveries.uses()
            if used == (broker.name, group, topic) and used_id == queue_id
        )
        return read if pulls else max(read, broker.offsets.pull_offset(group, topic, queue_id))

    def _position(self, broker: Broker, queue: GroupQueue, unread: int, reset: int | None) -> int:
        """Return the offset that a group reads next: after pulls of connected clients, and pops with KV records."""
        topic, group, queue_id = queue
        if reset is not None:
            return unread
        pulled = [
            use.next_pulled()
            for channel, used, used_id, use in self._parts.deliveries.uses()
            if used == (broker.name, group, topic) and used_id == queue_id
            if broker.clients.connected_consumer(group, channel) is not None
        ]
        return max(unread, broker.offsets.pull_offset(group, topic, queue_id), *pulled)


def _queue_nums(broker: Broker, topic: str) -> int:
    """Return the number of queues of a topic on a broker, for reading or writing, or with messages."""
    config = broker.topics.find(topic)
    declared = 0 if config is None else max(config.read_queue_nums, config.write_queue_nums)
    return max([declared, *(queue.queue_id + 1 for queue in broker.store.queues_of(topic))])


def _has_group(broker: Broker, topic: str, group: str) -> bool:
    """Return True if a group has an offset or a member in a topic."""
    return (group, topic) in broker.offsets.committed or group in _groups_of(broker, topic)


def _groups_of(broker: Broker, topic: str) -> list[str]:
    """Return the groups with an offset or a member in a topic, by name; the broker's own groups as well."""
    found = {*broker.offsets.groups_of(topic), *broker.clients.subscribed_groups(topic)}
    return sorted(found)
