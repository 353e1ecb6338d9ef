"""The oracle's model of queues: their messages, and promises of messages to come.

A promise expects a message in a topic within a time span, as it must or may follow from a delayed send, from a message
sent back, or from an unacknowledged popped message. Every stored message must be promised or just sent, and every
promise that must be kept requires a stored message.

When log files are deleted, queues start with the first remaining message, and no other message is missing. A promise
whose source message was deleted need not be kept.
"""

import heapq
from bisect import bisect_left
from collections import defaultdict
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

from observations import Place, Sent, Stored

DELAY_LEVELS_MS = (1_000, 5_000, 10_000, 30_000, *(n * 60_000 for n in (*range(1, 11), 20, 30, 60, 120)))
"""Upstream's delay levels in ms, from level 1 on."""
DELAY_LATE_MS = 1_100
"""Longest delay of a delivery by level: levels are checked every 100 ms, first a second after the broker's start."""
TIMER_LATE_MS = 1_000
"""Longest delay of a timed message: it is stored at the first full second at or after its time."""


GOES_BACK_MS = 20_000
"""After a crash the broker may repeat what it did in this time, because files are written every 1 to 10 s."""
CATCHES_UP_MS = 15_000
"""Longest time after a crash until the broker has repeated it."""
RESTART_MS = 2_000
"""Additional time for deliveries after a start: delay levels are first checked a second later, then at other times."""


class Violation(AssertionError):
    """Raised if the broker did something that upstream does not do."""


class Born(NamedTuple):
    """Fields that a message and all its copies have in common."""

    born_ms: int
    unique_key: str
    tag: str | None
    keys: str | None
    color: str | None


class Known(NamedTuple):
    """A message in a queue."""

    message_id: str
    tag: str | None
    attempt: int
    delay_level: int
    first_pop_ms: int | None
    physical: int


@dataclass(slots=True, eq=False)
class Promise:
    """Message `message_id` with `attempt` is stored in `topic` from `earliest` to `latest` (ms since the epoch).

    If `must` is False the message may be missing. `first_pop_ms` is the time of the first pop that its properties must
    name. Of a promise and its `twins` only one must be kept.
    """

    topic: str
    message_id: str
    attempt: int
    earliest: int
    _: KW_ONLY
    latest: int
    must: bool = True
    withdrawn: bool = False
    replaced: bool = False
    """Withdrawn because another promise replaces it."""
    kept: bool = False
    first_pop_ms: int | None = None
    twins: "list[Promise]" = field(default_factory=list)
    source: int | None = None
    """Physical offset of the stored message that the broker copies to keep the promise."""
    straight: bool = True
    """True if the broker copies `source` itself; False if it may copy a later copy, which survives a lost source."""

    def __str__(self) -> str:
        return f"{self.message_id} as attempt {self.attempt + 1} in {self.topic} from {self.earliest} to {self.latest}"


