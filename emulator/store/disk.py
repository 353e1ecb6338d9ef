"""Disk usage of a broker's store, and its consequences.

The disk has `storeDiskBytes` bytes, and `diskUsedRatio` of it is used by others. Without these keys it is never full.
Source: DefaultMessageStore.CleanCommitLogService.isSpaceToDelete, RunningFlags, UtilAll (5.3.3).
"""

from enum import IntEnum

from ..config import BrokerConfig


class Pressure(IntEnum):
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
        """True if a check found the disk full: nothing is stored. A new run starts without a check."""

    @property
    def bounded(self) -> bool:
        """True if the disk has a size, so that stored bytes fill it."""
        return self._config.store_disk_bytes > 0

    def used(self, stored_bytes: int) -> float:
        """Return the used share of the disk, 0 to 1, in whole percent rounded up."""
        percent = self._config.disk_used_ratio
        if self.bounded:
            percent += -(-stored_bytes * 100 // self._config.store_disk_bytes)
        return min(percent, 100) / 100

    def pressure(self, stored_bytes: int) -> Pressure:
        """Return the level that a check would find."""
        config, used = self._config, self.used(stored_bytes)
        if used > _within(config.disk_space_warning_level_ratio, 35, 90):
            return Pressure.FULL
        if used > _within(config.disk_space_clean_forcibly_ratio, 30, 85):
            return Pressure.FORCIBLE
        if used > _within(config.disk_max_used_space_ratio, 10, 95):
            return Pressure.RECLAIM
        return Pressure.NONE

    def look(self, stored_bytes: int) -> Pressure:
        """Check the disk: return its level and update `full`."""
        pressure = self.pressure(stored_bytes)
        self.full = self.would_be_full(pressure)
        return pressure

    def would_be_full(self, pressure: Pressure) -> bool:
        """Return the value of `full` after a check that finds this level: between the two limits it does not change."""
        return pressure is Pressure.FULL or (self.full and pressure is Pressure.FORCIBLE)


def _within(percent: int, low: int, high: int) -> float:
    return min(max(percent, low), high) / 100
