"""Carrying out many pieces of work side by side: threads take from one line until it is empty or a target dies."""

import threading
from collections import deque
from collections.abc import Callable, Iterable

from ..outcome import Outcome, Verdict
from ..targets.target import Target, TargetError

Work = Callable[[], Iterable[Outcome]]
"""One piece: may have several outcomes."""


class Pool:
    """`jobs` threads. `each` is called with every outcome as it comes, one at a time."""

    def __init__(self, jobs: int, each: Callable[[Outcome], None]) -> None:
        self._jobs = jobs
        self._each = each
        self._lock = threading.Lock()
        self._line: deque[Work] = deque()
        self._stopped = threading.Event()
        self._abandoned = False
        self.problem: BaseException | None = None
        """What ended the run early: a TargetError, or a bug of ours."""

    def run(self, works: Iterable[Work], targets: Iterable[Target]) -> None:
        """Do all; returns when the line is empty or something ended it. KeyboardInterrupt passes through."""
        self._line.extend(works)
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
            with self._lock:
                if not self._line:
                    return
                work = self._line.popleft()
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
                if not isinstance(error, TargetError):
                    self._stopped.set()
                    return
                self._stopped.set()


def _check(targets: Iterable[Target]) -> None:
    for target in targets:
        target.check()