class StoredMessages:
    """All queues and all open promises."""

    def __init__(self) -> None:
        self.queues: dict[Place, list[Known]] = defaultdict(list)
        self.by_topic: dict[str, set[int]] = defaultdict(set)
        self.begin = 0
        """Start of the log."""
        self._lows: dict[Place, list[int]] = {}
        self._born: dict[str, set[Born]] = defaultdict(set)
        self._promises: dict[tuple[str, str, int], list[Promise]] = defaultdict(list)
        self._latest: list[tuple[int, int, Promise]] = []
        self._sequence = 0
        self._unexplained: dict[tuple[str, int, int], Stored] = {}
        self._kept: list[tuple[int, Promise]] = []
        self._last_store_ms = 0
        self._store_times: list[tuple[int, int]] = []
        """(physical offset, store time) of every stored message."""
        self._last_physical = -1

    # events

    def appended(self, physical: int, seen: object) -> None:
        """Check that a record is appended after all earlier ones of any topic."""
        if physical <= self._last_physical:
            raise Violation(f"stored at physical offset {physical}, not after {self._last_physical}: {seen}")
        self._last_physical = physical

    def newest_before(self, physical: int) -> int | None:
        """Return the store time of the last message before a physical offset, None if there is none."""
        count = bisect_left(self._store_times, (physical, 0))
        return self._store_times[count - 1][1] if count else None

    def stored(self, seen: Stored) -> None:
        """Check a stored message."""
        queue = self.queues[seen.topic, seen.queue_id]
        self.by_topic[seen.topic].add(seen.queue_id)
        if seen.offset != len(queue):
            raise Violation(f"{seen.topic}@{seen.queue_id} continues at offset {seen.offset}, not at {len(queue)}")
        if not self._last_store_ms <= seen.store_ms <= seen.now:
            raise Violation(f"{seen.message_id} was stored at {seen.store_ms}, after one at {self._last_store_ms}")
        self._last_store_ms = seen.store_ms
        self.appended(seen.physical, seen)
        self._store_times.append((seen.physical, seen.store_ms))
        queue.append(Known(seen.message_id, seen.tag, seen.attempt, seen.delay_level, seen.first_pop_ms, seen.physical))
        born = self._born[seen.message_id]
        this = Born(seen.born_ms, seen.unique_key, seen.tag, seen.keys, seen.color)
        if not seen.attempt:
            born.add(this)
        elif this not in born:
            raise Violation(f"{seen.message_id} was born {born}, its copy says {this}")
        if not self._keep(seen):
            self._unexplained[seen.topic, seen.queue_id, seen.offset] = seen

    def _keep(self, seen: Stored) -> bool:
        """Mark the promise that this message keeps, preferring one that must be kept.

        Returns False if there is none.
        """
        promises = self._promises.get((seen.topic, seen.message_id, seen.attempt), [])
        fitting = [
            promise
            for promise in promises
            if not promise.withdrawn and promise.earliest <= seen.store_ms <= promise.latest
        ]
        if not fitting:
            return False
        # After a reset several deliveries of one message may be redelivered.
        fitting = [promise for promise in fitting if promise.first_pop_ms in (None, seen.first_pop_ms)] or fitting
        promise = min(fitting, key=lambda promise: (not promise.must, promise.latest))
        if promise.first_pop_ms is not None and seen.first_pop_ms != promise.first_pop_ms:
            raise Violation(f"{seen.message_id} has {seen.first_pop_ms} as the time of its first pop: {promise}")
        promise.kept = True
        self._kept.append((seen.now, promise))
        for twin in promise.twins:
            twin.must = False
        promises.remove(promise)
        return True

    def sent(self, seen: Sent) -> None:
        """Record an accepted send."""
        if seen.due_ms is not None:
            late = DELAY_LATE_MS if seen.delay_level else TIMER_LATE_MS
            self.promise(
                Promise(seen.topic, seen.message_id, 0, seen.due_ms, latest=seen.due_ms + late, source=seen.physical)
            )
            return
        self.there_at_once((seen.topic, seen.queue_id, seen.offset), seen.message_id)

    def there_at_once(self, place: tuple[str, int, int], message_id: str) -> None:
        """Check that a message accepted for (topic, queue id, offset) was stored there."""
        there = self._unexplained.pop(place, None)
        if there is None or there.message_id != message_id:
            raise Violation(f"{message_id} was accepted for {place[0]}@{place[1]}:{place[2]}: {there}")

    def promise(self, promise: Promise) -> Promise:
        """Add a promise, which may have been kept in this very step."""
        for place, seen in self._unexplained.items():
            same = (seen.topic, seen.message_id, seen.attempt) == (promise.topic, promise.message_id, promise.attempt)
            if same and promise.earliest <= seen.store_ms <= promise.latest:
                promise.kept = True
                del self._unexplained[place]
                return promise
        self._promises[promise.topic, promise.message_id, promise.attempt].append(promise)
        self._watch(promise)
        return promise

    def _watch(self, promise: Promise) -> None:
        self._sequence += 1
        heapq.heappush(self._latest, (promise.latest, self._sequence, promise))

    def crashed(self, now: int, away_ms: int) -> None:
        """Record a crash: recent messages may be stored again, and promised ones may be stored later.

        Messages due while the broker was stopped are stored after its start.
        """
        lately = [promise for when, promise in self._kept if when >= now - GOES_BACK_MS]
        for promise in lately:
            self.promise(replace(promise, earliest=now, latest=now + CATCHES_UP_MS, must=False, kept=False, twins=[]))
        for promises in self._promises.values():
            for promise in promises:
                promise.latest += RESTART_MS
                if away_ms:
                    promise.latest = max(promise.latest, now + CATCHES_UP_MS)

    def deleted(self, begin: int) -> None:
        """Record a deletion: the log starts later."""
        self.begin = begin
        for place, queue in self.queues.items():
            low = bisect_left(queue, begin, key=lambda known: known.physical)
            if low > self.low(place):
                self._lows.setdefault(place, []).append(low)
        for promises in self._promises.values():
            for promise in promises:
                if promise.source is not None and promise.source < begin:
                    promise.must = False
                    promise.withdrawn |= promise.straight

    def step_ended(self, now: int) -> None:
        """Check that every stored message was sent or promised, and that no promise is overdue."""
        for seen in self._unexplained.values():
            waiting = self._promises.get((seen.topic, seen.message_id, seen.attempt), [])
            promised = "; ".join(map(str, waiting)) or "none"
            raise Violation(f"neither sent nor promised: {seen}; open promises: {promised}")
        while self._latest and self._latest[0][0] < now:
            promise = heapq.heappop(self._latest)[2]
            if promise.latest >= now:
                self._watch(promise)
            elif promise.must and not promise.kept and not promise.withdrawn:
                raise Violation(f"lost by {now}: {promise}")

    # queries

    def queue_ids(self, topic: str) -> set[int]:
        """Return the queue ids of a topic that have messages."""
        return self.by_topic.get(topic, set())

    def at(self, place: Place, offset: int) -> Known:
        """Return the message at an offset, which must exist."""
        queue = self.queues.get(place, [])
        if not 0 <= offset < len(queue):
            raise Violation(f"{place[0]}@{place[1]} has no message at offset {offset}, it ends at {len(queue)}")
        return queue[offset]

    def low(self, place: Place) -> int:
        """Return the first remaining offset of a queue; its end if none remains."""
        lows = self._lows.get(place)
        return lows[-1] if lows else 0

    def lows(self, place: Place) -> list[int]:
        """Return all minimum offsets that a queue has had, except 0."""
        return self._lows.get(place, [])

    def size(self, place: Place) -> int:
        """Return the maximum offset of a queue."""
        queue = self.queues.get(place)
        return 0 if queue is None else len(queue)

    def last_due(self, now: int) -> int:
        """Return the time by which the last open promise must be kept, at least `now`."""
        return max((one.latest for _, _, one in self._latest if one.must and not one.kept), default=now)
