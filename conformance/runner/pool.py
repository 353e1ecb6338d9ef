"""Carrying out many pieces of work side by side: threads take from lines until these are empty or a target dies."""

import threading
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


class Pool:
    """`jobs` threads. `each` is called with every outcome as it comes, one at a time."""

    def __init__(self, jobs: int, each: Callable[[Outcome], None]) -> None:
        self._jobs = jobs
        self._each = each
        self._lock = threading.Lock()
        self._lines: list[_Open] = []
        self._stopped = threading.Event()
        self._abandoned = False
        self.problem: BaseException | None = None
        """What ended the run early: a TargetError, or a bug of ours."""

    def run(self, lines: Iterable[Line], targets: Iterable[Target]) -> None:
        """Do all; returns when the lines are empty or something ended it. KeyboardInterrupt passes through.

        A thread takes from the first line that has work and a turn for it.
        """
        self._lines = [_Open(deque(each.works), each.at_once or self._jobs) for each in lines]
        targets = list(targets)
        threads = [
            threading.Thread(target=self._take, args=(targets,), name=f"conformance-{number}", daemon=True)
            for number in range(self._jobs)
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
            raise

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
            line = next((each for each in self._lines if each.works and each.turns), None)
            if line is not None:
                line.turns -= 1
                work = line.works.popleft()
        if line is None:
            yield None
            return
        try:
            yield work
        finally:
            with self._lock:
                line.turns += 1

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
