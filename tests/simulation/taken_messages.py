"""The book of what a group took by pops: what it did not acknowledge comes again, as far as that can be promised.

What upstream allows, and nothing else (PopMessageProcessor, PopReviveService 5.3.3):

- A check point, and the copy that comes in the end, are messages in the log. So what was taken and not acknowledged
  comes again after any death that takes no record of it: one of the process alone, one with synchronous flushing, and
  a loss of power that finds both the check point and the copy on disk, or the copy not yet made.
- What was acknowledged may come again; nothing is promised of it.
"""

from dataclasses import dataclass

from kept_messages import AT_RISK_MS, KeptMessages
from popped_messages import CHECK_POINTS
from stored_messages import CATCHES_UP_MS

INVISIBLE_MS = 10_000


@dataclass(slots=True)
class _Taken:
    """The last delivery of a message."""

    popped_ms: int
    certain: bool = True
    """Nothing that it needs to come again is known to be at risk."""
    paused_ms: int = 0
    """How much longer it may take to come again, because the broker was away."""

    def is_at_risk(self, now: int) -> bool:
        """Could a loss of power at this instant take the check point, or the copy?"""
        copied_from = self.popped_ms + INVISIBLE_MS
        copied_until = copied_from + CHECK_POINTS.late_ms + self.paused_ms
        return self.popped_ms >= now - AT_RISK_MS or (copied_from <= now and copied_until >= now - AT_RISK_MS)


class TakenMessages:
    """What one group took from one broker."""

    def __init__(self, kept: KeptMessages) -> None:
        self._kept = kept
        self._taken: dict[str, _Taken] = {}

    def popped(self, message_id: str, now: int) -> None:
        """A message was handed out, for the first time or again."""
        known = self._taken.get(message_id)
        self._taken[message_id] = _Taken(now, known is None or known.certain)

    def acked(self, message_id: str) -> None:
        """A delivery was acknowledged."""
        self._taken.pop(message_id, None)

    def died(self, now: int, *, power_loss: bool) -> None:
        """The broker has begun again; what it did lately it may do once more, and later."""
        sync = self._kept.broker.config.flush_disk_type == "SYNC_FLUSH"
        for taken in self._taken.values():
            if power_loss and not sync and taken.is_at_risk(now):
                taken.certain = False
            taken.paused_ms += CATCHES_UP_MS

    def away(self, ms: int) -> None:
        """The broker was down for so long."""
        for taken in self._taken.values():
            taken.paused_ms += ms

    def missing(self) -> list[str]:
        """What should have come again by now, and did not."""
        there = {kept.message_id for kept in self._kept.log}
        return [message_id for message_id, taken in self._taken.items() if taken.certain and message_id in there]
