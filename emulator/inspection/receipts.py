"""Receipts: messages that clients hold, with the end of the time for which they hold them."""

from collections.abc import Iterator
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.value_class import frozen_view
from ..message import stored_record as records
from .brokers import stores_of
from .engine_parts import EngineParts
from .holds import HeldMessage, HoldInspection, HoldScan, HoldTable
from .past import Past
from .places import Place
from .scope import Scope


@frozen_view
class ReceiptView:
    """A message in flight."""

    group: str
    place: Place
    channel: str | None
    """The connection of the client; None if it is no longer known."""
    popped_ms: int
    _: KW_ONLY
    until_ms: int | None
    """The end of the invisible duration; None for a pulled message."""
    attempt: int
    """The number of the delivery, from 1."""
    table: HoldTable
    """The table of the broker that has it: the merge buffer, the log, KV records, ordered batches, or pulls."""
    returned: bool
    """True if the client changed the invisible duration after a failure."""
    client: str | None = None
    """The client id of the connection; None if it is not known."""


class ReceiptInspection:
    """Reads the messages in flight with the facts about their deliveries."""

    def __init__(self, parts: EngineParts, holds: HoldInspection, past: Past) -> None:
        self._parts = parts
        self._holds = holds
        self._past = past

    def read(self, group: str | None, place: Place | None) -> Iterator[ReceiptView]:
        """Yield the messages in flight, see `Inspection.receipts`. A deleted message is not in flight."""
        brokers = stores_of(self._parts.brokers)
        scope = Scope(group)
        if place is not None:
            scope = Scope(group, place.topic, place.queue_id, place.queue_offset)
        for hold in self._holds.read(scope):
            view = self._view(brokers[hold.key[0]], hold)
            if view is not None and (place is None or place.broker == view.place.broker):
                yield view

    def scan(self, group: str | None) -> HoldScan:
        """Return a reading of the messages in flight, see `Inspection.scan_receipts`."""
        return self._holds.scan(Scope(group))

    def of(self, hold: HeldMessage) -> ReceiptView | None:
        """Return one message in flight, see `Inspection.receipt`."""
        broker = stores_of(self._parts.brokers).get(hold.key[0])
        return None if broker is None else self._view(broker, hold)

    def ordered(self, group: str, queue: tuple[str, str, int]) -> Iterator[ReceiptView]:
        """Yield the messages in flight of an ordered batch, see `Inspection.ordered_batch`."""
        broker = stores_of(self._parts.brokers).get(queue[0])
        if broker is not None:
            views = (self._view(broker, hold) for hold in self._holds.ordered(broker, group, queue))
            yield from (view for view in views if view is not None)

    def _view(self, broker: Broker, hold: HeldMessage) -> ReceiptView | None:
        name, group, topic, queue_id, offset = hold.key
        record = broker.store.record(topic, queue_id, offset)
        queue = broker.store.queue(topic, queue_id)
        if record is None or queue is None:
            return None
        place = Place(name, topic, queue_id, offset, physical_offset=queue.unit(offset)[0])
        past = self._past.of(place, group)
        last = past.last_delivery
        # A change of the duration writes a new record into the tables of the broker, with its own time.
        popped_ms, channel = (hold.popped_ms, hold.channel) if last is None else (last.at_ms, last.channel)
        return ReceiptView(
            group=group,
            place=place,
            channel=channel,
            popped_ms=popped_ms,
            until_ms=hold.until_ms,
            attempt=records.decode(record).reconsume_times + max(past.deliveries, hold.deliveries_before + 1),
            table=hold.table,
            client=None if channel is None else self._parts.history.client_of(channel),
            returned=hold.changed if past.was_returned is None else past.was_returned,
        )
