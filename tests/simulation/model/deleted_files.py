"""The oracle's model of log files: which files may be deleted, and when.

Upstream allows the following and nothing else (DefaultMessageStore.CleanCommitLogService 5.3.3):

- The oldest files are deleted first and the last one stays: the start of the log only increases and stays below its
  end.
- A file is deleted once it has been full for the reserved time. This happens at an hour of the day, for a while after
  a request, or when more than `RECLAIM` percent of the disk is used. Above `FORCIBLE` percent the age does not matter.
"""

from typing import NamedTuple, Protocol

from observations import Deleted, DeletionRequested
from stored_messages import Violation

HOUR_MS = 3_600_000
NEVER = "24"
"""An hour of the day that does not exist."""
ANY_HOUR = ";".join(map(str, range(24)))
FIRST_LOOK_MS, LOOK_MS, LOOKS = 60_000, 10_000, 20
"""First check after the start (ms), interval of checks (ms), and number of checks for which a request is valid."""
RECLAIM, FORCIBLE = 75, 85


class Retention(NamedTuple):
    """Retention of a broker's log files: the hours of the day for deletions, and how long a full file is kept.

    `others` is the percentage of the disk that other programs use; `disk_bytes=0` means a disk that is never full.
    """

    hours: str = NEVER
    reserved_hours: int = 0
    disk_bytes: int = 0
    others: int = 0

    @property
    def reserved_ms(self) -> int:
        """Minimum age of a deleted file in ms."""
        return self.reserved_hours * HOUR_MS


FOR_EVER = Retention(reserved_hours=72)
"""Keeps every file: 72 hours are longer than any simulation."""
RETENTIONS = {
    "on request": Retention(),
    "always": Retention(ANY_HOUR),
    "after an hour": Retention(ANY_HOUR, 1),
    "on request, after an hour": Retention(NEVER, 1),
    "disk": Retention(NEVER, 1, 8 * 1024 * 1024, 70),
}


class Log(Protocol):
    """State of a log before the current observation."""

    @property
    def begin(self) -> int:
        """Its first physical offset."""

    def newest_before(self, physical: int) -> int | None:
        """Return when the last message before a physical offset was stored; None if there is none."""


class DeletedFiles:
    """Deletions in the log of one broker; without `retention` none is allowed."""

    def __init__(self, log: Log, retention: Retention | None) -> None:
        self._log = log
        self._retention = retention
        self._requested_ms: int | None = None

    def deletion_requested(self, seen: DeletionRequested) -> None:
        """Record a request to delete files."""
        self._requested_ms = seen.now

    def deleted(self, seen: Deleted) -> None:
        """Check a deletion of files."""
        kept = self._retention
        if kept is None or not self._log.begin < seen.low < seen.high:
            raise Violation(f"the log began at {self._log.begin}: {seen}")
        used = self._used(kept, seen.high)
        requested = self._requested_ms is not None and seen.now <= self._requested_ms + FIRST_LOOK_MS + LOOKS * LOOK_MS
        if kept.hours == NEVER and not requested and used <= RECLAIM:
            raise Violation(f"deletion without a request, and {used} % of the disk is used: {seen}")
        young = self._log.newest_before(seen.low)
        if young is not None and seen.now - young < kept.reserved_ms and used <= FORCIBLE:
            raise Violation(f"deletion of a message stored at {young}, and {used} % of the disk is used: {seen}")

    def _used(self, kept: Retention, high: int) -> int:
        """Return the highest possible percentage of used disk; files are not completely full."""
        if not kept.disk_bytes:
            return 0
        return kept.others + -(-(high - self._log.begin) * 100 // kept.disk_bytes)
