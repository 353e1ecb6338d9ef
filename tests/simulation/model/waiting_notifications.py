"""The oracle's model of notifications: requests that wait until a pop would find messages.

Upstream allows the following and nothing else (NotificationProcessor, PopLongPollingService 5.3.3):

- A notification is answered at once if its group has unread messages in the topic or the retry topic, and waits
  otherwise.
- A stored message ends one wait of each group, the one with the latest deadline. A message of a V2 retry topic does so,
  too. A message of a V1 retry topic ends no wait, nor does a reset.
- A wait ends at its deadline, and its response says whether there are messages then.
"""

from collections import Counter
from collections.abc import Iterable

from observations import Notified, NotifyParked, Reset, Stored
from popped_messages import PoppedMessages
from stored_messages import Violation


class WaitingNotifications:
    """All notifications of popping groups; they wait for any queue."""

    def __init__(self, pops: PoppedMessages, groups: Iterable[str], *, retry_v2: bool) -> None:
        self._pops = pops
        self._groups = tuple(groups)
        self._retry_v2 = retry_v2
        self._waiting: dict[int, NotifyParked] = {}
        self._arrived: list[tuple[str, str, Stored]] = []
        """(group, topic, message) of this step, for messages of topics that a request waited for."""
        self._notified: Counter[tuple[str, str]] = Counter()

    def appeared(self, seen: Stored) -> None:
        """Record a stored message that may end waits."""
        for group, topic in {(parked.group, parked.topic) for parked in self._waiting.values()}:
            copies = self._pops.retry_topic(group, topic)
            if seen.topic == topic or (self._retry_v2 and seen.topic == copies):
                self._arrived.append((group, topic, seen))

    def parked(self, seen: NotifyParked) -> None:
        """Check a parked notification."""
        if seen.deadline <= seen.now:
            raise Violation(f"waits without time left: {seen}")
        if there := self._pops.there(seen.group, seen.topic):
            raise Violation(f"waits although {there} is there: {seen}")
        self._waiting[seen.call] = seen

    def notified(self, seen: Notified) -> None:
        """Check a response to a notification."""
        self._waiting.pop(seen.call, None)
        if not seen.has_message:
            if seen.now < seen.deadline:
                raise Violation(f"gave up before its time: {seen}")
            if there := self._pops.there(seen.group, seen.topic):
                raise Violation(f"reports no messages, although {there} is there: {seen}")
            return
        if not self._pops.is_behind(seen.group, seen.topic):
            raise Violation(f"reports messages that are not there: {seen}")
        if seen.waited and seen.now < seen.deadline:
            self._notified[seen.group, seen.topic] += 1
            for other in self._waiting.values():
                if (other.group, other.topic) == (seen.group, seen.topic) and other.deadline > seen.deadline:
                    raise Violation(f"{other} waits longer and was passed over: {seen}")

    def reset(self, seen: Reset) -> None:
        """Record a reset, which wakes no notification; its group's waits are no longer checked."""
        for call, parked in list(self._waiting.items()):
            if (parked.group, parked.topic) == (seen.group, seen.topic):
                del self._waiting[call]

    def gone(self, client: str) -> None:
        """Remove the notifications of a disconnected client."""
        self._waiting = {call: parked for call, parked in self._waiting.items() if parked.client != client}

    def crashed(self) -> None:
        """Remove all waiting notifications."""
        self._waiting.clear()

    def step_ended(self, now: int) -> None:
        """Check that each unread new message ended a wait, and that no request waits past its deadline."""
        for parked in self._waiting.values():
            if parked.deadline <= now:
                raise Violation(f"still waits at {now}: {parked}")
            key = (parked.group, parked.topic)
            left = [
                seen for group, topic, seen in self._arrived if (group, topic) == key and self._is_unread(group, seen)
            ]
            if len(left) > self._notified[key]:
                raise Violation(f"{left} woke {self._notified[key]} requests, and not {parked}")
        self._arrived.clear()
        self._notified.clear()

    def _is_unread(self, group: str, seen: Stored) -> bool:
        unread = self._pops.next_unread(group, (seen.topic, seen.queue_id))
        return unread is not None and unread <= seen.offset and self._pops.wants(group, seen.topic, seen.tag)
