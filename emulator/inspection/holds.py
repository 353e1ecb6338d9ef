"""Messages that clients hold, as the tables of the brokers record them.

Check points are in three places, one after the other: in the merge buffer, in the topic of the timer until one second
before the invisible duration ends, and then in the revive topic. Acknowledgements of stored check points are in the
topic of the timer as well. Other tables hold KV records, ordered batches, and the pulls of connected clients.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY
from typing import Literal

from ..client.popped_messages import Popped
from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..pop.check_point import CheckPoint, MergeKey
from ..pop.pop_kv_records import PopRecord
from .brokers import stores_of
from .engine_parts import EngineParts
from .point_search import PointSearch, acknowledged_offsets, points_of
from .scope import EVERYTHING, Scope
from .timer_log import TimerLog

HoldTable = Literal["buffer", "log", "kv", "order", "pull"]
"""The table with the record of a message in flight: a check point in the merge buffer or in the log, a KV record, an
ordered batch, or the pull of a client."""
HoldKey = tuple[str, str, str, int, int]
"""(broker, group, topic, queue id, queue offset)"""
POINTS_OF_STEP = 64
"""The number of check points that one step selects."""


@frozen_view
class HeldMessage:
    """One message in flight."""

    key: HoldKey
    popped_ms: int
    until_ms: int | None
    """The end of the invisible duration; None for a pulled message."""
    table: HoldTable
    _: KW_ONLY
    channel: str | None
    deliveries_before: int = 0
    """The number of earlier deliveries of an ordered message."""
    changed: bool = False
    """True if the client has changed the invisible duration, as far as the tables show it."""


FindPopped = Callable[[HoldKey], Popped | None]
"""Returns the delivery of a message that its client has not completed, None if there is none."""


class HoldScan:
    """One reading of the selected messages in flight, in steps after which the reader may pause.

    `found` has them once `steps` has ended, each once: the newest delivery to each group. A reader that pauses finds
    each message as it was when the scan passed it.
    """

    def __init__(self, holds: Iterator[HeldMessage | None], offset: int | None) -> None:
        self.found: dict[HoldKey, HeldMessage] = {}
        self._holds = holds
        self._offset = offset

    def steps(self) -> Iterator[None]:
        """Read one step after another."""
        found = self.found
        for hold in self._holds:
            if hold is not None and self._offset in (None, hold.key[-1]):
                before = found.get(hold.key)
                if before is None or before.popped_ms <= hold.popped_ms:
                    found[hold.key] = hold
            yield None


class HoldInspection:
    """Reads the messages in flight of all brokers."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._timer_logs: dict[str, TimerLog] = {}
        self._searches: dict[str, PointSearch] = {}

    def read(self, scope: Scope = EVERYTHING) -> list[HeldMessage]:
        """Return the selected messages in flight, each once: the newest delivery to each group."""
        scan = self.scan(scope)
        for _ in scan.steps():
            pass
        return list(scan.found.values())

    def scan(self, scope: Scope = EVERYTHING) -> HoldScan:
        """Return a reading that has not begun."""
        return HoldScan(self._each(scope), scope.offset)

    def _each(self, scope: Scope) -> Iterator[HeldMessage | None]:
        """Yield messages in flight, some more than once, and None for steps that find none."""
        popped = self._parts.deliveries.popped_at
        for broker in stores_of(self._parts.brokers).values():
            yield from self._check_points(broker, scope, popped)
            yield from _kv_records(broker, scope, popped)
            yield from _ordered(broker, scope, popped)
            yield from self._pulled(broker, scope)

    def has_noted_pops(self, name: str) -> bool:
        """True if the timer of a broker can be searched, see `PointSearch.is_possible`."""
        broker = stores_of(self._parts.brokers).get(name)
        return broker is not None and self._searches.setdefault(name, PointSearch()).is_possible(broker)

    def ordered(self, broker: Broker, group: str, queue: tuple[str, str, int]) -> list[HeldMessage]:
        """Return the messages in flight of the ordered batch of one queue (broker, topic, queue id)."""
        _, topic, queue_id = queue
        return list(_ordered(broker, Scope(group, topic, queue_id), self._parts.deliveries.popped_at))

    def _check_points(self, broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[HeldMessage | None]:
        points: list[tuple[HoldTable, CheckPoint]] = []
        acks = yield from self._read_points(broker, scope, points)
        first_ms: dict[HoldKey, int] = {}
        """The first pop of messages with an acknowledged check point. A change of the duration acknowledges it."""
        for _, point in points:
            for offset in {*point.acknowledged(), *acks.get(point.merge_key(), ())}:
                key = (broker.name, point.group, point.topic, point.queue_id, offset)
                first_ms[key] = min(first_ms.get(key, point.pop_time), point.pop_time)
            yield None
        for table, point in points:
            acknowledged = acks.get(point.merge_key(), ())
            for offset in point.unacknowledged():
                if offset not in acknowledged and point.broker_name == broker.name:
                    key = (broker.name, point.group, point.topic, point.queue_id, offset)
                    since_ms = first_ms.get(key, point.pop_time) if point.diffs == [0] else point.pop_time
                    changed = since_ms < point.pop_time
                    yield _popped(key, since_ms, point.revive_ms, popped, table=table, changed=changed)

    def _read_points(
        self, broker: Broker, scope: Scope, points: list[tuple[HoldTable, CheckPoint]]
    ) -> Generator[None, None, Mapping[MergeKey, set[int]]]:
        """Append the check points that may contain selected messages.

        Return the offsets that acknowledgements name.
        """
        search = self._searches.setdefault(broker.name, PointSearch())
        timer_log = None
        if scope.offset is not None and search.is_possible(broker):
            stored = points_of(broker, scope, scope.offset)
        else:
            timer_log = self._timer_logs.setdefault(broker.name, TimerLog(broker.name))
            yield from timer_log.read_in_steps(broker)
            stored = timer_log.points
        parts: tuple[tuple[HoldTable, Iterable[CheckPoint]], ...] = (
            *(("log", stored), ("log", broker.revive.points()), ("buffer", broker.pop_buffer.points())),
        )
        # Lists, because the broker may change its tables after a step.
        for table, part in [(table, list(_near(scope, part))) for table, part in parts]:
            for begin in range(0, len(part), POINTS_OF_STEP):
                points += ((table, point) for point in part[begin : begin + POINTS_OF_STEP] if _is_in(scope, point))
                yield None
        if timer_log is None:
            return acknowledged_offsets(broker, (point for _, point in points))
        return timer_log.acks

    def _pulled(self, broker: Broker, scope: Scope) -> Iterator[HeldMessage | None]:
        """Yield the pulled messages above the committed offsets, of connected members that report their progress."""
        for channel, (node, group, topic), queue_id, use in list(self._parts.deliveries.uses()):
            if node != broker.name or not use.pulled or not scope.has_queue(group, topic, queue_id):
                continue
            if broker.clients.connected_consumer(group, channel) is None:
                continue
            if broker.clients.consumers[group].kind.reports_progress:
                committed = broker.offsets.query(group, topic, queue_id)
                for _, since_ms, offsets in list(use.pulled):
                    for offset in offsets if scope.offset is None else {scope.offset}.intersection(offsets):
                        if offset >= committed:
                            yield HeldMessage(
                                (node, group, topic, queue_id, offset), since_ms, None, "pull", channel=channel
                            )
            yield None


def _popped(
    key: HoldKey,
    since_ms: int,
    until_ms: int,
    popped: FindPopped,
    *,
    table: HoldTable,
    deliveries_before: int = 0,
    changed: bool = False,
) -> HeldMessage:
    held = popped(key)
    # A change by the client removes the entry of the delivery, renewals by the proxy keep it.
    channel = None if held is None else held.channel_id
    return HeldMessage(
        key,
        since_ms,
        until_ms,
        table,
        channel=channel,
        deliveries_before=deliveries_before,
        changed=changed and held is None,
    )


def _near(scope: Scope, points: Iterable[CheckPoint]) -> Iterable[CheckPoint]:
    """Return the check points that may contain a selected offset; all if the offset does not matter."""
    offset, topic, queue_id = scope.offset, scope.topic, scope.queue_id
    if offset is None:
        return points
    # of many check points, few begin at or before an offset of the same queue
    return (
        each for each in points if each.start_offset <= offset and each.topic == topic and each.queue_id == queue_id
    )


def _is_in(scope: Scope, point: CheckPoint) -> bool:
    last = point.start_offset + max(point.diffs, default=0)
    return scope.has_queue(point.group, point.topic, point.queue_id) and scope.has_offset_between(
        point.start_offset, last
    )


def _kv_records(broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[HeldMessage]:
    service = broker.pop_kv_service
    cached: Iterator[PopRecord] = iter(()) if service is None else service.cached()
    for record in [*broker.pop_records.table.values(), *cached]:
        if scope.offset is not None and record.offset != scope.offset:
            continue  # first, because it leaves few of many records
        if not scope.has_queue(record.group, record.topic, record.queue_id):
            continue
        key = (broker.name, record.group, record.topic, record.queue_id, record.offset)
        yield _popped(key, record.pop_time, record.visible_ms, popped, table="kv")


def _ordered(broker: Broker, scope: Scope, popped: FindPopped) -> Iterator[HeldMessage]:
    now_ms = broker.lifetime.now_ms
    for (topic, group, queue_id), info in list(broker.orders.batches()):
        if not scope.has_queue(group, topic, queue_id):
            continue
        for index, offset in enumerate(info.offsets):
            until_ms = info.next_visible.get(offset, info.pop_time + info.invisible_ms)
            if not info.acked >> index & 1 and until_ms > now_ms:
                key = (broker.name, group, topic, queue_id, offset)
                before, changed = info.counts.get(offset, 0), offset in info.next_visible
                yield _popped(
                    key, info.pop_time, until_ms, popped, table="order", deliveries_before=before, changed=changed
                )
