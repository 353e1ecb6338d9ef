"""The instants at which a timer writes its files: check point, wheel and metrics.

Its flush service writes all of them at its start, and again whenever `timerFlushIntervalMs` has passed. It reads this
key after each write, so that a change takes effect after the next write.
Source: TimerMessageStore.TimerFlushService (5.3.3).
"""

from typing import NamedTuple

from ..kernel.scheduler import Scheduler


class _Run(NamedTuple):
    """Writes at equal intervals: the time of the first one, the number of writes before it, and ms between them."""

    first_ms: int
    before: int
    interval_ms: int

    def number(self, at_ms: int) -> int:
        """Return the number of these writes up to a time that is not before the first one."""
        return (at_ms - self.first_ms) // self.interval_ms + 1


class TimerFlushes:
    """The writes of one run of a broker. A change of a file at the instant of a write comes after this write."""

    def __init__(self, scheduler: Scheduler, interval_ms: int) -> None:
        self._scheduler = scheduler
        self._runs = [_Run(scheduler.now_ms, 0, interval_ms)]

    def change_interval(self, interval_ms: int) -> None:
        """Write at another interval after the next write; no-op if it is the same."""
        newest = self._runs[-1]
        if interval_ms == newest.interval_ms:
            return
        now = self._scheduler.now_ms
        if now < newest.first_ms:  # no write has followed the previous change
            self._runs[-1] = newest._replace(interval_ms=interval_ms)
            return
        number = newest.number(now)
        self._runs.append(_Run(newest.first_ms + number * newest.interval_ms, newest.before + number, interval_ms))

    def last_ms(self, at_ms: int | None = None) -> int:
        """Return the time of the last write up to now or another time of this run (ms since the epoch)."""
        at_ms = self._scheduler.now_ms if at_ms is None else at_ms
        run = self._run_at(at_ms)
        return run.first_ms + (run.number(at_ms) - 1) * run.interval_ms

    def number(self, at_ms: int | None = None) -> int:
        """Return the number of writes up to now or another time of this run."""
        at_ms = self._scheduler.now_ms if at_ms is None else at_ms
        run = self._run_at(at_ms)
        return run.before + run.number(at_ms)

    def _run_at(self, at_ms: int) -> _Run:
        for run in reversed(self._runs):
            if run.first_ms <= at_ms:
                return run
        return self._runs[0]
