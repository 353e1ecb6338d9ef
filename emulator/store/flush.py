"""How far the commit log is on disk, which is what is left of it when the machine loses its power.

With SYNC_FLUSH all of it. With ASYNC_FLUSH upstream looks every `flushIntervalCommitLog` and writes when
`flushCommitLogLeastPages` pages are dirty, or `flushCommitLogThoroughInterval` has passed. Here nothing runs at those
looks: the first append after one of them makes up for it.
Source: CommitLog.FlushRealTimeService, CommitLog.GroupCommitService, MappedFile.isAbleToFlush (5.3.3).
"""

from ..config import BrokerConfig

PAGE_BYTES = 4096


class Flushing:
    """The flushed end of a commit log that ends at `end` now."""

    def __init__(self, config: BrokerConfig, now_ms: int, end: int) -> None:
        self._config = config
        self._flushed = end
        self._thorough_ms = now_ms
        self.next_look_ms = now_ms + config.flush_interval_commit_log
        """The first look that is not accounted for."""

    def catch_up(self, now_ms: int, end: int) -> None:
        """Account for the looks until now; the log has ended at `end` since the last one that was."""
        if now_ms < self.next_look_ms:
            return
        config = self._config
        interval = config.flush_interval_commit_log
        last_look_ms = self.next_look_ms + (now_ms - self.next_look_ms) // interval * interval
        if last_look_ms >= self._thorough_ms + config.flush_commit_log_thorough_interval:
            self._flushed, self._thorough_ms = end, last_look_ms
        elif end // PAGE_BYTES - self._flushed // PAGE_BYTES >= config.flush_commit_log_least_pages:
            self._flushed = end
        self.next_look_ms = last_look_ms + interval

    def flushed(self, now_ms: int, end: int) -> int:
        """Where the log ends on disk when it ends at `end`."""
        if self._config.flush_disk_type == "SYNC_FLUSH":
            return end
        self.catch_up(now_ms, end)
        return self._flushed
