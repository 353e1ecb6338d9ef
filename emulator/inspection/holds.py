"""Messages that clients hold, as the tables of the brokers record them.

Check points are in three places, one after the other: in the merge buffer, in the topic of the timer until one second
before the invisible duration ends, and then in the revive topic. Acknowledgements of stored check points are in the
topic of the timer as well. Other tables hold KV records, ordered batches, and the pulls of connected clients.
"""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Literal

from ..client.popped_messages import Popped
from ..cluster.broker import Broker
from ..kernel.value_class import frozen_value
from ..message import properties as props
from ..message import stored_record as records
from ..message.names import TIMER_TOPIC, revive_topic
from ..pop.check_point import ACK_TAG, BATCH_ACK_TAG, CK_TAG, Ack, CheckPoint, MergeKey
from ..pop.pop_kv_records import PopRecord
from ..schedule.timer_service import Slot
from ..store.consume_queue import ConsumeQueue
from ..store.message_store import tags_code_of
from .brokers import stores_of
from .engine_parts import EngineParts

Holder = Literal["buffer", "log", "kv", "order", "pull"]
HoldKey = tuple[str, str, str, int, int]
"""(broker, group, topic, queue id, queue offset)"""
LAST_OFFSET = (1 << 63) - 1
_POINT = tags_code_of(CK_TAG)
_OF_POPS = frozenset((_POINT, tags_code_of(ACK_TAG), tags_code_of(BATCH_ACK_TAG)))
"""Tags codes of the messages in which pops are recorded."""


@frozen_value
class Hold:
    """One message in flight."""

    key: HoldKey
    popped_ms: int
    until_ms: int | None
    """The end of the invisible duration; None for a pulled message."""
    holder: Holder
    channel: str | None
    deliveries_before: int = 0
    """The number of earlier deliveries of an ordered message."""
    changed: bool = False
    """True if the client has changed the invisible duration, as far as the tables show it."""


@frozen_value
class Scope:
    """A selection of messages in flight; None stands for all."""

    group: str | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None

    def has(self, group: str, topic: str, queue_id: int, first: int, last: int) -> bool:  # noqa: PLR0917 - a queue and its offsets
        """True if some of the offsets from `first` to `last` of a queue may be selected."""
        return (
            self.group in (None, group)
            and self.topic in (None, topic)
            and self.queue_id in (None, queue_id)
            and (self.offset is None or first <= self.offset <= last)
        )


EVERYTHING = Scope()
FindPopped = Callable[[HoldKey], Popped | None]
"""Returns the delivery of a message that its client has not completed, None if there is none."""


class Holds:
    """Reads the messages in flight of all brokers."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._timer_logs: dict[str, _TimerLog] = {}

    def read(self, scope: Scope = EVERYTHING) -> list[Hold]:
        """Return the selected messages in flight, each once: the newest delivery to each group."""
        popped = self._parts.deliveries.popped_at
        found: dict[HoldKey, Hold] = {}
        for broker in stores_of(self._parts.brokers).values():
            for hold in chain(
                self._check_points(broker, scope, popped),
                _kv_records(broker, scope, popped),
                _ordered(broker, scope, popped),
                self._pulled(broker, scope),
            ):
                if scope.offset not in (None, hold.key[-1]):
                    continue
                before = found.get(hold.key)
                if before is None or before.popped_ms <= hold.popped_ms:
                    found[hold.key] = hold
        return list(found.values())

    def ordered(self, broker: Broker, group: str, queue: tuple[str, str, int]) -> list[Hold]:
        """Return the messages in flight of the ordered batch of one queue (broker, topic, queue id)."""
        _, topic, queue_id = queue
        return list(_ordered(broker, Scope(group, topic, queue_id), self._parts.deliveries.popped_at))

    def _check_points(self, broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[Hold]:
        timer_log = self._timer_logs.get(broker.name)
        if timer_log is None:
            timer_log = self._timer_logs[broker.name] = _TimerLog(broker.name)
        timer_log.read(broker)
        everywhere: Iterator[tuple[Holder, CheckPoint]] = chain(
            (("log", point) for point in timer_log.points),
            (("log", point) for point in broker.revive.points()),
            (("buffer", point) for point in broker.pop_buffer.points()),
        )
        points = [
            (holder, point)
            for holder, point in everywhere
            if scope.has(point.group, point.topic, point.queue_id, point.start_offset, _last_offset(point))
        ]
        first_ms: dict[HoldKey, int] = {}
        """The first pop of messages with an acknowledged check point. A change of the duration acknowledges it."""
        for _, point in points:
            for offset in {*point.acknowledged(), *timer_log.acks.get(point.merge_key(), ())}:
                key = (broker.name, point.group, point.topic, point.queue_id, offset)
                first_ms[key] = min(first_ms.get(key, point.pop_time), point.pop_time)
        for holder, point in points:
            acknowledged = timer_log.acks.get(point.merge_key(), ())
            for offset in point.unacknowledged():
                if offset not in acknowledged and point.broker_name == broker.name:
                    key = (broker.name, point.group, point.topic, point.queue_id, offset)
                    since_ms = first_ms.get(key, point.pop_time) if point.diffs == [0] else point.pop_time
                    changed = since_ms < point.pop_time
                    yield _popped(key, since_ms, point.revive_ms, popped, holder=holder, changed=changed)

    def _pulled(self, broker: Broker, scope: Scope) -> Iterator[Hold]:
        """Yield the pulled messages above the committed offsets, of connected members that report their progress."""
        for channel, (node, group, topic), queue_id, use in self._parts.deliveries.uses():
            if node != broker.name or not use.pulled or not scope.has(group, topic, queue_id, 0, LAST_OFFSET):
                continue
            if broker.clients.connected_consumer(group, channel) is None:
                continue
            if broker.clients.consumers[group].kind.reports_progress:
                committed = broker.offsets.query(group, topic, queue_id)
                for _, since_ms, offsets in use.pulled:
                    for offset in offsets:
                        if offset >= committed:
                            yield Hold((node, group, topic, queue_id, offset), since_ms, None, "pull", channel)


class _TimerSlot:
    """Check points and acknowledgements of one slot of the timer, as far as they were read."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.seen = 0
        """The number of messages of the slot that were read; later ones are appended to it."""
        self.points: list[CheckPoint] = []
        self.acks: list[Ack] = []


