"""The oracle's model of kept messages: messages that may be lost, the order of the others, and their delivery.

Upstream allows the following and nothing else (CommitLog, GroupTransferService, ConsumerOffsetManager 5.3.3):

- A crash of the process or a graceful restart loses no message. A power loss loses the end of the log: with
  SYNC_FLUSH nothing, with ASYNC_FLUSH only messages stored in the last `AT_RISK_MS`.
- After a loss a queue still has its first messages, in the order of storing; new messages follow these.
- A synchronous master returns SUCCESS when a slave has the message, and FLUSH_SLAVE_TIMEOUT after `slaveTimeout`.
- No group has an offset beyond the largest one that a queue ever had. A group gets every kept message at least once,
  except messages at offsets that it had passed earlier, with a message that was lost.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from observations import Place
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.message.stored_record import decode
from stored_messages import Violation

AT_RISK_MS = 10_500
"""The log is flushed at least every 10 s, at checks that are 500 ms apart."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One message in the log; `physical` is its offset in the log."""

    message_id: str
    place: Place
    offset: int
    physical: int
    _: KW_ONLY
    stored_ms: int


class KeptMessages:
    """The messages of one broker, in the order of its log."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.log: list[Kept] = []
        self._queues: dict[Place, list[Kept]] = defaultdict(list)
        self._reached: dict[Place, int] = defaultdict(int)
        self._got: dict[tuple[str, Place], set[int]] = defaultdict(set)
        """Offsets that groups have passed; they stay passed when their messages are lost."""
        self.lost = 0
        """Number of lost messages."""

    def stored(self, message_id: str, place: Place, offset: int, now: int) -> None:
        """Record an accepted send, or one that waits for slaves: its message is stored at this offset."""
        record = self.broker.store.record(*place, offset)
        queue = self._queues[place]
        if record is None or offset != len(queue) or decode(record).body.rstrip(b".") != message_id.encode():
            raise Violation(f"{message_id} was accepted for {place}:{offset} of {len(queue)}, which holds {record!r}")
        kept = Kept(message_id, place, offset, decode(record).physical_offset, stored_ms=now)
        if self.log and kept.physical <= self.log[-1].physical:
            raise Violation(f"{kept} was stored before {self.log[-1]}")
        self.log.append(kept)
        queue.append(kept)

    def died(self, now: int, *, power_loss: bool) -> None:
        """Record a restart of the broker: the end of its log may be lost."""
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
        """Record that a group got messages from an offset on."""
        for at, record in enumerate(records, offset):
            queue = self._queues[place]
            if at >= len(queue) or decode(record).body.rstrip(b".") != queue[at].message_id.encode():
                raise Violation(f"{group} got {decode(record)} at {place}:{at}")
        self._got[group, place].update(range(offset, offset + len(records)))

    def judge(self) -> None:
        """Check that queues have the expected lengths, and that no offset exceeds the largest end of its queue."""
        for place, stored in self.broker.store.queues.items():
            self._reached[place] = max(self._reached[place], stored.max_offset)
        for place, queue in self._queues.items():
            if self.broker.store.max_offset(*place) != len(queue):
                raise Violation(f"{place} ends at {self.broker.store.max_offset(*place)}, not at {len(queue)}")
        for group, topic, table in self.broker.offsets.all():
            for queue_id, offset in table.items():
                if offset > self._reached[topic, queue_id]:
                    raise Violation(f"{group} is at {offset} of {topic}@{queue_id}, which never had so many messages")

    def never_read(self, group: str) -> list[Kept]:
        """Return the messages that a group has not got."""
        return [kept for kept in self.log if kept.offset not in self._got[group, kept.place]]
