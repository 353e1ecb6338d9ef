"""Messages that compaction has removed."""

from ..cluster.broker import Broker
from ..message import properties as props
from ..message import stored_record as records
from .brokers import stores_of
from .engine_parts import EngineParts
from .places import Place


def replaced_by(parts: EngineParts, place: Place) -> int | None:
    """Return the offset of the message that replaced a compacted one, see `Inspection.replaced_by`."""
    broker = stores_of(parts.brokers).get(place.broker)
    if broker is None or place.topic not in broker.topics.compacted or not broker.config.enable_compaction:
        return None
    queue = broker.store.queue(place.topic, place.queue_id)
    if queue is None or not queue.first <= place.queue_offset < queue.max_offset:
        return None
    keys = _keys(broker, place, place.queue_offset)
    if not keys.strip() or broker.compaction.snapshot_of(queue).keeps(place.queue_offset):
        return None
    later = range(place.queue_offset + 1, queue.max_offset)
    return next((offset for offset in later if _keys(broker, place, offset) == keys), place.queue_offset)


def _keys(broker: Broker, place: Place, offset: int) -> str:
    record = broker.store.record(place.topic, place.queue_id, offset)
    return "" if record is None else records.property_map(record).get(props.KEYS, "")
