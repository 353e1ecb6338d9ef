"""Light message queues (LMQ): a message is also added to further queues, which need not be created.

A message names them in INNER_MULTI_DISPATCH, separated by commas; INNER_MULTI_QUEUE_OFFSET lists its offset in each.
Names begin with `%LMQ%`, and each has one queue, 0. With enableLmq messages get these offsets; with enableMultiDispatch
they are also added to the queues. Source: LmqDispatch, ConsumeQueue.multiDispatchLmqQueue, MultiDispatchUtils,
QueueOffsetOperator (5.3.3).

Not emulated: a name of another kind before an LMQ name (`a,%LMQ%b`) has no offset, which stops upstream's dispatch for
good: no message that is sent later, to any topic, can be read. In the emulator only the message with that name is added
to no LMQ.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Self

from ..assembly.listeners import ArrivalListener
from ..config import BrokerConfig
from ..kernel.java_numbers import parse_long
from ..message import properties as props
from ..message.message import MessageToStore
from ..message.names import RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_TOPIC_PREFIX, is_lmq, is_retry
from .consume_queue import BatchConsumeQueue, ConsumeQueue

DISPATCH = props.INNER_MULTI_DISPATCH
OFFSETS = props.INNER_MULTI_QUEUE_OFFSET


class LmqConsumeQueue(ConsumeQueue):
    """An LMQ with two separate offset counters: for messages sent to the topic of its name, and for all others.

    Both continue at the end of the queue when a broker starts. `put` states where a unit with an offset is added.
    """

    __slots__ = ("next_direct", "next_dispatched")

    def __init__(self, topic: str, queue_id: int) -> None:
        super().__init__(topic, queue_id)
        self.next_direct = self.next_dispatched = 0

    def fork(self) -> Self:
        """Return an equal queue for a fork."""
        made = super().fork()
        made.next_direct, made.next_dispatched = self.next_direct, self.next_dispatched
        return made

    def begin(self) -> None:
        """Set both counters to the end of the queue when a broker starts."""
        self.next_direct = self.next_dispatched = self.max_offset

    def append(self, physical_offset: int, size: int, tags_code: int) -> int:
        """Add a message of the topic with this name, and return the offset that it got."""
        offset = self.next_direct
        self.next_direct += 1
        self.put(offset, physical_offset, size, tags_code)
        return offset

    def append_replica(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Add a unit at the offset that it has on the master."""
        self.put(offset, physical_offset, size, tags_code)

    def put(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Add a unit with an offset. Source: ConsumeQueue.putMessagePositionInfo (5.3.3).

        The first unit of an empty queue has this offset. Later ones are added at the end; one with an offset below the
        end is dropped, except 0.
        """
        if self.physical and physical_offset + size <= self.physical[-1] + self.sizes[-1]:
            return
        if offset:
            if not self.physical and not self.first:
                self.first = offset
            elif offset < self.max_offset:
                return
        super().append(physical_offset, size, tags_code)


class MultiDispatch:
    """Assigns offsets in LMQs to messages, and adds the messages to these queues.

    `find` returns the queue of an LMQ name and creates it if it is missing, None if it must not. `arrivals` are the
    store's listeners.
    """

    def __init__(
        self, config: BrokerConfig, find: Callable[[str], LmqConsumeQueue | None], arrivals: Iterable[ArrivalListener]
    ) -> None:
        self._config = config
        self._find = find
        self._arrivals = arrivals

    def assign_offsets(self, message: MessageToStore) -> list[LmqConsumeQueue]:
        """Set a message's LMQ offsets before it is encoded. Returns its LMQs.

        A message that names an LMQ twice gets the same offset twice, and the LMQ is returned twice: the caller advances
        its counter for each, as upstream does.
        """
        text = message.properties.get(DISPATCH, "")
        if not text.strip() or not _may_be_dispatched(message.topic):
            return []
        queues = [self._find(name) if is_lmq(name) else None for name in _split(text)]
        message.properties[OFFSETS] = ",".join("" if each is None else str(each.next_dispatched) for each in queues)
        return [each for each in queues if each is not None]

    def dispatch(
        self, queue: ConsumeQueue | None, topic: str, properties: dict[str, str], unit: tuple[int, int, int]
    ) -> None:
        """Add a stored record to its LMQs. `queue` is that of its topic, None if the record is in none.

        A record without a queue, or in a queue of batches, is not added to LMQs. The arrival listeners are called even
        if the record is not added.
        """
        if DISPATCH not in properties or is_retry(topic):
            return
        targets = self._queues_and_offsets(properties)
        queued = queue is not None and not isinstance(queue, BatchConsumeQueue)
        if queued and self._config.enable_multi_dispatch and _may_be_dispatched(topic):
            for found, offset in targets:
                if "/" not in found.topic:  # upstream skips names with a file separator
                    found.put(offset, *unit)
        for found, offset in targets:
            last = max(offset, found.max_offset - 1)
            for on_message, _ in self._arrivals:
                on_message(found.topic, 0, last, unit[2], properties)

    def _queues_and_offsets(self, properties: Mapping[str, str]) -> list[tuple[LmqConsumeQueue, int]]:
        names, offsets = _split(properties[DISPATCH]), _offsets(properties.get(OFFSETS, ""))
        if len(names) != len(offsets):
            return []
        found = [(self._find(name) if is_lmq(name) else None, at) for name, at in zip(names, offsets, strict=True)]
        return [(queue, offset) for queue, offset in found if queue is not None]


def _may_be_dispatched(topic: str) -> bool:
    return not topic.startswith((RETRY_PREFIX, SYSTEM_TOPIC_PREFIX)) and topic != SCHEDULE_TOPIC


def _split(text: str) -> list[str]:
    """Split at commas as Java does: without empty parts at the end."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _offsets(text: str) -> list[int]:
    """Return the offsets in a property that a client may have set; none if one of them is not a number of 64 bits."""
    try:
        return [parse_long(part) for part in _split(text)]
    except ValueError:
        return []
