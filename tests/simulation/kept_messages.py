"""The book of what brokers keep: which messages may be lost, in which order the others lie, and who must get them.

What upstream allows, and nothing else (CommitLog, GroupTransferService, ConsumerOffsetManager 5.3.3):

- A broker that only its process dies of, or that stops in order, loses nothing. One that loses its power loses the
  end of its log: nothing with SYNC_FLUSH, and with ASYNC_FLUSH only what was stored in the last `AT_RISK_MS`.
- What is left of a queue is its beginning, in the order in which it was stored; new messages go on behind that.
- A synchronous master says SUCCESS when a slave has the message, and FLUSH_SLAVE_TIMEOUT after `slaveTimeout`.
- Offsets are committed no further than a queue ever reached. A group gets every message that is kept, at least once,
  but for those whose offset it had passed before, with a message that was lost.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from observations import Place
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.message.stored_record import decode
from stored_messages import Violation

AT_RISK_MS = 10_500
"""A log is flushed every 10 s at least, at looks that are 500 ms apart."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One message in the log."""

    message_id: str
    place: Place
    offset: int
    physical: int
    stored_ms: int


class KeptMessages:
    """The messages of one broker, in the order of its log."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.log: list[Kept] = []
        self._queues: dict[Place, list[Kept]] = defaultdict(list)
        self._reached: dict[Place, int] = defaultdict(int)
        self._got: dict[tuple[str, Place], set[int]] = defaultdict(set)
        """Offsets that groups have passed. They stay passed when their messages are lost."""
        self.lost = 0
        """How many messages are lost by now."""

    def stored(self, message_id: str, place: Place, offset: int, now: int) -> None:
        """A send was accepted, or waits for slaves: the message lies there."""
        record = self.broker.store.record(*place, offset)
        queue = self._queues[place]
        if record is None or offset != len(queue) or decode(record).body.rstrip(b".") != message_id.encode():
            raise Violation(f"{message_id} was accepted for {place}:{offset} of {len(queue)}, which holds {record!r}")
        kept = Kept(message_id, place, offset, decode(record).physical_offset, now)
        if self.log and kept.physical <= self.log[-1].physical:
            raise Violation(f"{kept} lies before {self.log[-1]}")
        self.log.append(kept)
        queue.append(kept)

    def died(self, now: int, *, power_loss: bool) -> None:
        """The broker has begun again: the end of its log may be gone."""
        end = self.broker.store.log.max_offset
        while self.log and self.log[-1].physical >= end:
            gone = self.log.pop()
            self._queues[gone.place].pop()
            self.lost += 1
            sync = self.broker.config.flush_disk_type == "SYNC_FLUSH"
            if not power_loss or sync or now - gone.stored_ms > AT_RISK_MS:
                raise Violation(f"lost at {now}, {'with' if power_loss else 'without'} loss of power: {gone}")
        self.judge()

    def read(self, group: str, place: Place, offset: int, records: Sequence[bytes]) -> None:
        """A group got messages from an offset on."""
        for at, record in enumerate(records, offset):
            queue = self._queues[place]
            if at >= len(queue) or decode(record).body.rstrip(b".") != queue[at].message_id.encode():
                raise Violation(f"{group} got {decode(record)} at {place}:{at}")
        self._got[group, place].update(range(offset, offset + len(records)))

    def judge(self) -> None:
        """The queues are as long as they should be, and nobody stands behind what a queue ever reached."""
        for place, stored in self.broker.store.queues.items():
            self._reached[place] = max(self._reached[place], stored.max_offset)
        for place, queue in self._queues.items():
            if self.broker.store.max_offset(*place) != len(queue):
                raise Violation(f"{place} ends at {self.broker.store.max_offset(*place)}, it has {len(queue)} messages")
        for group, topic, table in self.broker.offsets.all():
            for queue_id, offset in table.items():
                if offset > self._reached[topic, queue_id]:
                    raise Violation(f"{group} is at {offset} of {topic}@{queue_id}, which never had as many")

    def never_read(self, group: str) -> list[Kept]:
        """What a group has not got."""
        return [kept for kept in self.log if kept.offset not in self._got[group, kept.place]]
