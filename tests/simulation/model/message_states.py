"""The oracle's model of message states: for a group that pops, each message is in exactly one state.

Each message that a group wants, and each of its copies, is one of

    visible     it is in the topic or in the retry topic, and the group has not received it
    in flight   the group received it with a handle, and it may be redelivered
    done        it was acknowledged, or a possible acknowledgement is unconfirmed and it was not redelivered in time
    gone        its file was deleted before the group received it

A message in the dead letter queue of the group is done, because the client acknowledges it at the same time. Timer and
half messages that wait before they are visible are checked by other models.

Upstream itself puts some messages into several states; those are not checked. The causes are a change by an older
handle than the latest, two deliveries with one handle, a late acknowledgement of a dead letter, an acknowledgement by a
changed handle, an offset reset, and a crash.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from observations import Acked, Hidden, Place, Popped, Reset, Stored
from popped_messages import PoppedMessages
from stored_messages import StoredMessages, Violation

Key = tuple[str, str]
"""(group, message id)"""


class MessageStates:
    """States of all messages, for all groups that pop without order."""

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
        """Messages and copies that were deleted before their group got them."""

    def appeared(self, seen: Stored) -> None:
        """Record a stored message, copy or dead letter."""
        place = ((seen.topic, seen.queue_id), seen.offset)
        if seen.topic in self._topics:
            for group in self._groups:
                if self._pops.wants(group, seen.topic, seen.tag):
                    self._sent[group, seen.message_id] += 1
                    self._add_place((group, seen.message_id), place)
        elif seen.topic in self._copies:
            self._add_place((self._copies[seen.topic], seen.message_id), place)
        elif seen.topic in self._letters:
            key = (self._letters[seen.topic], seen.message_id)
            self._dead.add(key)
            self._touched.add(key)

    def _add_place(self, key: Key, place: tuple[Place, int]) -> None:
        self._places[key].append(place)
        self._touched.add(key)

    def popped(self, seen: Popped) -> None:
        """Record that messages are in flight."""
        self._touched.update((seen.group, message.message_id) for message in seen.messages)

    def acked(self, seen: Acked) -> None:
        """Record an acknowledgement: its message may be done."""
        handle = seen.handle
        if handle.offset < self._log.size(handle.place):
            key = (handle.group, self._log.at(handle.place, handle.offset).message_id)
            self._touched.add(key)
            flight = self._pops.flight(handle)
            if key in self._dead and (flight is None or flight.replaced or not flight.withdrawn):
                self._pops.ambiguous.add(key)

    def hidden(self, seen: Hidden) -> None:
        """Record that a message is in flight under another handle."""
        for handle in (seen.handle, seen.new):
            if handle is not None:
                self._touched.add((handle.group, self._log.at(handle.place, handle.offset).message_id))

    def reset(self, seen: Reset) -> None:
        """Record an offset reset: the group may read messages again or skip them."""
        self._pops.ambiguous.update(key for key in self._sent if key[0] == seen.group)

    def crashed(self) -> None:
        """Record a crash: recent acknowledgements may be lost."""
        self._pops.ambiguous.update(self._sent)

    def deleted(self) -> None:
        """Record a deletion: unread messages in the deleted part become `gone`."""
        for key, places in self._places.items():
            for place, offset in places:
                if offset < self._log.low(place) and self._is_unread(key[0], place, offset):
                    self._gone.add((key, place, offset))
                self._touched.add(key)

    @property
    def gone(self) -> int:
        """Number of messages and copies that groups never got."""
        return len(self._gone)

    def _is_unread(self, group: str, place: Place, offset: int) -> bool:
        reading = self._pops.readings[group, place]
        return offset >= reading.position and offset not in reading.fresh

    def drained(self) -> None:
        """Mark all messages for a last check."""
        self._touched.update(self._sent)

    def step_ended(self, now: int) -> None:
        """Check that each changed message is in one state, and done if it is a dead letter."""
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
