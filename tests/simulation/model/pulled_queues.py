"""The oracle's model of pulls and committed offsets.

Upstream allows the following and nothing else (PullMessageProcessor, ConsumerOffsetManager 5.3.3):

- A pull returns the messages that match its tag from the requested offset on, in order and without gaps.
- A pull before the start of a queue gets that start as its next offset; the group's committed offset stays unchanged.
- A waiting pull is answered as soon as a wanted message is stored, or at the first check (every `LOOK_MS`) after its
  deadline.
- The committed offset is the last one committed. After a reset commits have no effect until the group reads the queue;
  that pull gets the reset offset as its next offset.
- A message sent back is stored once in the retry topic of the group after its delay level, or at once in the dead
  letter queue after too many attempts. A send-back of a deleted message is rejected.
"""

from collections import defaultdict

from observations import Committed, OffsetSeen, Place, Pulled, PullHeld, Reset, SentBack
from popped_messages import WRITTEN_MS
from stored_messages import DELAY_LATE_MS, DELAY_LEVELS_MS, Promise, StoredMessages, Violation

LOOK_MS = 5_000


class PulledQueues:
    """All groups that pull."""

    def __init__(self, log: StoredMessages, tags: dict[str, tuple[str, ...]]) -> None:
        self._log = log
        self._tags = tags
        self._held: dict[int, PullHeld] = {}
        self.committed: dict[tuple[str, Place], int] = {}
        self._resets: dict[tuple[str, Place], int] = {}
        self._moves: dict[tuple[str, Place], list[tuple[int, int]]] = defaultdict(list)
        self.read: dict[tuple[str, Place], set[int]] = defaultdict(set)

    def _wanted(self, group: str, topic: str, offset: int, queue_id: int) -> bool:
        wanted = self._tags.get(group)
        return wanted is None or topic.startswith("%RETRY%") or self._log.at((topic, queue_id), offset).tag in wanted

    def pulled(self, seen: Pulled) -> None:
        """Check a response to a pull."""
        self._held.pop(seen.call, None)
        place = (seen.topic, seen.queue_id)
        reset = self._resets.pop((seen.group, place), None)
        if reset is not None:
            if (seen.code, seen.next_offset) != ("PULL_OFFSET_MOVED", reset):
                raise Violation(f"the reset to {reset} was ignored: {seen}")
            return
        if seen.high > self._log.size(place) or len(seen.messages) > max(1, seen.asked):
            raise Violation(f"more messages than exist or than were requested: {seen}")
        if seen.low != (low := self._log.low(place)):
            raise Violation(f"the queue begins at {low}: {seen}")
        if seen.asked_offset < low:
            if (seen.code, seen.next_offset, seen.messages) != ("PULL_OFFSET_MOVED", low, ()):
                raise Violation(f"the next offset is not {low}, where the queue begins: {seen}")
            return
        end = min(seen.next_offset, seen.high)
        wanted = [n for n in range(seen.asked_offset, end) if self._wanted(seen.group, seen.topic, n, seen.queue_id)]
        if [message.offset for message in seen.messages] != wanted:
            raise Violation(f"expected the offsets {wanted}: {seen}")
        for message in seen.messages:
            stored = self._log.at(place, message.offset)
            if (stored.message_id, stored.attempt) != (message.message_id, message.attempt):
                raise Violation(f"{stored} is stored there: {message}")
        self.read[seen.group, place].update(wanted)
        self._check_code(seen)

    @staticmethod
    def _check_code(seen: Pulled) -> None:
        if seen.messages:
            right = seen.code == "SUCCESS"
        elif seen.asked_offset > seen.high:
            right = seen.code == "PULL_OFFSET_MOVED" and seen.next_offset == seen.high
        elif seen.asked_offset == seen.high:
            right = seen.code == "PULL_NOT_FOUND" and (
                not seen.waited or seen.deadline is None or seen.now >= seen.deadline
            )
        else:
            right = seen.code == "PULL_RETRY_IMMEDIATELY" and seen.next_offset > seen.asked_offset
        if not right:
            raise Violation(f"wrong code or too early: {seen}")

    def held(self, seen: PullHeld) -> None:
        """Record a parked pull."""
        self._held[seen.call] = seen

    def gone(self, client: str) -> None:
        """Remove the waiting pulls of a disconnected client."""
        self._held = {call: held for call, held in self._held.items() if held.client != client}

    def committed_offset(self, seen: Committed) -> None:
        """Record an accepted commit; it counts unless a reset is pending."""
        key = (seen.group, (seen.topic, seen.queue_id))
        if key not in self._resets:
            self._commit(key, seen.offset, seen.now)

    def _commit(self, key: tuple[str, Place], offset: int, now: int) -> None:
        self._moves[key].append((now, self.committed.get(key, -1)))
        self.committed[key] = offset

    def reset(self, seen: Reset) -> None:
        """Record a reset."""
        for queue_id, offset in seen.offsets:
            key = (seen.group, (seen.topic, queue_id))
            self._resets[key] = offset
            self._commit(key, offset, seen.now)

    def crashed(self, now: int, positions: dict[tuple[str, Place], int]) -> None:
        """Check the offsets after a crash, which must be written ones; pending resets are lost."""
        self._held.clear()
        self._resets.clear()
        for key, position in positions.items():
            current = self.committed.get(key, -1)
            known = [before for when, before in self._moves[key] if when > now - WRITTEN_MS]
            if position not in (current, *known):
                raise Violation(f"{key} continues at {position}; written were {known}, the last offset was {current}")
            self._moves[key] = [(now, position)]
            self.committed.pop(key, None)
            if position >= 0:
                self.committed[key] = position

    def offset_seen(self, seen: OffsetSeen) -> None:
        """Check a queried offset; a queue that still has its first message returns 0 if there is none."""
        place = (seen.topic, seen.queue_id)
        young = self._log.size(place) > 0 == self._log.low(place)
        expected = self.committed.get((seen.group, place), 0 if young else None)
        if seen.offset != expected:
            raise Violation(f"committed was {expected}: {seen}")

    def sent_back(self, seen: SentBack) -> None:
        """Check a response to a send-back."""
        gone = 0 <= seen.original < self._log.begin
        if seen.code != ("SYSTEM_ERROR" if gone else "SUCCESS"):
            raise Violation(f"wrong code, the log begins at {self._log.begin}: {seen}")
        if gone:
            return
        dead = seen.attempt >= seen.most or seen.level < 0
        topic = f"%DLQ%{seen.group}" if dead else f"%RETRY%{seen.group}"
        level = min(seen.level or 3 + seen.attempt, len(DELAY_LEVELS_MS))
        delay_ms = 0 if dead else DELAY_LEVELS_MS[level - 1]
        due = seen.now + delay_ms
        late_ms = 0 if dead else DELAY_LATE_MS
        self._log.promise(
            Promise(topic, seen.message_id, seen.attempt + 1, due, latest=due + late_ms, source=seen.physical)
        )

    def step_ended(self, now: int) -> None:
        """Check that no pull waits past its deadline, or while a wanted message is available."""
        for held in self._held.values():
            if now >= held.deadline + LOOK_MS:
                raise Violation(f"still waits at {now}: {held}")
            place = (held.topic, held.queue_id)
            for offset in range(max(held.asked_offset, self._log.low(place)), self._log.size(place)):
                if self._wanted(held.group, held.topic, offset, held.queue_id):
                    raise Violation(f"{place}:{offset} is there and {held} still waits")

    def unread(self, group: str, place: Place) -> list[int]:
        """Return the offsets of a queue that a group wants and never got."""
        read = self.read[group, place]
        return [
            offset
            for offset in range(self._log.low(place), self._log.size(place))
            if offset not in read and self._wanted(group, place[0], offset, place[1])
        ]
