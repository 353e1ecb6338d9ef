"""Check points and acknowledgements that wait in the timer and concern one message, found without reading the others.

The broker notes their positions, see `emulator/pop/pop_positions.py`. A search decodes only those whose offsets may
contain the message's offset. It needs a broker that has stored all of them itself since its start.
"""

import sys
from collections.abc import Iterable

from ..cluster.broker import Broker
from ..message import stored_record as records
from ..message.names import TIMER_TOPIC, revive_topic
from ..pop.check_point import Ack, CheckPoint, MergeKey
from ..schedule.timer_state import Slot
from ..store.consume_queue import ConsumeQueue
from .scope import Scope
from .slots import slot_of
from .timer_log import OF_POPS, decoded_pop, is_for

_CODES = [code.to_bytes(8, sys.byteorder, signed=True) for code in OF_POPS]


class PointSearch:
    """Knows if the timer of one broker can be searched."""

    def __init__(self) -> None:
        self._counted_of: object = None
        self._counted_to = 0
        self._count = 0

    def is_possible(self, broker: Broker) -> bool:
        """True if the broker has noted the position of each check point and acknowledgement that waits in its timer.

        It has not if some are from before its start, if a client has sent them, or if the timer has stored them again.
        """
        noted = broker.pop_positions
        begin_of_run = noted.timer_offset_at_start
        queue = broker.store.queue(TIMER_TOPIC, 0)
        if queue is None or not queue.physical:
            return True
        first = max(queue.first, begin_of_run)
        slots = broker.timers.slots.values()
        if first > queue.first and any(_begins_before(slot, begin_of_run) for slot in slots):
            return False
        counted_of = (broker.timers, queue, queue.first, len(broker.store.log.truncations))
        if self._counted_of != counted_of:
            self._counted_of, self._counted_to, self._count = counted_of, first, 0
        self._count += number_of_pops(queue, self._counted_to)
        self._counted_to = queue.max_offset
        begin = queue.unit(first)[0] if first < queue.max_offset else broker.store.log.max_offset
        return self._count == noted.count_from(begin)


def number_of_pops(queue: ConsumeQueue, begin: int = 0) -> int:
    """Return the number of messages with the tags of check points and acknowledgements, from an offset on."""
    codes = queue.tags_codes[max(begin - queue.first, 0) :].tobytes()
    return sum(map(codes.count, _CODES))


def points_of(broker: Broker, scope: Scope, offset: int) -> list[CheckPoint]:
    """Return the waiting check points that may contain an offset of the selected queues."""
    positions = broker.pop_positions.queues.items()
    queues = (each for (topic, group, queue_id), each in positions if scope.has_queue(group, topic, queue_id))
    found = (_waiting(broker, position, is_point=True) for each in queues for position in each.points_of(offset))
    return [point for point in found if isinstance(point, CheckPoint)]


def acknowledged_offsets(broker: Broker, points: Iterable[CheckPoint]) -> dict[MergeKey, set[int]]:
    """Return the offsets of the waiting acknowledgements that belong to check points, by the keys of these."""
    found: dict[MergeKey, set[int]] = {}
    for point in points:
        key = point.merge_key()
        queue = broker.pop_positions.queues.get((point.topic, point.group, point.queue_id))
        if queue is None or key in found:
            continue
        offsets = found[key] = set()
        for position in queue.acks.starting_at(point.start_offset):
            ack = _waiting(broker, position, is_point=False)
            if isinstance(ack, Ack) and ack.merge_key(broker.name) == key:
                offsets.update(ack.offsets)
    return found


def _waiting(broker: Broker, position: int, *, is_point: bool) -> CheckPoint | Ack | None:
    """Decode a record of the timer topic; None if it does not wait any more."""
    record = broker.store.log.record_at(position)
    parts = None if record is None else records.decode(record)
    if parts is None or parts.topic != TIMER_TOPIC:
        return None  # other records have its place since a crash
    if not is_for(revive_topic(broker.config.broker_cluster_name), parts) or slot_of(broker, parts) is None:
        return None
    return decoded_pop(parts.body, is_point=is_point)


def _begins_before(slot: Slot, offset: int) -> bool:
    return bool(slot.waiting) and slot.waiting[0].offset < offset
