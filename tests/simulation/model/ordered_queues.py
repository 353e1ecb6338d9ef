"""The oracle's model of ordered pops: one batch of a queue at a time, from the first unacknowledged message.

Upstream allows the following and nothing else (ConsumerOrderInfoManager, AckMessageProcessor 5.3.3):

- While a message of the batch in flight is unacknowledged and invisible, only the attempt that took the batch may read
  the queue.
- A batch starts at the committed offset, the first unacknowledged message, and has no gaps. A message acknowledged
  before an earlier one is therefore redelivered together with that one.
- Each redelivery of a message raises its count by one, except to the same attempt.
- An acknowledgement or change has no effect with a handle of an earlier batch or below the committed offset.
- The committed offset never decreases, except by a reset. A reset also deletes the batch. A late acknowledgement of
  that batch then moves the group past its message, read or not.
- No message goes to a retry topic.
- A batch taken more than a day ago is deleted, as if it had never been in flight.
- If the first unacknowledged messages were deleted, the next batch starts at the first remaining one, once the last
  batch has expired. An acknowledgement of a deleted message returns NO_MESSAGE. From then on, or after a read that
  found nothing, that offset may be committed.
"""

from collections import defaultdict
from dataclasses import KW_ONLY, dataclass, field

from observations import Acked, Delivery, Hidden, Place, Popped, Reset
from popped_messages import WRITTEN_MS
from stored_messages import StoredMessages, Violation
from waiting_pops import WaitingPops

FORGOTTEN_MS = 24 * 3_600_000


@dataclass(slots=True)
class Batch:
    """A batch in flight.

    `visible` is the time at which each message becomes visible again, `counts` its number of redeliveries, both by
    offset.
    """

    pop_time: int
    attempt_id: str | None
    visible: dict[int, int]
    counts: dict[int, int]
    _: KW_ONLY
    acked: set[int] = field(default_factory=set)

    def open(self) -> list[int]:
        """Return the unacknowledged offsets."""
        return [offset for offset in self.visible if offset not in self.acked]

    def hidden_until(self) -> int:
        """Return the time at which the last unacknowledged message becomes visible again, 0 if there is none."""
        return max((self.visible[offset] for offset in self.open()), default=0)


@dataclass(slots=True)
class OrderedQueue:
    """One queue for one group."""

    committed: int = 0
    batch: Batch | None = None
    unknown: bool = False
    """True after a crash: the broker restored the batch that it wrote last, which the oracle does not know."""
    moves: list[tuple[int, int]] = field(default_factory=list)
    """(time of a commit, offset before it)."""

    def commit(self, offset: int, now: int) -> None:
        """Set the committed offset, forward or back."""
        self.moves.append((now, self.committed))
        self.committed = offset

    def forget(self, now: int) -> None:
        """Delete a batch that has expired."""
        if self.batch is not None and now - self.batch.pop_time > FORGOTTEN_MS:
            self.batch = None

    def is_free(self, now: int, attempt_id: str | None = None) -> bool:
        """Return True if this attempt may read the queue."""
        batch = self.batch
        if batch is None or batch.hidden_until() <= now:
            return True
        return attempt_id is not None and batch.attempt_id == attempt_id


