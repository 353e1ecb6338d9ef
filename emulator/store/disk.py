"""How full the disk is that a broker's store lies on, and what follows from it.

It is a disk of `storeDiskBytes`, of which others use `diskUsedRatio`; without these keys there is always room.
Source: DefaultMessageStore.CleanCommitLogService.isSpaceToDelete, RunningFlags, UtilAll (5.3.3).
"""

from enum import IntEnum

from ..config import BrokerConfig


class Pressure(IntEnum):
    """What a look at the disk asks for."""

    NONE = 0
    RECLAIM = 1
    """Files that are old enough are deleted, whatever the hour is."""
    FORCIBLE = 2
    """Files of any age are deleted."""
    FULL = 3
    """They are, and nothing is stored until a look finds the disk less than FORCIBLE."""


class Disk:
    """The disk of one broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.full = False
        """Whether a look has found it full: nothing is stored. A new run begins without having looked."""

    @property
    def bounded(self) -> bool:
        """Whether what is stored counts."""
        return self._config.store_disk_bytes > 0

    def used(self, stored_bytes: int) -> float:
        """The share that is used, 0 to 1, in whole percents rounded up."""
        percent = self._config.disk_used_ratio
        if self.bounded:
            percent += -(-stored_bytes * 100 // self._config.store_disk_bytes)
        return min(percent, 100) / 100

    def pressure(self, stored_bytes: int) -> Pressure:
        """What a look would find."""
        config, used = self._config, self.used(stored_bytes)
        if used > _within(config.disk_space_warning_level_ratio, 35, 90):
            return Pressure.FULL
        if used > _within(config.disk_space_clean_forcibly_ratio, 30, 85):
            return Pressure.FORCIBLE
        if used > _within(config.disk_max_used_space_ratio, 10, 95):
            return Pressure.RECLAIM
        return Pressure.NONE

    def look(self, stored_bytes: int) -> Pressure:
        """What a look finds; it notes whether the disk is full."""
        pressure = self.pressure(stored_bytes)
        self.full = self.would_be_full(pressure)
        return pressure

    def would_be_full(self, pressure: Pressure) -> bool:
        """Whether it is full after a look that finds this: between the two levels it stays as it was."""
        return pressure is Pressure.FULL or (self.full and pressure is Pressure.FORCIBLE)


def _within(percent: int, low: int, high: int) -> float:
    return min(max(percent, low), high) / 100
