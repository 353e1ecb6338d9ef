"""The oracle's book of unordered pops: who has which message until when, and what must come back.

What upstream allows, and nothing else (PopMessageProcessor, AckMessageProcessor, PopReviveService 5.3.3):

- A group reads each queue of a topic, and of its own retry topic, from the first message to the last, and gets each
  message of a queue that its tag matches exactly once. Only a reset makes it read messages again.
- A delivery that nobody acknowledged by its handle comes back exactly once, as a copy in the retry topic of the group
  with one attempt more: later than `slack_ms` after its invisible time, and `late_ms` after it at the latest. The
  copy passes its delay level again if the message has one.
- An acknowledgement counts until the copy is made. Between the earliest and the latest instant of that nobody knows
  whether it came in time; afterwards it has no effect.
- A change of the invisible time is a new delivery with a new handle, and an acknowledgement of the old one. Each
  change that is accepted counts, also of a message that was acknowledged or came back long ago: it may come back once
  for every change.
- Nothing else has an effect: other people's handles, old handles, repeated acknowledgements.
- A message whose file was deleted is never handed out and never comes back. Who acknowledges or changes it is told
  NO_MESSAGE; among several in one request it is passed over.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
    """How the broker remembers pops.

    A message comes back later than `slack_ms` after its invisible time, at most `late_ms` after it. `records`: an
    acknowledgement finds it by queue, offset and end of the invisible time, not by its check point. `cached`: some of
    that is only in memory for a while, and a crash loses it; an acknowledgement then matches by offset alone.
    """

    slack_ms: int
    late_ms: int
    records: bool = False
    cached: bool = False


CHECK_POINTS = Mode(2_000, 6_200)
"""A check point is decided more than 2 s after its invisible time, and 3 s after the newest time that its queue has
read, which lies at most 2 s after it: so at most 5 s after it. It surfaces at most 1 s early, so one before it in its
queue ends at most 1 s later; looks are 100 ms apart."""
BUFFERED = CHECK_POINTS._replace(cached=True)
RECORDS = Mode(50, 551, records=True)
"""Looks are 500 ms apart, and 50 ms late."""
CACHED_RECORDS = Mode(-1, 1_551, records=True, cached=True)
"""Looks at what is in memory are 1 s apart."""
WRITTEN_MS = 10_000
"""Offsets are written to a file this often at least."""
IN_MEMORY_MS = 10_000
"""How long check points and records stay in memory, where they do."""
LOOK_MS = 1_000
"""How much longer, at most."""

Key = tuple[object, ...]


@dataclass(slots=True)
class Reading:
    """How far a group has read a queue; `fresh` are the offsets that it got in the current step.

    What lies before `again_to` it has had already; it may get it again, or not.
    """

    position: int = 0
    again_to: int = 0
    fresh: set[int] = field(default_factory=set)
    moves: list[tuple[int, int]] = field(default_factory=list)
    """When it moved on, and from where."""
    before_reset: tuple[int, int] | None = None
    """From where to where it stood before a reset, of what was still in memory then: until a read takes the reset that
    is committed behind its back, and a crash forgets the reset, also soon after it was taken."""
    reset_taken: int | None = None

    def takes_reset(self, now: int) -> None:
        """It reads on: a reset that waited counts from now on."""
        if self.before_reset is not None and self.reset_taken is None:
            self.reset_taken = now

    def forgettable_reset(self, now: int) -> tuple[int, int] | None:
        """`before_reset` while a crash would forget the reset."""
        if self.reset_taken is not None and self.reset_taken <= now - WRITTEN_MS:
            self.before_reset = self.reset_taken = None
        return self.before_reset

    def since(self, instant: int) -> int:
        """The first position that it had at an instant or later."""
        return min([start for when, start in self.moves if when > instant], default=self.position)

    def begun(self, instant: int) -> int:
        """Where the last read that had begun until an instant began."""
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
        """All deliveries of a message to a group, by group and message."""
        self.ambiguous: set[tuple[str, str]] = set()
        """Groups and messages that upstream may have made more of than one thing at a time."""

    # deliveries

    def retry_topic(self, group: str, topic: str) -> str:
        """Where messages of a topic come back for a group."""
        return topic if topic.startswith("%RETRY%") else f"%RETRY%{group}{self._retry_sign}{topic}"

    def popped(self, seen: Popped) -> None:
        """A pop was answered."""
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
                raise Violation(f"at {seen.now} for {seen.invisible_ms} ms it was popped, the handle says {handle}")
            stored = self._log.at(handle.place, message.offset)
            if message.offset < self._log.low(handle.place):
                raise Violation(f"{handle.place} begins at {self._log.low(handle.place)}: {message}")
            if (stored.message_id, stored.attempt) != (message.message_id, message.attempt):
                raise Violation(f"{stored} lies at {handle.place}:{message.offset}, delivered was {message}")
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
        """Does a group want messages with this tag? What comes back it wants always."""
        wanted = self._tags.get(group)
        return wanted is None or tag in wanted or topic.startswith("%RETRY%")

    def _fly(self, handle: Handle, now: int) -> None:
        """A message is out under a handle: it comes back unless it is acknowledged."""
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
            latest,
            first_pop_ms=first_pop_ms,
            source=stored.physical,
            straight=not delay_ms,
        )
        old = self._flights.get(key)
        self.flights_of[handle.group, stored.message_id].append(promise)
        if old is not None and not old.kept:
            self.ambiguous.add((handle.group, stored.message_id))
            # Two deliveries with the same handle, by two requests within one millisecond: both may count, one must.
            promise.twins = old.twins
            promise.twins += [promise] if old.twins else [old, promise]
            earliest, latest = min(promise.earliest, old.earliest), max(promise.latest, old.latest)
            promise.must, old.must = old.must and not old.withdrawn, False
            for twin in promise.twins:
                twin.earliest, twin.latest = earliest, latest
        if self._mode.records and self._mode.cached:
            self._doubt(handle.group, handle.place, handle.offset)  # one record for each offset is in memory
        self._flights[key] = self._log.promise(promise)
        self._by_place[handle.group, handle.place, handle.offset].append((handle.pop_time, promise))

    # what clients do with them

    def _key(self, handle: Handle) -> Key:
        """What an acknowledgement is matched by."""
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
        """What was promised of a delivery, None for a handle that was never given out."""
        return self._flights.get(self._key(handle))

    def acked(self, seen: Acked) -> None:
        """An acknowledgement was answered: it counts until the copy is made."""
        gone = seen.handle.offset < self._log.low(seen.handle.place)
        if seen.code != ("NO_MESSAGE" if gone and not seen.batch else "SUCCESS"):
            raise Violation(f"wrong code, the queue begins at {self._log.low(seen.handle.place)}: {seen}")
        if not gone:
            self._acknowledge(seen.handle, seen.now)

    def _acknowledge(self, handle: Handle, now: int) -> None:
        promise = self._flights.get(self._key(handle))
        by_another = False
        if self._mode.cached:
            # What is in memory is matched by less than what is stored.
            for pop_time, other in self._by_place[handle.group, handle.place, handle.offset]:
                if other is not promise and (self._mode.records or pop_time == handle.pop_time):
                    other.must = False
                    by_another |= not other.kept and not other.withdrawn
        if promise is None or promise.kept:
            return
        stored = self._log.at(handle.place, handle.offset)
        delay_ms = DELAY_LEVELS_MS[stored.delay_level - 1] if stored.delay_level else 0
        # One with another invisible time lies elsewhere in the revive queue, perhaps before the check point.
        beside_it = promise.earliest == handle.hidden_until + self._mode.slack_ms + 1 + delay_ms
        if now < promise.earliest - delay_ms and not promise.twins and beside_it and not by_another:
            promise.withdrawn = True
        elif now <= promise.latest - delay_ms:
            promise.must = False

    def hidden(self, seen: Hidden) -> None:
        """A change was answered: a new delivery, and the old one is acknowledged."""
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
            # In the millisecond of its pop its check point has the key of the batch's, and takes its place.
            for offset in range(seen.new.start_offset + 1, self._log.size(seen.new.place)):
                promise = self._flights.get(self._key(seen.new._replace(offset=offset)))
                if promise is not None:
                    promise.must = False

    def reset(self, seen: Reset) -> None:
        """The group goes on reading somewhere else."""
        if self._mode.records:
            self._fall_back(seen)
        for queue_id, offset in seen.offsets:
            self._forget_cached(seen.group, (seen.topic, queue_id))
            reading = self.readings[seen.group, (seen.topic, queue_id)]
            # What nobody wants may have been passed over already, and be written down as read.
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
        """With records a reset of one queue makes all others of the topic begin where their last read began."""
        for queue_id, offset in seen.others:
            reading = self.readings[seen.group, (seen.topic, queue_id)]
            lowest = self._lowest_cached(reading, seen.now) if self._mode.cached else reading.begun(seen.now)
            if not min(lowest, reading.position) <= max(offset, 0) <= self._log.size((seen.topic, queue_id)):
                raise Violation(f"queue {queue_id} goes back to {offset}, not from {lowest}: {seen}")
            if offset < reading.position:
                if self._mode.cached:
                    # Until the next read the position moves on with what is in memory.
                    reading.again_to = reading.position
                reading.position = max(offset, 0)
                reading.moves.append((seen.now, reading.position))

    def _forget_cached(self, group: str, place: Place) -> None:
        """A reset forgets records in memory: their messages need not come back."""
        if self._mode.records and self._mode.cached:
            for offset in range(self._log.size(place)):
                self._doubt(group, place, offset)

    def _doubt(self, group: str, place: Place, offset: int) -> None:
        for _, promise in self._by_place.get((group, place, offset), ()):
            promise.must = False

    # a crash

    def crashed(self, now: int, positions: dict[tuple[str, Place], int]) -> None:
        """Groups read on from what was written last: what they got since, they get again.

        What is stored still comes back if nobody acknowledged it, and lately acknowledged messages may: their
        acknowledgements may have been in memory only, or be counted before the check point comes again.
        """
        self._waiting.clear()
        for (group, place), position in positions.items():
            reading = self.readings[group, place]
            lowest = self._lowest_after_crash(reading, now)
            # A reset may have moved it back since.
            lately = [start for when, start in reading.moves if when > now - WRITTEN_MS]
            highest = max([self.offset_bounds(group, place)[1], *lately])
            forgotten = reading.forgettable_reset(now)
            if forgotten is not None:
                lowest, highest = min(lowest, forgotten[0]), max(highest, forgotten[1])
            if not min(lowest, reading.position) <= max(position, 0) <= highest:
                raise Violation(f"{group} goes on at {position} of {place}, not from {lowest} to {highest}")
            reading.position, reading.again_to = max(position, 0), 0
            reading.before_reset = reading.reset_taken = None
            reading.moves = [(now, reading.position)]
            if self._mode.cached:
                # What was read after a reset that is forgotten was in memory, too, wherever the group goes on.
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
        # A reset may have moved it back since.
        if not self._mode.cached:
            return min(reading.begun(instant), reading.since(instant))
        return self._lowest_cached(reading, instant)

    def _lowest_cached(self, reading: Reading, instant: int) -> int:
        # It stays at the first message in memory, also when nothing is left there, until the next read.
        last_read = max((when for when, _ in reading.moves if when <= instant), default=instant)
        return min(reading.begun(last_read - IN_MEMORY_MS - LOOK_MS), reading.since(instant))

    # after each step

    def step_ended(self, now: int) -> None:
        """No message was passed over; no pop waits although there is something for it, or longer than it asked."""
        for group, place in self._dirty:
            self._move(group, place, now)
        self._dirty.clear()
        for seen in self._half_empty:
            unread = self._open_to(seen)
            if unread is not None:
                raise Violation(f"there was room for {unread}: {seen}")
            retry = self.retry_topic(seen.group, seen.topic)
            always = self._retry_always_read if not self._mode.records else seen.queue_id < 0
            if always and self.next_unread(seen.group, (retry, 0)) is not None:
                raise Violation(f"there was room for what is in {retry}: {seen}")
        self._half_empty.clear()
        for parked in self._waiting.values():
            if parked.deadline <= now:
                raise Violation(f"still waits at {now}: {parked}")
            unread = self._open_to(parked)
            if unread is not None:
                raise Violation(f"{unread} is there and {parked} sleeps")

    def _open_to(self, asked: Popped | PopParked) -> tuple[str, int, int] | None:
        """Something that the group has not got and that kept nobody from it when it was asked for."""
        for topic, queue_id, offset in self.unread(asked.group, asked.topic, asked.queue_id):
            # Two check points of one millisecond would have one key in the buffer: the later pop gets nothing.
            same = (pop_time == asked.now for pop_time, _ in self._by_place[asked.group, (topic, queue_id), offset])
            if self._mode.records or not self._mode.cached or not any(same):
                return topic, queue_id, offset
        return None

    def _move(self, group: str, place: Place, now: int) -> None:
        reading = self.readings[group, place]
        following = max(reading.fresh) + 1
        for offset in range(max(reading.position, reading.again_to, self._log.low(place)), following):
            if offset not in reading.fresh and self.wants(group, place[0], self._log.at(place, offset).tag):
                raise Violation(f"{group} did not get {place}:{offset} but what is behind it")
        reading.moves.append((now, reading.position))
        reading.takes_reset(now)
        reading.position = following
        reading.fresh.clear()

    def unread(self, group: str, topic: str, queue_id: int = -1) -> Iterator[tuple[str, int, int]]:
        """The places of a topic that hold something that the group has not got."""
        queue_ids = [queue_id] if queue_id >= 0 else sorted(self._log.queue_ids(topic))
        return (
            (topic, one, offset) for one in queue_ids if (offset := self.next_unread(group, (topic, one))) is not None
        )

    def next_unread(self, group: str, place: Place) -> int | None:
        """The next offset of a queue that a group wants."""
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
        """What a pop would begin with at this instant, within a step: in queues of the topic and of the retry topic."""
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
        """Does a queue of the topic or of the retry topic hold something after what the group got, wanted or not?"""
        places = [(name, one) for name in (topic, self.retry_topic(group, topic)) for one in self._log.queue_ids(name)]
        return any(self._log.size(place) > self.readings[group, place].position for place in places)

    def may_stand(self, group: str, place: Place, offset: int) -> bool:
        """May this be the committed offset? Who has not read what is gone stands before it, or where a queue began."""
        low, high = self.offset_bounds(group, place)
        lows = self._log.lows(place)
        if not lows or not low <= offset <= high or self._mode.records or self._mode.cached:
            return low <= offset <= high
        starts = (max(low, self.readings[group, place].again_to), *lows)
        wanted = ((start, self._wanted_from(group, place, start)) for start in starts)
        return offset == low or any(start <= offset <= (high if end is None else end) for start, end in wanted)

    def offset_bounds(self, group: str, place: Place) -> tuple[int, int]:
        """Where the committed offset of a group may be: behind what it got, before what it has not got."""
        unread = self.next_unread(group, place)
        lowest = 0 if self._mode.records or self._mode.cached else self.readings[group, place].position
        return lowest, self._log.size(place) if unread is None else unread