class OrderedQueues(WaitingPops):
    """All groups that pop in order; none of them filters by tag."""

    def __init__(self, log: StoredMessages) -> None:
        super().__init__()
        self._log = log
        self.queues: dict[tuple[str, Place], OrderedQueue] = defaultdict(OrderedQueue)
        self._half_empty: list[Popped] = []

    def popped(self, seen: Popped) -> None:
        """Check a response to a pop."""
        self._waiting.pop(seen.call, None)
        batches: dict[Place, list[Delivery]] = {}
        for message in seen.messages:
            batches.setdefault((message.topic, message.queue_id), []).append(message)
        for place, messages in batches.items():
            if place[0] != seen.topic or seen.queue_id not in (-1, place[1]):
                raise Violation(f"{place} was not requested: {seen}")
            self._take(seen, place, messages)
        if len(seen.messages) > seen.asked:
            raise Violation(f"{len(seen.messages)} messages instead of {seen.asked}: {seen}")
        if not seen.waited and len(seen.messages) < seen.asked:
            self._half_empty.append(seen)

    def _take(self, seen: Popped, place: Place, messages: list[Delivery]) -> None:
        queue = self.queues[seen.group, place]
        queue.forget(seen.now)
        if not queue.unknown and not queue.is_free(seen.now, seen.attempt_id):
            raise Violation(f"{place} is hidden from all but {queue.batch}: {seen}")
        offsets = [message.offset for message in messages]
        start = self._start(queue, place)
        if offsets != list(range(start, start + len(offsets))):
            raise Violation(f"{seen.group} got {offsets} of {place}, whose next batch starts at {start}")
        old = queue.batch
        counts = {}
        for message in messages:
            if self._log.at(place, message.offset).message_id != message.message_id:
                raise Violation(f"{self._log.at(place, message.offset)} is stored at {place}: {message}")
            if queue.unknown:
                count = message.again
            elif old is None or message.offset not in old.visible:
                count = 0
            elif seen.attempt_id is not None and seen.attempt_id == old.attempt_id:
                count = old.counts[message.offset]
            else:
                count = old.counts[message.offset] + 1
            counts[message.offset] = count
            if message.again != count:
                raise Violation(f"count {message.again} instead of {count}: {message}")
        queue.unknown = False
        until = seen.now + seen.invisible_ms
        queue.batch = Batch(seen.now, seen.attempt_id, dict.fromkeys(offsets, until), counts)

    def _start(self, queue: OrderedQueue, place: Place) -> int:
        """Return the offset at which the next batch starts."""
        return max(queue.committed, self._log.low(place))

    def start_of(self, group: str, place: Place) -> int:
        """Return the offset at which the next batch of a group starts."""
        return self._start(self.queues[group, place], place)

    def may_stand(self, group: str, place: Place, offset: int) -> bool:
        """Return True if this may be the committed offset."""
        committed = self.queues[group, place].committed
        return offset == committed or offset in [low for low in self._log.lows(place) if low > committed]

    def acked(self, seen: Acked) -> None:
        """Check a response to an acknowledgement."""
        handle = seen.handle
        if handle.offset < self._log.low(handle.place):
            if seen.code != "NO_MESSAGE":
                raise Violation(f"the queue begins at {self._log.low(handle.place)}: {seen}")
            return
        queue = self.queues[handle.group, handle.place]
        queue.forget(seen.now)
        batch = queue.batch
        if batch is None and seen.code == "SUCCESS":
            queue.commit(max(queue.committed, handle.offset + 1), seen.now)
            return
        if handle.offset < queue.committed or batch is None or batch.pop_time != handle.pop_time:
            if seen.code != "SUCCESS":
                raise Violation(f"a stale handle was rejected instead of ignored: {seen}")
            return
        if handle.offset not in batch.visible:
            if seen.code != "MESSAGE_ILLEGAL":
                raise Violation(f"{handle.offset} is not in {batch}: {seen}")
            return
        batch.acked.add(handle.offset)
        still_open = batch.open()
        queue.commit(min(still_open) if still_open else max(batch.visible) + 1, seen.now)

    def hidden(self, seen: Hidden) -> None:
        """Check a response to a change of the invisible duration."""
        handle = seen.handle
        gone = handle.offset < self._log.low(handle.place)
        if seen.code != ("NO_MESSAGE" if gone else "SUCCESS"):
            raise Violation(f"wrong code, the queue begins at {self._log.low(handle.place)}: {seen}")
        if gone:
            return
        queue = self.queues[handle.group, handle.place]
        queue.forget(seen.now)
        batch = queue.batch
        if handle.offset < queue.committed or batch is None or batch.pop_time != handle.pop_time:
            return
        if handle.offset in batch.visible:
            batch.visible[handle.offset] = seen.now + seen.invisible_ms

    def reset(self, seen: Reset) -> None:
        """Record a reset: the group continues at another offset and has no batch in flight."""
        for queue_id, offset in seen.offsets:
            queue = self.queues[seen.group, (seen.topic, queue_id)]
            queue.commit(min(offset, self._log.size((seen.topic, queue_id))), seen.now)
            queue.batch, queue.unknown = None, False
        self._forget(seen.group, seen.topic)

    def crashed(self, now: int, positions: dict[tuple[str, Place], int]) -> None:
        """Check the offsets after a crash, which must be written ones; the batches in flight are unknown."""
        self._waiting.clear()
        for (group, place), position in positions.items():
            queue = self.queues[group, place]
            known = [before for when, before in queue.moves if when > now - WRITTEN_MS]
            known += (queue.committed, self._start(queue, place))
            if not min(known) <= max(position, 0) <= max(known):
                raise Violation(f"{group} continues at {position} of {place}: {queue}")
            queue.committed, queue.moves = max(position, 0), [(now, max(position, 0))]
            queue.batch, queue.unknown = None, True

    def step_ended(self, now: int) -> None:
        """Check that no pop waits past its deadline, or while a free queue has messages."""
        for seen in self._half_empty:
            # If the attempt got messages, queues that its own batch blocks do not count: it may have read all of them.
            attempt_id = None if seen.messages else seen.attempt_id
            if free := self._available(seen.group, seen.topic, seen.queue_id, now, attempt_id=attempt_id):
                raise Violation(f"the response could have had messages of {free}: {seen}")
        self._half_empty.clear()
        for parked in self._waiting.values():
            if parked.deadline <= now:
                raise Violation(f"still waits at {now}: {parked}")
            if free := self._available(parked.group, parked.topic, parked.queue_id, now):
                raise Violation(f"{free} is free and {parked} still waits")

    def _available(
        self, group: str, topic: str, queue_id: int, now: int, *, attempt_id: str | None = None
    ) -> list[Place]:
        queue_ids = [queue_id] if queue_id >= 0 else sorted(self._log.queue_ids(topic))
        return [
            (topic, one)
            for one in queue_ids
            if not self.queues[group, (topic, one)].unknown
            and self.queues[group, (topic, one)].is_free(now, attempt_id)
            and self.start_of(group, (topic, one)) < self._log.size((topic, one))
        ]

    def unread(self, group: str, topic: str) -> list[Place]:
        """Return the queues of a topic with unacknowledged messages."""
        return [
            (topic, queue_id)
            for queue_id in sorted(self._log.queue_ids(topic))
            if self.start_of(group, (topic, queue_id)) < self._log.size((topic, queue_id))
        ]
