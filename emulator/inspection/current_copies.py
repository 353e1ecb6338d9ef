"""The copies of the messages of a topic, read one by one in the order of the log.

A reader of many messages may pause between them. The call decides which records are read: later sends and deliveries
do not change them, but a record that is deleted meanwhile is left out.
"""

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from itertools import islice
from operator import itemgetter

from ..cluster.broker import Broker
from ..message import names
from ..message import stored_record as records
from ..message.names import HALF_TOPIC, TIMER_TOPIC
from ..schedule.timer_state import Slot, SlotMessage
from ..store.consume_queue import ConsumeQueue
from .stored_copies import StoredCopy, decoded

Selects = Callable[[StoredCopy], bool]
Reference = tuple[int, Selects]
"""The physical offset of a record, and a function that returns True if its copy is one of the topic's messages."""


def current_copies(broker: Broker, topic: str) -> Iterator[StoredCopy | None]:
    """Return the copies of the messages of a topic, without those that the broker has passed on to another topic.

    They are the stored messages, the delayed, timed and half messages that wait, those discarded, and the copies in
    retry topics and dead letter queues. Recalled messages are left out. None stands for a record without such a copy.
    """
    waits = partial(_waits, topic)
    sources: list[Iterator[Reference]] = [_of_queue(each, _every) for each in broker.store.queues_of(topic)]
    for name in broker.topics.table:
        if name != topic and (names.is_retry_or_dlq(name) or name == names.TRANS_CHECK_MAX_TIME_TOPIC):
            sources += (_of_queue(each, partial(_was_sent_to, topic)) for each in broker.store.queues_of(name))
    sources += (_of_queue(queue, waits, first) for _, queue, first in broker.delays.undelivered())
    sources += (_timed(broker, topic), _half(broker, waits))
    return _read(broker, merge(*sources, key=itemgetter(0)))


def _read(broker: Broker, references: Iterator[Reference]) -> Iterator[StoredCopy | None]:
    log, last = broker.store.log, -1
    for physical_offset, selects in references:
        if physical_offset == last:  # a record of several messages
            continue
        last = physical_offset
        record = log.record_at(physical_offset)
        copy = None if record is None else decoded(broker, record)
        yield copy if copy is not None and selects(copy) else None


def _of_queue(queue: ConsumeQueue, selects: Selects, first: int | None = None) -> Iterator[Reference]:
    """Return the present records of a queue, from an offset on. They stay the same while the queue grows."""
    begin = 0 if first is None else max(first - queue.first, 0)
    return ((physical_offset, selects) for physical_offset in islice(queue.physical, begin, len(queue.physical)))


def _timed(broker: Broker, topic: str) -> Iterator[Reference]:
    """Return the records in the slots of the timer wheel, in the order of the log."""
    queue = broker.store.queue(TIMER_TOPIC, 0)
    if queue is None:
        return iter(())
    return iter(
        sorted(
            (
                (queue.unit(entry.offset)[0], partial(_is_timed, topic, slot, entry))
                for slot in broker.timers.slots.values()
                for entry in slot.waiting
                if queue.first <= entry.offset < queue.max_offset
            ),
            key=itemgetter(0),
        )
    )


def _half(broker: Broker, waits: Selects) -> Iterator[Reference]:
    queue = broker.store.queue(HALF_TOPIC, 0)
    found = (records.decode(record).physical_offset for record in broker.checks.undecided()) if queue else ()
    return iter([(physical_offset, waits) for physical_offset in sorted(found)])


def _every(_copy: StoredCopy) -> bool:
    return True


def _was_sent_to(topic: str, copy: StoredCopy) -> bool:
    return copy.origin == topic


def _waits(topic: str, copy: StoredCopy) -> bool:
    return copy.origin == topic != copy.view.place.topic


def _is_timed(topic: str, slot: Slot, entry: SlotMessage, copy: StoredCopy) -> bool:
    return _waits(topic, copy) and not slot.is_recalled(entry, copy.properties)
