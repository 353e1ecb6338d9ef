"""Flush: the flushed end of the commit log, which is the end of the log that survives a power loss.

With SYNC_FLUSH the whole log is flushed. With ASYNC_FLUSH upstream checks every `flushIntervalCommitLog` and flushes if
`flushCommitLogLeastPages` pages are dirty, or if `flushCommitLogThoroughInterval` has passed. The emulator runs nothing
at those instants: the next append, or the next read of the flushed end, performs the checks that are due.
Source: CommitLog.FlushRealTimeService, CommitLog.GroupCommitService, MappedFile.isAbleToFlush (5.3.3).
"""

from ..config import BrokerConfig

PAGE_BYTES = 4096


class FlushPosition:
    """The flushed end of a commit log, initially its current end."""

    def __init__(self, config: BrokerConfig, now_ms: int, end: int) -> None:
        self._config = config
        self._flushed = end
        self._thorough_ms = now_ms
        self.next_check_ms = now_ms + config.flush_interval_commit_log
        """The time of the first check that was not performed yet."""

    def catch_up(self, now_ms: int, end: int) -> None:
        """Perform the checks due up to now. The log must have ended at `end` since the first of them."""
        if now_ms < self.next_check_ms:
            return
        config, check_ms = self._config, self.next_check_ms
        interval, thorough_interval = config.flush_interval_commit_log, config.flush_commit_log_thorough_interval
        last_check_ms = check_ms + (now_ms - check_ms) // interval * interval
        thorough_due_ms = self._thorough_ms + thorough_interval
        if last_check_ms >= thorough_due_ms:
            first_ms = check_ms + max(_rounded_up(thorough_due_ms - check_ms, interval), 0)
            period = max(_rounded_up(thorough_interval, interval), interval)
            self._flushed, self._thorough_ms = end, first_ms + (last_check_ms - first_ms) // period * period
        elif end // PAGE_BYTES - self._flushed // PAGE_BYTES >= config.flush_commit_log_least_pages:
            self._flushed = end
        self.next_check_ms = last_check_ms + interval

    def flushed(self, now_ms: int, end: int) -> int:
        """Return the flushed end of a log that ends at `end`."""
        if self._config.flush_disk_type == "SYNC_FLUSH":
            return end
        self.catch_up(now_ms, end)
        return self._flushed


def _rounded_up(ms: int, interval: int) -> int:
    """Return the next multiple of an interval."""
    return -(-ms // interval) * interval
