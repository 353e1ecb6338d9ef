"""Disk usage of a broker's store, and its consequences.

The disk has `storeDiskBytes` bytes, of which other programs use `diskUsedRatio` percent. Without these keys it is never
full.
Source: DefaultMessageStore.CleanCommitLogService.isSpaceToDelete, RunningFlags, UtilAll (5.3.3).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from ..config import BrokerConfig


class DiskLevel(IntEnum):
    """Disk usage level, as found by a disk check."""

    NONE = 0
    RECLAIM = 1
    """Expired files are deleted at any hour."""
    FORCIBLE = 2
    """Files of any age are deleted."""
    FULL = 3
    """Files of any age are deleted, and nothing is stored until a check finds a level below FORCIBLE."""


class Disk:
    """The simulated disk of one broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.full = False
        """True if a check found the disk full: nothing is stored."""
        self._used_percent_min = 0

    def begin_run(self) -> None:
        """Begin a run of the broker, which accepts messages until its first check."""
        self.full = False

    @property
    def bounded(self) -> bool:
        """True if the disk has a size, so that stored bytes fill it."""
        return self._config.store_disk_bytes > 0

    def used(self, stored_bytes: int) -> float:
        """Return the used share of the disk, 0 to 1, in whole percent rounded up."""
        percent = self._config.disk_used_ratio
        if self.bounded:
            percent += -(-stored_bytes * 100 // self._config.store_disk_bytes)
        return min(max(percent, self._used_percent_min), 100) / 100

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Treat the disk as full within a block."""
        before = self.full, self._used_percent_min
        self.full = True
        self._used_percent_min = min(max(self._config.disk_space_warning_level_ratio, 35), 90) + 1
        try:
            yield
        finally:
            self.full, self._used_percent_min = before

    def level(self, stored_bytes: int) -> DiskLevel:
        """Return the level that a check would find."""
        config, used = self._config, self.used(stored_bytes)
        if used > _within(config.disk_space_warning_level_ratio, 35, 90):
            return DiskLevel.FULL
        if used > _within(config.disk_space_clean_forcibly_ratio, 30, 85):
            return DiskLevel.FORCIBLE
        if used > _within(config.disk_max_used_space_ratio, 10, 95):
            return DiskLevel.RECLAIM
        return DiskLevel.NONE

    def check(self, stored_bytes: int) -> DiskLevel:
        """Check the disk: return its level and update `full`."""
        level = self.level(stored_bytes)
        self.full = self.full_after(level)
        return level

    def full_after(self, level: DiskLevel) -> bool:
        """Return the value of `full` after a check that finds this level: between the two limits it does not change."""
        return level is DiskLevel.FULL or (self.full and level is DiskLevel.FORCIBLE)


def _within(percent: int, low: int, high: int) -> float:
    return min(max(percent, low), high) / 100
