"""Flush: the flushed end of the commit log, which is the end of the log that survives a power loss.

With SYNC_FLUSH the whole log is flushed. With ASYNC_FLUSH upstream checks every `flushIntervalCommitLog` and flushes if
`flushCommitLogLeastPages` pages are dirty, or if `flushCommitLogThoroughInterval` has passed. The emulator runs nothing
at those instants: the first append after a check performs it.
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
        """The first check that was not performed yet."""

    def catch_up(self, now_ms: int, end: int) -> None:
        """Perform the checks due up to now; the log has ended at `end` since the last of them."""
        if now_ms < self.next_check_ms:
            return
        config = self._config
        interval = config.flush_interval_commit_log
        last_check_ms = self.next_check_ms + (now_ms - self.next_check_ms) // interval * interval
        if last_check_ms >= self._thorough_ms + config.flush_commit_log_thorough_interval:
            self._flushed, self._thorough_ms = end, last_check_ms
        elif end // PAGE_BYTES - self._flushed // PAGE_BYTES >= config.flush_commit_log_least_pages:
            self._flushed = end
        self.next_check_ms = last_check_ms + interval

    def flushed(self, now_ms: int, end: int) -> int:
        """Return the flushed end of a log that ends at `end`."""
        if self._config.flush_disk_type == "SYNC_FLUSH":
            return end
        self.catch_up(now_ms, end)
        return self._flushed
