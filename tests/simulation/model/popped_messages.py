"""The oracle's model of unordered pops: messages in flight until the end of their invisible duration, and redeliveries.

Upstream allows the following and nothing else (PopMessageProcessor, AckMessageProcessor, PopReviveService 5.3.3):

- A group reads each queue of a topic, and of its own retry topic, from the first message to the last. It gets each
  message that matches its tag exactly once. Only a reset makes it read messages again.
- A delivery that is not acknowledged by its handle is redelivered exactly once, as a copy in the retry topic of the
  group with one attempt more. The copy comes later than `slack_ms` after the invisible duration and at most `late_ms`
  after it. If the message has a delay level, the copy is delayed by it again.
- An acknowledgement counts until the copy is stored. Between the earliest and the latest time of the copy it may count
  or not; after the latest time it has no effect.
- A change of the invisible duration is a new delivery with a new handle, and an acknowledgement of the old one. Each
  accepted change counts, even of a message that was acknowledged or redelivered long ago: it may cause one redelivery.
- Nothing else has an effect: handles of others, old handles, repeated acknowledgements.
- A message whose file was deleted is neither delivered nor redelivered. An acknowledgement or change of it returns
  NO_MESSAGE; in a batch request it is skipped.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

from observations import Acked, Handle, Hidden, Place, PopParked, Popped, Reset
from stored_messages import (
    CATCHES_UP_MS,
    DELAY_LATE_MS,
    DELAY_LEVELS_MS,
    GOES_BACK_MS,
    Promise,
    StoredMessages,
    Violation,
)
from waiting_pops import WaitingPops


class Mode(NamedTuple):
    """How the broker tracks popped messages.

    A message is redelivered later than `slack_ms` after its invisible duration, and at most `late_ms` after it. With
    `records` an acknowledgement matches by queue, offset and end of the invisible duration instead of by check point.
    With `cached` some state is only in memory for a while and lost in a crash; while it is in memory an acknowledgement
    matches by offset alone.
    """

    slack_ms: int
    late_ms: int
    records: bool = False
    cached: bool = False


CHECK_POINTS = Mode(2_000, 6_200)
"""A check point is decided more than 2 s after its invisible duration and at most 5 s after it.

The broker decides it 3 s after the newest time that it has read in the revive queue; that time is at most 2 s later.
The timer wheel delivers a check point at most 1 s early, so an earlier one in the revive queue ends at most 1 s later.
Checks are 100 ms apart.
"""
BUFFERED = CHECK_POINTS._replace(cached=True)
RECORDS = Mode(50, 551, records=True)
"""Scans are 500 ms apart and look 50 ms back."""
CACHED_RECORDS = Mode(-1, 1_551, records=True, cached=True)
"""Scans of the records in memory are 1 s apart."""
WRITTEN_MS = 10_000
"""Longest interval between writes of the offset file, in ms."""
IN_MEMORY_MS = 10_000
"""Time that check points and records stay in memory if they are cached, in ms."""
LOOK_MS = 1_000
"""Longest time that they stay in memory after `IN_MEMORY_MS`, until the next check."""

Key = tuple[object, ...]


@dataclass(slots=True)
class Reading:
    """Reading position of a group in a queue; `fresh` are the offsets that it received in the current step.

    The group received the messages before `again_to` earlier; it may receive them again, or not.
    """

    position: int = 0
    again_to: int = 0
    fresh: set[int] = field(default_factory=set)
    moves: list[tuple[int, int]] = field(default_factory=list)
    """(time of a move, position before it)."""
    _: KW_ONLY
    before_reset: tuple[int, int] | None = None
    """Lowest and highest position of the group before a reset, while messages in memory may still commit one of them.

    The broker may commit such a position until a read takes the reset. A crash loses the reset, even soon after a read
    took it.
    """
    reset_taken: int | None = None

    def takes_reset(self, now: int) -> None:
        """Record a read, which moves the group to the offset of a pending reset."""
        if self.before_reset is not None and self.reset_taken is None:
            self.reset_taken = now

    def forgettable_reset(self, now: int) -> tuple[int, int] | None:
        """Return `before_reset` while a crash would lose the reset, otherwise None."""
        if self.reset_taken is not None and self.reset_taken <= now - WRITTEN_MS:
            self.before_reset = self.reset_taken = None
        return self.before_reset

    def since(self, instant: int) -> int:
        """Return the group's lowest position since `instant`."""
        return min([start for when, start in self.moves if when > instant], default=self.position)

    def begun(self, instant: int) -> int:
        """Return the start of the last read that began at `instant` or earlier."""
        earlier = [start for when, start in self.moves if when <= instant]
        return earlier[-1] if earlier else self.since(instant)


