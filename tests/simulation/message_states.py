"""The oracle's book of what a message is for a group that pops: always one thing at a time.

Of each message that a group wants, and of each copy of it that came back, it is one of

    visible     it lies in the topic or in the retry topic, and the group has not got it
    in flight   the group has it under a handle that may still bring it back
    done        it was acknowledged, or nobody knows any more whether it was and it did not come back in time
    gone        its file was deleted before the group got it

and a message in the dead letter topic of the group is done: who gives it up acknowledges it in the same breath. What
waits for its time before it is visible is in the books of timed messages and transactions.

Upstream itself makes more of a message than one thing, and of such a message nothing is said here: by a change that is
not of its only flight, by two deliveries with one handle, by an acknowledgement that comes too late for a message that
is given up or is that of a handle that was changed, by a reset, by a crash.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from observations import Acked, Hidden, Place, Popped, Reset, Stored
from popped_messages import PoppedMessages
from stored_messages import StoredMessages, Violation

Key = tuple[str, str]
"""(group, message id)"""


class MessageStates:
    """All messages, for all groups that pop without order."""

    def __init__(self, log: StoredMessages, pops: PoppedMessages, groups: Iterable[str], topics: Iterable[str]) -> None:
        self._log = log
        self._pops = pops
        self._groups = tuple(groups)
        self._topics = frozenset(topics)
        self._copies = {pops.retry_topic(group, topic): group for group in self._groups for topic in self._topics}
        self._letters = {f"%DLQ%{group}": group for group in self._groups}
        self._places: dict[Key, list[tuple[Place, int]]] = defaultdict(list)
        self._sent: Counter[Key] = Counter()
        self._dead: set[Key] = set()
        self._touched: set[Key] = set()
        self._gone: set[tuple[Key, Place, int]] = set()
        """Messages and copies that groups had not got when they were deleted."""

    def appeared(self, seen: Stored) -> None:
        """A message, a copy or a dead letter appeared."""
        place = ((seen.topic, seen.queue_id), seen.offset)
        if seen.topic in self._topics:
            for group in self._groups:
                if self._pops.wants(group, seen.topic, seen.tag):
                    self._sent[group, seen.message_id] += 1
                    self._lies((group, seen.message_id), place)
        elif seen.topic in self._copies:
            self._lies((self._copies[seen.topic], seen.message_id), place)
        elif seen.topic in self._letters:
            key = (self._letters[seen.topic], seen.message_id)
            self._dead.add(key)
            self._touched.add(key)

    def _lies(self, key: Key, place: tuple[Place, int]) -> None:
        self._places[key].append(place)
        self._touched.add(key)

    def popped(self, seen: Popped) -> None:
        """Messages are in flight."""
        self._touched.update((seen.group, message.message_id) for message in seen.messages)

    def acked(self, seen: Acked) -> None:
        """A message may be done."""
        handle = seen.handle
        if handle.offset < self._log.size(handle.place):
            key = (handle.group, self._log.at(handle.place, handle.offset).message_id)
            self._touched.add(key)
            flight = self._pops.flight(handle)
            if key in self._dead and (flight is None or flight.replaced or not flight.withdrawn):
                self._pops.ambiguous.add(key)

    def hidden(self, seen: Hidden) -> None:
        """A message is in flight under another handle."""
        for handle in (seen.handle, seen.new):
            if handle is not None:
                self._touched.add((handle.group, self._log.at(handle.place, handle.offset).message_id))

    def reset(self, seen: Reset) -> None:
        """A group reads again, or never, what it has or has not got."""
        self._pops.ambiguous.update(key for key in self._sent if key[0] == seen.group)

    def crashed(self) -> None:
        """What was done lately may be undone."""
        self._pops.ambiguous.update(self._sent)

    def deleted(self) -> None:
        """Whatever lay there and was not read is gone."""
        for key, places in self._places.items():
            for place, offset in places:
                if offset < self._log.low(place) and self._is_unread(key[0], place, offset):
                    self._gone.add((key, place, offset))
                self._touched.add(key)

    @property
    def gone(self) -> int:
        """How many messages and copies groups never got."""
        return len(self._gone)

    def _is_unread(self, group: str, place: Place, offset: int) -> bool:
        reading = self._pops.readings[group, place]
        return offset >= reading.position and offset not in reading.fresh

    def drained(self) -> None:
        """At last everything is judged once more."""
        self._touched.update(self._sent)

    def step_ended(self, now: int) -> None:
        """Whatever happened to a message, it is one thing, and nothing else if it is dead."""
        for key in sorted(self._touched - self._pops.ambiguous):
            visible, in_flight, done = self._count(key, now)
            gone = sum((key, *place) in self._gone for place in self._places[key])
            if visible + in_flight + done + gone != self._sent[key] or (key in self._dead and not done):
                dead = f", {gone} gone" * bool(gone) + " and it is dead" * (key in self._dead)
                states = f"{visible} visible, {in_flight} in flight, {done} done{dead}"
                raise Violation(f"{key[1]} was sent {self._sent[key]} times and is for {key[0]} {states} at {now}")
        self._touched.clear()

    def _count(self, key: Key, now: int) -> tuple[int, int, int]:
        visible = in_flight = done = 0
        for place, offset in self._places[key]:
            reading = self._pops.readings[key[0], place]
            visible += offset >= reading.position and (key, place, offset) not in self._gone
        for flight in self._pops.flights_of[key]:
            if flight.withdrawn or (not flight.kept and not flight.must and flight.latest < now):
                done += not flight.replaced
            elif not flight.kept:
                in_flight += 1
        return visible, in_flight, done
