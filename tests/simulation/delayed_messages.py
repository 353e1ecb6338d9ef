"""The oracle's book of delay levels: what waits by one level comes in the order in which it was sent.

What upstream allows, and nothing else (ScheduleMessageService.DeliverDelayedMessageTimerTask 5.3.3): a level is a queue
that is read from its head, and a head that is not due stops it. After a crash some of it may come again; what has never
come still comes in its order. When it comes is in the book of stored messages.
"""

from collections import defaultdict, deque

from observations import Sent, Stored
from stored_messages import Violation


class DelayedMessages:
    """The messages of all delay levels that have not come yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[str]] = defaultdict(deque)

    def sent(self, seen: Sent) -> None:
        """A send was accepted."""
        if seen.delay_level:
            self._waiting[seen.delay_level].append(seen.message_id)

    def appeared(self, seen: Stored) -> None:
        """A message appeared: the first of its level, unless it comes again."""
        waiting = self._waiting[seen.delay_level]
        if seen.attempt or seen.message_id not in waiting:
            return
        if (first := waiting.popleft()) != seen.message_id:
            raise Violation(f"{first} was sent before, by the same level: {seen}")