class _TimerLog:
    """Check points and acknowledgements of one broker that wait in the timer. Each is read once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: object = None
        self._run: object = None
        self._slots: dict[int, _TimerSlot] = {}
        self.points: list[CheckPoint] = []
        self.acks: dict[MergeKey, set[int]] = {}

    def read(self, broker: Broker) -> None:
        """Read the messages that were stored since the last time, and forget those that were delivered or deleted."""
        store, slots = broker.store, broker.timers.slots
        state = (id(broker.timers), store.log.max_offset, len(store.log.truncations), store.now_ms, len(slots))
        if state == self._state:
            return
        self._state = state
        queue = store.queue(TIMER_TOPIC, 0)
        run = (broker.timers, len(store.log.truncations), None if queue is None else (queue, queue.first))
        if run != self._run:
            self._run, self._slots = run, {}
        known, self._slots = self._slots, {}
        for due_ms, slot in slots.items() if queue is not None else ():
            found = known.get(due_ms)
            if found is None or found.slot is not slot:
                found = _TimerSlot(slot)
            if queue is not None and found.seen < len(slot.waiting):
                self._read_slot(broker, found, queue)
            self._slots[due_ms] = found
        self.points = [point for found in self._slots.values() for point in found.points]
        self.acks = {}
        for found in self._slots.values():
            for ack in found.acks:
                self.acks.setdefault(ack.merge_key(self._name), set()).update(ack.offsets)

    @staticmethod
    def _read_slot(broker: Broker, found: _TimerSlot, queue: ConsumeQueue) -> None:
        """Read the new messages of a slot."""
        waiting, tags_codes, first = found.slot.waiting, queue.tags_codes, queue.first
        topic = revive_topic(broker.config.broker_cluster_name)
        for entry in islice(waiting, found.seen, None):
            if first <= entry.offset < queue.max_offset:
                tags_code = tags_codes[entry.offset - first]
                if tags_code in _OF_POPS:
                    _add(found, broker.store.record(TIMER_TOPIC, 0, entry.offset), topic, tags_code == _POINT)
        found.seen = len(waiting)


def _add(found: _TimerSlot, record: bytes | None, topic: str, is_point: bool) -> None:
    if record is None:
        return
    parts = records.decode(record)
    if f"\x02{props.REAL_TOPIC}\x01{topic}\x02" not in f"\x02{parts.properties}\x02":
        return
    try:
        if is_point:
            found.points.append(CheckPoint.from_json(parts.body, 0))
        else:
            found.acks.append(Ack.from_json(parts.body))
    except ValueError:
        return  # a client may send anything to the revive topic


def _popped(
    key: HoldKey,
    since_ms: int,
    until_ms: int,
    popped: FindPopped,
    *,
    holder: Holder,
    deliveries_before: int = 0,
    changed: bool = False,
) -> Hold:
    held = popped(key)
    # A change by the client removes the entry of the delivery, renewals by the proxy keep it.
    channel = None if held is None else held.channel_id
    return Hold(key, since_ms, until_ms, holder, channel, deliveries_before, changed and held is None)


def _last_offset(point: CheckPoint) -> int:
    return point.start_offset + max(point.diffs, default=0)


def _kv_records(broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[Hold]:
    service = broker.pop_kv_service
    cached: Iterator[PopRecord] = iter(()) if service is None else service.cached()
    for record in (*broker.pop_records.table.values(), *cached):
        if not scope.has(record.group, record.topic, record.queue_id, record.offset, record.offset):
            continue
        key = (broker.name, record.group, record.topic, record.queue_id, record.offset)
        yield _popped(key, record.pop_time, record.visible_ms, popped, holder="kv")


def _ordered(broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[Hold]:
    now_ms = broker.lifetime.now_ms
    for (topic, group, queue_id), info in broker.orders.batches():
        if not scope.has(group, topic, queue_id, 0, LAST_OFFSET):
            continue
        for index, offset in enumerate(info.offsets):
            until_ms = info.next_visible.get(offset, info.pop_time + info.invisible_ms)
            if not info.acked >> index & 1 and until_ms > now_ms:
                key = (broker.name, group, topic, queue_id, offset)
                before, changed = info.counts.get(offset, 0), offset in info.next_visible
                yield _popped(
                    key, info.pop_time, until_ms, popped, holder="order", deliveries_before=before, changed=changed
                )
