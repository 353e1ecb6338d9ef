"""The oracle's model of popped messages across crashes: unacknowledged ones are redelivered unless a crash lost them.

Upstream allows the following and nothing else (PopMessageProcessor, PopReviveService 5.3.3):

- A check point and the redelivered copy are messages in the log. An unacknowledged message is therefore redelivered
  after any crash that loses neither. A crash of the process and a power loss with synchronous flush lose neither. A
  power loss without it loses neither if both are on disk, or if the check point is and there is no copy yet.
- An acknowledged message may be redelivered; nothing is guaranteed for it.
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
    """False once a power loss may have lost its check point or its copy."""
    paused_ms: int = 0
    """Additional time for its redelivery, because the broker was stopped."""

    def is_at_risk(self, now: int) -> bool:
        """Return True if a power loss now could lose the check point or the copy."""
        copied_from = self.popped_ms + INVISIBLE_MS
        copied_until = copied_from + CHECK_POINTS.late_ms + self.paused_ms
        return self.popped_ms >= now - AT_RISK_MS or (copied_from <= now and copied_until >= now - AT_RISK_MS)


class TakenMessages:
    """Messages popped by one group from one broker."""

    def __init__(self, kept: KeptMessages) -> None:
        self._kept = kept
        self._taken: dict[str, _Taken] = {}

    def popped(self, message_id: str, now: int) -> None:
        """Record a delivery, the first or a later one."""
        known = self._taken.get(message_id)
        self._taken[message_id] = _Taken(now, known is None or known.certain)

    def acked(self, message_id: str) -> None:
        """Record an acknowledgement."""
        self._taken.pop(message_id, None)

    def died(self, now: int, *, power_loss: bool) -> None:
        """Record a crash: the broker may repeat recent deliveries, and its redeliveries come later."""
        sync = self._kept.broker.config.flush_disk_type == "SYNC_FLUSH"
        for taken in self._taken.values():
            if power_loss and not sync and taken.is_at_risk(now):
                taken.certain = False
            taken.paused_ms += CATCHES_UP_MS

    def away(self, ms: int) -> None:
        """Record that the broker was stopped for `ms`."""
        for taken in self._taken.values():
            taken.paused_ms += ms

    def missing(self) -> list[str]:
        """Return the messages that should have been redelivered by now."""
        there = {kept.message_id for kept in self._kept.log}
        return [message_id for message_id, taken in self._taken.items() if taken.certain and message_id in there]
