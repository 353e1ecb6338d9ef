"""A thread pool with a bounded queue.

A task occupies its thread for a fixed time, and then for as long as the task itself needs it.
Source: ThreadPoolExecutor as BrokerController and GrpcMessagingApplication create it (5.3.3).
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind


class Task(Protocol):
    """A task for a thread."""

    def run(self, done: Callable[[], None]) -> None:
        """Run the task, and call `done`, at once or later, when the thread is free."""

    def end_before_start(self) -> bool:
        """Called when a thread is free for a waiting task. True if the task ended without needing the thread."""


T = TypeVar("T", bound=Task)


class ThreadPool(Generic[T]):
    """The threads of one pool and its waiting tasks; `name` is the owner of its timers."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self._scheduler = scheduler
        self._name = name
        self.threads = 1
        self.capacity = 1
        self.service_ms = 0
        """The time for which each task occupies its thread before it runs."""
        self.waiting: deque[tuple[int, T]] = deque()
        """(start of waiting in ms, task), oldest first."""
        self._begun: dict[int, int] = {}
        """Start time of each task that occupies a thread for the fixed time, by number, oldest first."""
        self._number = 0
        self._busy = 0

    def submit(self, task: T) -> bool:
        """Start a task or queue it. Returns False if the queue is full."""
        if self._busy < self.threads:
            self._begin(task)
        elif len(self.waiting) < self.capacity:
            self.waiting.append((self._scheduler.now_ms, task))
        else:
            return False
        return True

    @property
    def idle(self) -> bool:
        """True if no thread is occupied."""
        return not self._busy

    @property
    def longest_ms(self) -> int | None:
        """The time for which the oldest task has occupied its thread, within its fixed time; None if there is none."""
        first = next(iter(self._begun.values()), None)
        return None if first is None else self._scheduler.now_ms - first

    @property
    def head_wait_ms(self) -> int:
        """The wait of the oldest queued task in ms, 0 if there is none."""
        return self._scheduler.now_ms - self.waiting[0][0] if self.waiting else 0

    def _begin(self, task: T) -> None:
        self._busy += 1
        if not self.service_ms:
            task.run(self._release)
            return
        self._number = number = self._number + 1
        self._begun[number] = self._scheduler.now_ms
        self._scheduler.call_later(
            self.service_ms, lambda: self._service_ended(number, task), TimerKind.REQUEST_THREAD, self._name
        )

    def _service_ended(self, number: int, task: T) -> None:
        del self._begun[number]
        task.run(self._release)

    def _release(self) -> None:
        self._busy -= 1
        while self.waiting and self._busy < self.threads:
            task = self.waiting.popleft()[1]
            if not task.end_before_start():
                self._begin(task)
