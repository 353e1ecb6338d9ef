"""Look up messages by id, offset id, key, place and condition."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from heapq import merge
from itertools import islice
from operator import itemgetter, ne

from ..cluster.broker import Broker
from ..kernel.nearest_name import NAME_CHARACTERS_MAX
from ..message import stored_record as records
from .brokers import stores_of
from .current_copies import current_copies
from .engine_parts import EngineParts
from .grouped_copies import messages_of, store_order
from .log_index import LogIndex
from .messages import CopyState, CopyView, MessageWithCopies
from .origins import REDIRECTED, state_of
from .places import Place
from .stored_copies import StoredCopy, decoded, each_sent_to, is_in

OFFSET_ID_DIGITS = (32, 56)
"""Numbers of digits of an offset message id, with an IPv4 and an IPv6 address."""
COMPARED_MESSAGES = 1_000
"""The number of the newest messages of each queue that are compared with a text that does not exist."""
WRONG_CHARACTERS_MAX = 2
"""The most characters by which a wrong id or key differs from an existing one of the same length, to mean it."""


class Locator:
    """Finds the messages of all brokers. It owns an index of each log, which is no part of the brokers."""

    def __init__(self, parts: EngineParts, like: "Locator | None" = None) -> None:
        """`like`: the locator of the engine of which `parts` is a copy as of now. Their indexes share their blocks."""
        self._parts = parts
        self._indexes: dict[tuple[str, int], LogIndex] = {}
        """The index of each log by name and id of its broker."""
        if like is not None:
            known = ((broker, like._indexes.get((broker.name, broker.broker_id))) for broker in parts.brokers)
            self._indexes = {
                (broker.name, broker.broker_id): LogIndex(broker.store.log, index)
                for broker, index in known
                if index is not None
            }

    def find(self, text: str, topic: str | None) -> list[MessageWithCopies]:
        """Return the messages with an id or, if there is none, with a key; see `Inspection.find`."""
        stored = self._at_offset_id(text)
        if stored is not None:
            text = stored.message_id
        copies = list(self._with(text))
        found = messages_of(copy for copy in copies if copy.message_id == text)
        if not found:
            found = messages_of(copy for copy in copies if text in copy.keys)
        if stored is not None:
            found = [each for each in found if stored.view in each.copies]
        return [each for each in found if topic is None or _is_of(each, topic)]

    def at(self, place: Place) -> MessageWithCopies | None:
        """Return the message of a stored record, see `Inspection.at`."""
        broker = stores_of(self._parts.brokers).get(place.broker)
        record = None if broker is None else broker.store.log.record_at(place.physical_offset)
        copy = None if broker is None or record is None else decoded(broker, record)
        if copy is None or (place.topic, place.queue_id) != (copy.view.place.topic, copy.view.place.queue_id):
            return None
        return self._message_of(copy)

    def of_deleted_topic(self, text: str, topic: str | None) -> MessageWithCopies | None:
        """Return the newest message of a deleted topic, see `Inspection.of_deleted_topic`."""
        found = messages_of(copy for copy in self._with(text, held=False) if copy.view.state is CopyState.STORED)
        return next((each for each in reversed(found) if topic is None or each.topic == topic), None)

    def is_held(self, place: Place) -> bool:
        """True if the queue of a place has its record, see `Inspection.is_held`."""
        broker = stores_of(self._parts.brokers).get(place.broker)
        record = None if broker is None else broker.store.log.record_at(place.physical_offset)
        copy = None if broker is None or record is None else decoded(broker, record)
        return broker is not None and copy is not None and _is_held(broker, copy)

    def at_offset(self, broker: str, topic: str, queue_id: int, offset: int) -> MessageWithCopies | None:
        """Return the message at an offset of a queue, see `Inspection.at_offset`."""
        found = stores_of(self._parts.brokers).get(broker)
        queue = None if found is None else found.store.queue(topic, queue_id)
        if found is None or queue is None or not 0 <= offset - queue.first < len(queue.physical):
            return None
        at = offset - queue.first
        copy = decoded(found, found.store.log.read(queue.physical[at], queue.sizes[at]))
        return None if copy is None else next(iter(messages_of([copy])), None)

    def matching(self, topic: str, where: Callable[[CopyView], bool]) -> Iterator[MessageWithCopies]:
        """Yield the messages that meet a condition, see `Inspection.matching`."""
        seen: set[str] = set()
        for copy in self.current(topic, None):
            if copy.message_id not in seen and where(copy.view):
                seen.add(copy.message_id)
                yield self._message_of(copy)

    def of_topic(self, topic: str) -> list[MessageWithCopies]:
        """Return the messages that were sent to a topic, see `Inspection.messages`."""
        if state_of(topic) is not CopyState.STORED:  # its messages were sent to other topics
            return list(self.matching(topic, lambda _copy: True))
        stores = stores_of(self._parts.brokers).values()
        return messages_of(copy for broker in stores for copy in each_sent_to(broker, topic))

    def current(self, topic: str, state: CopyState | None) -> list[StoredCopy]:
        """Return the copies of the messages of a topic, without those that were passed on, the oldest first."""
        return sorted((copy for copy in self.current_in_steps(topic, state) if copy is not None), key=store_order)

    def current_in_steps(self, topic: str, state: CopyState | None) -> Iterator[StoredCopy | None]:
        """Return the same copies one by one, see `Inspection.copies_in_steps`."""
        stores = sorted(stores_of(self._parts.brokers).items())
        found = [_with_time(current_copies(broker, topic), state) for _, broker in stores]
        return (copy for _, copy in merge(*found, key=itemgetter(0)))

    def nearest(self, text: str, topic: str | None) -> tuple[str, str] | None:
        """Return the most similar id or key and its topic, see `Inspection.nearest`."""
        if not text or len(text) > NAME_CHARACTERS_MAX:
            return None
        known: dict[str, str] = {}
        for broker in stores_of(self._parts.brokers).values():
            for copy in _newest(broker):
                if topic is None or copy.origin == topic:
                    for word in (copy.message_id, *copy.keys):
                        known.setdefault(word, copy.origin)
        alike = min(
            (each for each in known if len(each) == len(text)), key=lambda each: sum(map(ne, each, text)), default=None
        )
        if alike is None or sum(map(ne, alike, text)) > min(WRONG_CHARACTERS_MAX, len(text) // 2):
            alike = next(iter(get_close_matches(text, known, n=1)), None)
        return None if alike is None else (alike, known[alike])

    def extend_index(self) -> bool:
        """Index the next block of a log, see `Inspection.extend_index`."""
        return any(self._index(broker).extend() for broker in stores_of(self._parts.brokers).values())

    def _index(self, broker: Broker) -> LogIndex:
        key = (broker.name, broker.broker_id)
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = LogIndex(broker.store.log)
        return index

    def _at_offset_id(self, text: str) -> StoredCopy | None:
        """Return the copy with an offset message id, None if there is none or if the text is no such id."""
        offset = records.physical_offset_of(text) if len(text) in OFFSET_ID_DIGITS else None
        for broker in stores_of(self._parts.brokers).values() if offset is not None else ():
            record = broker.store.log.record_at(offset or 0)
            copy = None if record is None else decoded(broker, record)
            if copy is not None:
                own = records.offset_message_id(copy.parts.store_host, copy.parts.physical_offset)
                if own == text.upper():
                    return copy
        return None

    def _message_of(self, copy: StoredCopy) -> MessageWithCopies:
        found = messages_of([*self._with(copy.message_id), copy])
        return next(each for each in found if copy.view in each.copies)

    def _with(self, text: str, *, held: bool = True) -> Iterator[StoredCopy]:
        """Yield the stored copies with a text as id or key, also those of internal messages.

        With `held` False, yield those that no queue contains.
        """
        without_key = self._at_offset_id(text)
        if without_key is not None and held:
            yield without_key
        for broker in stores_of(self._parts.brokers).values():
            for record in self._index(broker).records(text):
                copy = decoded(broker, record)
                if (
                    copy is not None
                    and (copy.message_id == text or text in copy.keys)
                    and _is_held(broker, copy) is held
                ):
                    yield copy


def _with_time(copies: Iterator[StoredCopy | None], state: CopyState | None) -> Iterator[tuple[int, StoredCopy | None]]:
    """Yield copies with their store times, or that of the copy before; None for a copy in another state."""
    stored_at_ms = 0
    for copy in copies:
        if copy is not None:
            stored_at_ms = copy.view.stored_at_ms
        yield stored_at_ms, copy if copy is not None and is_in(state, copy) else None


def _is_held(broker: Broker, copy: StoredCopy) -> bool:
    """True if the queue of a copy contains it. The records of a deleted topic stay in the log."""
    if copy.parts.sys_flag & records.NOT_QUEUED & ~records.HOST_BITS:
        return True  # in the log only
    place = copy.view.place
    queue = broker.store.queue(place.topic, place.queue_id)
    if queue is None:
        return False
    at = queue.offset_at(place.physical_offset) - queue.first
    return at < len(queue.physical) and queue.physical[at] == place.physical_offset


def _is_of(message: MessageWithCopies, topic: str) -> bool:
    return message.topic == topic or any(copy.place.topic == topic for copy in message.copies)


def _newest(broker: Broker) -> Iterator[StoredCopy]:
    """Yield the newest messages of a broker that its clients have sent, in the order of topics and queues."""
    for queue in broker.store.queues.values():
        if broker.topics.is_system(queue.topic) and queue.topic not in REDIRECTED:
            continue
        newest = zip(reversed(queue.physical), reversed(queue.sizes), strict=True)
        for physical_offset, size in islice(newest, COMPARED_MESSAGES):
            copy = decoded(broker, broker.store.log.read(physical_offset, size))
            if copy is not None and not broker.topics.is_system(copy.origin):
                yield copy
