"""The oracle's book of delay levels: what waits by one level comes in the order in which it was sent.

What upstream allows, and nothing else (ScheduleMessageService.DeliverDelayedMessageTimerTask 5.3.3): a level is a queue
that is read from its head, and a head that is not due stops it. After a crash some of it may come again; what has never
come still comes in its order, but for what was deleted. When it comes is in the book of stored messages.
"""

from collections import defaultdict, deque

from observations import Sent, Stored
from stored_messages import Violation


class DelayedMessages:
    """The messages of all delay levels that have not come yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[tuple[str, int]]] = defaultdict(deque)
        """(message id, where it lies in the log) by level."""

    def sent(self, seen: Sent) -> None:
        """A send was accepted."""
        if seen.delay_level:
            self._waiting[seen.delay_level].append((seen.message_id, seen.physical))

    def deleted(self, begin: int) -> None:
        """The log begins later: what lay before that never comes."""
        for waiting in self._waiting.values():
            while waiting and waiting[0][1] < begin:
                waiting.popleft()

    def appeared(self, seen: Stored) -> None:
        """A message appeared: the first of its level, unless it comes again."""
        waiting = self._waiting[seen.delay_level]
        if seen.attempt or all(message_id != seen.message_id for message_id, _ in waiting):
            return
        if (first := waiting.popleft()[0]) != seen.message_id:
            raise Violation(f"{first} was sent before, by the same level: {seen}")
