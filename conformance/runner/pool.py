"""Thread pool that takes tasks from queues until these are empty or a target dies.

On a real broker most long tasks only wait. While one task waits, another runs.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..deployment.target import Target
from ..outcomes.outcome import Outcome, Verdict

Task = Callable[[], Iterable[Outcome]]
"""Runs something and yields its outcomes, one or several."""


@dataclass(slots=True)
class TaskQueue:
    """A queue of tasks. `at_once`: number of threads that may take tasks from it, None for all."""

    tasks: Sequence[Task]
    at_once: int | None = None


@dataclass(eq=False, slots=True)
class _OpenQueue:
    """A queue in progress."""

    tasks: deque[Task]
    free_threads: int
    """Number of further threads that may take tasks from it."""


THREADS_OF_A_JOB = 2
"""Two threads per job: one runs a task, and another waits."""
LONG_SECONDS = 1.0
"""Shortest sleep that frees a job slot for other tasks."""


class Pool:
    """Runs `jobs` tasks at once, plus as many that wait if `jobs` is more than 1.

    `on_outcome` is called with every outcome as it arrives, one at a time.
    """

    def __init__(self, jobs: int, on_outcome: Callable[[Outcome], None]) -> None:
        self._jobs = jobs
        self._on_outcome = on_outcome
        self._busy = 0
        self._lock = threading.Condition()
        self._queues: list[_OpenQueue] = []
        self._stopped = threading.Event()
        self._abandoned = False
        self.problem: BaseException | None = None
        """Reason for an early end: a TargetError, or a bug of this suite."""

    def run(self, queues: Iterable[TaskQueue], targets: Iterable[Target]) -> None:
        """Execute all tasks; returns when the queues are empty or after a problem. KeyboardInterrupt passes through.

        A thread takes a task from the first queue that has one and a free thread slot.
        """
        threads_max = self._jobs * THREADS_OF_A_JOB if self._jobs > 1 else 1
        self._queues = [_OpenQueue(deque(each.tasks), each.at_once or threads_max) for each in queues]
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
                    thread.join(0.2)  # with a timeout, so that Ctrl-C is noticed
        except BaseException:
            self._stopped.set()
            with self._lock:
                self._abandoned = True  # outcomes from now on may result from the shutdown, so they do not count
                self._lock.notify_all()
            raise

    def sleep(self, seconds: float) -> None:
        """Sleep within a task while others run; returns on time, even if all job slots are in use by then."""
        if seconds < LONG_SECONDS:
            time.sleep(seconds)
            return
        self._add_busy(-1)  # another thread may run a task meanwhile
        time.sleep(seconds)
        self._add_busy(1)

    def _add_busy(self, more: int) -> None:
        with self._lock:
            self._busy += more
            self._lock.notify_all()

    def _take(self, targets: list[Target]) -> None:
        while not self._stopped.is_set():
            with self._task_slot() as task:
                if task is None:
                    return  # tasks may be left in a queue that has all its threads; those threads take them
                self._do(task, targets)

    @contextmanager
    def _task_slot(self) -> Iterator[Task | None]:
        """Take the next task; until the block ends, its queue has one thread slot less."""
        with self._lock:
            self._lock.wait_for(lambda: self._busy < self._jobs or not self._next() or self._stopped.is_set())
            queue = None if self._stopped.is_set() else self._next()
            if queue is not None:
                queue.free_threads -= 1
                self._busy += 1
                task = queue.tasks.popleft()
        if queue is None:
            yield None
            return
        try:
            yield task
        finally:
            with self._lock:
                queue.free_threads += 1
                self._busy -= 1
                self._lock.notify_all()

    def _next(self) -> _OpenQueue | None:
        return next((each for each in self._queues if each.tasks and each.free_threads), None)

    def _do(self, task: Task, targets: list[Target]) -> None:
        try:
            for outcome in task():
                if outcome.verdict in (Verdict.ERROR, Verdict.DIFFERS):
                    _check(targets)  # an outcome of a target that has died means nothing
                with self._lock:
                    if self._abandoned:
                        return
                    self._on_outcome(outcome)
            _check(targets)
        except BaseException as error:
            with self._lock:
                self.problem = self.problem or error
            self._stopped.set()


def _check(targets: Iterable[Target]) -> None:
    for target in targets:
        target.check()
