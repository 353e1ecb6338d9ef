"""The oracle's book of the files of the log: which may be deleted, and when.

What upstream allows, and nothing else (DefaultMessageStore.CleanCommitLogService 5.3.3):

- The oldest go first and the last stays: the log begins ever later, and never behind its end.
- A file goes when it has been full for as long as it is reserved, at an hour of the day, for a while after the broker
  was told to delete, or when the disk is used by more than `RECLAIM` percent. Above `FORCIBLE` percent its age does not
  matter.
"""

from typing import NamedTuple, Protocol

from observations import Deleted, Told
from stored_messages import Violation

HOUR_MS = 3_600_000
NEVER = "24"
"""An hour of the day that does not come."""
ANY_HOUR = ";".join(map(str, range(24)))
FIRST_LOOK_MS, LOOK_MS, LOOKS = 60_000, 10_000, 20
"""When the broker looks first after its start, how often, and how often it does what it was told."""
RECLAIM, FORCIBLE = 75, 85


class Retention(NamedTuple):
    """How long a broker keeps files; `others` is the share of its disk that others use, in percent."""

    hours: str = NEVER
    reserved_hours: int = 0
    disk_bytes: int = 0
    others: int = 0

    @property
    def reserved_ms(self) -> int:
        """How old a file must be."""
        return self.reserved_hours * HOUR_MS


FOR_EVER = Retention(reserved_hours=72)
"""As long as a simulation may last."""
RETENTIONS = {
    "told": Retention(),
    "always": Retention(ANY_HOUR),
    "an hour": Retention(ANY_HOUR, 1),
    "told, an hour": Retention(NEVER, 1),
    "disk": Retention(NEVER, 1, 8 * 1024 * 1024, 70),
}


class Log(Protocol):
    """What is known of a log, before what is seen now."""

    @property
    def begin(self) -> int:
        """Where it begins."""

    def newest_before(self, physical: int) -> int | None:
        """When the last of what lies before a place was stored, None for nothing."""


class DeletedFiles:
    """The log of a broker that keeps files for so long; for ever if nothing is said."""

    def __init__(self, log: Log, retention: Retention | None) -> None:
        self._log = log
        self._retention = retention
        self._told_ms: int | None = None

    def told(self, seen: Told) -> None:
        """The broker was told to delete."""
        self._told_ms = seen.now

    def deleted(self, seen: Deleted) -> None:
        """Files were deleted."""
        kept = self._retention
        if kept is None or not self._log.begin < seen.low < seen.high:
            raise Violation(f"the log began at {self._log.begin}: {seen}")
        used = self._used(kept, seen.high)
        told = self._told_ms is not None and seen.now <= self._told_ms + FIRST_LOOK_MS + LOOKS * LOOK_MS
        if kept.hours == NEVER and not told and used <= RECLAIM:
            raise Violation(f"nobody told it to, and {used} % of the disk are used: {seen}")
        young = self._log.newest_before(seen.low)
        if young is not None and seen.now - young < kept.reserved_ms and used <= FORCIBLE:
            raise Violation(f"what was stored at {young} is gone, and {used} % of the disk are used: {seen}")

    def _used(self, kept: Retention, high: int) -> int:
        """The percentage of the disk that was used, at most: files are not quite full."""
        if not kept.disk_bytes:
            return 0
        return kept.others + -(-(high - self._log.begin) * 100 // kept.disk_bytes)
