"""Stored records as copies of messages."""

from collections.abc import Iterator
from dataclasses import KW_ONLY

from ..cluster.broker import Broker
from ..kernel.java_numbers import parse_long
from ..kernel.value_class import frozen_view
from ..message import names
from ..message import properties as props
from ..message import stored_record as records
from ..message.stored_record import Record
from .messages import CopyState, CopyView
from .origins import REDIRECTED, group_of, origin_of, state_of
from .places import Place


@frozen_view
class StoredCopy:
    """A copy with its decoded record."""

    view: CopyView
    parts: Record
    properties: dict[str, str]
    message_id: str
    _: KW_ONLY
    origin: str
    """The topic to which the message was sent."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that its producer set."""
        return tuple(self.properties.get(props.KEYS, "").split())


def decoded(broker: Broker, record: bytes) -> StoredCopy | None:
    """Decode a record of a broker; None if it cannot be decoded."""
    try:
        parts = records.decode(record)
        properties = parts.property_map()
    except ValueError:
        return None
    offset_id = records.offset_message_id(parts.store_host, parts.physical_offset)
    view = CopyView(
        Place(broker.name, parts.topic, parts.queue_id, parts.queue_offset, physical_offset=parts.physical_offset),
        state_of(parts.topic),
        parts.store_timestamp,
        _due_ms(broker, parts, properties),
        group=group_of(broker, parts.topic, properties),
        retry=parts.reconsume_times,
        record=record,
    )
    return StoredCopy(
        view,
        parts,
        properties,
        properties.get(props.UNIQ_KEY) or properties.get(props.ORIGIN_MESSAGE_ID) or offset_id,
        origin=origin_of(broker, parts.topic, properties),
    )


def _due_ms(broker: Broker, parts: Record, properties: dict[str, str]) -> int | None:
    if parts.topic == names.SCHEDULE_TOPIC:
        queue = broker.store.queue(parts.topic, parts.queue_id)
        held = queue is not None and queue.first <= parts.queue_offset < queue.max_offset
        return broker.delays.next_check_ms(queue.unit(parts.queue_offset)[2]) if queue is not None and held else None
    if parts.topic != names.TIMER_TOPIC:
        return None
    try:
        return parse_long(properties.get(props.TIMER_OUT_MS, "")) + broker.timers.precision_ms
    except ValueError:
        return None


def each_in(broker: Broker, topic: str) -> Iterator[StoredCopy]:
    """Yield the copies in a topic of a broker, queue by queue; one for each record, also of several messages."""
    for queue in broker.store.queues_of(topic):
        last = -1
        for physical_offset, size in zip(queue.physical, queue.sizes, strict=True):
            if physical_offset != last:
                last = physical_offset
                copy = decoded(broker, broker.store.log.read(physical_offset, size))
                if copy is not None:
                    yield copy


def each_sent_to(broker: Broker, topic: str) -> Iterator[StoredCopy]:
    """Yield the copies of the messages of a topic, also those that the broker has passed on to another topic."""
    for name in dict.fromkeys(queue.topic for queue in broker.store.queues.values()):
        if name == topic or name in REDIRECTED or names.is_retry_or_dlq(name):
            yield from (copy for copy in each_in(broker, name) if name == topic or copy.origin == topic)


def is_in(state: CopyState | None, copy: StoredCopy) -> bool:
    """True if a copy has the given state, or if this is None."""
    return state is None or copy.view.state is state
