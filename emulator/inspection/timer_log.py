"""Check points and acknowledgements of pops that wait in the timer of a broker: all of them, decoded."""

from collections.abc import Iterator

from ..cluster.broker import Broker
from ..message import properties as props
from ..message import stored_record as records
from ..message.names import TIMER_TOPIC, revive_topic
from ..pop.check_point import ACK_TAG, BATCH_ACK_TAG, CK_TAG, Ack, CheckPoint, MergeKey
from ..schedule.timer_state import Slot
from ..store.consume_queue import ConsumeQueue
from ..store.tags_code import tags_code_of

POINT = tags_code_of(CK_TAG)
OF_POPS = frozenset((POINT, tags_code_of(ACK_TAG), tags_code_of(BATCH_ACK_TAG)))
"""Tags codes of the messages in which pops are recorded."""


class _TimerSlot:
    """Check points and acknowledgements of one slot of the timer, as far as they were read."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.seen = 0
        """The number of messages of the slot that were read; later ones are appended to it."""
        self.points: list[CheckPoint] = []
        self.acks: list[Ack] = []


class TimerLog:
    """Check points and acknowledgements of one broker that wait in the timer. Each is read once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: object = None
        self._run: object = None
        self._slots: dict[int, _TimerSlot] = {}
        self.points: list[CheckPoint] = []
        self.acks: dict[MergeKey, set[int]] = {}

    def read_in_steps(self, broker: Broker) -> Iterator[None]:
        """Read the messages that were stored since the last time, and forget those that were delivered or deleted.

        A reader may pause after each step, while the broker runs or another reader reads.
        """
        store, slots = broker.store, broker.timers.slots
        state = (id(broker.timers), store.log.max_offset, len(store.log.truncations), store.now_ms, len(slots))
        if state == self._state:
            return
        queue = store.queue(TIMER_TOPIC, 0)
        run = (broker.timers, len(store.log.truncations), None if queue is None else (queue, queue.first))
        if run != self._run:
            self._run, self._slots = run, {}
        known, self._slots = self._slots, {}
        for due_ms, slot in slots.items() if queue is not None else ():
            found = known.get(due_ms)
            if found is None or found.slot is not slot:
                found = _TimerSlot(slot)
            self._slots[due_ms] = found
        read = list(self._slots.values())
        for found in read:
            if queue is not None and found.seen < len(found.slot.waiting):
                yield from self._read_slot(broker, found, queue)
        points = [point for found in read for point in found.points]
        acks: dict[MergeKey, set[int]] = {}
        for found in read:
            for ack in found.acks.copy():
                acks.setdefault(ack.merge_key(self._name), set()).update(ack.offsets)
                yield None
        self._state, self.points, self.acks = state, points, acks

    @staticmethod
    def _read_slot(broker: Broker, found: _TimerSlot, queue: ConsumeQueue) -> Iterator[None]:
        """Read the new messages of a slot."""
        topic = revive_topic(broker.config.broker_cluster_name)
        while found.seen < len(found.slot.waiting):
            entry, first = found.slot.waiting[found.seen], queue.first
            found.seen += 1
            if first <= entry.offset < queue.max_offset:
                tags_code = queue.tags_codes[entry.offset - first]
                if tags_code in OF_POPS:
                    _add(found, broker.store.record(TIMER_TOPIC, 0, entry.offset), topic, tags_code == POINT)
                    yield None


def _add(found: _TimerSlot, record: bytes | None, topic: str, is_point: bool) -> None:
    parts = None if record is None else records.decode(record)
    decoded = None if parts is None or not is_for(topic, parts) else decoded_pop(parts.body, is_point=is_point)
    if isinstance(decoded, CheckPoint):
        found.points.append(decoded)
    elif decoded is not None:
        found.acks.append(decoded)


def is_for(topic: str, parts: records.Record) -> bool:
    """True if the timer delivers a message to a topic."""
    return f"\x02{props.REAL_TOPIC}\x01{topic}\x02" in f"\x02{parts.properties}\x02"


def decoded_pop(body: bytes, *, is_point: bool) -> CheckPoint | Ack | None:
    """Decode a check point or an acknowledgement; None if a client has sent anything else to the revive topic."""
    try:
        return CheckPoint.from_json(body, 0) if is_point else Ack.from_json(body)
    except ValueError:
        return None