class PoppedMessages(WaitingPops):
    """All groups that pop without order."""

    def __init__(self, log: StoredMessages, mode: Mode, tags: dict[str, tuple[str, ...]], *, retry_v2: bool) -> None:
        super().__init__()
        self._log = log
        self._mode = mode
        self._tags = tags
        self._retry_sign = "+" if retry_v2 else "_"
        self._retry_always_read = not retry_v2
        self.readings: dict[tuple[str, Place], Reading] = defaultdict(Reading)
        self._dirty: set[tuple[str, Place]] = set()
        self._flights: dict[Key, Promise] = {}
        self._by_place: dict[tuple[str, Place, int], list[tuple[int, Promise]]] = defaultdict(list)
        self._half_empty: list[Popped] = []
        self.flights_of: dict[tuple[str, str], list[Promise]] = defaultdict(list)
        """All deliveries of a message, by group and message id."""
        self.ambiguous: set[tuple[str, str]] = set()
        """Messages that upstream may have put into several states: (group, message id)."""

    # deliveries

    def retry_topic(self, group: str, topic: str) -> str:
        """Return the topic in which messages of a topic are redelivered to a group."""
        return topic if topic.startswith("%RETRY%") else f"%RETRY%{group}{self._retry_sign}{topic}"

    def popped(self, seen: Popped) -> None:
        """Check a response to a pop."""
        self._waiting.pop(seen.call, None)
        if len(seen.messages) > seen.asked:
            raise Violation(f"{len(seen.messages)} messages instead of {seen.asked}: {seen}")
        for message in seen.messages:
            handle = message.handle
            if handle is None:
                raise Violation(f"a popped message without handle: {message}")
            if handle.topic not in (seen.topic, self.retry_topic(seen.group, seen.topic)):
                raise Violation(f"{seen.group} popped {seen.topic} and got {handle}")
            if seen.queue_id >= 0 and handle.topic == seen.topic and handle.queue_id != seen.queue_id:
                raise Violation(f"a message of another queue than {seen.queue_id}: {handle}")
            if handle.pop_time != seen.now or handle.invisible_ms != seen.invisible_ms:
                raise Violation(f"the pop was at {seen.now} for {seen.invisible_ms} ms, the handle says {handle}")
            stored = self._log.at(handle.place, message.offset)
            if message.offset < self._log.low(handle.place):
                raise Violation(f"{handle.place} begins at {self._log.low(handle.place)}: {message}")
            if (stored.message_id, stored.attempt) != (message.message_id, message.attempt):
                raise Violation(f"{stored} is stored at {handle.place}:{message.offset}, delivered was {message}")
            if not self.wants(seen.group, handle.topic, stored.tag):
                raise Violation(f"{seen.group} does not want {stored}")
            reading = self.readings[seen.group, handle.place]
            if message.offset < reading.position or message.offset in reading.fresh:
                raise Violation(f"{seen.group} got {handle.place}:{message.offset} twice: {message}")
            reading.fresh.add(message.offset)
            self._dirty.add((seen.group, handle.place))
            self._fly(handle, seen.now)
        if not seen.waited and len(seen.messages) < seen.asked:
            self._half_empty.append(seen)

    def wants(self, group: str, topic: str, tag: str | None) -> bool:
        """Return True if a group wants messages with this tag; it wants all redelivered messages."""
        wanted = self._tags.get(group)
        return wanted is None or tag in wanted or topic.startswith("%RETRY%")

    def _fly(self, handle: Handle, now: int) -> None:
        """Add a message in flight under a handle, which is redelivered unless it is acknowledged."""
        stored = self._log.at(handle.place, handle.offset)
        delay_ms = DELAY_LEVELS_MS[stored.delay_level - 1] if stored.delay_level else 0
        earliest = handle.hidden_until + self._mode.slack_ms + 1 + delay_ms
        latest = max(handle.hidden_until, now) + self._mode.late_ms + delay_ms + (DELAY_LATE_MS if delay_ms else 0)
        key = self._key(handle)
        first_pop_ms = handle.pop_time if stored.attempt == 0 else stored.first_pop_ms
        promise = Promise(
            self.retry_topic(handle.group, handle.topic),
            stored.message_id,
            stored.attempt + 1,
            earliest,
            latest=latest,
            first_pop_ms=first_pop_ms,
            source=stored.physical,
            straight=not delay_ms,
        )
        old = self._flights.get(key)
        self.flights_of[handle.group, stored.message_id].append(promise)
        if old is not None and not old.kept:
            self.ambiguous.add((handle.group, stored.message_id))
            # Two requests within one millisecond delivered it with the same handle: both deliveries may be repeated,
            # and one must be.
            promise.twins = old.twins
            promise.twins += [promise] if old.twins else [old, promise]
            earliest, latest = min(promise.earliest, old.earliest), max(promise.latest, old.latest)
            promise.must, old.must = old.must and not old.withdrawn, False
            for twin in promise.twins:
                twin.earliest, twin.latest = earliest, latest
        if self._mode.records and self._mode.cached:
            self._doubt(handle.group, handle.place, handle.offset)  # only one record per offset is in memory
        self._flights[key] = self._log.promise(promise)
        self._by_place[handle.group, handle.place, handle.offset].append((handle.pop_time, promise))

    # acknowledgements and changes

    def _key(self, handle: Handle) -> Key:
        """Return the key by which an acknowledgement is matched."""
        if self._mode.records:
            return (handle.place, handle.group, handle.offset, handle.hidden_until)
        return (
            handle.place,
            handle.group,
            handle.offset,
            handle.start_offset,
            handle.pop_time,
            handle.revive_qid,
            handle.broker,
        )

    def flight(self, handle: Handle) -> Promise | None:
        """Return the promise of a delivery, None for a handle that was never returned."""
        return self._flights.get(self._key(handle))

    def acked(self, seen: Acked) -> None:
        """Check a response to an acknowledgement, which counts until the copy is stored."""
        gone = seen.handle.offset < self._log.low(seen.handle.place)
        if seen.code != ("NO_MESSAGE" if gone and not seen.batch else "SUCCESS"):
            raise Violation(f"wrong code, the queue begins at {self._log.low(seen.handle.place)}: {seen}")
        if not gone:
            self._acknowledge(seen.handle, seen.now)

    def _acknowledge(self, handle: Handle, now: int) -> None:
        promise = self._flights.get(self._key(handle))
        by_another = False
        if self._mode.cached:
            # State in memory is matched by fewer fields than stored state.
            for pop_time, other in self._by_place[handle.group, handle.place, handle.offset]:
                if other is not promise and (self._mode.records or pop_time == handle.pop_time):
                    other.must = False
                    by_another |= not other.kept and not other.withdrawn
        if promise is None or promise.kept:
            return
        stored = self._log.at(handle.place, handle.offset)
        delay_ms = DELAY_LEVELS_MS[stored.delay_level - 1] if stored.delay_level else 0
        # An acknowledgement with another invisible duration has another place in the revive queue, perhaps before the
        # check point.
        beside_it = promise.earliest == handle.hidden_until + self._mode.slack_ms + 1 + delay_ms
        if now < promise.earliest - delay_ms and not promise.twins and beside_it and not by_another:
            promise.withdrawn = True
        elif now <= promise.latest - delay_ms:
            promise.must = False

    def hidden(self, seen: Hidden) -> None:
        """Check a response to a change: it is a new delivery and acknowledges the old one."""
        gone = seen.handle.offset < self._log.low(seen.handle.place)
        if seen.code != ("NO_MESSAGE" if gone else "SUCCESS"):
            raise Violation(f"wrong code, the queue begins at {self._log.low(seen.handle.place)}: {seen}")
        if seen.new is None:
            return
        if seen.new.pop_time < seen.handle.pop_time or seen.new.invisible_ms != seen.invisible_ms:
            raise Violation(f"changed to {seen.new}: {seen}")
        old = self.flight(seen.handle)
        was_out = old is not None and not old.kept and not old.withdrawn
        self._fly(seen.new, seen.now)
        self._acknowledge(seen.handle, seen.now)
        if old is not None and was_out and old.withdrawn:
            old.replaced = True
        else:
            self.ambiguous.add((seen.handle.group, self._log.at(seen.handle.place, seen.handle.offset).message_id))
        if not self._mode.records:
            # In the millisecond of its pop the new check point has the batch's key, and replaces it.
            for offset in range(seen.new.start_offset + 1, self._log.size(seen.new.place)):
                promise = self._flights.get(self._key(seen.new._replace(offset=offset)))
                if promise is not None:
                    promise.must = False

    def reset(self, seen: Reset) -> None:
        """Record a reset: the group continues at another offset."""
        if self._mode.records:
            self._fall_back(seen)
        for queue_id, offset in seen.offsets:
            self._forget_cached(seen.group, (seen.topic, queue_id))
            reading = self.readings[seen.group, (seen.topic, queue_id)]
            # Unwanted messages may have been skipped already, and the offset after them may be written.
            passed = self.offset_bounds(seen.group, (seen.topic, queue_id))[1]
            reading.moves.append((seen.now, passed))
            if self._mode.cached and not self._mode.records:
                lately = reading.since(seen.now - IN_MEMORY_MS - LOOK_MS)
                low, high = reading.forgettable_reset(seen.now) or (lately, passed)
                reading.before_reset, reading.reset_taken = (min(low, lately), max(high, passed)), None
            reading.moves.append((seen.now, reading.position))
            reading.position = min(offset, self._log.size((seen.topic, queue_id)))
            reading.again_to = 0
            reading.moves.append((seen.now, reading.position))
        self._forget(seen.group, seen.topic)

    def _fall_back(self, seen: Reset) -> None:
        """Move the other queues of the topic to the start of their last read, as a reset with records does."""
        for queue_id, offset in seen.others:
            reading = self.readings[seen.group, (seen.topic, queue_id)]
            lowest = self._lowest_cached(reading, seen.now) if self._mode.cached else reading.begun(seen.now)
            if not min(lowest, reading.position) <= max(offset, 0) <= self._log.size((seen.topic, queue_id)):
                raise Violation(f"queue {queue_id} is moved back to {offset}, the lowest offset is {lowest}: {seen}")
            if offset < reading.position:
                if self._mode.cached:
                    # Until the next read the offset follows the records in memory.
                    reading.again_to = reading.position
                reading.position = max(offset, 0)
                reading.moves.append((seen.now, reading.position))

    def _forget_cached(self, group: str, place: Place) -> None:
        """Mark cached records as lost by a reset: their messages need not be redelivered."""
        if self._mode.records and self._mode.cached:
            for offset in range(self._log.size(place)):
                self._doubt(group, place, offset)

    def _doubt(self, group: str, place: Place, offset: int) -> None:
        for _, promise in self._by_place.get((group, place, offset), ()):
            promise.must = False

    # crashes

    def crashed(self, now: int, positions: dict[tuple[str, Place], int]) -> None:
        """Check the offsets after a crash: groups continue at written ones and get later messages again.

        Unacknowledged deliveries are still redelivered. Recently acknowledged ones may be, because their
        acknowledgements may have been only in memory, or processed before the check point is read again.
        """
        self._waiting.clear()
        for (group, place), position in positions.items():
            reading = self.readings[group, place]
            lowest = self._lowest_after_crash(reading, now)
            # A reset may have decreased it since.
            lately = [start for when, start in reading.moves if when > now - WRITTEN_MS]
            highest = max([self.offset_bounds(group, place)[1], *lately])
            forgotten = reading.forgettable_reset(now)
            if forgotten is not None:
                lowest, highest = min(lowest, forgotten[0]), max(highest, forgotten[1])
            if not min(lowest, reading.position) <= max(position, 0) <= highest:
                raise Violation(f"{group} continues at {position} of {place}, not from {lowest} to {highest}")
            reading.position, reading.again_to = max(position, 0), 0
            reading.before_reset = reading.reset_taken = None
            reading.moves = [(now, reading.position)]
            if self._mode.cached:
                # Messages read after a lost reset were in memory, too, wherever the group continues.
                start = reading.position if forgotten is None else min(lowest, reading.position)
                for offset in range(max(start, 0), self._log.size(place)):
                    self._doubt(group, place, offset)
        for promise in list(self._flights.values()):
            if now - GOES_BACK_MS < promise.earliest < now + CATCHES_UP_MS:
                earliest, latest = min(max(promise.earliest, now), now + CATCHES_UP_MS), now + CATCHES_UP_MS
                self._log.promise(
                    replace(
                        promise, earliest=earliest, latest=latest, must=False, kept=False, withdrawn=False, twins=[]
                    )
                )

    def _lowest_after_crash(self, reading: Reading, now: int) -> int:
        instant = now - WRITTEN_MS
        if not self._mode.records:
            return reading.since(instant - (IN_MEMORY_MS + LOOK_MS if self._mode.cached else 0))
        # A reset may have decreased it since.
        if not self._mode.cached:
            return min(reading.begun(instant), reading.since(instant))
        return self._lowest_cached(reading, instant)

    def _lowest_cached(self, reading: Reading, instant: int) -> int:
        # The offset stays at the first message that was in memory until the next read, even if none is left there.
        last_read = max((when for when, _ in reading.moves if when <= instant), default=instant)
        return min(reading.begun(last_read - IN_MEMORY_MS - LOOK_MS), reading.since(instant))

    # end of a step

    def step_ended(self, now: int) -> None:
        """Check that no message was skipped, and no pop waits past its deadline or while messages are available."""
        for group, place in self._dirty:
            self._move(group, place, now)
        self._dirty.clear()
        for seen in self._half_empty:
            unread = self._open_to(seen)
            if unread is not None:
                raise Violation(f"the response could have had {unread}: {seen}")
            retry = self.retry_topic(seen.group, seen.topic)
            always = self._retry_always_read if not self._mode.records else seen.queue_id < 0
            if always and self.next_unread(seen.group, (retry, 0)) is not None:
                raise Violation(f"the response could have had messages of {retry}: {seen}")
        self._half_empty.clear()
        for parked in self._waiting.values():
            if parked.deadline <= now:
                raise Violation(f"still waits at {now}: {parked}")
            unread = self._open_to(parked)
            if unread is not None:
                raise Violation(f"{unread} is there and {parked} still waits")

    def _open_to(self, asked: Popped | PopParked) -> tuple[str, int, int] | None:
        """Return (topic, queue id, offset) of an unread message that this pop could have had; None if there is none."""
        for topic, queue_id, offset in self.unread(asked.group, asked.topic, asked.queue_id):
            # Two check points of one millisecond would have the same key in the buffer, so the later pop gets no
            # messages.
            same = (pop_time == asked.now for pop_time, _ in self._by_place[asked.group, (topic, queue_id), offset])
            if self._mode.records or not self._mode.cached or not any(same):
                return topic, queue_id, offset
        return None

    def _move(self, group: str, place: Place, now: int) -> None:
        reading = self.readings[group, place]
        following = max(reading.fresh) + 1
        for offset in range(max(reading.position, reading.again_to, self._log.low(place)), following):
            if offset not in reading.fresh and self.wants(group, place[0], self._log.at(place, offset).tag):
                raise Violation(f"{group} did not get {place}:{offset}, and got a later message")
        reading.moves.append((now, reading.position))
        reading.takes_reset(now)
        reading.position = following
        reading.fresh.clear()

    def unread(self, group: str, topic: str, queue_id: int = -1) -> Iterator[tuple[str, int, int]]:
        """Return (topic, queue id, offset) of the next unread message of each queue; queue id -1 selects all queues."""
        queue_ids = [queue_id] if queue_id >= 0 else sorted(self._log.queue_ids(topic))
        return (
            (topic, one, offset) for one in queue_ids if (offset := self.next_unread(group, (topic, one))) is not None
        )

    def next_unread(self, group: str, place: Place) -> int | None:
        """Return the next offset of a queue that a group wants."""
        reading = self.readings[group, place]
        return self._first_wanted(group, place, max(reading.position, reading.again_to))

    def _first_wanted(self, group: str, place: Place, start: int) -> int | None:
        return self._wanted_from(group, place, max(start, self._log.low(place)))

    def _wanted_from(self, group: str, place: Place, start: int) -> int | None:
        for offset in range(start, self._log.size(place)):
            if self.wants(group, place[0], self._log.at(place, offset).tag):
                return offset
        return None

    def there(self, group: str, topic: str) -> list[tuple[Place, int]]:
        """Return (queue, offset) of the first unread message of each queue of the topic and of the retry topic.

        It may be called within a step.
        """
        found = []
        for name in dict.fromkeys((topic, self.retry_topic(group, topic))):
            for queue_id in self._log.queue_ids(name):
                reading = self.readings[group, (name, queue_id)]
                start = max(reading.position, reading.again_to, *(offset + 1 for offset in reading.fresh))
                offset = self._first_wanted(group, (name, queue_id), start)
                if offset is not None:
                    found.append(((name, queue_id), offset))
        return found

    def is_behind(self, group: str, topic: str) -> bool:
        """Return True if a queue of the topic or retry topic has messages after those the group got, wanted or not."""
        places = [(name, one) for name in (topic, self.retry_topic(group, topic)) for one in self._log.queue_ids(name)]
        return any(self._log.size(place) > self.readings[group, place].position for place in places)

    def may_stand(self, group: str, place: Place, offset: int) -> bool:
        """Return True if this may be the committed offset.

        After a deletion it may also be before the deleted messages, or at an earlier start of the queue.
        """
        low, high = self.offset_bounds(group, place)
        lows = self._log.lows(place)
        if not lows or not low <= offset <= high or self._mode.records or self._mode.cached:
            return low <= offset <= high
        starts = (max(low, self.readings[group, place].again_to), *lows)
        wanted = ((start, self._wanted_from(group, place, start)) for start in starts)
        return offset == low or any(start <= offset <= (high if end is None else end) for start, end in wanted)

    def offset_bounds(self, group: str, place: Place) -> tuple[int, int]:
        """Return the lowest and the highest allowed committed offset of a group."""
        unread = self.next_unread(group, place)
        lowest = 0 if self._mode.records or self._mode.cached else self.readings[group, place].position
        return lowest, self._log.size(place) if unread is None else unread
