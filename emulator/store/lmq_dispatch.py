"""Light queues (LMQ): a message is queued under further names beside its topic, and nobody has to make these.

A message names them in INNER_MULTI_DISPATCH, divided by commas; INNER_MULTI_QUEUE_OFFSET tells which offset it has in
each. Names begin with `%LMQ%`, and each has one queue, 0. With enableLmq offsets are given, with enableMultiDispatch
messages are queued by them. Source: LmqDispatch, ConsumeQueue.multiDispatchLmqQueue, MultiDispatchUtils,
QueueOffsetOperator (5.3.3).

Not emulated: a name of another kind before one of these (`a,%LMQ%b`) has no offset, of which upstream's dispatch dies:
nothing that any topic is sent later can be read. Here such a message is in no light queue.
"""

from collections.abc import Callable, Iterable, Mapping

from ..config import BrokerConfig
from ..message.message import Message
from ..message.names import RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_TOPIC_PREFIX, is_lmq, is_retry
from .arrival_listener import Arrival
from .consume_queue import BatchConsumeQueue, ConsumeQueue

DISPATCH = "INNER_MULTI_DISPATCH"
OFFSETS = "INNER_MULTI_QUEUE_OFFSET"


class LightQueue(ConsumeQueue):
    """A queue whose offsets are counted by who gives them: those of its topic, and those of messages of other topics.

    Each count goes on where the queue ends when a broker starts. A unit is put at its offset: one that comes too early
    is dropped, one that comes too late takes the next place.
    """

    __slots__ = ("next_direct", "next_light")

    def __init__(self, topic: str, queue_id: int) -> None:
        super().__init__(topic, queue_id)
        self.next_direct = self.next_light = 0

    def begin(self) -> None:
        """A broker starts."""
        self.next_direct = self.next_light = self.max_offset

    def append(self, physical_offset: int, size: int, tags_code: int) -> int:
        """Put a message of the topic of this name, and return the offset that it was given."""
        offset = self.next_direct
        self.next_direct += 1
        self.put(offset, physical_offset, size, tags_code)
        return offset

    def follow(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Put a unit at the offset that it has at the master."""
        self.put(offset, physical_offset, size, tags_code)

    def put(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Put a unit at an offset, 0 at any. Source: ConsumeQueue.putMessagePositionInfo (5.3.3)."""
        if self.physical and physical_offset + size <= self.physical[-1] + self.sizes[-1]:
            return
        if offset:
            if not self.physical and not self.first:
                self.first = offset
            elif offset < self.max_offset:
                return
        super().append(physical_offset, size, tags_code)


class MultiDispatch:
    """Gives messages their offsets in light queues, and queues them there.

    `find` is asked for the queue of a light name, which it makes where there is none; `arrivals` are told of messages.
    """

    def __init__(
        self, config: BrokerConfig, find: Callable[[str], LightQueue | None], arrivals: Iterable[Arrival]
    ) -> None:
        self._config = config
        self._find = find
        self._arrivals = arrivals

    def announce(self, message: Message) -> list[LightQueue]:
        """Tell a message its offsets, before its record is made; its light queues, once for each time it names them."""
        text = message.properties.get(DISPATCH, "")
        if not text.strip() or not _may_be_dispatched(message.topic):
            return []
        queues = [self._find(name) if is_lmq(name) else None for name in _split(text)]
        message.properties[OFFSETS] = ",".join("" if each is None else str(each.next_light) for each in queues)
        return [each for each in queues if each is not None]

    def stored(
        self, queue: ConsumeQueue | None, topic: str, properties: dict[str, str], unit: tuple[int, int, int]
    ) -> None:
        """Queue a record in its light queues where its topic's queue holds it.

        Who waits there is told even if it is not queued.
        """
        if DISPATCH not in properties or is_retry(topic):
            return
        places = self._places(properties)
        queued = queue is not None and not isinstance(queue, BatchConsumeQueue)
        if queued and self._config.enable_multi_dispatch and _may_be_dispatched(topic):
            for found, offset in places:
                if "/" not in found.topic:
                    found.put(offset, *unit)
        for found, offset in places:
            last = max(offset, found.max_offset - 1)
            for told, _ in self._arrivals:
                told(found.topic, 0, last, unit[2], properties)

    def _places(self, properties: Mapping[str, str]) -> list[tuple[LightQueue, int]]:
        names, offsets = _split(properties[DISPATCH]), _split(properties.get(OFFSETS, ""))
        if len(names) != len(offsets) or not all(map(_is_number, offsets)):
            return []
        found = [(self._find(name) if is_lmq(name) else None, int(at)) for name, at in zip(names, offsets, strict=True)]
        return [(queue, offset) for queue, offset in found if queue is not None]


def _may_be_dispatched(topic: str) -> bool:
    return not topic.startswith((RETRY_PREFIX, SYSTEM_TOPIC_PREFIX)) and topic != SCHEDULE_TOPIC


def _split(text: str) -> list[str]:
    """As Java splits: empty parts at the end are none."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit()
