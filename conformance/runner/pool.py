"""Carrying out many pieces of work side by side: threads take from lines until these are empty or a target dies.

Most of what takes long on a real broker only waits for it. While one does nothing else, another has its turn.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..outcome import Outcome, Verdict
from ..targets.target import Target

Work = Callable[[], Iterable[Outcome]]
"""One piece: may have several outcomes."""


@dataclass(slots=True)
class Line:
    """Works, one after the other. `at_once`: how many threads may be at them, None for all."""

    works: Sequence[Work]
    at_once: int | None = None


@dataclass(eq=False, slots=True)
class _Open:
    """A line that is being worked off."""

    works: deque[Work]
    turns: int
    """How many more threads may be at it."""


THREADS_OF_A_JOB = 2
"""One that is at work, and another that waits."""
LONG_SECONDS = 1.0
"""Whoever waits so long makes room."""


class Pool:
    """`jobs` works at once, and as many that wait where it is not one job that was asked for.

    `each` is called with every outcome as it comes, one at a time.
    """

    def __init__(self, jobs: int, each: Callable[[Outcome], None]) -> None:
        self._jobs = jobs
        self._each = each
        self._busy = 0
        self._lock = threading.Condition()
        self._lines: list[_Open] = []
        self._stopped = threading.Event()
        self._abandoned = False
        self.problem: BaseException | None = None
        """What ended the run early: a TargetError, or a bug of ours."""

    def run(self, lines: Iterable[Line], targets: Iterable[Target]) -> None:
        """Do all; returns when the lines are empty or something ended it. KeyboardInterrupt passes through.

        A thread takes from the first line that has work and a turn for it.
        """
        threads_max = self._jobs * THREADS_OF_A_JOB if self._jobs > 1 else 1
        self._lines = [_Open(deque(each.works), each.at_once or threads_max) for each in lines]
        targets = list(targets)
        threads = [
            threading.Thread(target=self._take, args=(targets,), name=f"conformance-{number}", daemon=True)
            for number in range(threads_max)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # with a limit, so that Ctrl-C is seen
        except BaseException:
            self._stopped.set()
            with self._lock:
                self._abandoned = True  # what is taken from under the threads from now on is no finding
                self._lock.notify_all()
            raise

    def sleep(self, seconds: float) -> None:
        """Wait within a work, which others use, and which goes on in time however many there are by then."""
        if seconds < LONG_SECONDS:
            time.sleep(seconds)
            return
        self._busies(-1)
        time.sleep(seconds)
        self._busies(1)

    def _busies(self, more: int) -> None:
        with self._lock:
            self._busy += more
            self._lock.notify_all()

    def _take(self, targets: list[Target]) -> None:
        while not self._stopped.is_set():
            with self._turn() as work:
                if work is None:
                    return  # who is at a line finishes it
                self._do(work, targets)

    @contextmanager
    def _turn(self) -> Iterator[Work | None]:
        """The next work, and its line one turn poorer meanwhile."""
        with self._lock:
            self._lock.wait_for(lambda: self._busy < self._jobs or not self._next() or self._stopped.is_set())
            line = None if self._stopped.is_set() else self._next()
            if line is not None:
                line.turns -= 1
                self._busy += 1
                work = line.works.popleft()
        if line is None:
            yield None
            return
        try:
            yield work
        finally:
            with self._lock:
                line.turns += 1
                self._busy -= 1
                self._lock.notify_all()

    def _next(self) -> _Open | None:
        return next((each for each in self._lines if each.works and each.turns), None)

    def _do(self, work: Work, targets: list[Target]) -> None:
        try:
            for outcome in work():
                if outcome.verdict in (Verdict.ERROR, Verdict.DIFFERS):
                    _check(targets)  # what came of a target that has died says nothing
                with self._lock:
                    if self._abandoned:
                        return
                    self._each(outcome)
            _check(targets)
        except BaseException as error:
            with self._lock:
                self.problem = self.problem or error
            self._stopped.set()


def _check(targets: Iterable[Target]) -> None:
    for target in targets:
        target.check()
