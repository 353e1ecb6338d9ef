"""The oracle's book of ordered pops: one batch of a queue at a time, always from the first message not acknowledged.

What upstream allows, and nothing else (ConsumerOrderInfoManager, AckMessageProcessor 5.3.3):

- While a message of the batch that is out is neither acknowledged nor visible again, only the attempt that took the
  batch may have the queue.
- A batch begins at the committed offset, which is the first message not acknowledged, and has no gaps. A message that
  was acknowledged before one in front of it therefore comes again with that one.
- A message that comes again counts one more, but not when the same attempt asks again.
- An acknowledgement or a change by a handle of an earlier batch has no effect, nor has one below the committed offset.
- The committed offset never goes back, except by a reset. A reset also forgets the batch; a late acknowledgement of
  it then moves the group behind that message, read or not.
- Nothing goes to a retry topic.
- A batch that was taken more than a day ago is forgotten, as if it had never been out.
- Where the first messages not acknowledged were deleted, the next batch begins at the first that is left, once the time
  of the last batch is over: nobody can acknowledge what is gone, who tries is told NO_MESSAGE. Then, or when it has
  looked in vain, the group may be committed there.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from observations import Acked, Delivery, Hidden, Place, Popped, Reset
from popped_messages import WRITTEN_MS
from stored_messages import StoredMessages, Violation
from waiting_pops import WaitingPops

FORGOTTEN_MS = 24 * 3_600_000


@dataclass(slots=True)
class Batch:
    """What is out; `visible` holds, by offset, when a message is visible again, `counts` how often it came again."""

    pop_time: int
    attempt_id: str | None
    visible: dict[int, int]
    counts: dict[int, int]
    acked: set[int] = field(default_factory=set)

    def open(self) -> list[int]:
        """Offsets that are not acknowledged."""
        return [offset for offset in self.visible if offset not in self.acked]

    def hidden_until(self) -> int:
        """When the last of them is visible again, 0 when there is none."""
        return max((self.visible[offset] for offset in self.open()), default=0)


@dataclass(slots=True)
class OrderedQueue:
    """One queue for one group."""

    committed: int = 0
    batch: Batch | None = None
    unknown: bool = False
    """After a crash: what is out is what was written last, whenever that was."""
    moves: list[tuple[int, int]] = field(default_factory=list)
    """When it was committed, and what was committed before."""

    def commit(self, offset: int, now: int) -> None:
        """Move on or back."""
        self.moves.append((now, self.committed))
        self.committed = offset

    def forget(self, now: int) -> None:
        """Forget a batch of long ago."""
        if self.batch is not None and now - self.batch.pop_time > FORGOTTEN_MS:
            self.batch = None

    def is_free(self, now: int, attempt_id: str | None = None) -> bool:
        """May this attempt have the queue?"""
        batch = self.batch
        if batch is None or batch.hidden_until() <= now:
            return True
        return attempt_id is not None and batch.attempt_id == attempt_id


class OrderedQueues(WaitingPops):
    """All groups that pop in order. They want every message."""

    def __init__(self, log: StoredMessages) -> None:
        super().__init__()
        self._log = log
        self.queues: dict[tuple[str, Place], OrderedQueue] = defaultdict(OrderedQueue)
        self._half_empty: list[Popped] = []

    def popped(self, seen: Popped) -> None:
        """A pop was answered."""
        self._waiting.pop(seen.call, None)
        batches: dict[Place, list[Delivery]] = {}
        for message in seen.messages:
            batches.setdefault((message.topic, message.queue_id), []).append(message)
        for place, messages in batches.items():
            if place[0] != seen.topic or seen.queue_id not in (-1, place[1]):
                raise Violation(f"{place} was not asked for: {seen}")
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
            raise Violation(f"{seen.group} got {offsets} of {place}, which stands at {start}")
        old = queue.batch
        counts = {}
        for message in messages:
            if self._log.at(place, message.offset).message_id != message.message_id:
                raise Violation(f"{self._log.at(place, message.offset)} lies at {place}: {message}")
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
        """Where the next batch begins."""
        return max(queue.committed, self._log.low(place))

    def start_of(self, group: str, place: Place) -> int:
        """Where the next batch of a group begins."""
        return self._start(self.queues[group, place], place)

    def may_stand(self, group: str, place: Place, offset: int) -> bool:
        """May this be the committed offset?"""
        committed = self.queues[group, place].committed
        return offset == committed or offset in [low for low in self._log.lows(place) if low > committed]

    def acked(self, seen: Acked) -> None:
        """An acknowledgement was answered."""
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
                raise Violation(f"a stale handle was refused: {seen}")
            return
        if handle.offset not in batch.visible:
            if seen.code != "MESSAGE_ILLEGAL":
                raise Violation(f"{handle.offset} is not in {batch}: {seen}")
            return
        batch.acked.add(handle.offset)
        still_open = batch.open()
        queue.commit(min(still_open) if still_open else max(batch.visible) + 1, seen.now)

    def hidden(self, seen: Hidden) -> None:
        """A change of the invisible time was answered."""
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
        """The group begins somewhere else, and nothing is out any more."""
        for queue_id, offset in seen.offsets:
            queue = self.queues[seen.group, (seen.topic, queue_id)]
            queue.commit(min(offset, self._log.size((seen.topic, queue_id))), seen.now)
            queue.batch, queue.unknown = None, False
        self._forget(seen.group, seen.topic)

    def crashed(self, now: int, positions: dict[tuple[str, Place], int]) -> None:
        """Groups go on from the offset that was written last; nothing is known of what is out."""
        self._waiting.clear()
        for (group, place), position in positions.items():
            queue = self.queues[group, place]
            known = [before for when, before in queue.moves if when > now - WRITTEN_MS]
            known += (queue.committed, self._start(queue, place))
            if not min(known) <= max(position, 0) <= max(known):
                raise Violation(f"{group} goes on at {position} of {place}: {queue}")
            queue.committed, queue.moves = max(position, 0), [(now, max(position, 0))]
            queue.batch, queue.unknown = None, True

    def step_ended(self, now: int) -> None:
        """No pop waits although a queue is free and holds something, or longer than it asked."""
        for seen in self._half_empty:
            # An attempt that got something may have had all of its own queues.
            attempt_id = None if seen.messages else seen.attempt_id
            if free := self._available(seen.group, seen.topic, seen.queue_id, now, attempt_id):
                raise Violation(f"there was room for {free}: {seen}")
        self._half_empty.clear()
        for parked in self._waiting.values():
            if parked.deadline <= now:
                raise Violation(f"still waits at {now}: {parked}")
            if free := self._available(parked.group, parked.topic, parked.queue_id, now):
                raise Violation(f"{free} is free and {parked} sleeps")

    def _available(self, group: str, topic: str, queue_id: int, now: int, attempt_id: str | None = None) -> list[Place]:
        queue_ids = [queue_id] if queue_id >= 0 else sorted(self._log.queue_ids(topic))
        return [
            (topic, one)
            for one in queue_ids
            if not self.queues[group, (topic, one)].unknown
            and self.queues[group, (topic, one)].is_free(now, attempt_id)
            and self.start_of(group, (topic, one)) < self._log.size((topic, one))
        ]

    def unread(self, group: str, topic: str) -> list[Place]:
        """Queues of a topic that hold something not acknowledged."""
        return [
            (topic, queue_id)
            for queue_id in sorted(self._log.queue_ids(topic))
            if self.start_of(group, (topic, queue_id)) < self._log.size((topic, queue_id))
        ]
