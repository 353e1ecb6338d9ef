"""The oracle's model of delay levels: messages of one level are delivered in the order in which they were sent.

Upstream allows the following and nothing else (ScheduleMessageService.DeliverDelayedMessageTimerTask 5.3.3). A level is
a queue that is read from its head, and a head that is not due blocks it. After a crash some messages may be delivered
again. Undelivered ones are still delivered in order, except deleted ones. `stored_messages.py` checks the times of
delivery.
"""

from collections import defaultdict, deque

from observations import Sent, Stored
from stored_messages import Violation


class DelayedMessages:
    """The undelivered messages of all delay levels."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[tuple[str, int]]] = defaultdict(deque)
        """(message id, physical offset) by level."""

    def sent(self, seen: Sent) -> None:
        """Add an accepted send that has a delay level."""
        if seen.delay_level:
            self._waiting[seen.delay_level].append((seen.message_id, seen.physical))

    def deleted(self, begin: int) -> None:
        """Remove messages before the new start of the log, which are never delivered."""
        for waiting in self._waiting.values():
            while waiting and waiting[0][1] < begin:
                waiting.popleft()

    def appeared(self, seen: Stored) -> None:
        """Check that a stored message is the first of its level, unless it is delivered again."""
        waiting = self._waiting[seen.delay_level]
        if seen.attempt or all(message_id != seen.message_id for message_id, _ in waiting):
            return
        if (first := waiting.popleft()[0]) != seen.message_id:
            raise Violation(f"{first} was sent earlier with the same level and is not delivered: {seen}")
